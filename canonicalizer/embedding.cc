#include "canonicalizer/embedding.h"

#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "canonicalizer/guard.h"

namespace lodestep::canonicalizer {
namespace {

constexpr std::size_t kDimensions = 1024;

class HashEmbedder : public Embedder {
 public:
  Result<std::vector<std::vector<float>>> embed(std::span<const std::string_view> texts) override {
    std::vector<std::vector<float>> vectors;
    for (const std::string_view text : texts) vectors.push_back(vector_of(text));
    return vectors;
  }

 private:
  static std::vector<float> vector_of(std::string_view text) {
    std::vector<float> sums(kDimensions);
    const auto add = [&](std::string_view kind, std::string_view gram) {
      const Hash128 hash = Hasher().add(kind).add(gram).finish();
      sums[hash.low % kDimensions] += (hash.high & 1) != 0 ? 1.0F : -1.0F;
    };
    for (std::size_t size = 3; size <= 5; ++size) {
      for (std::size_t at = 0; at + size <= text.size(); ++at) add("bytes", text.substr(at, size));
    }
    std::size_t before = std::string_view::npos;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t from = std::min(text.find_first_not_of(" \n\t", at), text.size());
      const std::size_t to = std::min(text.find_first_of(" \n\t", from), text.size());
      if (from < to) {
        add("word", text.substr(from, to - from));
        if (before != std::string_view::npos) add("pair", text.substr(before, to - before));
        before = from;
      }
      at = to;
    }
    for (float& sum : sums) sum = std::copysign(std::sqrt(std::fabs(sum)), sum);
    return sums;
  }
};

struct EmbeddingSettings {
  double threshold = 0.99;
  bool best = false;
  Guard guard = Guard::kActions;
};

// Of length 1, or 0 for a vector of zeros.
bool normalise(std::vector<float>& vector) {
  double squares = 0;
  for (const float x : vector) squares += static_cast<double>(x) * static_cast<double>(x);
  if (!std::isfinite(squares)) return false;
  const double length = std::sqrt(squares);
  for (float& x : vector) x = length > 0 ? static_cast<float>(static_cast<double>(x) / length) : 0;
  return true;
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double sums[4] = {};  // a fixed order of addition, and room for the processor
  std::size_t i = 0;
  for (; i + 4 <= a.size(); i += 4) {
    for (std::size_t k = 0; k < 4; ++k)
      sums[k] += static_cast<double>(a[i + k]) * static_cast<double>(b[i + k]);
  }
  for (; i < a.size(); ++i) sums[0] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

class EmbeddingMatcher : public Matcher {
 public:
  EmbeddingMatcher(const EmbeddingSettings& settings, std::unique_ptr<Embedder> embedder)
      : settings_(settings), embedder_(std::move(embedder)) {}

  Result<Matching> match(std::span<const PageView> batch) override {
    Matching matching;
    matching.notes = notes_on(settings_.guard, batch);
    matching.keys.resize(batch.size());
    std::map<std::string_view, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < batch.size(); ++i) groups[batch[i].group].push_back(i);
    for (const auto& [group, views] : groups) {
      if (Status matched = match_group(batch, views, matching); !matched) {
        matching.failed.push_back({std::string(group), matched.error()});
      }
    }
    return matching;
  }

 private:
  struct Cluster {
    std::size_t vector;  // of the first member
    Hash128 text;
  };

  Status match_group(std::span<const PageView> batch, const std::vector<std::size_t>& views,
                     Matching& matching) {
    std::unordered_map<Hash128, std::size_t, ContainerHash> number;
    std::vector<std::string_view> texts;
    std::vector<std::size_t> text_of;
    for (const std::size_t i : views) {
      const auto [known, is_new] = number.try_emplace(hash128(batch[i].text), texts.size());
      if (is_new) texts.push_back(batch[i].text);
      text_of.push_back(known->second);
    }
    Result<std::vector<std::vector<float>>> vectors = embedder_->embed(texts);
    if (!vectors) return vectors.error();
    if (Status sound = check(*vectors, texts.size()); !sound) return sound;

    std::unordered_map<Hash128, std::vector<Cluster>, ContainerHash> parts;  // by guard
    std::unordered_map<Hash128, std::size_t, ContainerHash> cluster_of;      // by guard and text
    for (std::size_t k = 0; k < views.size(); ++k) {
      const PageView& view = batch[views[k]];
      const Hash128 guard = guard_hash(settings_.guard, view);
      std::vector<Cluster>& clusters = parts[guard];
      const auto [known, is_new] = cluster_of.try_emplace(
          Hasher().add_u64(guard.high).add_u64(guard.low).add_u64(text_of[k]).finish(), clusters.size());
      if (is_new) {
        known->second = nearest(clusters, *vectors, text_of[k], matching.cost);
        if (known->second == clusters.size()) clusters.push_back({text_of[k], hash128(view.text)});
      } else {
        ++matching.cost.avoided;
      }
      matching.keys[views[k]] = key_of(view, guard, clusters[known->second].text);
    }
    return {};
  }

  std::size_t nearest(const std::vector<Cluster>& clusters, const std::vector<std::vector<float>>& vectors,
                      std::size_t text, MatchCost& cost) const {
    std::size_t found = clusters.size();
    double best = settings_.threshold;
    for (std::size_t c = 0; c < clusters.size(); ++c) {
      ++cost.comparisons;
      const double close = cosine(vectors[text], vectors[clusters[c].vector]);
      if (close < best || (found != clusters.size() && close <= best)) continue;
      found = c;
      best = close;
      if (!settings_.best) break;
    }
    return found;
  }

  Status check(std::vector<std::vector<float>>& vectors, std::size_t expected) {
    const auto wrong = [](const std::string& what) {
      return Error{ErrorCode::kUnavailable, "the embedder " + what, "", ""};
    };
    if (vectors.size() != expected) {
      return wrong("gave " + std::to_string(vectors.size()) + " vectors for " + std::to_string(expected) +
                   " texts");
    }
    for (std::vector<float>& vector : vectors) {
      if (dimensions_ == 0) dimensions_ = vector.size();
      if (vector.empty() || vector.size() != dimensions_) {
        return wrong("changed its dimension from " + std::to_string(dimensions_) + " to " +
                     std::to_string(vector.size()));
      }
      if (!normalise(vector)) return wrong("gave a number that is not finite");
    }
    return {};
  }

  EmbeddingSettings settings_;
  std::unique_ptr<Embedder> embedder_;
  std::size_t dimensions_ = 0;
};

}  // namespace

std::unique_ptr<Embedder> hash_embedder() { return std::make_unique<HashEmbedder>(); }

MatcherKind embedding_kind(const EmbedderMaker& maker) {
  return {
      "embedding",
      "the first earlier cluster whose first member's embedding has a cosine >= threshold",
      {{"embedder", "hash", "hash (built in), or the URL of an OpenAI-compatible /v1/embeddings", {}},
       {"threshold", "0.99", "least cosine, 0 to 1", {}},
       {"pick", "first", "first: the earliest cluster close enough; best: the closest", {"first", "best"}},
       {"model", "", "model name that the endpoint is asked for", {}},
       {"cache", "", "SQLite file that keeps embeddings by model and text", {}},
       {"batch", "64", "texts a request", {}},
       {"timeout", "30", "seconds a request may take", {}},
       {"retries", "3", "further attempts after a failed request", {}},
       {"key_env", "OPENAI_API_KEY", "environment variable with the endpoint's key", {}},
       guard_option()},
      [maker](const Options& options) -> Result<std::unique_ptr<Matcher>> {
        const Result<double> threshold = options.number("threshold", 0, 1);
        if (!threshold) return threshold.error();
        const EmbeddingSettings settings{*threshold, options.text("pick") == "best", parse_guard(options)};
        if (options.text("embedder") == "hash") {
          return std::unique_ptr<Matcher>(std::make_unique<EmbeddingMatcher>(settings, hash_embedder()));
        }
        if (!maker) {
          return Error{ErrorCode::kUnsupported, "only embedder=hash is built in here", "matcher embedding",
                       ""};
        }
        Result<std::unique_ptr<Embedder>> embedder = maker(options);
        if (!embedder) return embedder.error();
        return std::unique_ptr<Matcher>(std::make_unique<EmbeddingMatcher>(settings, *std::move(embedder)));
      }};
}

}  // namespace lodestep::canonicalizer
