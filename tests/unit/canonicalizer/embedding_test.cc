// The matcher `embedding` with the built-in embedder and with embedders that misbehave.
#include <catch2/catch.hpp>

#include <limits>

#include "canonicalizer/embedding.h"
#include "tests/unit/canonicalizer/views.h"

namespace lodestep::canonicalizer {
namespace {

using testing::Batch;
using testing::clusters;
using Vectors = std::vector<std::vector<float>>;

struct Scripted : Embedder {
  explicit Scripted(std::function<Result<Vectors>(std::span<const std::string_view>)> script)
      : answer(std::move(script)) {}
  Result<Vectors> embed(std::span<const std::string_view> texts) override { return answer(texts); }
  std::function<Result<Vectors>(std::span<const std::string_view>)> answer;
};

Matching match_with(const Batch& batch,
                    std::function<Result<Vectors>(std::span<const std::string_view>)> script,
                    Settings settings = {}) {
  MatcherRegistry registry;
  registry.add(embedding_kind([script](const Options&) -> Result<std::unique_ptr<Embedder>> {
    return std::unique_ptr<Embedder>(std::make_unique<Scripted>(script));
  }));
  settings.emplace_back("embedder", "scripted");
  Result<std::unique_ptr<Matcher>> matcher = registry.make("embedding", settings);
  REQUIRE(matcher);
  Result<Matching> matching = (*matcher)->match(batch.views);
  REQUIRE(matching);
  return *matching;
}

TEST_CASE("the built-in embedder: near texts join, far ones do not") {
  Batch batch;
  const std::string page =
      "You are in the middle of a room. Looking quickly around you, you see a bed, a desk and a lamp.";
  batch.add("g", "a", page);
  batch.add("g", "b", page + "!");
  batch.add("g", "c", "The microwave is closed.");
  batch.add("g", "d", "");
  batch.add("g", "e", "");
  CHECK(clusters("embedding", {{"threshold", "0.95"}}, batch) == std::vector<std::uint32_t>{0, 0, 1, 2, 2});
  CHECK(clusters("embedding", {{"threshold", "1"}}, batch) == std::vector<std::uint32_t>{0, 1, 2, 3, 3});
}

TEST_CASE("first and best cluster") {
  Batch batch;
  for (const char* text : {"0", "1", "2"}) batch.add("g", "e", text);
  const auto angles = [](std::span<const std::string_view> texts) -> Result<Vectors> {
    Vectors vectors;
    for (const std::string_view text : texts) {
      vectors.push_back(text == "0"   ? std::vector<float>{2, 0}
                        : text == "1" ? std::vector<float>{0, 3}
                                      : std::vector<float>{0.6F, 0.8F});
    }
    return vectors;
  };
  CHECK(number_by_first_appearance(match_with(batch, angles, {{"threshold", "0.5"}}).keys) ==
        std::vector<std::uint32_t>{0, 1, 0});
  CHECK(
      number_by_first_appearance(match_with(batch, angles, {{"threshold", "0.5"}, {"pick", "best"}}).keys) ==
      std::vector<std::uint32_t>{0, 1, 1});
}

TEST_CASE("a failing embedder is an error of its group alone") {
  Batch batch;
  batch.add("good", "e", "a room");
  batch.add("bad", "e", "boom");
  const Matching matching = match_with(batch, [](std::span<const std::string_view> texts) -> Result<Vectors> {
    if (texts[0] == "boom") return Error{ErrorCode::kUnavailable, "no answer", "", ""};
    return Vectors(texts.size(), {1, 0});
  });
  REQUIRE(matching.failed.size() == 1);
  CHECK(matching.failed[0].group == "bad");
  CHECK(matching.failed[0].error.message == "no answer");
  CHECK(matching.keys[0] != Hash128{});
}

TEST_CASE("changed dimensions, missing vectors and odd numbers are errors") {
  Batch batch;
  batch.add("a", "e", "one");
  batch.add("b", "e", "two");
  std::size_t size = 2;
  const Matching grown = match_with(batch, [&](std::span<const std::string_view> texts) -> Result<Vectors> {
    return Vectors(texts.size(), std::vector<float>(size++, 1.0F));
  });
  REQUIRE(grown.failed.size() == 1);
  CHECK(grown.failed[0].error.message == "the embedder changed its dimension from 2 to 3");
  const Matching missing =
      match_with(batch, [](std::span<const std::string_view>) -> Result<Vectors> { return Vectors{}; });
  CHECK(missing.failed.size() == 2);
  const Matching infinite = match_with(batch, [](std::span<const std::string_view> texts) -> Result<Vectors> {
    return Vectors(texts.size(), {std::numeric_limits<float>::infinity()});
  });
  CHECK(infinite.failed.size() == 2);
}

TEST_CASE("thresholds outside [0, 1] and unknown embedders are refused") {
  CHECK_FALSE(MatcherRegistry().make("embedding", {{"threshold", "1.5"}}));
  CHECK_FALSE(MatcherRegistry().make("embedding", {{"embedder", "http://somewhere"}}));
}

}  // namespace
}  // namespace lodestep::canonicalizer
