// From a rollout to a batch: which rows count, what an episode scored, which groups are worth training on.
//   Assembly assembly = assemble(batch);              // rows in the order a trainer wants
//   std::vector<std::size_t> kept = keep_unequal_groups(rewards, 8, LastTry::kNo);
// Threads: pure functions. Source: the released rollout loop (docs/credit.md).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "graph/batch.h"

namespace lodestep::graph {

struct Assembly {
  std::vector<std::size_t> rows;       // of the batch: active ones, episode by episode, each in time order
  std::vector<double> episode_reward;  // per row above: sum over the active rows of its episode
  std::vector<Id> next_state;  // per row above: the goal after the last row of an episode that scored > 0
};

// Episodes come in order of first appearance. `goal` is the state id that names success.
Assembly assemble(const Batch& batch, Id goal);

enum class LastTry { kNo, kYes };

// Dynamic sampling: of consecutive groups of `group_size` episodes those whose scores are not all equal as
// 32-bit numbers, as indices of episodes. The last try keeps everything. A NaN equals nothing.
std::vector<std::size_t> keep_unequal_groups(std::span<const double> episode_rewards, std::size_t group_size,
                                             LastTry last_try);

}  // namespace lodestep::graph
