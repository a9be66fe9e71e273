// Policies that look at the state alone, so that the truth about them can be had by forking.
//   Result<std::unique_ptr<StatePolicy>> policy = make_state_policy("confused:0.5");
//   std::optional<std::string> action = (*policy)->choose({admissible, gold}, dice);
// Threads: choose() is const and may be called from many threads at once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/rng.h"

namespace lodestep::harness {

// What such a policy sees.
struct Standpoint {
  const std::vector<std::string>& admissible;        // sorted
  std::function<std::optional<std::string>()> gold;  // the planner's action; may cost a search
};

class StatePolicy {
 public:
  StatePolicy() = default;
  StatePolicy(const StatePolicy&) = delete;
  StatePolicy& operator=(const StatePolicy&) = delete;
  virtual ~StatePolicy() = default;
  // nullopt: nothing more to say.
  virtual std::optional<std::string> choose(const Standpoint& here, Stream& dice) const = 0;
};

// "random"; "gold"; "mixed:E" (gold, with probability E a random admissible action); "confused:P", for
// ALFWorld: the planner with probability P, else one who is lost: looking about and invalid commands 30 %,
// opening and closing 20 %, taking and putting anything 20 %, walking anywhere 30 %. In a quarter of the
// contexts (place, hand, what is open) the planner's share, too, makes one and the same wrong choice 70 % of
// the time. Fails on other names (kNotFound) and on wrong numbers.
Result<std::unique_ptr<StatePolicy>> make_state_policy(const std::string& spec);

}  // namespace lodestep::harness
