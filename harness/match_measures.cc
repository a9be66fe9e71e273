#include "harness/match_measures.h"

#include "base/text.h"

namespace lodestep::harness {

using canonicalizer::Agreement;

Measures measures_of(const Agreement& pairs, const GraphAgreement* graph) {
  Measures out{{"pairwise_precision", pairs.precision},
               {"pairwise_recall", pairs.recall},
               {"pairwise_f1", pairs.f1},
               {"false_merge_rate", pairs.false_merge_rate},
               {"split_rate", pairs.split_rate},
               {"clusters_per_true_state", pairs.clusters_per_state},
               {"node_reuse_rate", pairs.node_reuse},
               {"true_node_reuse_rate", pairs.true_node_reuse}};
  if (graph == nullptr) return out;
  const Measures of_graph{{"sign_agreement", graph->sign},
                          {"spearman", graph->spearman},
                          {"pearson", graph->pearson},
                          {"distance_error_mean", graph->distance_mean},
                          {"distance_error_max", graph->distance_max},
                          {"unreached", graph->unreached},
                          {"true_unreached", graph->true_unreached},
                          {"reach_differs", graph->reach_differs},
                          {"coverage", graph->coverage}};
  out.insert(out.end(), of_graph.begin(), of_graph.end());
  return out;
}

std::string measures_json(const Measures& measures) {
  std::string out = "{";
  for (const auto& [name, value] : measures) {
    if (out.size() > 1) out += ',';
    out += json_quote(name) + ":" + json_number(value);
  }
  return out + "}";
}

std::string report_json(const canonicalizer::AgreementReport& pairs,
                        const std::vector<canonicalizer::PairCounts>& counts, const GraphReport* graphs,
                        const std::vector<std::string>& group_names) {
  const auto both = [&](const Agreement& agreement, const GraphAgreement GraphReport::*graph) {
    return measures_json(measures_of(agreement, graphs == nullptr ? nullptr : &(graphs->*graph)));
  };
  std::string out = "\"pooled\":" + both(pairs.pooled, &GraphReport::pooled) +
                    ",\"interval_95\":{\"low\":" + both(pairs.low, &GraphReport::low) +
                    ",\"high\":" + both(pairs.high, &GraphReport::high) + "},\"groups\":[";
  for (std::size_t g = 0; g < counts.size(); ++g) {
    if (g > 0) out += ',';
    const GraphAgreement* graph = graphs == nullptr ? nullptr : &graphs->groups[g];
    out += "{\"group\":" + json_quote(group_names[g]) + ",\"views\":" + std::to_string(counts[g].views) +
           ",\"nodes\":" + std::to_string(counts[g].nodes) +
           ",\"true_states\":" + std::to_string(counts[g].true_states) +
           ",\"measures\":" + measures_json(measures_of(canonicalizer::agreement_of(counts[g]), graph)) + "}";
  }
  return out + "]";
}

std::string cross_batch_json(const CrossBatch& order) {
  return "{\"consistency\":" + json_number(order.consistency) +
         ",\"low\":" + json_number(order.interval.low) + ",\"high\":" + json_number(order.interval.high) +
         ",\"states\":" + std::to_string(order.states) + "}";
}

}  // namespace lodestep::harness
