// EVI, the empirical value of the group's graph under the policy that made it: where GraphGPO takes the best
// that was observed from a state, EVI takes the mean. Ours; docs/credit.md has the evidence.
//   V(s) = mean over the visits of s of discount * V(s'),  V(success) = 1,  unvisited = 0
#include <algorithm>
#include <cmath>

#include "graph/estimator_list.h"
#include "graph/graphs.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

// Value iteration over the visits of one task, until no value moves by more than 1e-13.
std::vector<double> node_values(const Work& work, const GroupGraph& graph, std::size_t task,
                                double discount) {
  const TransitionGraph& g = graph.tasks[task];
  std::vector<double> value(g.nodes(), 0), sum(g.nodes()), visits(g.nodes(), 0);
  const std::span<const Row> rows = work.rows_of_task[task];
  for (Row row : rows) visits[static_cast<std::size_t>(graph.node[row])] += 1;
  const auto goal = static_cast<std::size_t>(g.goal);
  if (g.nodes() > 0) value[goal] = 1;
  constexpr int kMostSweeps = 100'000;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    std::fill(sum.begin(), sum.end(), 0);
    for (Row row : rows) {
      const Id next = graph.next_node[row];
      if (next != kNone)
        sum[static_cast<std::size_t>(graph.node[row])] += value[static_cast<std::size_t>(next)];
    }
    double largest_move = 0;
    for (std::size_t v = 0; v < g.nodes(); ++v) {
      if (v == goal || visits[v] == 0) continue;
      const double better = discount * sum[v] / visits[v];
      largest_move = std::max(largest_move, std::abs(better - value[v]));
      value[v] = better;
    }
    if (largest_move <= 1e-13) break;
  }
  return value;
}

Status run(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  const Normaliser normaliser = read_normaliser(read);
  const EpisodeTerm term = read_episode_term(read, normaliser);
  const Penalty penalty = read_penalty(read);
  const SuccessRule success = read_success(read);
  const double discount = read.number(read.either("discount", "gamma"), 0, 1);
  const double success_reward = read.number("r_succ");
  const double step_weight = read.number("step_w");
  const double episode_weight = read.number("episode_w");
  const Grouping grouping = read_grouping(read);
  const bool follow_graph = groups_follow_graph(read);
  if (!read.status()) return read.status();

  Result<GroupGraph> graph = build_graphs(work, success, Costs::kUnit);
  if (!graph) return graph.error();
  credit.step_return = empty_column(work);
  for_each_block(work.tasks, work.threads, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t task = begin; task < end; ++task) {
      const std::vector<double> value = node_values(work, *graph, task, discount);
      for (Row row : work.rows_of_task[task]) {
        const Id next = graph->next_node[row];
        credit.step_return[row] = next == kNone ? 0 : success_reward * value[static_cast<std::size_t>(next)];
      }
    }
  });
  const std::vector<double> compared = penalised(work, penalty, credit.step_return);
  credit.group = step_groups(work, compared_states(work, follow_graph, graph->node), grouping);
  credit.step_advantage =
      group_advantages(work, credit.group, compared, normaliser.with_least(grouping.least));
  if (episode_weight != 0) credit.episode_advantage = episode_advantages(work, term, scores(work, penalty));
  combine(work, step_weight, episode_weight, credit);
  take_graph(*graph, credit);
  return {};
}

}  // namespace

Estimator evi() {
  Estimator estimator;
  estimator.info.name = "evi";
  estimator.info.summary = "mean value of where a step led, under the policy that made the group";
  estimator.info.has_graph = true;
  estimator.info.merges_states = true;
  estimator.info.options = join_options(
      {{{"discount", "0.9", "per step", {}},
        {"gamma", "", "the same as discount", {}},
        {"r_succ", "1", "what reaching success is worth", {}},
        {"step_w", "1", "weight of the step advantage", {}},
        {"episode_w", "0", "weight of an episode advantage as in graphgpo; 0 leaves it out", {}}},
       group_matching_options("same-as-graph"),
       graph_options(),
       normaliser_options("mean_norm"),
       grouping_options(),
       episode_options(),
       penalty_options("0")});
  estimator.presets = {{"released", {{"success", "positive"}}}};
  estimator.run = run;
  return estimator;
}

}  // namespace lodestep::graph
