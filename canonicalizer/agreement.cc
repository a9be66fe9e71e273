#include "canonicalizer/agreement.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/check.h"
#include "base/hash.h"
#include "base/rng.h"

namespace lodestep::canonicalizer {
namespace {

constexpr std::size_t kResamples = 1000;

double share(std::uint64_t part, std::uint64_t whole, double otherwise) {
  return whole == 0 ? otherwise : static_cast<double>(part) / static_cast<double>(whole);
}

std::vector<std::size_t> drawn_groups(Stream& dice, std::size_t groups) {
  std::vector<std::size_t> drawn(groups);
  for (std::size_t& group : drawn) group = dice.below(groups);
  return drawn;
}

Interval middle_95(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return {std::nan(""), std::nan("")};
  std::sort(values.begin(), values.end());
  const auto at = [&](double share_below) {
    return values[static_cast<std::size_t>(
        std::lround(share_below * static_cast<double>(values.size() - 1)))];
  };
  return {at(0.025), at(0.975)};
}

Stream bootstrap_dice() { return Stream(hash128("bootstrap over groups")); }

}  // namespace

PairCounts& PairCounts::operator+=(const PairCounts& other) {
  views += other.views;
  nodes += other.nodes;
  true_states += other.true_states;
  fragments += other.fragments;
  joined += other.joined;
  same_truth += other.same_truth;
  both += other.both;
  return *this;
}

Agreement agreement_of(const PairCounts& counts) {
  Agreement agreement;
  agreement.precision = share(counts.both, counts.joined, 1);
  agreement.recall = share(counts.both, counts.same_truth, 1);
  const double sum = agreement.precision + agreement.recall;
  agreement.f1 = sum > 0 ? 2 * agreement.precision * agreement.recall / sum : 0;
  agreement.false_merge_rate = share(counts.joined - counts.both, counts.joined, 0);
  agreement.split_rate = share(counts.same_truth - counts.both, counts.same_truth, 0);
  agreement.clusters_per_state = share(counts.fragments, counts.true_states, 1);
  agreement.node_reuse = share(counts.views - counts.nodes, counts.views, 0);
  agreement.true_node_reuse = share(counts.views - counts.true_states, counts.views, 0);
  return agreement;
}

std::vector<PairCounts> count_pairs(std::span<const std::uint32_t> groups,
                                    std::span<const std::uint32_t> keys,
                                    std::span<const std::uint32_t> truths) {
  LODESTEP_CHECK(groups.size() == keys.size() && keys.size() == truths.size(), groups.size(), keys.size());
  std::vector<PairCounts> counts;
  // Each sort of set within a group: its size so far. A member that joins n others adds n pairs.
  std::unordered_map<Hash128, std::uint64_t, ContainerHash> sizes;
  const auto join = [&](std::uint64_t kind, std::size_t i, std::uint64_t a, std::uint64_t b) {
    return sizes[Hasher().add_u64(kind).add_u64(groups[i]).add_u64(a).add_u64(b).finish()]++;
  };
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] >= counts.size()) counts.resize(groups[i] + 1);
    PairCounts& group = counts[groups[i]];
    const std::uint64_t with_key = join(0, i, keys[i], 0);
    const std::uint64_t with_truth = join(1, i, truths[i], 0);
    const std::uint64_t with_both = join(2, i, keys[i], truths[i]);
    ++group.views;
    group.nodes += with_key == 0;
    group.true_states += with_truth == 0;
    group.fragments += with_both == 0;
    group.joined += with_key;
    group.same_truth += with_truth;
    group.both += with_both;
  }
  return counts;
}

AgreementReport measure_agreement(std::span<const PairCounts> groups) {
  static constexpr double Agreement::*kFields[] = {&Agreement::precision,  &Agreement::recall,
                                                   &Agreement::f1,         &Agreement::false_merge_rate,
                                                   &Agreement::split_rate, &Agreement::clusters_per_state,
                                                   &Agreement::node_reuse, &Agreement::true_node_reuse};
  AgreementReport report;
  PairCounts all;
  for (const PairCounts& group : groups) all += group;
  report.pooled = report.low = report.high = agreement_of(all);
  if (groups.empty()) return report;
  Stream dice = bootstrap_dice();
  std::vector<Agreement> resampled;
  for (std::size_t round = 0; round < kResamples; ++round) {
    PairCounts sum;
    for (const std::size_t group : drawn_groups(dice, groups.size())) sum += groups[group];
    resampled.push_back(agreement_of(sum));
  }
  for (double Agreement::*field : kFields) {
    std::vector<double> values;
    values.reserve(resampled.size());
    for (const Agreement& agreement : resampled) values.push_back(agreement.*field);
    const Interval interval = middle_95(std::move(values));
    report.low.*field = interval.low;
    report.high.*field = interval.high;
  }
  return report;
}

Interval bootstrap_interval(std::size_t groups,
                            const std::function<double(std::span<const std::size_t>)>& statistic) {
  Stream dice = bootstrap_dice();
  std::vector<double> values;
  for (std::size_t round = 0; round < kResamples && groups > 0; ++round) {
    values.push_back(statistic(drawn_groups(dice, groups)));
  }
  return middle_95(std::move(values));
}

}  // namespace lodestep::canonicalizer
