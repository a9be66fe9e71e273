#include "harness/view/group_graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <queue>
#include <set>

#include "base/check.h"
#include "graph/transition_graph.h"

namespace lodestep::harness {
namespace {

// What the recorded situations of one node say about the ways on from it.
struct Facts {
  std::set<std::string_view> admissible, tried;
  bool told_dead = false;    // by the environment's true distance
  bool failed_here = false;  // an episode ended here as a failure
};

class Builder {
 public:
  Builder(const Recording& recording, const Estimate& estimate)
      : recording_(recording), estimate_(estimate) {}

  // Episodes [first, last) are one group; `row` is the first of their steps in the estimate.
  GroupGraph build(std::size_t first, std::size_t last, std::size_t row) {
    graph_ = GroupGraph();
    graph_.group = recording_.episodes[first].group;
    index_of_.clear();
    facts_.clear();
    for (std::size_t e = first; e < last; ++e) {
      add(recording_.episodes[e], row);
      row += recording_.episodes[e].steps.size();
    }
    add_edges(row - graph_.from.size());
    measure_distances();
    mark();
    place_nodes(graph_);
    return std::move(graph_);
  }

 private:
  std::optional<std::size_t> node(const std::vector<std::optional<std::int64_t>>& column, std::size_t row) {
    if (column.empty() || !column[row]) return std::nullopt;
    const auto [found, fresh] = index_of_.try_emplace(*column[row], graph_.nodes.size());
    if (fresh) {
      graph_.nodes.emplace_back().id = *column[row];
      facts_.emplace_back();
    }
    return found->second;
  }

  void add(const EpisodeRecord& episode, std::size_t row) {
    for (std::size_t t = 0; t < episode.steps.size(); ++t, ++row) {
      const std::optional<std::size_t> from = node(estimate_.node, row);
      const std::optional<std::size_t> to = node(estimate_.next_node, row);
      graph_.from.push_back(from);
      graph_.to.push_back(to);
      if (!from) continue;
      ++graph_.nodes[*from].visits;
      if (t == 0) graph_.nodes[*from].start = true;
      learn(*from, episode.steps[t].before);
      facts_[*from].tried.insert(episode.steps[t].action);
      if (!to || t + 1 < episode.steps.size()) continue;
      ++graph_.nodes[*to].visits;
      learn(*to, episode.last);
      if (episode.outcome == Outcome::kSuccess) graph_.nodes[*to].success = true;
      if (episode.outcome == Outcome::kFailure) facts_[*to].failed_here = true;
    }
  }

  void learn(std::size_t node, const Situation& situation) {
    facts_[node].admissible.insert(situation.admissible.begin(), situation.admissible.end());
    if (situation.distance && std::isinf(*situation.distance)) facts_[node].told_dead = true;
  }

  void add_edges(std::size_t first_row) {
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> edge_of;
    for (std::size_t i = 0; i < graph_.from.size(); ++i) {
      if (!graph_.from[i] || !graph_.to[i]) continue;
      const auto [found, fresh] = edge_of.try_emplace({*graph_.from[i], *graph_.to[i]}, graph_.edges.size());
      if (fresh) graph_.edges.push_back({*graph_.from[i], *graph_.to[i], 0, 0});
      GroupEdge& edge = graph_.edges[found->second];
      ++edge.count;
      edge.advantage += step_signal(estimate_, first_row + i);
    }
    for (GroupEdge& edge : graph_.edges) edge.advantage /= static_cast<double>(edge.count);
  }

  void measure_distances() {
    graph::TransitionGraph transitions;
    transitions.state.resize(graph_.nodes.size());
    for (const GroupEdge& edge : graph_.edges) {
      transitions.edges.push_back({static_cast<graph::Id>(edge.from), static_cast<graph::Id>(edge.to), 1, 1});
    }
    // Several nodes may be successful (an estimator without one goal): one more node behind all of them.
    const auto goal = static_cast<graph::Id>(graph_.nodes.size());
    transitions.state.push_back(goal);
    transitions.goal = goal;
    for (std::size_t v = 0; v < graph_.nodes.size(); ++v) {
      if (graph_.nodes[v].success) transitions.edges.push_back({static_cast<graph::Id>(v), goal, 1, 1});
    }
    graph::measure(transitions);
    for (std::size_t v = 0; v < graph_.nodes.size(); ++v) {
      if (transitions.reached[v] != 0) graph_.nodes[v].distance = transitions.distance[v] - 1;
    }
  }

  void mark() {
    std::vector<std::vector<std::size_t>> before(graph_.nodes.size());
    for (const GroupEdge& edge : graph_.edges) before[edge.to].push_back(edge.from);
    std::vector<std::size_t> queue;
    const auto open = [&](std::size_t v) {
      GroupNode& node = graph_.nodes[v];
      if (node.open || node.distance || facts_[v].told_dead) return;
      node.open = true;
      queue.push_back(v);
    };
    for (std::size_t v = 0; v < graph_.nodes.size(); ++v) {
      const Facts& facts = facts_[v];
      const bool all_tried =
          !facts.admissible.empty() && std::includes(facts.tried.begin(), facts.tried.end(),
                                                     facts.admissible.begin(), facts.admissible.end());
      if (!all_tried && !facts.failed_here) open(v);
    }
    while (!queue.empty()) {
      const std::size_t v = queue.back();
      queue.pop_back();
      for (const std::size_t u : before[v]) open(u);
    }
    for (GroupNode& node : graph_.nodes) node.dead = !node.distance && !node.open;
  }

  const Recording& recording_;
  const Estimate& estimate_;
  GroupGraph graph_;
  std::map<std::int64_t, std::size_t> index_of_;
  std::vector<Facts> facts_;
};

constexpr std::size_t kTallest = 28;  // nodes one above the other; a column with more stands in several lines

// Rows of one column: the order is kept, neighbours are at least 1 apart (less where they stand in different
// lines), and the sum of squared distances to the wished rows is least (isotonic regression by pooling
// adjacent violators).
void settle(const std::vector<std::size_t>& column, const std::vector<double>& wish,
            std::vector<GroupNode>& nodes) {
  const std::size_t lines = (column.size() + kTallest - 1) / kTallest;
  const double apart = 1 / static_cast<double>(lines);
  struct Pool {
    double sum = 0;
    double size = 0;
    double mean() const { return sum / size; }
  };
  std::vector<Pool> pools;
  for (std::size_t i = 0; i < column.size(); ++i) {
    pools.push_back({wish[column[i]] - apart * static_cast<double>(i), 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      pools[pools.size() - 2].sum += pools.back().sum;
      pools[pools.size() - 2].size += pools.back().size;
      pools.pop_back();
    }
  }
  std::size_t i = 0;
  for (const Pool& pool : pools) {
    for (double k = 0; k < pool.size; ++k, ++i) {
      nodes[column[i]].row = pool.mean() + apart * static_cast<double>(i);
      nodes[column[i]].shift = 0.8 * apart * static_cast<double>(i % lines);
    }
  }
}

// Barycentre sweeps to and fro over the columns of some nodes: each goes where its neighbours are.
void arrange(const std::vector<std::size_t>& members, const std::vector<std::vector<std::size_t>>& neighbours,
             std::vector<GroupNode>& nodes) {
  std::map<int, std::vector<std::size_t>> by_column;
  for (const std::size_t v : members) by_column[nodes[v].column].push_back(v);
  std::vector<std::vector<std::size_t>> columns;
  for (auto& [column, list] : by_column) columns.push_back(std::move(list));
  std::vector<double> wish(nodes.size());
  for (const auto& column : columns) {
    for (std::size_t i = 0; i < column.size(); ++i) {
      nodes[column[i]].row = static_cast<double>(i) - static_cast<double>(column.size() - 1) / 2;
    }
  }
  constexpr int kSweeps = 12;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const bool last_sweeps = sweep + 2 >= kSweeps;  // look both ways at the end
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const bool rightward = sweep % 2 == 0;
      std::vector<std::size_t>& column = columns[rightward ? i : columns.size() - 1 - i];
      for (const std::size_t v : column) {
        double sum = 0;
        std::size_t count = 0;
        for (const std::size_t u : neighbours[v]) {
          const int side = nodes[u].column - nodes[v].column;
          if (side == 0 || (!last_sweeps && (side < 0) != rightward)) continue;
          sum += nodes[u].row;
          ++count;
        }
        wish[v] = count == 0 ? nodes[v].row : sum / static_cast<double>(count);
      }
      std::stable_sort(column.begin(), column.end(),
                       [&](std::size_t a, std::size_t b) { return wish[a] < wish[b]; });
      settle(column, wish, nodes);
    }
  }
}

// Nodes that saw success stand by their distance to it; the others start one column right of where they were
// reached from.
void choose_columns(GroupGraph& graph) {
  std::vector<GroupNode>& nodes = graph.nodes;
  std::set<double> distances;
  for (const GroupNode& node : nodes) {
    if (node.distance) distances.insert(*node.distance);
  }
  std::vector<std::vector<std::size_t>> after(nodes.size());
  for (const GroupEdge& edge : graph.edges) after[edge.from].push_back(edge.to);
  constexpr int kUnset = -1;
  using Entry = std::pair<int, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto set = [&](std::size_t v, int column) {
    if (nodes[v].column != kUnset && nodes[v].column <= column) return;
    nodes[v].column = column;
    queue.push({column, v});
  };
  for (std::size_t v = 0; v < nodes.size(); ++v) {
    nodes[v].column = kUnset;
    if (nodes[v].distance) {
      set(v, static_cast<int>(std::distance(distances.find(*nodes[v].distance), distances.end())) - 1);
    } else if (nodes[v].start) {
      set(v, 0);
    }
  }
  while (!queue.empty()) {
    const auto [column, v] = queue.top();
    queue.pop();
    if (column > nodes[v].column) continue;
    for (const std::size_t u : after[v]) {
      if (!nodes[u].distance) set(u, column + 1);
    }
  }
  for (GroupNode& node : nodes) node.column = std::max(node.column, 0);  // no step into it was recorded
}

}  // namespace

bool has_nodes(const Estimate& estimate) {
  return std::any_of(estimate.node.begin(), estimate.node.end(),
                     [](const auto& node) { return node.has_value(); });
}

double step_signal(const Estimate& estimate, std::size_t row) {
  const bool split = row < estimate.step_advantage.size() && estimate.step_advantage[row].has_value();
  return split ? *estimate.step_advantage[row] : estimate.advantage[row];
}

void place_nodes(GroupGraph& graph) {
  choose_columns(graph);
  std::vector<std::vector<std::size_t>> neighbours(graph.nodes.size());
  for (const GroupEdge& edge : graph.edges) {
    if (edge.from == edge.to) continue;
    neighbours[edge.from].push_back(edge.to);
    neighbours[edge.to].push_back(edge.from);
  }
  // Two bands: above, nodes from which success was observed; below, the others.
  std::vector<std::size_t> bands[2];
  for (std::size_t v = 0; v < graph.nodes.size(); ++v) bands[graph.nodes[v].distance ? 0 : 1].push_back(v);
  double next_row = 0;
  graph.columns = 0;
  graph.rows = 0;
  for (const std::vector<std::size_t>& band : bands) {
    if (band.empty()) continue;
    arrange(band, neighbours, graph.nodes);
    double top = graph.nodes[band.front()].row;
    for (const std::size_t v : band) top = std::min(top, graph.nodes[v].row);
    for (const std::size_t v : band) {
      GroupNode& node = graph.nodes[v];
      node.row = std::round((node.row - top + next_row) * 100) / 100;
      graph.rows = std::max(graph.rows, node.row + 1);
      graph.columns = std::max(graph.columns, node.column + 1);
    }
    next_row = graph.rows + 0.5;
  }
}

std::vector<GroupGraph> group_graphs(const Recording& recording, const Estimate& estimate) {
  LODESTEP_CHECK(estimate.node.size() == recording.steps(), estimate.name);
  std::vector<GroupGraph> graphs;
  Builder builder(recording, estimate);
  std::size_t row = 0;
  for (std::size_t first = 0; first < recording.episodes.size();) {
    std::size_t last = first;
    std::size_t steps = 0;
    while (last < recording.episodes.size() &&
           recording.episodes[last].group == recording.episodes[first].group) {
      steps += recording.episodes[last++].steps.size();
    }
    graphs.push_back(builder.build(first, last, row));
    row += steps;
    first = last;
  }
  return graphs;
}

Interval wilson_interval(std::size_t successes, std::size_t trials) {
  if (trials == 0) return {};
  constexpr double kZ = 1.959963984540054;  // 97.5 % point of the normal distribution
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(successes) / n;
  const double centre = share + kZ * kZ / (2 * n);
  const double spread = kZ * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  const double scale = 1 + kZ * kZ / n;
  return {std::max(0.0, (centre - spread) / scale), std::min(1.0, (centre + spread) / scale)};
}

std::vector<CalibrationBin> calibration(const Recording& recording, const std::vector<GroupGraph>& graphs,
                                        double omega, std::size_t bins) {
  std::vector<CalibrationBin> out(bins);
  std::vector<std::size_t> successes(bins);
  for (std::size_t b = 0; b < bins; ++b) {
    out[b].low = static_cast<double>(b) / static_cast<double>(bins);
    out[b].high = static_cast<double>(b + 1) / static_cast<double>(bins);
  }
  std::size_t e = 0;
  for (const GroupGraph& graph : graphs) {
    std::size_t step = 0;
    for (; e < recording.episodes.size() && recording.episodes[e].group == graph.group; ++e) {
      std::set<std::size_t> visited;
      for (std::size_t t = 0; t < recording.episodes[e].steps.size(); ++t, ++step) {
        if (graph.from[step]) visited.insert(*graph.from[step]);
      }
      for (const std::size_t v : visited) {
        const GroupNode& node = graph.nodes[v];
        const double value = node.distance ? std::pow(omega, *node.distance) : 0;
        const std::size_t b = std::min(bins - 1, static_cast<std::size_t>(value * static_cast<double>(bins)));
        ++out[b].visits;
        out[b].mean_value += value;
        if (recording.episodes[e].outcome == Outcome::kSuccess) ++successes[b];
      }
    }
  }
  for (std::size_t b = 0; b < bins; ++b) {
    if (out[b].visits == 0) continue;
    out[b].mean_value /= static_cast<double>(out[b].visits);
    out[b].success_rate = static_cast<double>(successes[b]) / static_cast<double>(out[b].visits);
    const Interval interval = wilson_interval(successes[b], out[b].visits);
    out[b].rate_low = interval.low;
    out[b].rate_high = interval.high;
  }
  return out;
}

}  // namespace lodestep::harness
