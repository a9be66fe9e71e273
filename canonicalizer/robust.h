// `robust`: the key of what is left of a page once its noise is taken out, noise being found by evidence.
//   registry.make("robust", {});                         // verdicts from each batch and what was loaded
//   registry.make("robust", {{"scope", "stream"}});      // keys by the batches before; learns after each
// Threads: as any matcher. Owns its NoiseModel; save() and load() carry it from run to run.
// No similarity threshold and no comparison of pages: two pages are one state when they say the same.
#pragma once

#include "canonicalizer/registry.h"

namespace lodestep::canonicalizer {

MatcherKind robust_kind();

}  // namespace lodestep::canonicalizer
