// What each node of the group graph is worth to GraphGPO: by the best, the expected or the usual way to
// success.
//   NodeValues values = measure_nodes(work, graph, options);
//   values.distance[row's task][node], or values.value[...] where the expectation is over successes
// Threads: spreads over tasks; const afterwards. Private to this room.
#pragma once

#include <string>
#include <vector>

#include "graph/graphs.h"

namespace lodestep::graph {

enum class Transitions {
  kMin,       // the best that was observed (the reference)
  kExpected,  // the best action, over the observed frequencies of where it leads
  kPolicy,    // the observed actions too: the discounted chance of success
};

// How nodes from which no success was observed compare.
enum class Unreached {
  kFar,       // as far as the farthest reached node, plus `far` (the reference: 1)
  kCensored,  // open ones take no part in comparisons; closed ones are far
  kPrior,  // open ones are worth what earlier batches say of their like (Batch::priors); closed ones are far
};

struct NodeOptions {
  Transitions transitions = Transitions::kMin;
  double smoothing = 0;  // pseudo-visits of every action (expected) or node (policy) that led nowhere
  Unreached unreached = Unreached::kFar;
  double far = 1;
  double omega = 0.1;  // for kPolicy
  Costs costs = Costs::kSupplied;
};

std::vector<OptionSpec> node_options();  // transitions, smoothing, unreached, unreachable
NodeOptions read_node_options(OptionReader& read, double omega, Costs costs);

// Sets each task's distances by the options (kMin leaves them as measured, but for `far`).
void set_distances(const Work& work, const NodeOptions& options, GroupGraph& graph);
// kPolicy: per task and node, mean over its visits of omega^cost times the value of where they led; goal 1.
std::vector<std::vector<double>> policy_values(const Work& work, const NodeOptions& options,
                                               const GroupGraph& graph);
// Per task and node: no success was observed from it, and something was left untried there or at a node that
// can be reached from it. A node where an episode ended for good is closed, and so is one all of whose
// admissible actions were tried and led only to closed nodes.
std::vector<std::vector<std::uint8_t>> open_nodes(const Work& work, const GroupGraph& graph);

}  // namespace lodestep::graph
