// EVIHB: EVIH with back-off over key levels, so that states seen once, rare states and groups without success
// get credit from coarser ones. Ours; docs/credit.md has the evidence.
//   V[0] = 0;  x(row) = r(row) + (0 if the step ended the episode for good, else V[k-1] of where it led)
//   V[k][l][c] = (sum of x over the rows in cell c + m_l V[k][l-1][parent of c]) / (rows in c + m_l)
//   A(row) = x_k(row) - V[k][finest][its cell];  k = turns left at the step
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/estimator_list.h"
#include "graph/graphs.h"
#include "graph/key_levels.h"
#include "graph/pair_numbers.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

class BackOff {
 public:
  BackOff(const Work& work, const std::vector<KeyLevel>& levels, double discount)
      : work_(work),
        levels_(levels),
        discount_(discount),
        cells_(make_cells(work, levels)),
        x_(work.rows(), 0) {
    for (const auto& rows : cells_.rows) {
      value_.emplace_back(rows.size(), 0.0);
      sum_.emplace_back(rows.size(), 0.0);
    }
    for (std::size_t row = 0; row < work.rows(); ++row) {
      if (work.task[row] != kNone) taking_part_.push_back(static_cast<Row>(row));
    }
    mark_ends();
  }

  const std::vector<Id>& cell() const { return cells_.of_state; }
  double x(Row row) const { return x_[row]; }
  double value(Row row) const { return value_.back()[static_cast<std::size_t>(cells_.of_state[row])]; }

  // From V[k-1] to x_k and V[k]; the largest move of a value.
  double step() {
    for (auto& sum : sum_) std::fill(sum.begin(), sum.end(), 0);
    for (Row row : taking_part_) {
      const std::int32_t level = cells_.next_level[row];
      const bool stops = ended_[row] || level < 0;
      x_[row] =
          work_.reward(row) + (stops ? 0
                                     : discount_ * value_[static_cast<std::size_t>(level)]
                                                         [static_cast<std::size_t>(cells_.next_cell[row])]);
      sum_.back()[static_cast<std::size_t>(cells_.of_state[row])] += x_[row];
    }
    for (std::size_t l = levels_.size(); l-- > 1;) {
      for (std::size_t c = 0; c < sum_[l].size(); ++c) {
        sum_[l - 1][static_cast<std::size_t>(cells_.parent[l][c])] += sum_[l][c];
      }
    }
    double largest_move = 0;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      for (std::size_t c = 0; c < sum_[l].size(); ++c) {
        const double coarser = l == 0 ? 0 : value_[l - 1][static_cast<std::size_t>(cells_.parent[l][c])];
        const double rows = cells_.rows[l][c], weight = l == 0 ? 0 : levels_[l].weight;
        const double better = rows == 0 ? coarser : (sum_[l][c] + weight * coarser) / (rows + weight);
        largest_move = std::max(largest_move, std::abs(better - value_[l][c]));
        value_[l][c] = better;
      }
    }
    return largest_move;
  }

 private:
  // A step ends its episode for good when it says so or succeeded; one cut by a limit or a failure does not.
  void mark_ends() {
    ended_.assign(work_.rows(), 0);
    for (Row row : taking_part_) {
      const bool into_goal =
          work_.batch.goal_state != kNone && work_.batch.next_state[row] == work_.batch.goal_state;
      ended_[row] = work_.done(row) || into_goal;
    }
    const std::vector<std::uint8_t> successful = successful_episodes(work_, SuccessRule::kFlag);
    for (std::size_t e = 0; e < work_.episodes(); ++e) {
      if (successful[e]) ended_[work_.rows_of_episode[e].back()] = 1;
    }
  }

  const Work& work_;
  const std::vector<KeyLevel>& levels_;
  double discount_;
  Cells cells_;
  std::vector<Row> taking_part_;
  std::vector<std::uint8_t> ended_;
  std::vector<double> x_;
  std::vector<std::vector<double>> value_, sum_;  // per level and cell
};

// x over the visits of the same cell and action, in place of the row's own.
class ArmMeans {
 public:
  ArmMeans(const Work& work, const BackOff& values) : arm_(work.rows(), kNone) {
    PairNumbers arms(work.rows());
    for (std::size_t row = 0; row < work.rows(); ++row) {
      if (work.task[row] == kNone) continue;
      const Id done = work.batch.action.empty() ? work.batch.next_state[row] : work.batch.action[row];
      arm_[row] = arms.of(values.cell()[row], done);
    }
    sum_.resize(arms.size());
    count_.resize(arms.size());
    for (Id arm : arm_) {
      if (arm != kNone) count_[static_cast<std::size_t>(arm)] += 1;
    }
  }
  void update(const BackOff& values) {
    std::fill(sum_.begin(), sum_.end(), 0);
    for (std::size_t row = 0; row < arm_.size(); ++row) {
      if (arm_[row] != kNone) sum_[static_cast<std::size_t>(arm_[row])] += values.x(static_cast<Row>(row));
    }
  }
  double mean(Row row) const {
    const auto arm = static_cast<std::size_t>(arm_[row]);
    return sum_[arm] / count_[arm];
  }

 private:
  std::vector<Id> arm_;
  std::vector<double> sum_, count_;
};

struct EvihbOptions {
  double discount = 1;
  bool average = false, limited = true, by_rms = false;
  std::int64_t max_steps = 0;
};

// The rows in order of their turns left; one span for each number of turns.
std::vector<Row> rows_by_turns(const Work& work, const std::vector<std::int32_t>& turns) {
  std::vector<Row> order;
  for (std::size_t row = 0; row < work.rows(); ++row) {
    if (work.task[row] != kNone) order.push_back(static_cast<Row>(row));
  }
  std::stable_sort(order.begin(), order.end(), [&](Row a, Row b) { return turns[a] < turns[b]; });
  return order;
}

void score(const BackOff& values, ArmMeans* means, std::span<const Row> rows, Credit& credit) {
  if (means != nullptr && !rows.empty()) means->update(values);
  for (Row row : rows) {
    credit.step_return[row] = means != nullptr ? means->mean(row) : values.x(row);
    credit.step_advantage[row] = credit.step_return[row] - values.value(row);
  }
}

void score_by_turns(const std::vector<std::int32_t>& turns, const std::vector<Row>& order, BackOff& values,
                    ArmMeans* means, Credit& credit) {
  double moved = 1;
  std::int32_t k = 0;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && turns[order[end]] == turns[order[begin]]) ++end;
    // Once no value moves, more turns change nothing.
    for (; moved > 0 && k < turns[order[begin]]; ++k) moved = values.step();
    score(values, means, std::span(order).subspan(begin, end - begin), credit);
    begin = end;
  }
}

Status run(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  const Penalty penalty = read_penalty(read);
  EvihbOptions o;
  o.discount = read.number("discount", 0, 1);
  o.average = read.flag("average");
  o.limited = read.is("turns", "limited");
  o.by_rms = read.is("scale", "rms");
  o.max_steps = read.integer("max_steps", 0, 1'000'000);
  if (!read.status()) return read.status();
  const Result<std::vector<KeyLevel>> levels =
      read_levels(read.text("levels"), std::max<std::size_t>(work.batch.keys.size(), 1));
  if (!levels) return levels.error();
  const Result<std::vector<std::int32_t>> turns = turns_left(work, o.max_steps);
  if (!turns) return turns.error();

  BackOff values(work, *levels, o.discount);
  std::optional<ArmMeans> means;
  if (o.average) means.emplace(work, values);
  ArmMeans* const arm_means = means ? &*means : nullptr;
  credit.step_return = empty_column(work);
  credit.step_advantage = empty_column(work);
  const std::vector<Row> order = rows_by_turns(work, *turns);
  if (o.limited) {
    score_by_turns(*turns, order, values, arm_means, credit);
  } else {
    constexpr int kMostSweeps = 100'000;
    for (int sweep = 0; sweep < kMostSweeps && values.step() > 1e-13;) ++sweep;
    score(values, arm_means, order, credit);
  }
  credit.group = number_groups(work, values.cell());
  if (o.by_rms) divide_by_rms(credit.step_advantage);
  if (penalty.on_step) penalise(work, penalty.coef, credit.step_advantage);
  combine(work, 1, 0, credit);
  return {};
}

}  // namespace

Estimator evihb() {
  Estimator estimator;
  estimator.info.name = "evihb";
  estimator.info.summary = "evih from rewards, with back-off from states to coarser keys";
  estimator.info.options = join_options(
      {{{"levels", "auto", "cells coarse to fine, SCOPE[.KEY]:WEIGHT with scope batch or task", {}},
        {"average", "false", "true: mean over the visits of the same state and action", {}},
        {"turns", "limited", "values by turns left, or without a limit", {"limited", "unlimited"}},
        {"discount", "1", "per step", {}}},
       turns_options(),
       scale_options(),
       penalty_options("0")});
  estimator.needs = Needs::kStepReward;
  estimator.run = run;
  return estimator;
}

}  // namespace lodestep::graph
