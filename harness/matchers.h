// All matchers that the program offers: the built-in ones, and embeddings from an endpoint.
//   Result<std::unique_ptr<canonicalizer::Matcher>> matcher = matchers().make("embedding", {{"embedder",
//   url}});
// Threads: the registry is immutable once made.
#pragma once

#include "canonicalizer/registry.h"

namespace lodestep::harness {

const canonicalizer::MatcherRegistry& matchers();

}  // namespace lodestep::harness
