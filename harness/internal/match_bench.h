// `lodestep match --bench`: all matchers under all kinds of noise, on the same recorded episodes.
//   return run_match_bench(words, json, io);
// Threads: one. Private to the commands.
#pragma once

#include "base/result.h"
#include "harness/command.h"
#include "harness/internal/environment_args.h"

namespace lodestep::harness {

struct MatchBenchWords {
  EnvironmentArgs environment;
  std::string split, policy = "mixed:0.5", svg, embedder, model, noise, matcher;
  std::int64_t groups = 16, group_size = 8, max_steps = 0, seed = 0;
  Settings settings;
};

// Fails on unknown names before anything is played.
Result<int> run_match_bench(const MatchBenchWords& words, bool json, Io& io);

}  // namespace lodestep::harness
