// Random batches through the product and through the plain reference: equal advantages.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/interner.h"
#include "base/rng.h"
#include "graph/estimator.h"
#include "tests/reference/credit_reference.h"
#include "tests/support/fuzz.h"

using namespace lodestep;
using reference::CreditStep;

namespace {

// A few tasks, each a walk on a small ring with chords, loops and a goal; rows of episodes may interleave.
std::vector<CreditStep> random_steps(std::uint64_t seed) {
  Stream dice(Hasher().add("credit").add_u64(seed).finish());
  std::vector<CreditStep> steps;
  const int limit = 2 + static_cast<int>(dice.below(7));
  for (std::uint64_t task = 0; task < 1 + dice.below(3); ++task) {
    const std::uint64_t states = 2 + dice.below(6);
    for (std::uint64_t episode = 0; episode < 1 + dice.below(5); ++episode) {
      std::uint64_t at = 0;
      std::vector<CreditStep> own;
      for (int t = 0; t < limit; ++t) {
        CreditStep s;
        s.task = "task" + std::to_string(task);
        s.episode = "e" + std::to_string(episode);
        s.t = t;
        s.turns_left = limit - t;
        s.state = std::to_string(at);
        const std::uint64_t action = dice.below(3);
        s.action = std::to_string(action);
        at = (at + action) % states;
        const bool wins = at == states - 1 && dice.below(3) > 0;
        s.next = wins ? "success" : std::to_string(at);
        s.valid = dice.below(5) > 0;
        s.reward = wins ? 1 : (dice.below(4) == 0 ? -0.1 : 0);
        s.done = wins || dice.below(12) == 0;
        const auto keys = [&](const std::string& state) {
          return std::vector<std::string>{"all", "stage" + std::to_string(state.size() + state.back() % 2),
                                          s.task, state};
        };
        s.keys = keys(s.state);
        s.next_keys = keys(s.next);
        own.push_back(s);
        if (s.done) break;
      }
      double total = 0;
      for (const CreditStep& s : own) total += s.reward;
      for (CreditStep& s : own) s.episode_reward = total;
      steps.insert(steps.end(), own.begin(), own.end());
    }
  }
  for (std::size_t i = steps.size(); i-- > 1;) {
    if (seed % 2 == 1) std::swap(steps[i], steps[dice.below(i + 1)]);
  }
  return steps;
}

graph::Batch as_batch(const std::vector<CreditStep>& steps) {
  Interner tasks, episodes, states, actions, keys;
  graph::Batch batch;
  batch.keys.resize(4);
  batch.next_keys.resize(4);
  for (const CreditStep& s : steps) {
    graph::Step row;
    row.task = tasks.intern(s.task);
    row.episode = episodes.intern(s.episode);
    row.t = s.t;
    row.state = states.intern(s.state);
    row.next_state = states.intern(s.next);
    row.action = actions.intern(s.action);
    row.reward = s.reward;
    row.episode_reward = s.episode_reward;
    row.valid = s.valid;
    row.done = s.done;
    row.turns_left = s.turns_left;
    batch.add(row);
    for (std::size_t level = 0; level < 4; ++level) {
      batch.keys[level].push_back(keys.intern(s.keys[level]));
      batch.next_keys[level].push_back(keys.intern(s.next_keys[level]));
    }
  }
  batch.goal_state = states.find("success");
  return batch;
}

void compare(const std::string& estimator, const Settings& settings, const std::vector<CreditStep>& steps,
             const std::vector<double>& expected) {
  for (int threads : {1, 3}) {
    INFO(estimator << " with " << threads << " threads");
    const auto credit =
        graph::estimate({.estimator = estimator, .settings = settings, .threads = threads}, as_batch(steps));
    INFO((credit.ok() ? "" : to_string(credit.error())));
    REQUIRE(credit.ok());
    REQUIRE(credit->advantage.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      INFO("row " << i);
      REQUIRE(credit->advantage[i] == Approx(expected[i]).margin(1e-9));
    }
  }
}

}  // namespace

TEST_CASE("differential fuzz: estimators equal their formulas written plainly", "[fuzz]") {
  const auto rounds = static_cast<std::uint64_t>(test::fuzz_rounds(60));
  for (std::uint64_t seed = 0; seed < rounds; ++seed) {
    INFO("seed " << seed);
    const std::vector<CreditStep> steps = random_steps(seed);
    compare("grpo", {}, steps, reference::grpo(steps, {}));
    compare("grpo", {{"norm_by_std", "false"}}, steps, reference::grpo(steps, {.mean_std = false}));
    compare("gigpo", {{"gamma", "0.5"}}, steps, reference::gigpo(steps, {.gamma = 0.5}));
    compare("graphgpo", {{"gamma", "0.8"}}, steps, reference::graphgpo(steps, {.gamma = 0.8}));
    compare("graphgpo", {{"gamma", "0.8"}, {"mode", "mean_norm"}, {"penalty_coef", "0.3"}}, steps,
            reference::graphgpo(steps, {.gamma = 0.8, .mean_std = false, .penalty = 0.3}));
    compare("evi", {}, steps, reference::evi(steps, 0.9));
    compare("evih", {}, steps, reference::evih(steps));
    compare("evihb", {{"levels", "batch.0:0,batch.1:5,batch.2:2,batch.3:1"}}, steps,
            reference::evihb(steps, {0, 5, 2, 1}));
    compare("evihb", {{"levels", "batch:0,batch.1:3,task:1,task.3:0"}}, steps,
            reference::evihb(steps, {0, 3, 1, 0}));
  }
}

TEST_CASE("evihb with one level and no weight is evih") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<CreditStep> steps = random_steps(seed);
    for (CreditStep& s : steps) {
      s.reward = s.next == "success" ? 1 : 0;  // evih counts successes
      s.done = s.next == "success";
    }
    compare("evihb", {{"levels", "task.3:0"}, {"average", "true"}}, steps, reference::evih(steps));
  }
}
