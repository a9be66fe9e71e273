// The --set options of WebShop, parsed once into plain values.
//   Result<Rules> rules = parse_rules({{"variant", "verl"}, {"seed", "7"}});
// Threads: values.
#pragma once

#include <optional>
#include <vector>

#include "base/options.h"
#include "envs/webshop/advertisement.h"
#include "envs/webshop/goals.h"
#include "envs/webshop/pages.h"

namespace lodestep::webshop {

enum class AfterDone { kStop, kContinue };

struct Rules {
  GoalSettings goals;
  bool show_attributes = false;
  bool fixed_quirks = false;  // mend what docs/webshop.md lists as quirks
  bool verl_scheme = false;   // reward 10 for a perfect purchase, else 0
  Mode mode = Mode::kTextRich;
  AfterDone after_done = AfterDone::kStop;
  std::optional<std::int64_t> rng_seed;  // of the episode's generator; default: the task's seed
  std::uint64_t rng_skip = 0;            // 32-bit words of it that are gone, as where others share a stream
  Fuzzy fuzzy = Fuzzy::kDifflib;
  Noise noise;
};

const std::vector<OptionSpec>& option_specs();
Result<Rules> parse_rules(const Settings& settings);

}  // namespace lodestep::webshop
