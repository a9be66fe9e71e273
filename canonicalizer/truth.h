// `true`, `true:relevant`, `true:stage`: the environment's own keys, the bound no matcher can beat.
//   registry.make("true:relevant", {});
// Threads: as any matcher. Owns nothing.
#pragma once

#include <vector>

#include "canonicalizer/registry.h"

namespace lodestep::canonicalizer {

// match() fails when a view lacks the key.
std::vector<MatcherKind> truth_kinds();

}  // namespace lodestep::canonicalizer
