// difflib to the bit: golden pairs, and a plain twin of difflib's definition on random short texts.
#include <rapidjson/document.h>
#include <catch2/catch.hpp>

#include <bit>
#include <map>

#include "base/rng.h"
#include "base/sequence_matcher.h"
#include "base/text.h"
#include "tests/support/shared_data.h"

namespace lodestep {
namespace {

// The longest block by trying every pair of starts; earliest in a, then in b, wins a tie.
std::size_t plain_matches(std::u32string_view a, std::u32string_view b) {
  MatchingBlock best;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t size = 0;
      while (i + size < a.size() && j + size < b.size() && a[i + size] == b[j + size]) ++size;
      if (size > best.size) best = {i, j, size};
    }
  }
  if (best.size == 0) return 0;
  return best.size + plain_matches(a.substr(0, best.a), b.substr(0, best.b)) +
         plain_matches(a.substr(best.a + best.size), b.substr(best.b + best.size));
}

TEST_CASE("golden difflib pairs agree to the bit") {
  const std::string path = "golden/credit/string_similarity.json.zst";
  const std::optional<std::string> text = test::read_shared(path);
  if (!text) return test::skip(path);
  rapidjson::Document golden;
  golden.Parse<rapidjson::kParseFullPrecisionFlag>(text->c_str());
  REQUIRE_FALSE(golden.HasParseError());
  REQUIRE(golden["pairs"].Size() > 0);
  for (const auto& pair : golden["pairs"].GetArray()) {
    INFO(pair["name"].GetString());
    const std::u32string a = *decode_utf8({pair["a"].GetString(), pair["a"].GetStringLength()});
    const std::u32string b = *decode_utf8({pair["b"].GetString(), pair["b"].GetStringLength()});
    const SequenceMatcher matcher(b);
    CHECK(std::bit_cast<std::uint64_t>(matcher.ratio(a)) ==
          std::bit_cast<std::uint64_t>(pair["ratio"].GetDouble()));
    CHECK(matcher.quick_ratio(a) == pair["quick_ratio"].GetDouble());
    CHECK(matcher.real_quick_ratio(a) == pair["real_quick_ratio"].GetDouble());
    const std::vector<MatchingBlock> blocks = matcher.matching_blocks(a);
    if (!pair.HasMember("blocks") || pair["blocks"].IsNull()) continue;
    REQUIRE(blocks.size() == pair["blocks"].Size());
    for (rapidjson::SizeType i = 0; i < pair["blocks"].Size(); ++i) {
      const auto& block = pair["blocks"][i];
      CHECK(blocks[i] == MatchingBlock{block[0].GetUint64(), block[1].GetUint64(), block[2].GetUint64()});
    }
  }
}

TEST_CASE("random short texts agree with the plain definition") {
  PythonRandom dice(5);
  for (int round = 0; round < 2000; ++round) {
    std::u32string a(dice.below(14), U' ');
    std::u32string b(dice.below(14), U' ');
    for (char32_t& point : a) point = U"ab\u00e9\U0001f600"[dice.below(4)];
    for (char32_t& point : b) point = U"ab\u00e9\U0001f600"[dice.below(4)];
    const SequenceMatcher matcher(b);
    std::size_t matches = 0;
    for (const MatchingBlock& block : matcher.matching_blocks(a)) matches += block.size;
    CHECK(matches == plain_matches(a, b));
    CHECK(matcher.ratio(a) <= matcher.quick_ratio(a));
    CHECK(matcher.quick_ratio(a) <= matcher.real_quick_ratio(a));
  }
}

TEST_CASE("from 200 code points on, frequent letters start no block") {
  const std::u32string common(150, U'x');
  const std::u32string b = common + U"needle" + common;
  CHECK(sequence_ratio(U"xneedlex", b) == SequenceMatcher(b, false).ratio(U"xneedlex"));
  CHECK(SequenceMatcher(b).matching_blocks(U"xx").front() == MatchingBlock{0, 0, 2});
  CHECK(sequence_ratio(U"yxxxx", b) == 0.0);
  CHECK(SequenceMatcher(b, false).ratio(U"yxxxx") > 0.0);
}

}  // namespace
}  // namespace lodestep
