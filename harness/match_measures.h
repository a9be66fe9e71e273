// The measures of matchers under the names that JSON and tables give them.
//   Measures all = measures_of(report.pooled, &graphs.pooled);   // the graph's only where there is one
//   std::string json = measures_json(all);                       // {"pairwise_precision":1,...}
// Threads: pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "canonicalizer/agreement.h"
#include "harness/graph_agreement.h"

namespace lodestep::harness {

using Measures = std::vector<std::pair<const char*, double>>;

Measures measures_of(const canonicalizer::Agreement& pairs, const GraphAgreement* graph = nullptr);
std::string measures_json(const Measures& measures);

// {"pooled":{...},"interval_95":{"low":{...},"high":{...}},"groups":[{...},...]} without its outer braces;
// each group's object starts with its name and counts.
std::string report_json(const canonicalizer::AgreementReport& pairs,
                        const std::vector<canonicalizer::PairCounts>& counts, const GraphReport* graphs,
                        const std::vector<std::string>& group_names);

std::string cross_batch_json(const CrossBatch& order);  // {"consistency":..,"low":..,"high":..,"states":..}

}  // namespace lodestep::harness
