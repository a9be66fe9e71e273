// The agreement measures on groups small enough to count by hand.
#include <catch2/catch.hpp>

#include <cmath>

#include "canonicalizer/agreement.h"

namespace lodestep::canonicalizer {
namespace {

using Numbers = std::vector<std::uint32_t>;

TEST_CASE("pairs are counted within groups") {
  // Group 0: states A A A B, keys 1 1 2 2. Group 1: state A once; an equal key there is another pair's
  // business.
  const std::vector<PairCounts> groups =
      count_pairs(Numbers{0, 0, 0, 0, 1}, Numbers{1, 1, 2, 2, 1}, Numbers{7, 7, 7, 8, 7});
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].views == 4);
  CHECK(groups[0].nodes == 2);
  CHECK(groups[0].true_states == 2);
  CHECK(groups[0].fragments == 3);
  CHECK(groups[0].joined == 2);
  CHECK(groups[0].same_truth == 3);
  CHECK(groups[0].both == 1);
  CHECK(groups[1].joined == 0);

  const Agreement first = agreement_of(groups[0]);
  CHECK(first.precision == 0.5);
  CHECK(first.recall == 1.0 / 3);
  CHECK(first.f1 == Approx(0.4));
  CHECK(first.false_merge_rate == 0.5);
  CHECK(first.split_rate == 2.0 / 3);
  CHECK(first.clusters_per_state == 1.5);
  CHECK(first.node_reuse == 0.5);
  CHECK(first.true_node_reuse == 0.5);
}

TEST_CASE("a matcher that equals the truth is perfect, and its interval is a point") {
  const Numbers states{0, 1, 1, 0, 2, 2};
  const AgreementReport report = measure_agreement(count_pairs(Numbers{0, 0, 0, 1, 1, 1}, states, states));
  CHECK(report.pooled.f1 == 1);
  CHECK(report.low.f1 == 1);
  CHECK(report.high.f1 == 1);
  CHECK(report.pooled.clusters_per_state == 1);
}

TEST_CASE("with no pairs at all nothing is wrong, and empty input is fine") {
  const AgreementReport report = measure_agreement(count_pairs(Numbers{}, Numbers{}, Numbers{}));
  CHECK(report.pooled.precision == 1);
  CHECK(report.pooled.recall == 1);
  CHECK(report.pooled.node_reuse == 0);
}

TEST_CASE("the bootstrap interval holds the value, repeats itself and narrows with more groups") {
  const auto share_of_ones = [](std::span<const std::size_t> drawn) {
    double ones = 0;
    for (const std::size_t group : drawn) ones += group % 2 == 0 ? 1 : 0;
    return ones / static_cast<double>(drawn.size());
  };
  const Interval few = bootstrap_interval(10, share_of_ones);
  const Interval many = bootstrap_interval(200, share_of_ones);
  CHECK(few.low < 0.5);
  CHECK(few.high > 0.5);
  CHECK(many.high - many.low < few.high - few.low);
  CHECK(few.low == bootstrap_interval(10, share_of_ones).low);
  CHECK(std::isnan(bootstrap_interval(0, share_of_ones).low));
}

}  // namespace
}  // namespace lodestep::canonicalizer
