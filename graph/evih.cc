// EVIH: EVI by turns left, so that a value is the share of visits from which success came in time. Ours.
//   V_0 = 0,  V_k(s) = mean over the visits of s of V_{k-1}(s'),  V(success) = 1
//   A = mean over the visits of s with the same action of V_{k-1}(s'), less V_k(s);  k = turns left at the
//   step
#include <algorithm>
#include <numeric>

#include "graph/estimator_list.h"
#include "graph/graphs.h"
#include "graph/pair_numbers.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

// One task: values by turns left, and each row's advantage when its own number of turns comes up. Rows go by
// their place in the task.
class TaskValues {
 public:
  TaskValues(const Work& work, const GroupGraph& graph, std::size_t task)
      : rows_(work.rows_of_task[task]),
        goal_(static_cast<std::size_t>(graph.tasks[task].goal)),
        value_(graph.tasks[task].nodes(), 0),
        sum_(value_.size()),
        visits_(value_.size(), 0) {
    PairNumbers arms(rows_.size());
    for (Row row : rows_) {
      node_.push_back(static_cast<std::size_t>(graph.node[row]));
      next_.push_back(graph.next_node[row]);
      visits_[node_.back()] += 1;
      // Without recorded actions, where a step led stands for what was done.
      const Id done = work.batch.action.empty() ? next_.back() : work.batch.action[row];
      arm_.push_back(static_cast<std::size_t>(arms.of(graph.node[row], done)));
    }
    arm_sum_.resize(arms.size());
    arm_count_.resize(arms.size());
    for (std::size_t arm : arm_) arm_count_[arm] += 1;
    value_[goal_] = 1;
  }

  void run(const std::vector<std::int32_t>& turns, std::vector<double>& returns,
           std::vector<double>& advantage) {
    std::vector<std::size_t> order(rows_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto turns_of = [&](std::size_t i) { return turns[rows_[i]]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return turns_of(a) < turns_of(b); });
    bool moving = true;  // once no value moves, more turns change nothing
    std::int32_t k = 0;
    for (std::size_t begin = 0; begin < order.size();) {
      std::size_t end = begin;
      while (end < order.size() && turns_of(order[end]) == turns_of(order[begin])) ++end;
      for (; moving && k + 1 < turns_of(order[begin]); ++k) moving = step();
      sum_arms();  // over V_{k-1}
      if (moving) {
        moving = step();  // to V_k
        ++k;
      }
      for (std::size_t i : std::span(order).subspan(begin, end - begin)) {
        const double with = arm_sum_[arm_[i]] / arm_count_[arm_[i]];
        returns[rows_[i]] = with;
        // A single arm has no alternative: both means are one, but for the order of their sums.
        const bool single = arm_count_[arm_[i]] == visits_[node_[i]];
        advantage[rows_[i]] = single ? 0 : with - value_[node_[i]];
      }
      begin = end;
    }
  }

 private:
  double after(std::size_t i) const {
    return next_[i] == kNone ? 0 : value_[static_cast<std::size_t>(next_[i])];
  }

  bool step() {
    std::fill(sum_.begin(), sum_.end(), 0);
    for (std::size_t i = 0; i < rows_.size(); ++i) sum_[node_[i]] += after(i);
    bool moved = false;
    for (std::size_t v = 0; v < value_.size(); ++v) {
      if (v == goal_ || visits_[v] == 0) continue;
      const double better = sum_[v] / visits_[v];
      moved = moved || better != value_[v];
      value_[v] = better;
    }
    return moved;
  }

  void sum_arms() {
    std::fill(arm_sum_.begin(), arm_sum_.end(), 0);
    for (std::size_t i = 0; i < rows_.size(); ++i) arm_sum_[arm_[i]] += after(i);
  }

  std::span<const Row> rows_;
  std::size_t goal_;
  std::vector<std::size_t> node_, arm_;  // per row; an arm is a pair of node and action
  std::vector<Id> next_;
  std::vector<double> value_, sum_, visits_;  // per node
  std::vector<double> arm_sum_, arm_count_;
};

Status run(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  const Penalty penalty = read_penalty(read);
  const SuccessRule success = read_success(read);
  const std::int64_t max_steps = read.integer("max_steps", 0, 1'000'000);
  const bool by_rms = read.is("scale", "rms");
  if (!read.status()) return read.status();

  const Result<std::vector<std::int32_t>> turns = turns_left(work, max_steps);
  if (!turns) return turns.error();
  Result<GroupGraph> graph = build_graphs(work, success, Costs::kUnit);
  if (!graph) return graph.error();
  credit.group = number_groups(work, graph->node);
  credit.step_return = empty_column(work);
  credit.step_advantage = empty_column(work);
  for_each_block(work.tasks, work.threads, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t task = begin; task < end; ++task) {
      if (work.rows_of_task[task].empty()) continue;
      TaskValues(work, *graph, task).run(*turns, credit.step_return, credit.step_advantage);
    }
  });
  if (by_rms) divide_by_rms(credit.step_advantage);
  if (penalty.on_step) penalise(work, penalty.coef, credit.step_advantage);
  combine(work, 1, 0, credit);
  take_graph(*graph, credit);
  return {};
}

}  // namespace

Estimator evih() {
  Estimator estimator;
  estimator.info.name = "evih";
  estimator.info.summary =
      "evi by turns left: the observed chance of success in time, with and without the step";
  estimator.info.has_graph = true;
  estimator.info.merges_states = true;
  estimator.info.options =
      join_options({graph_options(), turns_options(), scale_options(), penalty_options("0")});
  estimator.presets = {{"released", {{"success", "positive"}}}};
  estimator.run = run;
  return estimator;
}

}  // namespace lodestep::graph
