// Plays groups of episodes in parallel: G tasks, n members each.
//   RunPlan plan{factory, {"tiny/1", "tiny/2"}};
//   Result<RunTimes> times = run_groups(plan, *policy, recorder, {});
// Threads: run_groups blocks and uses its own threads; an episode belongs to one of them. Results do not
// depend on their number: chance = (run seed, task id, occurrence of the task, member, t).
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "envs/factory.h"
#include "harness/branching.h"
#include "harness/policy.h"
#include "harness/recorder.h"

namespace lodestep::harness {

struct RunPlan {
  std::shared_ptr<const EnvFactory> factory;
  std::vector<std::string> tasks;  // one per group
  std::size_t group_size = 8;
  std::size_t max_steps = 0;
  std::uint64_t seed = 0;
  std::size_t threads = 1;
  std::size_t first = 0;  // only groups first..last-1 are played
  std::size_t last = static_cast<std::size_t>(-1);
};

// Seconds summed over all threads.
struct RunTimes {
  double policy = 0, stepping = 0, keys = 0, recording = 0;
};

struct RunHooks {
  // Called after every finished episode with the number finished so far; from one thread at a time.
  std::function<void(std::size_t)> progress;
  // Asked before every step; true ends the run early: running episodes are dropped, finished ones kept.
  std::function<bool()> stop;
};

// Plays every (group, member) that is not in `done`. Fails when a task is unknown, when the members of a
// group do not start in the same state, or when the recorder fails.
Result<RunTimes> run_groups(const RunPlan& plan, const Policy& policy, Recorder& recorder,
                            const RunHooks& hooks,
                            const std::set<std::pair<std::size_t, std::size_t>>& done = {});

// Reset groups: `suffixes` members from each fork of a recorded episode (branching.h).
struct BranchPlan {
  const Recording& recording;  // holds the parents
  std::vector<Branch> branches;
  std::size_t suffixes = 8;
};

// Plays every (branch group, member) that is not in `done`; the plan is that of the parents. Fails as
// run_groups, and where a parent's actions no longer lead to its recorded state.
Result<RunTimes> run_branches(const RunPlan& plan, const BranchPlan& branches, const Policy& policy,
                              Recorder& recorder, const RunHooks& hooks,
                              const std::set<std::pair<std::size_t, std::size_t>>& done = {});

// The chance of one member of a task's group: the key of its streams, and (low 63 bits) its task seed.
Hash128 member_key(std::uint64_t run_seed, const std::string& task, std::size_t occurrence,
                   std::size_t member);

// What an observer of the environment sees now.
Situation situation_of(const Environment& environment);
// The same for a caller that has the text already and knows whether the environment tells true distances.
Situation situation_of(const Environment& environment, std::string observation, bool tells_distance);

// `count` tasks of a split, drawn without replacement by the run seed, in a fixed order (a task comes twice
// only when the split has fewer).
Result<std::vector<std::string>> draw_tasks(const EnvFactory& factory, const std::string& split,
                                            std::size_t count, std::uint64_t seed);

}  // namespace lodestep::harness
