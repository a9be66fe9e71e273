// How well a matcher's keys agree with the truth, per group and pooled, with bootstrap intervals.
//   std::vector<PairCounts> groups = count_pairs(group_of_view, key_of_view, truth_of_view);
//   AgreementReport report = measure_agreement(groups);   // report.pooled.recall, report.recall.low, ...
// Threads: pure functions. Pairs are pairs of views of one group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace lodestep::canonicalizer {

// Of one group, or summed over several.
struct PairCounts {
  std::uint64_t views = 0;
  std::uint64_t nodes = 0;        // different keys
  std::uint64_t true_states = 0;  // different truths
  std::uint64_t fragments = 0;    // different (truth, key)
  std::uint64_t joined = 0;       // pairs of equal key
  std::uint64_t same_truth = 0;   // pairs of equal truth
  std::uint64_t both = 0;         // pairs of equal key and truth
  PairCounts& operator+=(const PairCounts& other);
};

struct Agreement {
  double precision = 1;           // both / joined; 1 when nothing is joined
  double recall = 1;              // both / same_truth; 1 when nothing is to be joined
  double f1 = 1;                  // harmonic mean of the two
  double false_merge_rate = 0;    // 1 - precision
  double split_rate = 0;          // 1 - recall
  double clusters_per_state = 1;  // fragments / true_states
  double node_reuse = 0;          // 1 - nodes / views
  double true_node_reuse = 0;     // 1 - true_states / views
};
Agreement agreement_of(const PairCounts& counts);

struct Interval {
  double low = 0;
  double high = 0;
};

struct AgreementReport {
  Agreement pooled;  // of the summed counts
  Agreement low;     // field by field, the lower and upper end of a 95 % interval over groups
  Agreement high;
};

// Counts per group, groups numbered from 0; the three spans are parallel. Linear in views.
std::vector<PairCounts> count_pairs(std::span<const std::uint32_t> groups,
                                    std::span<const std::uint32_t> keys,
                                    std::span<const std::uint32_t> truths);
AgreementReport measure_agreement(std::span<const PairCounts> groups);

// 95 % percentile interval of a statistic under resampling of groups, with a fixed stream of chance
// (Efron 1979). The statistic gets the indices drawn; one that is not finite is left out.
Interval bootstrap_interval(std::size_t groups,
                            const std::function<double(std::span<const std::size_t>)>& statistic);

}  // namespace lodestep::canonicalizer
