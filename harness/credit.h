// From a recording to advantages: states are matched, the group graph is built, an estimator asked.
//   Result<Credited> credited = credit_recording(recording, {.estimator = "graphgpo", .matcher = "exact"});
//   recorder->add_estimate(credited->estimate);
// Threads: const inputs; .threads spreads tasks over own threads without changing a byte.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "canonicalizer/matcher.h"
#include "graph/batch.h"
#include "graph/diagnostics.h"
#include "graph/estimator.h"
#include "harness/recording.h"

namespace lodestep::harness {

struct CreditRequest {
  std::string estimator = "graphgpo";
  std::string preset = {};  // "", "released" or "paper"
  Settings settings = {};   // of the estimator
  std::string matcher = "exact";
  Settings matcher_settings = {};
  int threads = 1;
  std::string graph_store =
      {};  // graphgpo: file that remembers each task's graph (graph_store.h); empty: none
  double half_life = 0;
};

struct Credited {
  Estimate estimate;     // one row per recorded step, ready to be stored
  graph::Credit credit;  // with the graphs and the summary
  canonicalizer::MatchCost cost;
  std::vector<std::string> notes;  // what the matcher wants the user to know
  double match_seconds = 0, credit_seconds = 0;
};

// The recorded steps as columns, one row per step in (group, member, t) order; states are numbers given by
// the matcher, key levels are stage, relevant and exact.
struct CreditBatch {
  graph::Batch batch;
  double match_seconds = 0;        // of the processor, for the matcher alone
  std::vector<std::string> tasks;  // name of each task number
  std::string env;                 // whose steps they are; decides defaults such as graphgpo's gamma
  canonicalizer::Matching
      matching;  // one key per recorded situation, episode after episode, the last one included
};
Result<CreditBatch> make_batch(const Recording& recording, const std::string& matcher,
                               const Settings& settings);

// Fails on unknown names or options, and on a matcher that lacks what it needs.
Result<Credited> credit_recording(const Recording& recording, const CreditRequest& request);
// What the recording's graph is worth as a signal, by the environment's own gamma; with the true distances
// where the recording has them.
Result<graph::Diagnostics> diagnose_recording(const Recording& recording,
                                              const std::string& matcher = "exact",
                                              const Settings& matcher_settings = {}, int threads = 1);
// credit_recording on a batch made before.
Result<Credited> credit_batch(const CreditBatch& batch, const CreditRequest& request);

}  // namespace lodestep::harness
