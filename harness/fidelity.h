// How near an estimator's advantages are to the true ones.
//   Result<Truth> truth = true_advantages(recording, *factory, "mixed:0.5", 120);   // or forked_advantages
//   Result<std::vector<FidelityRow>> table = fidelity_table({&recording, 1}, {&*truth, 1});
// Threads: one. The truth here: dynamic programming over (state, turns left) for the policy's own
// probabilities, V_k(s) = chance of success within k turns, A = V_{k-1}(s') - V_k(s). Nothing is sampled.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "envs/factory.h"
#include "harness/recording.h"

namespace lodestep::harness {

struct Truth {
  std::vector<double> advantage;  // one per recorded step, in (group, member, t) order
  std::vector<double> variance;   // what sampling left in each; empty: nothing was sampled
  std::size_t states = 0;         // enumerated, over all tasks
};

// Fails where the policy's probabilities are not known (random, gold and mixed:E are), where a task has more
// than 200,000 states, and where the recording is not of this environment and policy.
Result<Truth> true_advantages(const Recording& recording, const EnvFactory& factory,
                              const std::string& policy, std::size_t max_steps);

struct Fidelity {
  double cosine = 0;          // over all steps; the truth's sampling noise is taken out of its norm
  double sign_agreement = 0;  // share of equal signs among the steps where both are non-zero
  double non_zero = 0;        // share of steps with an advantage
};

Fidelity fidelity_of(const std::vector<double>& advantage, const Truth& truth);

// Which states an estimator of the table compares.
enum class FidelityStates {
  kText,      // as recorded; with admissible actions, where there are some (the released code's anchor)
  kExact,     // the environment's exact key
  kRelevant,  // what matters for the goal
  kStages,    // text, with a stage read from it (text_stage.h)
};

// One estimator of the table: its name in it, and how it is asked.
struct FidelityRow {
  std::string label, estimator;
  Settings settings;
  FidelityStates states = FidelityStates::kText;
  std::vector<double> advantage;  // over all steps of all recordings
  Fidelity fidelity;
};

// Each recording is a batch of its own, credited by every estimator of the table; cosines are over the steps
// of all of them. Rewards are replaced by the outcome (1 for success), so that the reward scheme does not
// matter. Estimators that need what the recordings do not have are left out.
Result<std::vector<FidelityRow>> fidelity_table(std::span<const Recording> recordings,
                                                std::span<const Truth> truths);

// What GRPO can hope for: 1 / sqrt(L), L the mean length of episodes weighted by the squared difference of
// their outcome from their group's mean. 0 where no outcome differs.
double outcome_cosine(std::span<const Recording> recordings);

// Every group cut into groups of `size` members, so that group sizes compare at (nearly) equal steps; members
// that do not fill a group are dropped. `truth` is cut alike; it may be empty.
Recording regrouped(const Recording& recording, std::size_t size, Truth& truth);

}  // namespace lodestep::harness
