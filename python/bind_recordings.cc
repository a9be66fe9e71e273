// Group rollouts in this process, and recordings as columns.
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "harness/recorder.h"
#include "harness/runner.h"
#include "python/arrays.h"
#include "python/environment.h"

namespace lodestep::python {
namespace {

using harness::EpisodeRecord;
using harness::Recording;
using harness::RunTimes;
using harness::Situation;
using harness::StepRecord;

// A list of str in which equal texts are one object.
class Texts {
 public:
  void add(const std::string& text) {
    auto [known, fresh] = known_.try_emplace(text);
    if (fresh) known->second = text_of(text);
    list_.append(known->second);
  }
  nb::list list() const { return list_; }

 private:
  std::unordered_map<std::string_view, nb::object, ContainerHash> known_;
  nb::list list_;
};

// A list of lists of str in which equal lists are one object.
class ActionLists {
 public:
  void add(const std::vector<std::string>& actions) {
    auto [known, fresh] = known_.try_emplace(json_array(actions));
    if (fresh) {
      nb::list texts;
      for (const std::string& action : actions) texts.append(text_of(action));
      known->second = texts;
    }
    list_.append(known->second);
  }
  nb::list list() const { return list_; }

 private:
  std::unordered_map<std::string, nb::object, ContainerHash, std::equal_to<>> known_;
  nb::list list_;
};

// The columns of situations, with names that begin with `prefix`.
class SituationColumns {
 public:
  void add(const Situation& now) {
    observation_.add(now.observation);
    admissible_.add(now.admissible);
    exact_.add(now.keys.exact);
    relevant_.add(now.keys.relevant);
    stage_.add(now.keys.stage);
    hash_.add(hashes_.emplace_back(std::make_unique<std::string>(to_hex(now.state_hash))).operator*());
    distance_.push_back(now.distance.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  void put(nb::dict& out, const std::string& prefix) {
    out[(prefix + "observation").c_str()] = observation_.list();
    out[(prefix + "admissible").c_str()] = admissible_.list();
    out[(prefix + "key_exact").c_str()] = exact_.list();
    out[(prefix + "key_relevant").c_str()] = relevant_.list();
    out[(prefix + "key_stage").c_str()] = stage_.list();
    out[(prefix + "state_hash").c_str()] = hash_.list();
    out[(prefix + "distance").c_str()] = array(std::move(distance_));
  }

 private:
  std::vector<std::unique_ptr<std::string>> hashes_;  // what hash_ refers to
  Texts observation_, exact_, relevant_, stage_, hash_;
  ActionLists admissible_;
  std::vector<double> distance_;
};

nb::dict step_columns(const Recording& recording) {
  std::vector<std::int64_t> group, member, t;
  std::vector<double> reward;
  std::vector<std::uint8_t> valid;
  nb::list format_valid;
  Texts task, action;
  SituationColumns before, after;
  for (const EpisodeRecord& episode : recording.episodes) {
    for (std::size_t i = 0; i < episode.steps.size(); ++i) {
      const StepRecord& step = episode.steps[i];
      group.push_back(static_cast<std::int64_t>(episode.group));
      member.push_back(static_cast<std::int64_t>(episode.member));
      t.push_back(static_cast<std::int64_t>(i));
      task.add(episode.task.id);
      before.add(step.before);
      action.add(step.action);
      valid.push_back(step.valid);
      format_valid.append(step.format_valid);
      reward.push_back(step.reward);
      after.add(i + 1 < episode.steps.size() ? episode.steps[i + 1].before : episode.last);
    }
  }
  nb::dict out;
  out["group"] = array(std::move(group));
  out["task"] = task.list();
  out["member"] = array(std::move(member));
  out["t"] = array(std::move(t));
  before.put(out, "");
  out["action"] = action.list();
  out["valid"] = bool_array(valid);
  out["format_valid"] = format_valid;  // True, False, or None where no model wrote the reply
  out["reward"] = array(std::move(reward));
  after.put(out, "next_");
  return out;
}

nb::dict episode_columns(const Recording& recording) {
  std::vector<std::int64_t> group, member, steps;
  std::vector<std::uint64_t> seed;
  std::vector<double> total_reward;
  std::vector<std::uint8_t> truncated;
  Texts task, failure;
  nb::list status, outcome;
  for (const EpisodeRecord& episode : recording.episodes) {
    group.push_back(static_cast<std::int64_t>(episode.group));
    task.add(episode.task.id);
    member.push_back(static_cast<std::int64_t>(episode.member));
    seed.push_back(episode.task.seed);
    status.append(episode_status_name(episode.status));
    outcome.append(outcome_name(episode.outcome));
    truncated.push_back(episode.truncated);
    failure.add(episode.failure);
    steps.push_back(static_cast<std::int64_t>(episode.steps.size()));
    total_reward.push_back(episode.total_reward());
  }
  nb::dict out;
  out["group"] = array(std::move(group));
  out["task"] = task.list();
  out["member"] = array(std::move(member));
  out["seed"] = array(std::move(seed));
  out["status"] = status;
  out["outcome"] = outcome;
  out["truncated"] = bool_array(truncated);
  out["failure"] = failure.list();
  out["steps"] = array(std::move(steps));
  out["total_reward"] = array(std::move(total_reward));
  return out;
}

// What a policy written in Python may look at. Valid during the call only: it shows the runner's own data.
struct TurnView {
  const harness::Turn* turn = nullptr;
  Stream dice;

  const harness::Turn& now() const {
    if (turn == nullptr)
      raise({ErrorCode::kInvalidArgument, "this turn is over", "policy", "copy what you keep"});
    return *turn;
  }
};

// Calls act(turn) under the GIL; the first exception stops the run and is raised again at its end.
class PythonPolicy final : public harness::Policy {
 public:
  explicit PythonPolicy(nb::object act) : act_(std::move(act)) {}

  Result<std::optional<harness::Decision>> act(const harness::Turn& turn) const override {
    const nb::gil_scoped_acquire acquire;
    try {
      const nb::object view = nb::cast(TurnView{&turn, turn.dice}, nb::rv_policy::move);
      const nb::object answer = act_(view);
      nb::inst_ptr<TurnView>(view)->turn = nullptr;
      if (answer.is_none()) return std::optional<harness::Decision>();
      return std::optional<harness::Decision>(bytes_of(answer));
    } catch (...) {
      if (!failed_.exchange(true)) failure_ = std::current_exception();
      return Error{ErrorCode::kUnavailable, "the policy raised an exception", "", ""};
    }
  }

  bool failed() const { return failed_; }
  void rethrow() const {
    if (failed_) std::rethrow_exception(failure_);
  }

 private:
  nb::object act_;
  mutable std::atomic<bool> failed_{false};
  mutable std::exception_ptr failure_;
};

// Runs `work` on another thread, so that this one can hear Ctrl-C.
template <typename Work>
auto interruptible(Work work, std::atomic<bool>& stop) {
  bool interrupted = false;
  auto future = std::async(std::launch::async, std::move(work));
  for (;;) {
    {
      const nb::gil_scoped_release release;
      if (future.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready) break;
    }
    if (!interrupted && PyErr_CheckSignals() != 0) {
      interrupted = true;
      stop = true;
    }
  }
  if (interrupted) throw nb::python_error();
  return future.get();
}

struct RolloutPlan {
  std::vector<std::string> tasks;
  std::size_t group_size = 8;
  std::size_t max_steps = 0;
  std::uint64_t seed = 0;
  std::size_t threads = 1;
};

using Done = std::set<std::pair<std::size_t, std::size_t>>;

// Plays the groups into `recorder`; the seconds spent.
RunTimes play(const Opened& opened, const RolloutPlan& plan, const nb::object& policy,
              harness::Recorder& recorder, const Done& done) {
  std::unique_ptr<harness::Policy> chosen;
  const PythonPolicy* scripted = nullptr;
  if (nb::isinstance<nb::str>(policy)) {
    chosen = value_or_raise(harness::make_policy(nb::cast<std::string>(policy)));
  } else {
    auto python = std::make_unique<PythonPolicy>(policy);
    scripted = python.get();
    chosen = std::move(python);
  }
  std::atomic<bool> stop{false};
  harness::RunHooks hooks;
  hooks.stop = [&] { return stop || (scripted != nullptr && scripted->failed()); };
  const harness::RunPlan run{.factory = opened.factory,
                             .tasks = plan.tasks,
                             .group_size = plan.group_size,
                             .max_steps = plan.max_steps,
                             .seed = plan.seed,
                             .threads = plan.threads};
  Result<RunTimes> times =
      interruptible([&] { return harness::run_groups(run, *chosen, recorder, hooks, done); }, stop);
  if (scripted != nullptr) scripted->rethrow();
  return value_or_raise(std::move(times));
}

nb::dict seconds(const RunTimes& times) {
  nb::dict out;
  out["policy"] = times.policy;
  out["stepping"] = times.stepping;
  out["keys"] = times.keys;
  out["recording"] = times.recording;
  return out;
}

// Every (group, member) of the plan whose group is not among `groups`.
Done all_but(const RolloutPlan& plan, const std::vector<std::size_t>& groups) {
  const std::set<std::size_t> wanted(groups.begin(), groups.end());
  Done done;
  for (std::size_t group = 0; group < plan.tasks.size(); ++group) {
    if (wanted.contains(group)) continue;
    for (std::size_t member = 0; member < plan.group_size; ++member) done.insert({group, member});
  }
  return done;
}

// `groups`: only these groups of the plan, the same as if all were played.
nb::tuple rollout(const Opened& opened, const RolloutPlan& plan, const nb::object& policy,
                  const harness::RunInfo& info, const std::optional<std::string>& out,
                  const std::optional<std::vector<std::size_t>>& groups) {
  const Done done = groups ? all_but(plan, *groups) : Done();
  if (out) {
    std::unique_ptr<harness::Recorder> recorder = value_or_raise(harness::create_recording(*out, info));
    const RunTimes times = play(opened, plan, policy, *recorder, done);
    recorder.reset();
    return nb::make_tuple(value_or_raise(harness::read_recording(*out)), seconds(times));
  }
  harness::MemoryRecorder recorder(info);
  const RunTimes times = play(opened, plan, policy, recorder, done);
  return nb::make_tuple(recorder.take(), seconds(times));
}

// The episodes of several recordings as one, in (group, member) order; a file too where `out` names one.
Recording merge_recordings(const std::vector<const Recording*>& parts, const harness::RunInfo& info,
                           const std::optional<std::string>& out) {
  harness::MemoryRecorder memory(info);
  for (const Recording* part : parts) {
    for (const EpisodeRecord& episode : part->episodes) check(memory.add(episode));
  }
  Recording merged = memory.take();
  if (!out) return merged;
  std::unique_ptr<harness::Recorder> recorder = value_or_raise(harness::create_recording(*out, info));
  for (const EpisodeRecord& episode : merged.episodes) check(recorder->add(episode));
  check(recorder->flush());
  recorder.reset();
  return value_or_raise(harness::read_recording(*out));
}

void bind_turn(nb::module_& module) {
  nb::class_<TurnView>(module, "Turn", "What a policy sees for one action. Valid during the call only.")
      .def_prop_ro("task", [](const TurnView& view) { return view.now().task; })
      .def_prop_ro("observation", [](const TurnView& view) { return text_of(view.now().now.observation); })
      .def_prop_ro(
          "admissible",
          [](const TurnView& view) {
            nb::list out;
            for (const std::string& action : view.now().now.admissible) out.append(text_of(action));
            return out;
          },
          nb::sig("def admissible(self) -> list[str]"))
      .def_prop_ro("keys", [](const TurnView& view) { return view.now().now.keys; })
      .def_prop_ro(
          "t", [](const TurnView& view) { return view.now().history.size(); }, "Steps played so far.")
      .def_prop_ro("max_steps", [](const TurnView& view) { return view.now().max_steps; })
      .def("gold_action", [](const TurnView& view) { return view.now().environment.gold_action(); })
      .def(
          "history",
          [](const TurnView& view) {
            nb::list out;
            for (const StepRecord& step : view.now().history) {
              out.append(nb::make_tuple(text_of(step.before.observation), text_of(step.action)));
            }
            return out;
          },
          nb::sig("def history(self) -> list[tuple[str, str]]"), "(observation, action) of the steps so far.")
      .def(
          "random", [](TurnView& view) { return view.dice.unit(); },
          "Uniform in [0, 1): this turn's own chance, the same in every run of the same seed.")
      .def(
          "below",
          [](TurnView& view, std::uint64_t n) {
            if (n == 0) raise({ErrorCode::kInvalidArgument, "below(0)", "turn", "n must be positive"});
            return view.dice.below(n);
          },
          nb::arg("n"), "Uniform in 0..n-1, of this turn's own chance.");
}

}  // namespace

void bind_recordings(nb::module_& module) {
  bind_turn(module);
  nb::class_<Recording>(module, "Recording", "Every step of a run.")
      .def_prop_ro("info", [](const Recording& recording) { return recording.info; })
      .def("steps", step_columns, nb::sig("def steps(self) -> dict[str, object]"),
           "Columns, one entry per step, in (group, member, t) order.")
      .def("episodes", episode_columns, nb::sig("def episodes(self) -> dict[str, object]"));
  module.def(
      "read_recording",
      [](const std::string& path) {
        Result<Recording> recording = [&] {
          const nb::gil_scoped_release release;
          return harness::read_recording(path);
        }();
        return value_or_raise(std::move(recording));
      },
      nb::arg("path"));
  module.def(
      "draw_tasks",
      [](const Opened& opened, const std::string& split, std::size_t count, std::uint64_t seed) {
        return value_or_raise(harness::draw_tasks(*opened.factory, split, count, seed));
      },
      nb::arg("factory"), nb::arg("split"), nb::arg("count"), nb::arg("seed"));
  nb::class_<RolloutPlan>(module, "RolloutPlan")
      .def(
          "__init__",
          [](RolloutPlan* self, std::vector<std::string> tasks, std::size_t group_size, std::size_t max_steps,
             std::uint64_t seed, std::size_t threads) {
            new (self) RolloutPlan{std::move(tasks), group_size, max_steps, seed, threads};
          },
          nb::arg("tasks"), nb::arg("group_size"), nb::arg("max_steps"), nb::arg("seed"), nb::arg("threads"));
  module.def("rollout", rollout, nb::arg("factory"), nb::arg("plan"), nb::arg("policy"), nb::arg("info"),
             nb::arg("out") = nb::none(), nb::arg("groups") = nb::none(),
             nb::sig("def rollout(factory: Factory, plan: RolloutPlan, policy: object, info: "
                     "collections.abc.Mapping[str, str], "
                     "out: str | None = None, groups: collections.abc.Sequence[int] | None = None) -> "
                     "tuple[Recording, dict[str, float]]"));
  module.def("merge_recordings", merge_recordings, nb::arg("parts"), nb::arg("info"),
             nb::arg("out") = nb::none());
}

}  // namespace lodestep::python
