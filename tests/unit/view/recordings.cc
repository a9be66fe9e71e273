#include "recordings.h"

#include <catch2/catch.hpp>

#include "harness/credit.h"

namespace lodestep::harness::test {
namespace {

Situation situation(const std::string& text, std::vector<std::string> admissible) {
  Situation out;
  out.observation = text;
  out.admissible = std::move(admissible);
  out.keys = {text, text, "stage"};
  return out;
}

}  // namespace

EpisodeRecord episode(std::size_t group, std::size_t member, const std::vector<std::string>& states,
                      Outcome outcome, double reward) {
  EpisodeRecord out;
  out.group = group;
  out.member = member;
  out.task = {"dummy", "t" + std::to_string(group), 18446744073709551615ULL};
  out.outcome = outcome;
  out.truncated = outcome == Outcome::kRunning;
  for (std::size_t i = 0; i + 1 < states.size(); ++i) {
    StepRecord step;
    step.before = situation(states[i], {"go", "stay"});
    step.action = states[i] == states[i + 1] ? "stay" : "go";
    step.reward = i + 2 == states.size() ? reward : 0;
    out.steps.push_back(step);
  }
  out.last = situation(states.back(), outcome == Outcome::kRunning ? std::vector<std::string>{"go", "stay"}
                                                                   : std::vector<std::string>{});
  return out;
}

Recording credited(Recording recording, const std::string& estimator) {
  Result<Credited> credit = credit_recording(recording, {.estimator = estimator});
  REQUIRE(credit.ok());
  recording.estimates.push_back(credit->estimate);
  return recording;
}

Recording small_recording() {
  Recording recording;
  recording.info = {{"env", "dummy"}, {"policy", "script"}};
  recording.episodes = {
      episode(0, 0, {"start", "middle", "end"}, Outcome::kSuccess, 1),
      episode(0, 1, {"start", "start", "middle", "pit"}, Outcome::kFailure),
      episode(0, 2, {"start", "side", "far"}, Outcome::kRunning),
      episode(3, 0, {"x", "y"}, Outcome::kRunning),
      episode(3, 1, {"x", "y", "x"}, Outcome::kRunning),
  };
  return recording;
}

}  // namespace lodestep::harness::test
