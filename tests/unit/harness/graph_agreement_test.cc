// The graph measures of matchers on cases that can be worked out by hand, and against plain sums.
#include <catch2/catch.hpp>

#include <cmath>

#include "harness/graph_agreement.h"

namespace lodestep::harness {
namespace {

using Catch::Matchers::WithinAbs;
using graph::Id;

constexpr Id kTaskSize = 3;

// Tasks of three steps in a line to success; the matcher's graph merges the first two states of the tasks
// named.
graph::Credit credit_of(std::size_t tasks, const std::vector<bool>& merged) {
  graph::Batch batch;
  for (std::size_t task = 0; task < tasks; ++task) {
    const Id base = static_cast<Id>(task) * 10;
    const Id second = merged[task] ? base : base + 1;
    const Id states[] = {base, second, base + 2, base + 3};
    for (Id t = 0; t < kTaskSize; ++t) {
      batch.add({.task = static_cast<Id>(task),
                 .episode = 0,
                 .t = t,
                 .state = states[t],
                 .next_state = states[t + 1],
                 .episode_reward = 1,
                 .success = true});
    }
    // A second episode starts in the same state and gets nowhere.
    batch.add({.task = static_cast<Id>(task), .episode = 1, .t = 0, .state = base, .next_state = base + 4});
  }
  const Result<graph::Credit> credit =
      graph::estimate({.estimator = "graphgpo", .settings = {{"episode_w", "0"}, {"gamma", "0.5"}}}, batch);
  REQUIRE(credit);
  return *credit;
}

std::vector<Id> tasks_of(std::size_t tasks) {
  std::vector<Id> out;
  for (std::size_t task = 0; task < tasks; ++task) out.insert(out.end(), 4, static_cast<Id>(task));
  return out;
}

TEST_CASE("a graph agrees with itself in every measure") {
  const graph::Credit truth = credit_of(4, {false, false, false, false});
  const GraphReport report = compare_graphs(truth, truth, tasks_of(4));
  CHECK(report.pooled.sign == 1);
  CHECK_THAT(report.pooled.spearman, WithinAbs(1, 1e-12));
  CHECK_THAT(report.pooled.pearson, WithinAbs(1, 1e-12));
  CHECK(report.pooled.distance_max == 0);
  CHECK(report.pooled.reach_differs == 0);
  CHECK(report.low.sign == 1);
  CHECK(report.groups.size() == 4);
}

TEST_CASE("distance errors are means over steps, and unreached states are counted apart") {
  const graph::Credit truth = credit_of(2, {false, false});
  const graph::Credit found = credit_of(2, {true, false});
  const GraphReport report = compare_graphs(found, truth, tasks_of(2));
  // In task 0 the first state is two steps from success instead of three, for both episodes' first steps.
  CHECK_THAT(report.groups[0].distance_mean, WithinAbs(0.5, 1e-12));
  CHECK(report.groups[0].distance_max == 1);
  CHECK(report.groups[1].distance_mean == 0);
  CHECK_THAT(report.pooled.distance_mean, WithinAbs(0.25, 1e-12));
  CHECK(report.pooled.unreached == 0);
  CHECK(report.low.distance_mean == 0);
  CHECK(report.high.distance_mean == 0.5);
  // Nodes with a way to success: task 0 has 2 + goal + dead end, task 1 3 + goal + dead end.
  CHECK(report.groups[0].coverage < report.groups[1].coverage);

  graph::Batch lost;
  lost.add({.task = 0, .episode = 0, .t = 0, .state = 0, .next_state = 1});
  lost.add({.task = 0, .episode = 1, .t = 0, .state = 2, .next_state = 3, .success = true});
  graph::Batch joined = lost;
  joined.state[1] = 0;
  const auto estimate = [](const graph::Batch& batch) {
    return *graph::estimate({.estimator = "graphgpo", .settings = {{"episode_w", "0"}}}, batch);
  };
  const std::vector<Id> one_task{0, 0};
  const GraphAgreement apart = compare_graphs(estimate(joined), estimate(lost), one_task).pooled;
  CHECK(apart.unreached == 0);
  CHECK(apart.true_unreached == 0.5);
  CHECK(apart.reach_differs == 0.5);
  CHECK(apart.distance_mean == 0);  // over the step that reaches success in both
}

TEST_CASE("cross-batch consistency is the share of pairs of states in the same order") {
  const auto step = [](std::uint32_t task, const char* state, double distance) {
    return PlacedStep{task, hash128(std::string_view(state)), distance};
  };
  const std::vector<PlacedStep> one{step(0, "a", 1), step(0, "b", 2), step(0, "c", 3),
                                    step(0, "only here", 9)};
  CHECK(cross_batch_consistency(one, one).consistency == 1);
  CHECK(cross_batch_consistency(one, one).states == 4);
  // b and c change places: each of a's two pairs stays, one pair of three turns.
  const std::vector<PlacedStep> two{step(0, "a", 1), step(0, "b", 5), step(0, "c", 4)};
  const CrossBatch order = cross_batch_consistency(one, two);
  CHECK(order.states == 3);
  CHECK_THAT(order.consistency, WithinAbs(2.0 / 3, 1e-12));
  // A state's distance is the mean over its steps.
  const std::vector<PlacedStep> split{step(0, "a", 1), step(0, "b", 1), step(0, "b", 4), step(0, "c", 3)};
  CHECK(cross_batch_consistency(one, split).consistency == 1);
  // Tasks do not mix, and a state that only one batch visits does not count.
  const std::vector<PlacedStep> elsewhere{step(1, "a", 1), step(1, "b", 5)};
  CHECK(std::isnan(cross_batch_consistency(one, elsewhere).consistency));
  CHECK(std::isnan(cross_batch_consistency({}, {}).consistency));
}

}  // namespace
}  // namespace lodestep::harness
