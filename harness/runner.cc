#include "harness/runner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_set>

#include "base/text.h"
#include "harness/episode.h"

namespace lodestep::harness {
namespace {

class Stopwatch {
 public:
  // Seconds since the last lap.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Where the members of a reset group start: the parent is played up to there once, and restored from its
// snapshot.
struct Fork {
  Branch branch;
  const EpisodeRecord* parent = nullptr;
  std::once_flag once;
  std::string saved;
  Status status;
};

// One run's shared state: work to hand out, what to add up, the first failure.
class Run {
 public:
  Run(const RunPlan& plan, const Policy& policy, Recorder& recorder, const RunHooks& hooks)
      : plan_(plan), policy_(policy), recorder_(recorder), hooks_(hooks), starts_(plan.tasks.size()) {
    std::map<std::string, std::size_t> seen;
    for (const std::string& task : plan.tasks) occurrences_.push_back(seen[task]++);
  }

  Result<RunTimes> play(const std::set<std::pair<std::size_t, std::size_t>>& done) {
    for (std::size_t group = plan_.first; group < std::min(plan_.last, plan_.tasks.size()); ++group) {
      for (std::size_t member = 0; member < plan_.group_size; ++member) {
        if (!done.contains({group, member})) work_.push_back({group, member, nullptr});
      }
    }
    return play_all();
  }

  Result<RunTimes> play(const BranchPlan& plan, const std::set<std::pair<std::size_t, std::size_t>>& done) {
    std::map<std::pair<std::size_t, std::size_t>, const EpisodeRecord*> parents;
    for (const EpisodeRecord& episode : plan.recording.episodes)
      parents[{episode.group, episode.member}] = &episode;
    for (const Branch& branch : plan.branches) {
      Fork& fork = forks_.emplace_back();
      fork.branch = branch;
      fork.parent = parents.at({branch.parent_group, branch.parent_member});
      for (std::size_t member = 0; member < plan.suffixes; ++member) {
        if (!done.contains({branch.group, member})) work_.push_back({branch.group, member, &fork});
      }
    }
    return play_all();
  }

 private:
  struct Work {
    std::size_t group = 0, member = 0;
    Fork* fork = nullptr;  // none: from the start of the task
  };

  Result<RunTimes> play_all() {
    const std::size_t wanted = std::max({plan_.threads, policy_.concurrency(), std::size_t{1}});
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < std::min(wanted, work_.size()); ++i)
      threads.emplace_back([this] { worker(); });
    worker();
    for (std::thread& thread : threads) thread.join();
    if (crash_) std::rethrow_exception(crash_);
    if (!failure_.ok()) return failure_.error();
    Stopwatch watch;
    if (Status status = recorder_.flush(); !status) return status.error();
    times_.recording += watch.lap();
    return times_;
  }

  void worker() {
    RunTimes times;
    try {
      for (std::size_t i = next_++; i < work_.size() && !halted_; i = next_++) {
        if (Status status = (work_[i].fork ? play_branch(work_[i], times) : play_one(work_[i], times));
            !status)
          fail(status);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!crash_) crash_ = std::current_exception();
      halted_ = true;
    }
    const std::lock_guard lock(mutex_);
    times_.policy += times.policy;
    times_.stepping += times.stepping;
    times_.keys += times.keys;
    times_.recording += times.recording;
  }

  void fail(const Status& status) {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = status;
    halted_ = true;
  }

  // All members of a group must start in one situation, or comparing them means nothing. The key is asked,
  // not the hash: each member has chance of its own, which a hash of everything holds.
  Status check_start(std::size_t group, const Situation& start) {
    const std::lock_guard lock(mutex_);
    std::optional<std::string>& known = starts_[group];
    if (!known) known = start.keys.exact;
    if (*known == start.keys.exact) return {};
    return Error{ErrorCode::kInvalidArgument, "the members of a group start in different states",
                 "task " + plan_.tasks[group], "name a task that fixes its start"};
  }

  Status play_one(const Work& work, RunTimes& times) {
    const Hash128 key =
        member_key(plan_.seed, plan_.tasks[work.group], occurrences_[work.group], work.member);
    EpisodeRecord record;
    record.group = work.group;
    record.member = work.member;
    record.task = {plan_.factory->name(), plan_.tasks[work.group], key.low >> 1};
    Stopwatch watch;
    Episode episode(plan_.factory->make(), plan_.max_steps);
    if (Status status = episode.reset(record.task); !status) return status;
    times.stepping += watch.lap();
    Situation now = situation_of(episode.environment());
    times.keys += watch.lap();
    if (Status status = check_start(work.group, now); !status) return status;
    return play_on(episode, std::move(record), std::move(now), key, times);
  }

  Status play_branch(const Work& work, RunTimes& times) {
    Fork& fork = *work.fork;
    const EpisodeRecord& parent = *fork.parent;
    const std::size_t kept = fork.branch.step;
    Stopwatch watch;
    std::call_once(fork.once, [&] { reach(fork); });
    if (!fork.status.ok()) return fork.status;
    Episode episode(plan_.factory->make(), plan_.max_steps);
    if (Status status = episode.load(fork.saved); !status) return status;
    times.stepping += watch.lap();
    const Hash128 parents = member_key(plan_.seed, parent.task.id, occurrences_[parent.group], parent.member);
    EpisodeRecord record;
    record.group = work.group;
    record.member = work.member;
    record.task = parent.task;
    record.steps.assign(parent.steps.begin(), parent.steps.begin() + static_cast<std::ptrdiff_t>(kept));
    const Hash128 key = Hasher()
                            .add_u64(parents.high)
                            .add_u64(parents.low)
                            .add("branch")
                            .add_u64(kept)
                            .add_u64(work.member)
                            .finish();
    return play_on(episode, std::move(record), parent.steps[kept].before, key, times);
  }

  void reach(Fork& fork) {
    const EpisodeRecord& parent = *fork.parent;
    Episode episode(plan_.factory->make(), plan_.max_steps);
    fork.status = episode.reset(parent.task);
    if (!fork.status.ok()) return;
    for (std::size_t t = 0; t < fork.branch.step; ++t) episode.step(parent.steps[t].action);
    if (episode.environment().true_state_hash() == parent.steps[fork.branch.step].before.state_hash) {
      fork.saved = episode.save();
      return;
    }
    fork.status = Error{ErrorCode::kBadData, "the recorded actions no longer lead to the recorded state",
                        "group " + std::to_string(parent.group) + ", member " +
                            std::to_string(parent.member) + ", step " + std::to_string(fork.branch.step),
                        "was the recording begun with this data, version and settings?"};
  }

  Status play_on(Episode& episode, EpisodeRecord record, Situation now, const Hash128& key, RunTimes& times) {
    Stopwatch watch;
    while (!episode.ended()) {
      if (hooks_.stop && hooks_.stop()) {
        halted_ = true;
        return {};
      }
      const Stream dice(Hasher().add_u64(key.high).add_u64(key.low).add_u64(record.steps.size()).finish());
      watch.lap();
      const Result<std::optional<Decision>> decision =
          policy_.act({episode.environment(), record.task, now, record.steps, plan_.max_steps, dice});
      times.policy += watch.lap();
      if (!decision) {
        record.status = EpisodeStatus::kFailed;
        record.failure = to_string(decision.error());
        break;
      }
      if (!*decision) {
        record.failure = "the policy stopped";
        break;
      }
      StepResult result;
      try {
        result = episode.step((*decision)->action);
      } catch (const EnvironmentFailure& failure) {
        record.status = EpisodeStatus::kFailed;
        record.failure = failure.what();
        break;
      }
      times.stepping += watch.lap();
      const Decision& played = **decision;
      record.steps.push_back(
          {std::move(now), played.action, result.action_valid, result.reward, played.format_valid});
      now = situation_of(episode.environment());
      times.keys += watch.lap();
    }
    record.outcome = episode.environment().observe().outcome;
    record.truncated = episode.truncated();
    record.last = std::move(now);
    watch.lap();
    if (Status status = recorder_.add(std::move(record)); !status) return status;
    times.recording += watch.lap();
    const std::lock_guard lock(mutex_);
    ++finished_;
    if (hooks_.progress) hooks_.progress(finished_);
    return {};
  }

  const RunPlan& plan_;
  const Policy& policy_;
  Recorder& recorder_;
  const RunHooks& hooks_;
  std::vector<std::size_t> occurrences_;
  std::vector<Work> work_;
  std::deque<Fork> forks_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> halted_{false};
  std::mutex mutex_;
  std::vector<std::optional<std::string>> starts_;
  std::size_t finished_ = 0;
  RunTimes times_;
  Status failure_;
  std::exception_ptr crash_;
};

}  // namespace

Hash128 member_key(std::uint64_t run_seed, const std::string& task, std::size_t occurrence,
                   std::size_t member) {
  return Hasher().add_u64(run_seed).add(task).add_u64(occurrence).add_u64(member).finish();
}

Situation situation_of(const Environment& environment) {
  return situation_of(environment, environment.observe().observation.text, true);
}

Situation situation_of(const Environment& environment, std::string observation, bool tells_distance) {
  Situation out;
  out.observation = std::move(observation);
  out.admissible = environment.admissible_actions();
  out.keys = environment.state_keys();
  out.state_hash = environment.true_state_hash();
  if (!tells_distance) return out;
  const Details details = environment.details();
  if (const auto distance = details.find("distance_to_goal"); distance != details.end()) {
    out.distance = parse_double(distance->second).value_or(std::numeric_limits<double>::infinity());
  }
  return out;
}

Result<RunTimes> run_groups(const RunPlan& plan, const Policy& policy, Recorder& recorder,
                            const RunHooks& hooks,
                            const std::set<std::pair<std::size_t, std::size_t>>& done) {
  return Run(plan, policy, recorder, hooks).play(done);
}

Result<RunTimes> run_branches(const RunPlan& plan, const BranchPlan& branches, const Policy& policy,
                              Recorder& recorder, const RunHooks& hooks,
                              const std::set<std::pair<std::size_t, std::size_t>>& done) {
  return Run(plan, policy, recorder, hooks).play(branches, done);
}

Result<std::vector<std::string>> draw_tasks(const EnvFactory& factory, const std::string& split,
                                            std::size_t count, std::uint64_t seed) {
  const Result<std::size_t> available = factory.task_count(split);
  if (!available) return available.error();
  if (*available == 0) return Error{ErrorCode::kBadData, "the split has no tasks", split, ""};
  Stream dice(Hasher().add("tasks").add(split).add_u64(seed).finish());
  std::vector<std::string> tasks;
  std::unordered_set<std::uint64_t, ContainerHash> taken;
  while (tasks.size() < count) {
    if (taken.size() == *available) taken.clear();
    std::size_t index = dice.below(*available);
    // A full lap of a small split should not depend on luck: walk on to the next free one.
    while (!taken.insert(index).second) index = (index + 1) % *available;
    Result<std::string> id = factory.task_id(split, index);
    if (!id) return id.error();
    tasks.push_back(std::move(*id));
  }
  return tasks;
}

}  // namespace lodestep::harness
