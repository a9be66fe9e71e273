#include "graph/working.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "graph/pair_numbers.h"

namespace lodestep::graph {
namespace {

std::size_t count_ids(std::span<const Id> ids) {
  Id largest = kNone;
  for (Id id : ids) largest = std::max(largest, id);
  return static_cast<std::size_t>(largest + 1);
}

// Episodes are numbered per (task, episode): two tasks may both call an attempt 0.
void number_episodes(Work& work) {
  PairNumbers numbers(work.rows());
  work.episode.assign(work.rows(), kNone);
  for (std::size_t row = 0; row < work.rows(); ++row) {
    if (work.task[row] == kNone) continue;
    work.episode[row] = numbers.of(work.batch.task[row], work.batch.episode[row]);
    if (static_cast<std::size_t>(work.episode[row]) == work.task_of_episode.size()) {
      work.task_of_episode.push_back(work.batch.task[row]);
    }
  }
}

void sort_by_time(Work& work) {
  const auto earlier = [&](Row a, Row b) { return work.batch.t[a] < work.batch.t[b]; };
  for (std::size_t e = 0; e < work.rows_of_episode.size(); ++e) {
    const std::span<Row> rows = work.rows_of_episode.edit(e);
    if (!std::is_sorted(rows.begin(), rows.end(), earlier)) std::sort(rows.begin(), rows.end(), earlier);
  }
}

// An episode whose score is not known stays out: taking it for 0 would punish it and move its siblings' mean.
void leave_out_unscored(Work& work, Needs needs, Summary& summary) {
  const Batch& batch = work.batch;
  const auto unknown = [](const std::vector<std::uint8_t>& known, std::size_t row) {
    return !known.empty() && known[row] == 0;
  };
  std::vector<std::uint8_t> unscored(work.episodes(), 0);
  for (std::size_t row = 0; row < work.rows(); ++row) {
    if (work.episode[row] == kNone) continue;
    if (unknown(batch.episode_reward_known, row) ||
        (needs == Needs::kStepReward && unknown(batch.reward_known, row))) {
      unscored[static_cast<std::size_t>(work.episode[row])] = 1;
    }
  }
  summary.unscored_episodes = static_cast<std::size_t>(std::count(unscored.begin(), unscored.end(), 1));
  if (summary.unscored_episodes == 0) return;
  std::vector<Id> renumbered(work.episodes(), kNone);
  std::vector<Id> task_of_episode;
  for (std::size_t e = 0; e < unscored.size(); ++e) {
    if (unscored[e]) continue;
    renumbered[e] = static_cast<Id>(task_of_episode.size());
    task_of_episode.push_back(work.task_of_episode[e]);
  }
  work.task_of_episode = std::move(task_of_episode);
  for (std::size_t row = 0; row < work.rows(); ++row) {
    if (work.episode[row] == kNone) continue;
    work.episode[row] = renumbered[static_cast<std::size_t>(work.episode[row])];
    if (work.episode[row] == kNone) work.task[row] = kNone;
  }
}

void summarise(const Work& work, Summary& summary) {
  summary.tasks = 0;
  summary.episodes = work.episodes();
  summary.rows = work.rows();
  for (std::size_t task = 0; task < work.tasks; ++task) {
    const std::span<const Row> episodes = work.episodes_of_task[task];
    if (episodes.empty()) continue;
    ++summary.tasks;
    const auto score = [&](Row e) { return work.episode_reward(work.rows_of_episode[e].front()); };
    const bool equal = std::all_of(episodes.begin(), episodes.end(),
                                   [&](Row e) { return score(e) == score(episodes.front()); });
    summary.no_signal_tasks += equal ? 1 : 0;
    summary.one_member_tasks += episodes.size() == 1 ? 1 : 0;
    for (Row e : episodes)
      summary.truncated_episodes += work.truncated(work.rows_of_episode[e].back()) ? 1 : 0;
  }
  if (summary.tasks > 0 && summary.one_member_tasks == summary.tasks) {
    summary.warnings.push_back(
        "every task has a single episode: there is nothing to compare it with; give all attempts at one task "
        "the same task id");
  }
  if (summary.one_member_tasks < summary.tasks && summary.no_signal_tasks == summary.tasks) {
    summary.warnings.push_back("the episodes of every task score the same: outcomes tell nothing apart");
  }
  if (summary.episodes > 0 && 10 * summary.truncated_episodes >= 9 * summary.episodes) {
    summary.warnings.push_back(std::to_string(summary.truncated_episodes) + " of " +
                               std::to_string(summary.episodes) +
                               " episodes were cut by a limit: is it long enough?");
  }
  if (summary.unscored_episodes > 0) {
    summary.warnings.push_back(std::to_string(summary.unscored_episodes) +
                               " episode(s) without an available reward are left out of all statistics, "
                               "advantage 0");
  }
}

}  // namespace

Lists::Lists(std::span<const Id> key, std::size_t lists) : begin_(lists + 1) {
  for (Id k : key) {
    if (k != kNone) ++begin_[static_cast<std::size_t>(k) + 1];
  }
  for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  rows_.resize(begin_.back());
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t row = 0; row < key.size(); ++row) {
    if (key[row] != kNone) rows_[next[static_cast<std::size_t>(key[row])]++] = static_cast<Row>(row);
  }
}

Work make_work(const Batch& batch, const Options& options, const Matcher& matcher, int threads, Needs needs,
               Summary& summary) {
  Work work(batch, options, matcher, threads);
  work.tasks = count_ids(batch.task);
  work.states = std::max(
      {count_ids(batch.state), count_ids(batch.next_state), static_cast<std::size_t>(batch.goal_state + 1)});
  work.task = batch.task;
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    const bool inactive = !batch.active.empty() && batch.active[row] == 0;
    const bool failed = !batch.infrastructure_failure.empty() && batch.infrastructure_failure[row] != 0;
    if (!inactive && !failed) continue;
    work.task[row] = kNone;
    ++summary.left_out_rows;
  }
  std::vector<Id> task_of_past;
  for (const PastEdge& edge : batch.past) {
    work.states = std::max(work.states, static_cast<std::size_t>(std::max(edge.state, edge.next_state) + 1));
    task_of_past.push_back(static_cast<std::size_t>(edge.task) < work.tasks ? edge.task : kNone);
  }
  work.past_of_task = Lists(task_of_past, work.tasks);
  number_episodes(work);
  leave_out_unscored(work, needs, summary);
  work.rows_of_task = Lists(work.task, work.tasks);
  work.rows_of_episode = Lists(work.episode, work.episodes());
  work.episodes_of_task = Lists(work.task_of_episode, work.tasks);
  sort_by_time(work);
  summarise(work, summary);
  return work;
}

void for_each_block(std::size_t count, int threads, std::size_t block,
                    const std::function<void(std::size_t, std::size_t, std::size_t)>& work) {
  const std::size_t blocks = (count + block - 1) / block;
  const std::size_t workers = std::min(static_cast<std::size_t>(std::max(threads, 1)), blocks);
  const auto run = [&](std::size_t i, std::size_t worker) {
    work(i * block, std::min(count, (i + 1) * block), worker);
  };
  if (workers <= 1) {
    for (std::size_t i = 0; i < blocks; ++i) run(i, 0);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto loop = [&](std::size_t worker) {
    try {
      for (std::size_t i = next++; i < blocks; i = next++) run(i, worker);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t worker = 1; worker < workers; ++worker) pool.emplace_back(loop, worker);
  loop(0);
  for (std::thread& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace lodestep::graph
