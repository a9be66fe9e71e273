#include "harness/matchers.h"

#include "harness/internal/endpoint_embedder.h"

namespace lodestep::harness {

const canonicalizer::MatcherRegistry& matchers() {
  static const canonicalizer::MatcherRegistry registry = [] {
    canonicalizer::MatcherRegistry all;
    all.add(canonicalizer::embedding_kind(make_endpoint_embedder));
    return all;
  }();
  return registry;
}

}  // namespace lodestep::harness
