// The true advantages of recorded steps by forking: from every recorded state the same policy is played on.
//   ForkOptions how{.continuations = 300, .threads = 2};
//   Result<Truth> truth = forked_advantages(recording, *factory, "confused:0.5", 50, how);
// Threads: spreads groups over own threads; the result does not depend on their number. Where states are few
// enough to enumerate, true_advantages (fidelity.h) needs no sampling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/fidelity.h"

namespace lodestep::harness {

struct ForkOptions {
  std::size_t continuations = 300;  // from every recorded state and number of turns left
  std::uint64_t seed = 0;
  int threads = 1;
};

// V_k(s) = share of continuations that succeed within k turns; A = V_{k-1}(s') - V_k(s), with the variance
// that sampling leaves in it. The planner is asked once for each relevant key with its offers, which decide
// its answer but for ties. Fails where the policy does not look at the state alone (state_policy.h), and
// where the recorded actions do not lead to the recorded states.
Result<Truth> forked_advantages(const Recording& recording, const EnvFactory& factory,
                                const std::string& policy, std::size_t max_steps, const ForkOptions& how);

}  // namespace lodestep::harness
