// What estimators share, made once per request: who takes part, and rows by task and by episode.
//   for (std::uint32_t row : work.rows_of_episode[e]) ...   // in time order
// Threads: const while estimators run; for_each spreads blocks of independent work. Private to this room.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/options.h"
#include "graph/batch.h"
#include "graph/estimator.h"

namespace lodestep::graph {

using Row = std::uint32_t;

// Lists of rows, one after another in one array.
class Lists {
 public:
  Lists() = default;
  // List k holds the rows whose key is k, in row order; rows with key kNone are in none.
  Lists(std::span<const Id> key, std::size_t lists);
  std::size_t size() const { return begin_.size() - 1; }
  std::span<const Row> operator[](std::size_t list) const {
    return {rows_.data() + begin_[list], begin_[list + 1] - begin_[list]};
  }
  std::span<Row> edit(std::size_t list) {
    return {rows_.data() + begin_[list], begin_[list + 1] - begin_[list]};
  }

 private:
  std::vector<std::uint32_t> begin_{0};
  std::vector<Row> rows_;
};

enum class Needs { kEpisodeReward, kStepReward };  // which rewards must be known for an episode to count

struct Work {
  Work(const Batch& b, const Options& o, const Matcher& m, int t)
      : batch(b), options(o), matcher(m), threads(t) {}
  const Batch& batch;
  const Options& options;
  const Matcher& matcher;
  int threads = 1;

  std::size_t tasks = 0, states = 0;
  std::vector<Id> task;     // per row; kNone: takes no part (inactive, infrastructure failure, unscored)
  std::vector<Id> episode;  // per row, numbered over the batch by first appearance; kNone as above
  std::vector<Id> task_of_episode;
  Lists rows_of_task;      // batch order
  Lists rows_of_episode;   // time order
  Lists past_of_task;      // places in Batch::past, not rows
  Lists episodes_of_task;  // episodes, not rows

  std::size_t rows() const { return batch.rows(); }
  std::size_t episodes() const { return task_of_episode.size(); }
  double reward(std::size_t row) const { return batch.reward.empty() ? 0 : batch.reward[row]; }
  double episode_reward(std::size_t row) const {
    return batch.episode_reward.empty() ? 0 : batch.episode_reward[row];
  }
  double cost(std::size_t row) const { return batch.cost.empty() ? 1 : batch.cost[row]; }
  bool valid(std::size_t row) const { return batch.valid.empty() || batch.valid[row] != 0; }
  bool done(std::size_t row) const { return !batch.done.empty() && batch.done[row] != 0; }
  bool success(std::size_t row) const { return !batch.success.empty() && batch.success[row] != 0; }
  bool truncated(std::size_t row) const { return !batch.truncated.empty() && batch.truncated[row] != 0; }
  bool has_tokens(std::size_t row) const { return batch.tokens.empty() || batch.tokens[row] > 0; }
};

// Fills everything but the summary's estimator-specific parts.
Work make_work(const Batch& batch, const Options& options, const Matcher& matcher, int threads, Needs needs,
               Summary& summary);

// work(begin, end, worker) over blocks that cover 0..count-1; worker < max(1, threads). Blocks are fixed by
// count alone, so a result per index cannot depend on the number of threads.
void for_each_block(std::size_t count, int threads, std::size_t block,
                    const std::function<void(std::size_t begin, std::size_t end, std::size_t worker)>& work);

// An estimator: its description and its function. One file defines one; estimators.cc lists them.
struct Estimator {
  EstimatorInfo info;
  Needs needs = Needs::kEpisodeReward;
  std::vector<std::pair<std::string, Settings>> presets;  // name and what it sets
  std::function<Status(const Work& work, Credit& credit)> run;
};

}  // namespace lodestep::graph
