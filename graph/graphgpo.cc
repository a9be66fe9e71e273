// GraphGPO (arXiv 2605.26684): the group's transitions as one graph; a step is worth the success reward,
// discounted by the distance from where it led to success, compared among the steps from the same state.
#include <algorithm>
#include <cmath>

#include "graph/estimator_list.h"
#include "graph/graphs.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

struct GraphGpo {
  bool paper = false;  // one factor omega more than the released code
  double omega = 0, success_reward = 0;
  bool normalise_distance = false;  // relative to the distance before the step
  bool groups_follow_graph = false, unique_edges = false;
  double step_weight = 1, episode_weight = 1;
};

GraphGpo read_graphgpo(OptionReader& read) {
  GraphGpo g;
  g.paper = read.is("formula", "paper");
  g.omega = read.number(read.either("gamma", "omega"), 0);
  g.success_reward = read.number("r_succ");
  g.normalise_distance = read.flag("normalize_distance");
  g.groups_follow_graph = read.is("group_matching", "same-as-graph");
  g.unique_edges = read.is("group_members", "unique-edges") || read.is("group_members", "unique_edges");
  g.step_weight = read.number(read.either("step_w", "beta_g"));
  g.episode_weight = read.number(read.either("episode_w", "beta_e"));
  return g;
}

// r_succ * omega^exponent, where 0^0 is 1: with omega 0 only steps into success count.
std::vector<double> path_returns(const Work& work, const GroupGraph& graph, const GraphGpo& g, Costs costs) {
  std::vector<double> returns = empty_column(work);
  for (std::size_t row = 0; row < work.rows(); ++row) {
    if (work.task[row] == kNone) continue;
    const TransitionGraph& task = graph.tasks[static_cast<std::size_t>(work.task[row])];
    // Where the recording ends without a known next state, no success was observed.
    const Id next = graph.next_node[row];
    const double after = next == kNone ? task.farthest + 1 : task.distance[static_cast<std::size_t>(next)];
    const double before = task.distance[static_cast<std::size_t>(graph.node[row])];
    const double cost = costs == Costs::kSupplied ? work.cost(row) : 1;
    double exponent = after + cost;
    if (!g.paper) exponent = g.normalise_distance ? after - before + cost : after + cost - 1;
    returns[row] = g.success_reward * std::pow(g.omega, exponent);
  }
  return returns;
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
  const Costs costs = read_costs(read);
  if (!read.status()) return read.status();

  Result<GroupGraph> built = build_graphs(work, success, costs);
  if (!built) return built.error();
  GroupGraph& graph = *built;
  credit.step_return = path_returns(work, graph, g, costs);
  const std::vector<double> compared = penalised(work, penalty, credit.step_return);
  credit.group = number_groups(work, g.groups_follow_graph ? graph.node : work.batch.state);
  credit.step_advantage =
      g.unique_edges ? advantages_over_edges(work, credit.group, graph, compared, normaliser)
                     : group_advantages(work, credit.group, compared, normaliser);
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
                     {"group_matching",
                      "exact",
                      "groups of equal states, or of states that the graph merged",
                      {"exact", "same-as-graph"}},
                     {"group_members",
                      "rows",
                      "every step counts, or every edge once",
                      {"rows", "steps", "unique-edges", "unique_edges"}}},
                    graph_options(),
                    normaliser_options("mean_std_norm"),
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
