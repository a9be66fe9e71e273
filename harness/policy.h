// Who chooses the actions of a rollout.
//   Result<std::unique_ptr<Policy>> policy = make_policy("mixed:0.5");
//   Result<std::optional<Decision>> decision = (*policy)->act(turn);
// Threads: act() is called from many threads at once. Chance comes from the turn's own stream, so that
// neither scheduling nor resuming changes a byte.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "envs/environment.h"
#include "harness/recording.h"

namespace lodestep::harness {

// What a policy may look at for one action.
struct Turn {
  const Environment& environment;  // for gold_action(); a text policy reads only the rest
  const Task& task;
  const Situation& now;
  const std::vector<StepRecord>& history;  // the episode so far
  std::size_t max_steps = 0;               // the episode's budget; 0 = none
  Stream dice;                             // this turn's chance
};

// What a policy decided. Its action is played whatever its form.
struct Decision {
  Decision(std::string chosen, std::optional<bool> form = std::nullopt)
      : action(std::move(chosen)), format_valid(form) {}
  std::string action;
  std::optional<bool>
      format_valid;  // a model's reply kept to the form asked for; absent: there was no reply to read
};

class Policy {
 public:
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;

  // The action to play; nullopt: the policy has nothing more to say and the episode is cut short. An
  // error is a failure of the infrastructure: the episode ends as failed and is in no statistic.
  virtual Result<std::optional<Decision>> act(const Turn& turn) const = 0;
  // How many episodes should be under way at once; 0: as many as there are threads.
  virtual std::size_t concurrency() const { return 0; }
};

// "random", "gold", "mixed:E", "confused:P" (state_policy.h), "script:FILE" (one action a line, or JSON lines
// {"task":...,"actions":[...]}), "openai:URL,model=NAME,..." (openai_policy.h). Unknown ones are refused with
// the known ones listed.
Result<std::unique_ptr<Policy>> make_policy(const std::string& spec);

}  // namespace lodestep::harness
