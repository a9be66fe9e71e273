// `embedding`: a view joins the first (or best) earlier cluster whose first member's embedding is close.
//   registry.make("embedding", {{"threshold", "0.98"}});              // hashed n-grams, built in
//   registry.add(embedding_kind(my_maker));                           // for embedder=URL or anything else
// Threads: as any matcher. The matcher owns its embedder. A group whose texts cannot be embedded fails as a
// group; nothing is matched by another rule instead.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "canonicalizer/registry.h"

namespace lodestep::canonicalizer {

class Embedder {
 public:
  Embedder() = default;
  Embedder(const Embedder&) = delete;
  Embedder& operator=(const Embedder&) = delete;
  virtual ~Embedder() = default;
  // One vector a text, in order, all of one length; they need not be normalised.
  virtual Result<std::vector<std::vector<float>>> embed(std::span<const std::string_view> texts) = 0;
};

// Character 3- to 5-grams and words with their neighbours, hashed into 1,024 places with a sign; square roots
// of counts. The same on every machine.
std::unique_ptr<Embedder> hash_embedder();

// Makes the embedder for any value of the option `embedder` but `hash`.
using EmbedderMaker = std::function<Result<std::unique_ptr<Embedder>>(const Options&)>;
MatcherKind embedding_kind(const EmbedderMaker& maker = {});

}  // namespace lodestep::canonicalizer
