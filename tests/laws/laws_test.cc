// The laws that every registered environment keeps (ARCHITECTURE.md lists them). Registering enrols:
// nothing here names an environment.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <thread>
#include <unordered_map>

#include "base/rng.h"
#include "envs/factory.h"

namespace lodestep {
namespace {

constexpr std::size_t kTasks = 4;
constexpr std::size_t kSteps = 40;

// What one situation shows: compared as a whole, byte by byte.
struct View {
  std::string text, exact, relevant, stage, hash;
  std::vector<std::string> actions;
  double reward = 0;
  Outcome outcome = Outcome::kRunning;
  bool valid = true;
  bool operator==(const View&) const = default;
};

std::ostream& operator<<(std::ostream& out, const View& view) {
  return out << view.exact << " [" << outcome_name(view.outcome) << ", reward " << view.reward << "] "
             << view.text;
}

View view_of(const Environment& env, const StepResult& result) {
  const StateKeys keys = env.state_keys();
  return {result.observation.text,
          keys.exact,
          keys.relevant,
          keys.stage,
          to_hex(env.true_state_hash()),
          env.admissible_actions(),
          result.reward,
          result.outcome,
          result.action_valid};
}

View view_of(const Environment& env) { return view_of(env, env.observe()); }

std::string pick(const Environment& env, Stream& dice) {
  const std::vector<std::string> actions = env.admissible_actions();
  if (actions.empty() || dice.below(10) == 0) return "no such action";
  return actions[dice.below(actions.size())];
}

struct Subject {
  std::shared_ptr<const EnvFactory> factory;
  std::vector<Task> tasks;
};

// Every registered environment with its embedded data, a few tasks of every split each.
template <typename Law>
void for_each_environment(Law law) {
  for (const EnvType& type : environment_types()) {
    DYNAMIC_SECTION(type.name) {
      Result<std::shared_ptr<const EnvFactory>> factory = type.open({});
      REQUIRE(factory.ok());
      Subject subject{*factory, {}};
      for (const std::string& split : (*factory)->splits()) {
        const Result<std::size_t> count = (*factory)->task_count(split);
        REQUIRE(count.ok());
        for (std::size_t i = 0; i < std::min(*count, kTasks); ++i) {
          const Result<std::string> id = (*factory)->task_id(split, i * *count / std::min(*count, kTasks));
          REQUIRE(id.ok());
          subject.tasks.push_back({type.name, *id, i});
        }
      }
      REQUIRE_FALSE(subject.tasks.empty());
      law(subject);
    }
  }
}

std::unique_ptr<Environment> start(const Subject& subject, const Task& task) {
  auto env = subject.factory->make();
  const Status status = env->reset(task);
  INFO(task.id);
  REQUIRE(status.ok());
  return env;
}

std::vector<View> play(Environment& env, const Task& task, Stream dice) {
  REQUIRE(env.reset(task).ok());
  std::vector<View> views{view_of(env)};
  for (std::size_t t = 0; t < kSteps; ++t) {
    const std::string action = pick(env, dice);
    const StepResult result = env.step(action);
    REQUIRE(env.observe().observation.text == result.observation.text);
    REQUIRE(env.observe().outcome == result.outcome);
    views.push_back(view_of(env, result));
  }
  return views;
}

TEST_CASE("law 1: same task and actions, same bytes, on a fresh object and on a used one") {
  for_each_environment([](const Subject& subject) {
    auto used = subject.factory->make();
    for (const Task& task : subject.tasks) {
      const Stream dice(hash128(task.id));
      const auto first = play(*subject.factory->make(), task, dice);
      CHECK(first == play(*used, task, dice));
      CHECK(first == play(*used, task, dice));
    }
  });
}

TEST_CASE("law 1, threads: parallel episodes give the bytes of one thread") {
  for_each_environment([](const Subject& subject) {
    std::vector<std::vector<View>> expected(subject.tasks.size());
    std::vector<std::vector<View>> parallel(subject.tasks.size());
    const auto run = [&](std::size_t i) {
      auto env = subject.factory->make();
      std::vector<View> views;
      Stream dice(hash128(subject.tasks[i].id));
      if (!env->reset(subject.tasks[i]).ok()) return views;
      for (std::size_t t = 0; t < kSteps; ++t) {
        const StepResult result = env->step(pick(*env, dice));
        views.push_back(view_of(*env, result));
      }
      return views;
    };
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = run(i);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < parallel.size(); ++i) {
      threads.emplace_back([&, i] { parallel[i] = run(i); });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(parallel == expected);
  });
}

TEST_CASE("law 2: stepping a clone leaves the original alone") {
  for_each_environment([](const Subject& subject) {
    for (const Task& task : subject.tasks) {
      auto env = start(subject, task);
      Stream dice(hash128(task.id));
      for (std::size_t t = 0; t < kSteps; ++t) {
        const std::string before = env->snapshot().bytes;
        const View seen = view_of(*env);
        auto copy = env->clone();
        CHECK(view_of(*copy) == seen);
        for (int i = 0; i < 3; ++i) copy->step(pick(*copy, dice));
        CHECK(env->snapshot().bytes == before);
        CHECK(view_of(*env) == seen);
        env->step(pick(*env, dice));
      }
    }
  });
}

TEST_CASE("law 3: a snapshot restored on a fresh object lives on like the original") {
  for_each_environment([](const Subject& subject) {
    for (const Task& task : subject.tasks) {
      auto env = start(subject, task);
      Stream dice(hash128(task.id));
      for (std::size_t t = 0; t < kSteps / 4; ++t) {
        const Snapshot snapshot = env->snapshot();
        auto restored = subject.factory->make();
        REQUIRE(restored->restore(snapshot).ok());
        CHECK(restored->snapshot().bytes == snapshot.bytes);
        CHECK(view_of(*restored) == view_of(*env));
        auto live = env->clone();
        Stream same(hash128(task.id + "tail"));
        Stream again = same;
        for (std::size_t i = 0; i < kSteps / 2; ++i) {
          const StepResult a = live->step(pick(*live, same));
          const StepResult b = restored->step(pick(*restored, again));
          REQUIRE(view_of(*live, a) == view_of(*restored, b));
        }
        env->step(pick(*env, dice));
      }
    }
  });
}

TEST_CASE("law 3, refusals: foreign or damaged snapshots change nothing") {
  for_each_environment([](const Subject& subject) {
    const Task& task = subject.tasks.front();
    auto env = start(subject, task);
    const View seen = view_of(*env);
    Snapshot snapshot = env->snapshot();
    Snapshot other_version = snapshot;
    ++other_version.version;
    Snapshot other_env = snapshot;
    other_env.task.env = "other";
    CHECK_FALSE(env->restore(other_version).ok());
    CHECK_FALSE(env->restore(other_env).ok());
    for (std::size_t cut = 0; cut < snapshot.bytes.size(); ++cut) {
      Snapshot damaged = snapshot;
      damaged.bytes.resize(cut);
      if (!env->restore(damaged).ok()) CHECK(view_of(*env) == seen);
      REQUIRE(env->restore(snapshot).ok());
    }
    CHECK(view_of(*env) == seen);
  });
}

TEST_CASE("law 4: an invalid action changes nothing; after the end nothing does, with reward 0") {
  for_each_environment([](const Subject& subject) {
    for (const Task& task : subject.tasks) {
      auto env = start(subject, task);
      Stream dice(hash128(task.id));
      for (std::size_t t = 0; t < kSteps; ++t) {
        const View before = view_of(*env);
        const StepResult odd = env->step("no such action");
        const View after = view_of(*env);
        CHECK_FALSE((odd.action_valid && !odd.done()));
        CHECK(after.hash == before.hash);
        CHECK(after.exact == before.exact);
        if (odd.done()) break;
        const std::optional<std::string> gold = env->gold_action();
        env->step(gold ? *gold : pick(*env, dice));
      }
      if (!env->observe().done()) continue;
      const View end = view_of(*env);
      for (const std::string& action :
           std::vector<std::string>{"no such action", "up", "look", "click[buy now]"}) {
        const StepResult result = env->step(action);
        CHECK(result.reward == 0);
        CHECK(view_of(*env) == end);
      }
    }
  });
}

TEST_CASE("law 5: listed actions are sorted, unique and valid on a clone") {
  for_each_environment([](const Subject& subject) {
    for (const Task& task : subject.tasks) {
      auto env = start(subject, task);
      Stream dice(hash128(task.id));
      for (std::size_t t = 0; t < kSteps / 2; ++t) {
        const std::vector<std::string> actions = env->admissible_actions();
        CHECK(std::is_sorted(actions.begin(), actions.end()));
        CHECK(std::adjacent_find(actions.begin(), actions.end()) == actions.end());
        for (const std::string& action : actions) {
          INFO(task.id << ": " << action);
          CHECK(env->clone()->step(action).action_valid);
        }
        env->step(pick(*env, dice));
      }
    }
  });
}

TEST_CASE(
    "laws 7 and 8: equal hash means equal keys, actions and futures; finer keys determine coarser ones") {
  for_each_environment([](const Subject& subject) {
    for (const Task& task : subject.tasks) {
      std::unordered_map<std::string, View> by_hash;  // looked up only, never iterated
      std::unordered_map<std::string, std::string> relevant_of, stage_of;
      for (std::uint64_t walk = 0; walk < 4; ++walk) {
        auto env = start(subject, task);
        Stream dice(Hasher().add(task.id).add_u64(walk).finish());
        for (std::size_t t = 0; t < kSteps; ++t) {
          const View now = view_of(*env);
          const auto [known, fresh] = by_hash.emplace(now.hash, now);
          if (!fresh) {
            CHECK(known->second.exact == now.exact);
            CHECK(known->second.actions == now.actions);
            CHECK(known->second.outcome == now.outcome);
          }
          CHECK(relevant_of.emplace(now.exact, now.relevant).first->second == now.relevant);
          CHECK(stage_of.emplace(now.relevant, now.stage).first->second == now.stage);
          env->step(pick(*env, dice));
        }
      }
    }
  });
}

TEST_CASE("law 9: any bytes as an action: no crash, no throw") {
  for_each_environment([](const Subject& subject) {
    const Task& task = subject.tasks.front();
    auto env = start(subject, task);
    Stream dice(hash128("bytes"));
    for (int i = 0; i < 300; ++i) {
      std::string action(dice.below(40), '\0');
      for (char& c : action) c = static_cast<char>(dice.below(256));
      CHECK_NOTHROW(env->step(action));
    }
    CHECK_NOTHROW(env->step(std::string(100000, '[')));
  });
}

TEST_CASE("law 10: the gold policy reaches success") {
  for_each_environment([](const Subject& subject) {
    for (const Task& task : subject.tasks) {
      auto env = start(subject, task);
      std::size_t steps = 0;
      while (!env->observe().done() && steps < 200) {
        const std::optional<std::string> action = env->gold_action();
        INFO(task.id << " after " << steps << " steps");
        REQUIRE(action.has_value());
        const StepResult result = env->step(*action);
        CHECK(result.action_valid);
        ++steps;
      }
      INFO(task.id);
      CHECK(env->observe().outcome == Outcome::kSuccess);
    }
  });
}

TEST_CASE("tasks: ids are unique, splits share none, unknown ones are refused") {
  for_each_environment([](const Subject& subject) {
    std::map<std::string, std::string> split_of;
    for (const std::string& split : subject.factory->splits()) {
      const std::size_t count = std::min<std::size_t>(50, *subject.factory->task_count(split));
      for (std::size_t i = 0; i < count; ++i) {
        const std::string id = *subject.factory->task_id(split, i);
        INFO(id);
        CHECK(split_of.emplace(id, split).second);
        CHECK(id == *subject.factory->task_id(split, i));
      }
      CHECK_FALSE(subject.factory->task_id(split, *subject.factory->task_count(split)).ok());
    }
    CHECK_FALSE(subject.factory->task_count("no such split").ok());
    auto env = start(subject, subject.tasks.front());
    const View seen = view_of(*env);
    CHECK_FALSE(env->reset({subject.factory->name(), "no such task", 0}).ok());
    CHECK(view_of(*env) == seen);
  });
}

}  // namespace
}  // namespace lodestep
