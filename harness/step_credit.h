// Credit for steps that anyone recorded, in one way for the command line and the server.
//   Result<StepCredit> credited = credit_steps({.estimator = "evihb"}, *steps);
//   out << credit_lines(*steps, credited->credit);
// Threads: one per call; .threads spreads tasks over own threads without changing a byte.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "graph/diagnostics.h"
#include "graph/estimator.h"
#include "harness/steps_jsonl.h"

namespace lodestep::harness {

struct StepCreditRequest {
  std::string estimator;
  std::string preset = {};  // "", "released" or "paper"
  std::string matcher = "exact";
  Settings settings = {};  // of the estimator ("estimator.KEY" too); "matcher.KEY" of the matcher
  int threads = 1;
  std::string graph_store = {};  // file that remembers each task's graph from batch to batch; empty: none
  double half_life = 0;          // batches after which a remembered edge counts half; 0: nothing fades
  bool diagnostics = false;
};

struct StepCredit {
  graph::Credit credit;
  std::vector<std::string> notes;  // for the user, one line each
  std::optional<graph::Diagnostics> diagnostics;
};

// What can be refused before a single step is read: unknown names and options, a store that nothing would
// use.
Result<graph::EstimatorInfo> check_request(const StepCreditRequest& request);

// Fails as check_request, and on steps that the estimator cannot use: the error then names "row N". States
// may be added to `steps` (remembered ones), and key levels (a stage read from ALFWorld's texts, for evihb).
Result<StepCredit> credit_steps(const StepCreditRequest& request, StepFile& steps);

}  // namespace lodestep::harness
