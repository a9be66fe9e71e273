#include "graph/transition_graph.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

namespace lodestep::graph {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Edges by their end, so that distances spread backwards from the goal.
struct Arrivals {
  std::vector<std::uint32_t> begin;
  std::vector<std::uint32_t> edge;

  explicit Arrivals(const TransitionGraph& graph) : begin(graph.nodes() + 1), edge(graph.edges.size()) {
    for (const Edge& e : graph.edges) ++begin[static_cast<std::size_t>(e.to) + 1];
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
    for (std::size_t i = 0; i < graph.edges.size(); ++i) {
      edge[next[static_cast<std::size_t>(graph.edges[i].to)]++] = static_cast<std::uint32_t>(i);
    }
  }
};

bool costs_are_equal(const TransitionGraph& graph) {
  return std::all_of(graph.edges.begin(), graph.edges.end(),
                     [&](const Edge& e) { return e.cost == graph.edges.front().cost; });
}

// Breadth first: with equal costs the first visit is the cheapest.
void spread_by_levels(TransitionGraph& graph, const Arrivals& arrivals) {
  std::vector<Id> queue{graph.goal};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const auto v = static_cast<std::size_t>(queue[head]);
    for (std::uint32_t i = arrivals.begin[v]; i < arrivals.begin[v + 1]; ++i) {
      const Edge& e = graph.edges[arrivals.edge[i]];
      double& distance = graph.distance[static_cast<std::size_t>(e.from)];
      if (distance < kInfinity) continue;
      distance = graph.distance[v] + e.cost;
      queue.push_back(e.from);
    }
  }
}

void spread_by_cost(TransitionGraph& graph, const Arrivals& arrivals) {
  using Entry = std::pair<double, Id>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap;
  heap.push({0, graph.goal});
  while (!heap.empty()) {
    const auto [reached_at, node] = heap.top();
    heap.pop();
    const auto v = static_cast<std::size_t>(node);
    if (reached_at > graph.distance[v]) continue;
    for (std::uint32_t i = arrivals.begin[v]; i < arrivals.begin[v + 1]; ++i) {
      const Edge& e = graph.edges[arrivals.edge[i]];
      const double distance = reached_at + e.cost;
      if (distance >= graph.distance[static_cast<std::size_t>(e.from)]) continue;
      graph.distance[static_cast<std::size_t>(e.from)] = distance;
      heap.push({distance, e.from});
    }
  }
}

}  // namespace

void measure(TransitionGraph& graph) {
  graph.distance.assign(graph.nodes(), kInfinity);
  graph.reached.assign(graph.nodes(), 0);
  graph.farthest = 0;
  if (graph.goal != kNone) {
    graph.distance[static_cast<std::size_t>(graph.goal)] = 0;
    const Arrivals arrivals(graph);
    if (!graph.edges.empty() && costs_are_equal(graph)) {
      spread_by_levels(graph, arrivals);
    } else {
      spread_by_cost(graph, arrivals);
    }
  }
  for (std::size_t v = 0; v < graph.nodes(); ++v) {
    graph.reached[v] = graph.distance[v] < kInfinity;
    if (graph.reached[v]) graph.farthest = std::max(graph.farthest, graph.distance[v]);
  }
  for (double& distance : graph.distance) {
    if (distance == kInfinity) distance = graph.farthest + 1;
  }
}

}  // namespace lodestep::graph
