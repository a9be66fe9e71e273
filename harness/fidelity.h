// How near an estimator's advantages are to the true ones, where the environment can enumerate its states.
//   Result<Truth> truth = true_advantages(recording, *factory, "mixed:0.5", 120);
//   Fidelity f = fidelity_of(credit->advantage, truth->advantage);
// Threads: one. The truth: dynamic programming over (state, turns left) for the policy's own probabilities,
// V_k(s) = chance of success within k turns, A = V_{k-1}(s') - V_k(s). Nothing is sampled.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "envs/factory.h"
#include "harness/recording.h"

namespace lodestep::harness {

struct Truth {
  std::vector<double> advantage;  // one per recorded step, in (group, member, t) order
  std::size_t states = 0;         // enumerated, over all tasks
};

// Fails where the policy's probabilities are not known (random, gold and mixed:E are), where a task has more
// than 200,000 states, and where the recording is not of this environment and policy.
Result<Truth> true_advantages(const Recording& recording, const EnvFactory& factory,
                              const std::string& policy, std::size_t max_steps);

struct Fidelity {
  double cosine = 0;          // over all steps
  double sign_agreement = 0;  // share of equal signs among the steps where both are non-zero
  double non_zero = 0;        // share of steps with an advantage
};

Fidelity fidelity_of(const std::vector<double>& advantage, const std::vector<double>& truth);

// One estimator of the table: its name in it, and how it is asked.
struct FidelityRow {
  std::string label, estimator;
  Settings settings;
  Fidelity fidelity;
};

// The recording's steps credited by every estimator of the table, against the truth. Rewards are replaced by
// the outcome (1 for success), so that the reward scheme does not matter.
Result<std::vector<FidelityRow>> fidelity_table(const Recording& recording, const Truth& truth);

// The members 0 .. size - 1 of every group, with the truth of their steps.
Recording first_members(const Recording& recording, std::size_t size, Truth& truth);

}  // namespace lodestep::harness
