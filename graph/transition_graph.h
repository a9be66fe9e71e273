// The observed transitions of one task as a graph, and each node's distance to success.
//   TransitionGraph graph(from, to, cost, goal);   // one entry per step
//   graph.measure();                               // graph.distance[node]
// Threads: values. Distances: least total cost to the goal; a node from which no success was observed gets
// the largest finite distance + 1 and `reached` false (GraphGPO, arXiv 2605.26684).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/batch.h"

namespace lodestep::graph {

struct Edge {
  Id from = 0, to = 0;  // node numbers
  double cost = 1;
  std::uint32_t count = 0;  // steps that took it; 0: known from earlier batches only
};

struct TransitionGraph {
  Id task = 0;
  std::vector<Id> state;              // per node: the state that stands for it; order of first appearance
  std::vector<std::uint32_t> visits;  // per node: steps taken from it, and episodes that ended in it
  std::vector<double> distance;       // per node, in cost
  std::vector<std::uint8_t> reached;  // per node: a path to success was observed
  std::vector<Edge> edges;            // per (from, to, cost), in order of first appearance
  Id goal = kNone;                    // node number
  double farthest = 0;                // largest finite distance
  std::size_t nodes() const { return state.size(); }
};

// Fills distance, reached and farthest from edges and goal. Costs must not be negative. A distance is summed
// from the goal outwards, so weighted sums have the reference's bits. O(edges + nodes) for equal costs,
// else O(edges log nodes).
void measure(TransitionGraph& graph);

}  // namespace lodestep::graph
