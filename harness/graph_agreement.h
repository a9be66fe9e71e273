// How near the credit on a matcher's graph is to the credit on the true graph, and whether two batches of one
// task order their states alike.
//   GraphReport report = compare_graphs(found, truth);     // report.pooled.sign, report.low.sign, ...
//   CrossBatch order = cross_batch_consistency(one, two);  // order.consistency
// Threads: pure functions. docs/matchers.md names the measures. Both credits are of the same batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.h"
#include "canonicalizer/agreement.h"
#include "graph/estimator.h"

namespace lodestep::harness {

// Over the steps of one task or of several. A correlation is NaN where either side is constant.
struct GraphAgreement {
  double sign = 0;                   // share of steps whose advantages have the same sign, or both none
  double spearman = 0, pearson = 0;  // of the advantages
  double distance_mean = 0;          // |d - true d| over the steps that reach success in both graphs
  double distance_max = 0;           // the largest of these
  double unreached = 0, true_unreached = 0;  // share of steps from where no success was observed
  double reach_differs = 0;                  // share of steps where just one of the graphs reaches it
  double coverage = 0;                       // share of visited nodes with an observed path to success
};

struct GraphReport {
  GraphAgreement pooled;
  GraphAgreement low, high;            // field by field, the ends of a 95 % interval over tasks
  std::vector<GraphAgreement> groups;  // by task
};

// `task`: per step, numbered from 0 as in the credits' graphs. Spearman's interval keeps the pooled ranks.
GraphReport compare_graphs(const graph::Credit& found, const graph::Credit& truth,
                           std::span<const graph::Id> task);

// One step of one batch: the true state it was taken from, and the distance of the node it was put on.
struct PlacedStep {
  std::uint32_t task = 0;  // the same number for the same task in both batches
  Hash128 true_state;
  double distance = 0;
};
std::vector<PlacedStep> placed_steps(const graph::Credit& credit, std::span<const graph::Id> task,
                                     std::span<const Hash128> true_state);

struct CrossBatch {
  // Of the states that both batches of a task visit: the share of the others that are nearer, farther or as
  // far in both, averaged over states. A state's distance is the mean over its steps. NaN without such
  // states.
  double consistency = 0;
  canonicalizer::Interval interval;  // 95 %, over tasks
  std::size_t states = 0;
};
CrossBatch cross_batch_consistency(std::span<const PlacedStep> one, std::span<const PlacedStep> two);

}  // namespace lodestep::harness
