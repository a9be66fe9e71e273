// What a batch's graph is worth as a signal: reuse, coverage, progress, noise and calibration.
//   Result<Diagnostics> d = diagnose(batch, {.gamma = 0.8});
//   std::cerr << to_text(*d);
// Threads: as estimate(). Shares are of steps unless said; an empty batch gives zeros.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/estimator.h"

namespace lodestep::graph {

struct DiagnosticOptions {
  double gamma = 0.1;      // omega of the graph value
  double discount = 0.95;  // of the discounted return that the graph is compared with
  Settings settings = {};  // of graphgpo, such as success and costs
  Matcher matcher = {};
  int threads = 1;
  // True steps to success from each row's state, where the environment knows them; infinity: lost, NaN: not
  // known. Empty: nothing known.
  std::vector<double> true_distance = {};
};

struct CalibrationBin {
  double low = 0, high = 0;  // predictions in [low, high)
  std::size_t visits = 0;
  double predicted = 0, frequency = 0;           // means over the visits
  double frequency_low = 0, frequency_high = 0;  // Wilson's 95 % interval
};

struct Calibration {
  std::vector<CalibrationBin> bins;  // ten of equal width
  double brier = 0;                  // mean squared error of the predictions
  double expected_error = 0;         // mean |predicted - frequency| over bins, weighted by visits
};

// The graph against the true distances, over the steps whose state has one.
struct AgainstTruth {
  std::size_t steps = 0;
  double dead = 0;      // steps in states that are lost
  double coverage = 0;  // of the states that can still be solved, those from which success was observed
  double equal = 0;     // of these, those whose observed distance is the true one
  double bias = 0;      // observed less true distance, mean over these
  double rank_correlation = 0;  // Spearman's, of both distances over steps; the lost are farthest
  double progress_in_failed = 0, no_progress_in_successful = 0;  // by true distance
};

struct Diagnostics {
  std::size_t steps = 0, nodes = 0, episodes = 0, successes = 0;
  double node_reuse = 0;                           // 1 - states acted in / steps
  double coverage = 0;                             // share of nodes from which a success was observed
  double comparable = 0;                           // steps that share their state with another step
  double progress_in_failed = 0;                   // steps nearer to success, in episodes that failed
  double no_progress_in_successful = 0;            // the other steps, in episodes that succeeded
  double graph_variance = 0, return_variance = 0;  // of the step signal within equal transitions
  double over_optimism = 0;                        // mean of gamma^distance - discounted chance of success
  Calibration graph_value;                         // gamma^distance as if it were the chance of success
  Calibration policy_value;                        // the chance of success under the observed actions
  std::optional<AgainstTruth> truth;               // where true distances are known
};

// Fails as estimate() does.
Result<Diagnostics> diagnose(const Batch& batch, const DiagnosticOptions& options);

// One fact a line, for a person.
std::string to_text(const Diagnostics& diagnostics);
// The same as one JSON object.
std::string to_json(const Diagnostics& diagnostics);

}  // namespace lodestep::graph
