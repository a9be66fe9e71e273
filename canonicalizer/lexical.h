// `lexical`: a view joins the first earlier cluster whose first member is similar enough, by difflib.
//   registry.make("lexical", {{"threshold", "0.9"}, {"order", "canonical"}});
// Threads: as any matcher. Owns nothing. For parity with released code, not a recommendation: pages that
// differ in one option or price are 95 % alike.
#pragma once

#include "canonicalizer/registry.h"

namespace lodestep::canonicalizer {

MatcherKind lexical_kind();

}  // namespace lodestep::canonicalizer
