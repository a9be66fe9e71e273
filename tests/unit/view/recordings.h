// Small recordings for the tests of the viewer and the plots.
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "harness/recording.h"

namespace lodestep::harness::test {

// An episode through named states: "a b c" plays two steps; every state admits "go" and "stay".
EpisodeRecord episode(std::size_t group, std::size_t member, const std::vector<std::string>& states,
                      Outcome outcome, double reward = 0);
// Group 0: a success, a failure, a truncated episode. Group 3: two truncated ones that never get anywhere.
Recording small_recording();
// With the estimator's answer stored beside the others.
Recording credited(Recording recording, const std::string& estimator = "graphgpo");

}  // namespace lodestep::harness::test
