// GraphGPO (arXiv 2605.26684): the group's transitions as one graph; a step is worth the success reward,
// discounted by the distance from where it led to success, compared among the steps from the same state.
#include <algorithm>
#include <cmath>

#include "graph/estimator_list.h"
#include "graph/graphs.h"
#include "graph/node_values.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

struct GraphGpo {
  bool paper = false;  // one factor omega more than the released code
  double omega = 0, success_reward = 0;
  bool normalise_distance = false;  // relative to the distance before the step
  bool follow_graph = false, unique_edges = false;
  double step_weight = 1, episode_weight = 1;
};

GraphGpo read_graphgpo(OptionReader& read) {
  GraphGpo g;
  g.paper = read.is("formula", "paper");
  g.omega = read.number(read.either("gamma", "omega"), 0);
  g.success_reward = read.number("r_succ");
  g.normalise_distance = read.flag("normalize_distance");
  g.follow_graph = groups_follow_graph(read);
  g.unique_edges = read.is("group_members", "unique-edges") || read.is("group_members", "unique_edges");
  g.step_weight = read.number(read.either("step_w", "beta_g"));
  g.episode_weight = read.number(read.either("episode_w", "beta_e"));
  return g;
}

// r_succ * omega^exponent, where 0^0 is 1: with omega 0 only steps into success count. Under
// transitions=policy omega^distance gives way to the discounted chance of success.
class PathReturns {
 public:
  PathReturns(const Work& work, const GroupGraph& graph, const GraphGpo& g, const NodeOptions& nodes)
      : work_(work), graph_(graph), g_(g), nodes_(nodes) {
    if (nodes.transitions == Transitions::kPolicy) value_ = policy_values(work, nodes, graph);
  }

  std::vector<double> column() const {
    std::vector<double> returns = empty_column(work_);
    for_each_block(work_.tasks, work_.threads, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
      std::vector<double> at_unit_cost;  // per next node: a power is dear, and most steps cost 1
      for (std::size_t task = begin; task < end; ++task) {
        at_unit_cost.assign(graph_.tasks[task].nodes() + 1, kNoNumber);
        for (Row row : work_.rows_of_task[task]) {
          const double cost = nodes_.costs == Costs::kSupplied ? work_.cost(row) : 1;
          double* known = cost == 1 && !g_.normalise_distance
                              ? &at_unit_cost[static_cast<std::size_t>(graph_.next_node[row] + 1)]
                              : nullptr;
          if (known != nullptr && !std::isnan(*known)) {
            returns[row] = *known;
            continue;
          }
          returns[row] = g_.success_reward * (value_.empty() ? by_distance(row, cost) : by_value(row, cost));
          if (known != nullptr) *known = returns[row];
        }
      }
    });
    return returns;
  }

 private:
  double by_distance(std::size_t row, double cost) const {
    const TransitionGraph& task = graph_.tasks[static_cast<std::size_t>(work_.task[row])];
    // Where the recording ends without a known next state, no success was observed.
    const Id next = graph_.next_node[row];
    const double after =
        next == kNone ? task.farthest + nodes_.far : task.distance[static_cast<std::size_t>(next)];
    double exponent = after + cost;
    if (!g_.paper) {
      const double before = task.distance[static_cast<std::size_t>(graph_.node[row])];
      exponent = g_.normalise_distance ? after - before + cost : after + cost - 1;
    }
    return std::pow(g_.omega, exponent);
  }

  double by_value(std::size_t row, double cost) const {
    const std::vector<double>& value = value_[static_cast<std::size_t>(work_.task[row])];
    const Id next = graph_.next_node[row];
    const double after = next == kNone ? 0 : value[static_cast<std::size_t>(next)];
    if (after == 0) return 0;
    if (g_.paper) return after * std::pow(g_.omega, cost);
    if (!g_.normalise_distance) return after * std::pow(g_.omega, cost - 1);
    return after * std::pow(g_.omega, cost) / value[static_cast<std::size_t>(graph_.node[row])];
  }

  const Work& work_;
  const GroupGraph& graph_;
  const GraphGpo& g_;
  const NodeOptions& nodes_;
  std::vector<std::vector<double>> value_;
};

// Takes steps into open nodes out of the comparisons: what lies behind was not tried, so nothing is known.
void censor(const Work& work, const GroupGraph& graph, Credit& credit) {
  const std::vector<std::vector<std::uint8_t>> open = open_nodes(work, graph);
  credit.weight.assign(work.rows(), 1);
  for (std::size_t row = 0; row < work.rows(); ++row) {
    if (work.task[row] == kNone) continue;
    const Id next = graph.next_node[row];
    const bool unknown =
        next == kNone ? !work.done(row)
                      : open[static_cast<std::size_t>(work.task[row])][static_cast<std::size_t>(next)] != 0;
    if (!unknown) continue;
    credit.group[row] = kNone;
    credit.weight[row] = 0;
  }
}

// The first row of every (state, action, next state) among the rows of each group, for statistics over edges.
std::vector<double> advantages_over_edges(const Work& work, const std::vector<Id>& group,
                                          const GroupGraph& graph, std::span<const double> x,
                                          const Normaliser& normaliser) {
  std::vector<double> advantage = empty_column(work);
  const Lists groups(group, count_groups(group));
  const auto action = [&](Row row) { return work.batch.action.empty() ? kNone : work.batch.action[row]; };
  for_each_block(groups.size(), work.threads, 512, [&](std::size_t begin, std::size_t end, std::size_t) {
    std::vector<double> members, mine;
    std::vector<std::pair<Id, Id>> edges;
    for (std::size_t i = begin; i < end; ++i) {
      edges.clear();
      members.clear();
      mine.clear();
      std::vector<std::pair<std::pair<Id, Id>, double>> rows;
      for (Row row : groups[i]) rows.push_back({{action(row), graph.next_node[row]}, x[row]});
      std::sort(rows.begin(), rows.end());
      for (std::size_t k = 0; k < rows.size(); ++k) {
        if (k == 0 || rows[k] != rows[k - 1]) members.push_back(rows[k].second);
      }
      for (Row row : groups[i]) mine.push_back(x[row]);
      normalise(normaliser, members, mine, mine);
      for (std::size_t k = 0; k < mine.size(); ++k) advantage[groups[i][k]] = mine[k];
    }
  });
  return advantage;
}

Status run(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  const GraphGpo g = read_graphgpo(read);
  const Normaliser normaliser = read_normaliser(read);
  const EpisodeTerm term = read_episode_term(read, normaliser);
  const Penalty penalty = read_penalty(read);
  const SuccessRule success = read_success(read);
  const NodeOptions nodes = read_node_options(read, g.omega, read_costs(read));
  const Grouping grouping = read_grouping(read);
  if (!read.status()) return read.status();

  Result<GroupGraph> built = build_graphs(work, success, nodes.costs);
  if (!built) return built.error();
  GroupGraph& graph = *built;
  set_distances(work, nodes, graph);
  credit.step_return = PathReturns(work, graph, g, nodes).column();
  const std::vector<double> compared = penalised(work, penalty, credit.step_return);
  credit.group = step_groups(work, compared_states(work, g.follow_graph, graph.node), grouping);
  if (nodes.unreached == Unreached::kCensored) censor(work, graph, credit);
  const Normaliser of_steps = normaliser.with_least(grouping.least);
  credit.step_advantage = g.unique_edges
                              ? advantages_over_edges(work, credit.group, graph, compared, of_steps)
                              : group_advantages(work, credit.group, compared, of_steps);
  // The released code does not compute a part of weight 0.
  if (g.paper || g.episode_weight != 0) {
    credit.episode_advantage = episode_advantages(work, term, scores(work, penalty));
  }
  combine(work, g.step_weight, g.episode_weight, credit);
  take_graph(graph, credit);
  return {};
}

}  // namespace

Estimator graphgpo() {
  Estimator estimator;
  estimator.info.name = "graphgpo";
  estimator.info.summary = "GRPO plus graph distance to success compared among steps from the same state";
  estimator.info.has_graph = true;
  estimator.info.merges_states = true;
  estimator.info.options =
      join_options({{{"formula",
                      "released",
                      "released: r_succ * omega^d(s'); paper: r_succ * omega^(d(s') + c)",
                      {"released", "paper"}},
                     {"gamma", "0.1", "omega, the discount per unit of distance", {}},
                     {"omega", "", "the same as gamma", {}},
                     {"r_succ", "10", "what reaching success is worth", {}},
                     {"normalize_distance", "false", "true: r_succ * omega^(d(s') - d(s) + c)", {}},
                     {"step_w", "1", "weight of the step advantage", {}},
                     {"beta_g", "", "the same as step_w", {}},
                     {"episode_w", "1", "weight of the episode advantage; 0 leaves it out", {}},
                     {"beta_e", "", "the same as episode_w", {}},
                     {"group_members",
                      "rows",
                      "every step counts, or every edge once",
                      {"rows", "steps", "unique-edges", "unique_edges"}}},
                    group_matching_options("exact"),
                    graph_options(),
                    node_options(),
                    normaliser_options("mean_std_norm"),
                    grouping_options(),
                    episode_options(),
                    penalty_options()});
  estimator.presets = {{"released", {{"success", "positive"}, {"costs", "unit"}}},
                       {"paper",
                        {{"formula", "paper"},
                         {"group_matching", "same-as-graph"},
                         {"stats", "trajectories"},
                         {"lone_episode", "zero"}}}};
  estimator.run = run;
  return estimator;
}

}  // namespace lodestep::graph
