// `exact`: equal bytes are one state.
//   registry.make("exact", {});
// Threads: as any matcher. Owns nothing.
#pragma once

#include "canonicalizer/registry.h"

namespace lodestep::canonicalizer {

MatcherKind exact_kind();

}  // namespace lodestep::canonicalizer
