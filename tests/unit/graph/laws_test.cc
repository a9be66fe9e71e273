// What must hold for every estimator in the list, whoever wrote it, and the numbers that must not go wrong.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/hash.h"
#include "base/rng.h"
#include "graph/estimator.h"

using namespace lodestep;
using graph::Batch;
using graph::Credit;
using graph::Id;
using graph::Step;

namespace {

Stream stream(const std::string& name, std::uint64_t seed) {
  return Stream(Hasher().add(name).add_u64(seed).finish());
}

// Several tasks of several episodes on a small ring; rewards, costs, values and the like at random.
std::vector<Step> random_rows(std::uint64_t seed) {
  Stream dice = stream("laws", seed);
  std::vector<Step> rows;
  const auto tasks = static_cast<Id>(1 + dice.below(3));
  constexpr Id kGoal = 9;
  for (Id task = 0; task < tasks; ++task) {
    const auto episodes = static_cast<Id>(2 + dice.below(4));
    for (Id episode = 0; episode < episodes; ++episode) {
      const std::size_t first = rows.size();
      Id at = 0;
      double total = 0;
      const auto length = static_cast<std::int32_t>(1 + dice.below(6));
      for (std::int32_t t = 0; t < length; ++t) {
        Step s{.task = task, .episode = episode, .t = t, .state = at};
        s.action = static_cast<Id>(dice.below(3));
        at = static_cast<Id>((at + s.action) % 5);
        s.next_state = t + 1 == length && dice.below(2) == 0 ? kGoal : at;
        s.done = s.next_state == kGoal;
        s.truncated = t + 1 == length && !s.done;
        s.success = s.done;
        s.reward = s.done ? 1 : 0.25 * static_cast<double>(dice.below(3));
        s.next_value = dice.unit();
        s.value = dice.unit();
        s.energy = dice.unit();
        s.log_ratio = dice.unit() - 0.5;
        s.answer_logprob[0] = -dice.unit();
        s.answer_logprob[1] = -dice.unit();
        s.valid = dice.below(4) > 0;
        s.tokens = static_cast<std::int32_t>(1 + dice.below(9));
        total += s.reward;
        rows.push_back(s);
      }
      for (std::size_t i = first; i < rows.size(); ++i) rows[i].episode_reward = total;
    }
  }
  return rows;
}

Batch batch_of(const std::vector<Step>& rows) {
  Batch batch;
  for (const Step& s : rows) batch.add(s);
  batch.goal_state = 9;
  return batch;
}

Credit estimate(const std::string& name, const std::vector<Step>& rows, const Settings& settings = {},
                int threads = 1) {
  const auto credit =
      graph::estimate({.estimator = name, .settings = settings, .threads = threads}, batch_of(rows));
  INFO(name << ": " << (credit.ok() ? "" : to_string(credit.error())));
  REQUIRE(credit.ok());
  return *credit;
}

void require_near(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO("row " << i);
    REQUIRE(a[i] == Approx(b[i]).margin(1e-9));
  }
}

// The episode term over one task whose episodes have one step each.
std::vector<double> advantages_of(const std::vector<double>& rewards, const Settings& settings) {
  std::vector<Step> rows;
  for (std::size_t i = 0; i < rewards.size(); ++i) {
    rows.push_back(
        {.task = 0, .episode = static_cast<Id>(i), .reward = rewards[i], .episode_reward = rewards[i]});
  }
  return estimate("grpo", rows, settings).advantage;
}

}  // namespace

TEST_CASE("law: the order of rows permutes the result and nothing else") {
  for (const graph::EstimatorInfo& info : graph::estimators()) {
    if (info.name == "grpo_passk") continue;  // among equals the first is the best
    // hgpo's released rule hangs on the last bit of a sum.
    const Settings settings = info.name == "hgpo" ? Settings{{"zero_items", "kept"}} : Settings{};
    for (std::uint64_t seed = 0; seed < 15; ++seed) {
      INFO(info.name << ", seed " << seed);
      const std::vector<Step> rows = random_rows(seed);
      std::vector<std::size_t> order(rows.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      Stream dice = stream("order", seed);
      for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[dice.below(i + 1)]);
      std::vector<Step> shuffled;
      for (std::size_t i : order) shuffled.push_back(rows[i]);
      const std::vector<double> plain = estimate(info.name, rows, settings).advantage;
      std::vector<double> permuted;
      for (std::size_t i : order) permuted.push_back(plain[i]);
      require_near(estimate(info.name, shuffled, settings).advantage, permuted);
    }
  }
}

TEST_CASE("law: the number of threads changes no bit") {
  for (const graph::EstimatorInfo& info : graph::estimators()) {
    for (std::uint64_t seed = 20; seed < 30; ++seed) {
      INFO(info.name << ", seed " << seed);
      const std::vector<Step> rows = random_rows(seed);
      const Credit one = estimate(info.name, rows), four = estimate(info.name, rows, {}, 4);
      REQUIRE(one.advantage == four.advantage);
      REQUIRE(one.group == four.group);
      REQUIRE(one.node == four.node);
    }
  }
}

TEST_CASE("law: advantages are finite, and rows that take no part get 0") {
  for (const graph::EstimatorInfo& info : graph::estimators()) {
    for (std::uint64_t seed = 40; seed < 50; ++seed) {
      INFO(info.name << ", seed " << seed);
      std::vector<Step> rows = random_rows(seed);
      rows.back().infrastructure_failure = true;
      rows.front().active = false;
      const Credit credit = estimate(info.name, rows);
      for (double a : credit.advantage) REQUIRE(std::isfinite(a));
      REQUIRE(credit.advantage.front() == 0);
      REQUIRE(credit.advantage.back() == 0);
      REQUIRE(credit.summary.left_out_rows == 2);
    }
  }
}

TEST_CASE("law: an empty batch and a batch of one step have defined results") {
  for (const graph::EstimatorInfo& info : graph::estimators()) {
    INFO(info.name);
    REQUIRE(estimate(info.name, {}).advantage.empty());
    Step lone = random_rows(3).front();
    lone.next_state = 9;
    lone.done = true;
    const Credit credit = estimate(info.name, {lone});
    REQUIRE(std::isfinite(credit.advantage.at(0)));
    REQUIRE(!credit.summary.warnings.empty());
  }
}

TEST_CASE("law: copies, unequal columns and numbers that are not finite are refused by name") {
  std::vector<Step> rows = random_rows(5);
  rows.push_back(rows.front());
  Batch copies = batch_of(rows);
  const auto refused = graph::estimate({.estimator = "grpo"}, copies);
  REQUIRE(!refused.ok());
  CHECK(refused.error().message.find("row 0") != std::string::npos);
  CHECK(refused.error().where == "row " + std::to_string(rows.size() - 1));

  rows.pop_back();
  const double infinity = std::numeric_limits<double>::infinity();
  for (double bad : {std::nan(""), infinity, -infinity, 1e300}) {
    Batch batch = batch_of(rows);
    batch.episode_reward[1] = bad;
    const auto credit = graph::estimate({.estimator = "grpo"}, batch);
    REQUIRE(!credit.ok());
    CHECK(credit.error().where == "row 1");
    CHECK(credit.error().message.find("episode_reward") != std::string::npos);
  }
  Batch short_column = batch_of(rows);
  short_column.reward.pop_back();
  REQUIRE(!graph::estimate({.estimator = "gigpo"}, short_column).ok());

  using Column = std::vector<double> Batch::*;
  for (const auto& [name, column] :
       std::vector<std::pair<const char*, Column>>{{"reward", &Batch::reward},
                                                   {"cost", &Batch::cost},
                                                   {"value", &Batch::value},
                                                   {"log_ratio", &Batch::log_ratio},
                                                   {"energy", &Batch::energy},
                                                   {"answer_logprob", &Batch::answer_logprob_after}}) {
    for (double bad : {std::nan(""), infinity, -infinity}) {
      Batch batch = batch_of(rows);
      (batch.*column).assign(rows.size(), 0);
      (batch.*column)[2] = bad;
      for (const graph::EstimatorInfo& info : graph::estimators()) {  // also those that do not read it
        const auto credit = graph::estimate({.estimator = info.name}, batch);
        REQUIRE(!credit.ok());
        CHECK(credit.error().where == "row 2");
        CHECK(credit.error().message.find(name) != std::string::npos);
      }
    }
  }
}

TEST_CASE(
    "law: with normalize=mean, scaling rewards scales advantages and adding a constant changes nothing") {
  for (const std::string name : {"grpo", "gigpo", "rloo"}) {
    Settings settings{{"penalty_coef", "0"}};
    if (name != "rloo") settings.emplace_back("normalize", "mean");
    for (std::uint64_t seed = 60; seed < 70; ++seed) {
      INFO(name << ", seed " << seed);
      const std::vector<Step> rows = random_rows(seed);
      std::vector<Step> scaled = rows, shifted = rows;
      for (Step& s : scaled) {
        s.reward *= 4;
        s.episode_reward *= 4;
      }
      for (Step& s : shifted) s.episode_reward += 3;
      std::vector<double> expected = estimate(name, rows, settings).advantage;
      require_near(estimate(name, shifted, settings).advantage, expected);
      for (double& a : expected) a *= 4;
      require_near(estimate(name, scaled, settings).advantage, expected);
    }
  }
}

TEST_CASE("law: best observed and expected transitions agree where the world is deterministic") {
  for (std::uint64_t seed = 80; seed < 110; ++seed) {
    INFO("seed " << seed);
    std::vector<Step> rows = random_rows(seed);
    for (Step& s : rows) {  // state and action decide
      s.next_state = s.state == 4 && s.action == 2 ? 9 : (s.state + s.action) % 5;
      s.success = false;  // a flag would send its last step to the goal, whatever the action
      s.cost = 1 + s.action;
    }
    const Credit best = estimate("graphgpo", rows, {{"gamma", "0.8"}});
    const Credit expected = estimate("graphgpo", rows, {{"gamma", "0.8"}, {"transitions", "expected"}});
    REQUIRE(best.advantage == expected.advantage);
    for (std::size_t task = 0; task < best.graphs.size(); ++task) {
      REQUIRE(best.graphs[task].distance == expected.graphs[task].distance);
    }
  }
}

TEST_CASE(
    "law: a step return falls with the distance it leads to, and equal transitions have equal returns") {
  for (std::uint64_t seed = 120; seed < 150; ++seed) {
    INFO("seed " << seed);
    const std::vector<Step> rows = random_rows(seed);
    const Credit credit = estimate("graphgpo", rows, {{"gamma", "0.8"}, {"penalty_coef", "0"}});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < rows.size(); ++j) {
        if (rows[i].task != rows[j].task) continue;
        const auto& distance = credit.graphs[static_cast<std::size_t>(rows[i].task)].distance;
        const double a = distance[static_cast<std::size_t>(credit.next_node[i])];
        const double b = distance[static_cast<std::size_t>(credit.next_node[j])];
        if (a < b) REQUIRE(credit.step_return[i] > credit.step_return[j]);
        if (a == b) REQUIRE(credit.step_return[i] == credit.step_return[j]);
      }
    }
  }
}

TEST_CASE("equal members get exactly 0, whatever the value and the count") {
  for (double value : {9.9, 6.4, 5.12, 0.4, 0.3, 0.1, 0.01, -0.7, 1e-12, 1e9}) {
    for (std::size_t n = 2; n < 60; ++n) {
      for (double a : advantages_of(std::vector<double>(n, value), {{"eps", "0"}})) REQUIRE(a == 0);
    }
  }
}

TEST_CASE("one reward in eight that differs: bounded by the count, at both deviations") {
  const std::vector<double> rewards{0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.1};
  const auto sample = advantages_of(rewards, {{"eps", "0"}});
  const auto population = advantages_of(rewards, {{"eps", "0"}, {"std", "population"}});
  CHECK(sample.back() == Approx(-2.4748737));
  CHECK(population.back() == Approx(-2.6457513));
  const auto loo = advantages_of(rewards, {{"normalize", "mean"}, {"baseline", "leave_one_out"}});
  CHECK(loo.back() == Approx(-0.6));
}

TEST_CASE("four attempts at one task: 1, 0, 1, 0") {
  const auto sample = advantages_of({1, 0, 1, 0}, {});
  CHECK(sample[0] == Approx(0.866024).epsilon(1e-5));
  CHECK(sample[1] == Approx(-0.866024).epsilon(1e-5));
  CHECK(advantages_of({1, 0, 1, 0}, {{"std", "population"}})[0] == Approx(1).epsilon(1e-5));
  CHECK(advantages_of({0, 10}, {{"norm_by_std", "false"}}) == std::vector<double>{-5, 5});
}

TEST_CASE("each trajectory votes once when asked, each step by default") {
  std::vector<Step> rows{{.task = 0, .episode = 0, .reward = 1, .episode_reward = 1}};
  for (std::int32_t t = 0; t < 9; ++t) rows.push_back({.task = 0, .episode = 1, .t = t});
  const Credit by_steps = estimate("grpo", rows, {{"normalize", "mean"}});
  const Credit by_trajectories =
      estimate("grpo", rows, {{"normalize", "mean"}, {"stats", "trajectories"}, {"weights", "trajectories"}});
  CHECK(by_steps.advantage[0] == Approx(0.9));
  CHECK(by_steps.summary.statistics == "steps");
  CHECK(by_trajectories.advantage[0] == Approx(0.5));
  CHECK(by_trajectories.advantage[5] == Approx(-0.5));
  CHECK(by_trajectories.summary.statistics == "trajectories");
  CHECK(by_trajectories.weight[0] == 1);
  CHECK(std::accumulate(by_trajectories.weight.begin() + 1, by_trajectories.weight.end(), 0.0) == Approx(1));
}

TEST_CASE("a reward that is not available is not 0") {
  std::vector<Step> rows;
  for (Id e = 0; e < 4; ++e)
    rows.push_back({.task = 0, .episode = e, .episode_reward = e == 2 ? 1.0 : e == 0});
  rows[1].episode_reward_known = false;
  const Credit credit = estimate("grpo", rows, {{"normalize", "mean"}});
  CHECK(credit.advantage[0] == Approx(1.0 / 3));
  CHECK(credit.advantage[1] == 0);
  CHECK(credit.advantage[3] == Approx(-2.0 / 3));
  CHECK(credit.summary.unscored_episodes == 1);
}

TEST_CASE("gae: a truncated end is bootstrapped, a terminated one is not") {
  std::vector<Step> rows;
  for (Id e = 0; e < 2; ++e) {
    for (std::int32_t t = 0; t < 4; ++t)
      rows.push_back({.task = 0, .episode = e, .t = t, .reward = 1, .value = 10});
    rows.back().truncated = true;
    rows.back().next_value = 10;
  }
  const Credit cut = estimate("gae", rows);
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(cut.step_return[i] == Approx(10 + 4 - static_cast<double>(i % 4)));
  rows.back().truncated = false;
  rows.back().done = true;
  const Credit ended = estimate("gae", rows);
  CHECK(ended.step_return[4] == Approx(4));
  CHECK(ended.step_return[0] == Approx(14));
  rows[3].next_value = std::nan("");
  const auto refused = graph::estimate({.estimator = "gae"}, batch_of(rows));
  REQUIRE(!refused.ok());
  CHECK(refused.error().where == "row 3");
}

TEST_CASE("discounting follows episodes and steps, not the order of records") {
  const std::vector<Step> rows{
      {.task = 0, .episode = 1, .t = 1, .state = 3},
      {.task = 0, .episode = 0, .t = 1, .state = 1, .reward = 1, .episode_reward = 1},
      {.task = 0, .episode = 1, .t = 0, .state = 2},
      {.task = 0, .episode = 0, .t = 0, .state = 0, .episode_reward = 1}};
  CHECK(estimate("gigpo", rows, {{"gamma", "0.5"}}).step_return == std::vector<double>{0, 1, 0, 0.5});
}

TEST_CASE("a million steps in one group, with loops and cycles, have finite results") {
  std::vector<Step> rows;
  constexpr Id kSteps = 50;
  // Where all hashes collide (the hash_zero build) a tenth has to do.
  const Id episodes = ContainerHash()(std::uint64_t{1}) == ContainerHash()(std::uint64_t{2}) ? 2'000 : 20'000;
  for (Id episode = 0; episode < episodes; ++episode) {
    for (Id t = 0; t < kSteps; ++t) {
      const Id at = t % 7;  // a ring, walked over and over
      rows.push_back({.task = 0,
                      .episode = episode,
                      .t = t,
                      .state = at,
                      .next_state = (at + episode % 2) % 7,
                      .reward = t + 1 == kSteps ? 1.0 : 0.0,
                      .episode_reward = 1,
                      .value = 0.5,
                      .log_ratio = 0.1,
                      .energy = 0.5,
                      .answer_logprob = {-1, -0.5},
                      .done = t + 1 == kSteps});
    }
  }
  for (const graph::EstimatorInfo& info : graph::estimators()) {
    INFO(info.name);
    const std::vector<double> advantage = estimate(info.name, rows).advantage;
    CHECK(std::all_of(advantage.begin(), advantage.end(), [](double a) { return std::isfinite(a); }));
  }
}

TEST_CASE("loops and cycles change no distance, whatever they cost") {
  // The way 0, 1, 2, goal; a loop at each state, a way back from each to all before it, an island 3, 4 in a
  // ring.
  for (double loop_cost : {1.0, 0.0}) {
    std::vector<Step> rows;
    const auto walk = [&](Id from, Id to, double cost) {
      rows.push_back({.task = 0, .episode = static_cast<Id>(rows.size()), .state = from, .next_state = to});
      rows.back().cost = cost;
    };
    for (Id s = 0; s < 3; ++s) {
      walk(s, s, loop_cost);
      for (Id back = 0; back < s; ++back) walk(s, back, loop_cost);
      walk(s, s == 2 ? 9 : s + 1, 1);
    }
    walk(3, 4, loop_cost);
    walk(4, 3, loop_cost);
    const Credit credit = estimate("graphgpo", rows, {{"gamma", "0.5"}});
    const auto distance = [&](Id state) {
      const auto row = static_cast<std::size_t>(
          std::find_if(rows.begin(), rows.end(), [&](const Step& s) { return s.state == state; }) -
          rows.begin());
      return credit.graphs[0].distance[static_cast<std::size_t>(credit.node[row])];
    };
    for (Id s = 0; s < 3; ++s) CHECK(distance(s) == 3 - s);
    for (Id s = 3; s < 5; ++s) CHECK(distance(s) == 4);  // no success was seen from there: one farther
    // Values under chance and under the observed policy end, though loops lead nowhere.
    for (const char* transitions : {"expected", "policy"}) {
      for (double a : estimate("graphgpo", rows, {{"gamma", "0.5"}, {"transitions", transitions}}).advantage)
        CHECK(std::isfinite(a));
    }
    for (double a : estimate("evi", rows).advantage) CHECK(std::isfinite(a));
  }
}

TEST_CASE("an episode's name may come back in any number of tasks") {
  std::vector<Step> rows;
  for (Id task = 0; task < 100'000; ++task) {
    for (Id episode = 0; episode < 2; ++episode) {
      rows.push_back({.task = task, .episode = episode, .episode_reward = static_cast<double>(episode)});
    }
  }
  const Credit credit = estimate("grpo", rows, {{"normalize", "mean"}});
  CHECK(credit.summary.tasks == 100'000);
  CHECK(std::count(credit.advantage.begin(), credit.advantage.end(), 0.5) == 100'000);
}

TEST_CASE("batches without signal, and batches that were cut, say so") {
  std::vector<Step> rows;
  for (Id e = 0; e < 4; ++e) rows.push_back({.task = 0, .episode = e, .truncated = true});
  const Credit credit = estimate("grpo", rows);
  REQUIRE(credit.summary.warnings.size() == 2);
  CHECK(credit.summary.no_signal_tasks == 1);
  CHECK(credit.summary.truncated_episodes == 4);
}

TEST_CASE("open nodes are censored, closed ones are far") {
  // From 0: to 1 (open: one of two actions tried), to 2 (an end for good), to the goal.
  std::vector<Step> rows{
      {.task = 0, .episode = 0, .t = 0, .state = 0, .next_state = 1, .action = 0},
      {.task = 0, .episode = 0, .t = 1, .state = 1, .next_state = 1, .action = 0},
      {.task = 0, .episode = 1, .t = 0, .state = 0, .next_state = 2, .action = 1, .done = true},
      {.task = 0, .episode = 2, .t = 0, .state = 0, .next_state = 9, .action = 2, .done = true}};
  for (Step& s : rows) s.admissible_count = s.state == 1 ? 2 : 3;
  const Settings settings{
      {"unreached", "censored"}, {"episode_w", "0"}, {"gamma", "0.5"}, {"mode", "mean_norm"}};
  const Credit credit = estimate("graphgpo", rows, settings);
  CHECK(credit.weight == std::vector<double>{0, 0, 1, 1});
  CHECK(credit.advantage == std::vector<double>{0, 0, -3.75, 3.75});
  for (Step& s : rows) s.admissible_count = s.state == 1 ? 1 : 3;  // all was tried in 1: it is closed
  CHECK(estimate("graphgpo", rows, settings).weight == std::vector<double>{1, 1, 1, 1});
}
