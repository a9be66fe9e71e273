#include "graph/assembly.h"

#include <algorithm>

#include "graph/pair_numbers.h"

namespace lodestep::graph {

Assembly assemble(const Batch& batch, Id goal) {
  PairNumbers episodes(batch.rows());
  std::vector<std::vector<std::size_t>> rows_of_episode;
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    const auto episode = static_cast<std::size_t>(episodes.of(batch.task[row], batch.episode[row]));
    if (episode == rows_of_episode.size()) rows_of_episode.emplace_back();
    if (batch.active.empty() || batch.active[row] != 0) rows_of_episode[episode].push_back(row);
  }
  Assembly out;
  for (std::vector<std::size_t>& rows : rows_of_episode) {
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::size_t a, std::size_t b) { return batch.t[a] < batch.t[b]; });
    double total = 0;
    for (std::size_t row : rows) total += batch.step(row).reward;
    for (std::size_t row : rows) {
      out.rows.push_back(row);
      out.episode_reward.push_back(total);
      out.next_state.push_back(row == rows.back() && total > 0 ? goal : batch.next_state[row]);
    }
  }
  return out;
}

std::vector<std::size_t> keep_unequal_groups(std::span<const double> episode_rewards, std::size_t group_size,
                                             LastTry last_try) {
  std::vector<std::size_t> kept;
  for (std::size_t begin = 0; begin < episode_rewards.size(); begin += group_size) {
    const std::size_t end = std::min(episode_rewards.size(), begin + group_size);
    const float first = static_cast<float>(episode_rewards[begin]);
    bool equal = true;
    for (std::size_t i = begin + 1; i < end; ++i) {
      equal = equal && static_cast<float>(episode_rewards[i]) == first;
    }
    if (equal && last_try == LastTry::kNo) continue;
    for (std::size_t i = begin; i < end; ++i) kept.push_back(i);
  }
  return kept;
}

}  // namespace lodestep::graph
