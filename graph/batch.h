// The batch view: what estimators read. Columns of ids and numbers, one entry per step, no text.
//   Batch batch;
//   batch.add({.task = 0, .episode = 3, .t = 0, .state = 5, .next_state = 6});  // or fill the columns
//   Result<Credit> credit = estimate({.estimator = "grpo"}, batch);  // graph/estimator.h
// Threads: plain data; share it const. The caller owns it; whoever reads texts (harness, Python)
// turns them into ids first. Ids are dense: 0, 1, 2, ... in order of first appearance, so that memory
// is proportional to the number of distinct things.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/result.h"

namespace lodestep::graph {

using Id = std::int32_t;
inline constexpr Id kNone = -1;

// One step as a value: the row form of the columns below, with their defaults.
struct Step {
  Id task = 0;            // the group: all attempts at one task
  Id episode = 0;         // the attempt, unique within its task (may be shared between tasks)
  std::int32_t t = 0;     // step number within the episode; only its order counts
  Id state = 0;           // equal id = equal state, over the whole batch
  Id next_state = kNone;  // kNone: not known (the recording ends here)
  Id action = kNone;
  double reward = 0;
  double episode_reward = 0;
  double cost = 1;
  double value = 0;                                              // V(state) of a critic
  double next_value = std::numeric_limits<double>::quiet_NaN();  // V(next state), the bootstrap of a
                                                                 // truncated end; NaN = not known
  double log_ratio = 0;               // log pi - log pi_ref, summed over the step's tokens
  double energy = 0;                  // sum over the step's tokens of 1 - 2 pi + sum pi^2
  double answer_logprob[2] = {0, 0};  // log-likelihood of the known answer before and after the step
  std::int32_t tokens = 1;            // generated tokens; 0 = nothing was generated, so no advantage
  std::int32_t admissible_count = 0;  // actions to choose from in the state; 0 = not known
  std::int32_t turns_left = 0;        // before the step; 0 = derive from the turn limit
  bool reward_known = true;           // false: not available, which is not 0
  bool episode_reward_known = true;
  bool valid = true;   // the action was understood and applicable
  bool active = true;  // false: played after the episode's end
  bool success = false;
  bool done = false;                    // ended for good (terminated)
  bool truncated = false;               // cut by a step or context limit
  bool infrastructure_failure = false;  // cut by an endpoint, a time limit, a crash: in no group
};

// A transition that an earlier batch of the task observed: distances use it, statistics do not.
struct PastEdge {
  Id task = 0, state = 0, next_state = 0;
  double cost = 1;
};

// What earlier batches of a task say of states like those from which this batch saw no success: how many of
// them did reach it, and from how far. For unreached=prior.
struct Prior {
  Id task = 0;
  double share = 0;     // of such states, 0 to 1
  double distance = 0;  // mean, of those that reached success
};

// Columns. `task`, `episode`, `t`, `state` and `next_state` are as long as the batch; any other may be
// empty, which stands for the default of its Step field in every row.
struct Batch {
  std::vector<Id> task, episode;
  std::vector<std::int32_t> t;
  std::vector<Id> state, next_state;
  std::vector<Id> action;
  std::vector<double> reward, episode_reward, cost, value, next_value, log_ratio, energy;
  std::vector<double> answer_logprob_before, answer_logprob_after;
  std::vector<std::int32_t> tokens, admissible_count, turns_left;
  std::vector<std::uint8_t> reward_known, episode_reward_known;
  std::vector<std::uint8_t> valid, active, success, done, truncated, infrastructure_failure;
  // Key levels coarse to fine, each a column: keys[level][row] of the state. Empty: one level, `state`.
  // next_keys may stay empty: the keys of the episode's next step, or of an equal state, are used.
  std::vector<std::vector<Id>> keys, next_keys;
  // Where `state` was merged by a matcher: the unmerged state, for estimators asked to compare equal states
  // only. Empty: the same as `state`.
  std::vector<Id> exact_state;
  std::vector<PastEdge> past;  // any number, in any order
  std::vector<Prior> priors;   // at most one a task
  // The id of the text or state that names success ("success" in the released code); kNone: the batch
  // holds none, and the goal is a node of its own.
  Id goal_state = kNone;

  std::size_t rows() const { return task.size(); }
  // Appends one step to all columns (filling those that were empty). Keys are set apart.
  void add(const Step& step);
  // The step of a row, defaults filled in.
  Step step(std::size_t row) const;
};

// Checks what estimators rely on: equal lengths, ids not negative, finite numbers below 1e100 in size, each
// (task, episode, t) once. The error names the row, counted from 0.
Status validate(const Batch& batch);

}  // namespace lodestep::graph
