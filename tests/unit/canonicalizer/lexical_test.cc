// The fast similarity against golden data, against the plain one, and the clusterings made with it.
#include <rapidjson/document.h>
#include <catch2/catch.hpp>

#include <bit>

#include "base/rng.h"
#include "base/sequence_matcher.h"
#include "base/text.h"
#include "canonicalizer/similarity.h"
#include "tests/support/fuzz.h"
#include "tests/support/shared_data.h"
#include "tests/unit/canonicalizer/views.h"

namespace lodestep::canonicalizer {
namespace {

using testing::Batch;
using testing::clusters;

std::string_view text_of(const rapidjson::Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

TEST_CASE("golden difflib pairs: the fast ratio agrees to the bit, at every threshold") {
  const std::string path = "golden/credit/string_similarity.json.zst";
  const std::optional<std::string> text = test::read_shared(path);
  if (!text) return test::skip(path);
  rapidjson::Document golden;
  golden.Parse<rapidjson::kParseFullPrecisionFlag>(text->c_str());
  REQUIRE(golden["pairs"].Size() > 0);
  TextIndex index;
  for (const auto& pair : golden["pairs"].GetArray()) {
    INFO(pair["name"].GetString());
    const TextId a = index.add(*decode_utf8(text_of(pair["a"])));
    const TextId b = index.add(*decode_utf8(text_of(pair["b"])));
    const double ratio = pair["ratio"].GetDouble();
    for (const double threshold : {0.0, 0.5, 0.9, 0.95, ratio, std::nextafter(ratio, 2.0)}) {
      const std::optional<double> found = index.ratio_at_least(a, b, threshold);
      CHECK(found.has_value() == (ratio >= threshold));
      if (found) CHECK(std::bit_cast<std::uint64_t>(*found) == std::bit_cast<std::uint64_t>(ratio));
    }
  }
}

TEST_CASE("golden clusterings") {
  const std::string path = "golden/credit/graph.json";
  const std::optional<std::string> text = test::read_shared(path);
  if (!text) return test::skip(path);
  rapidjson::Document golden;
  golden.Parse<rapidjson::kParseFullPrecisionFlag>(text->c_str());
  int cases = 0;
  for (const auto& golden_case : golden["cases"].GetArray()) {
    if (text_of(golden_case["estimator"]) != "canonicalize") continue;
    ++cases;
    INFO(golden_case["name"].GetString());
    Batch batch;
    for (const auto& page : golden_case["strings"].GetArray())
      batch.add("u", "e", std::string(text_of(page)));
    const std::string threshold = python_repr(golden_case["params"]["threshold"].GetDouble());
    const std::vector<std::uint32_t> found = clusters("lexical", {{"threshold", threshold}}, batch);
    const auto& representative = golden_case["expected"]["representative"];
    const auto& gigpo = golden_case["expected"]["gigpo_group"];
    for (rapidjson::SizeType i = 0; i < representative.Size(); ++i) {
      CHECK(found[i] == found[representative[i].GetUint()]);
      CHECK(found[i] == gigpo[i].GetUint());
    }
  }
  CHECK(cases > 0);
}

// A random text of a small alphabet, or of a real one with few letters in plenty, so that the rule on
// popular characters bites.
std::u32string random_text(PythonRandom& dice, std::size_t size) {
  static constexpr std::u32string_view kAlphabets[] = {U"ab", U"abcd \n",
                                                       U"etaoin shrdlu etaoin shrdlu etaoin shrdluqxz.,19",
                                                       U"ab\u00e9\u4e2d\U0001f600\u0301"};
  const std::u32string_view letters = kAlphabets[dice.below(4)];
  std::u32string text(size, U' ');
  for (char32_t& point : text) point = letters[dice.below(letters.size())];
  return text;
}

std::u32string edited(PythonRandom& dice, std::u32string text, std::size_t edits) {
  for (std::size_t i = 0; i < edits && !text.empty(); ++i) {
    const std::size_t at = dice.below(text.size());
    switch (dice.below(3)) {
      case 0: text.erase(at, 1 + dice.below(3)); break;
      case 1: text.insert(at, random_text(dice, 1 + dice.below(20))); break;
      default: text[at] = U"qez7"[dice.below(4)];
    }
  }
  return text;
}

std::size_t plain_subsequence(std::u32string_view a, std::u32string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (const char32_t point : a) {
    std::size_t diagonal = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = point == b[j] ? diagonal + 1 : std::max(above, row[j]);
      diagonal = above;
    }
  }
  return row.back();
}

TEST_CASE("fuzz: the fast ratio equals the plain one", "[fuzz]") {
  PythonRandom dice(11);
  for (int round = 0; round < test::fuzz_rounds(1500); ++round) {
    const std::u32string b = random_text(dice, dice.below(round % 3 == 0 ? 500 : 60));
    const std::u32string a =
        dice.below(3) == 0 ? random_text(dice, dice.below(300)) : edited(dice, b, dice.below(12));
    for (const Autojunk autojunk : {Autojunk::kOn, Autojunk::kOff}) {
      TextIndex index(Metric::kDifflib, autojunk);
      const TextId a_id = index.add(a);
      const TextId b_id = index.add(b);
      const double plain = SequenceMatcher(b, autojunk == Autojunk::kOn).ratio(a);
      const double threshold = static_cast<double>(dice.below(101)) / 100;
      for (const double least : {0.0, threshold, 0.95}) {
        const std::optional<double> fast = index.ratio_at_least(a_id, b_id, least);
        REQUIRE(fast.has_value() == (plain >= least));
        if (fast) REQUIRE(*fast == plain);
      }
    }
    TextIndex indel(Metric::kIndel);
    const std::size_t total = a.size() + b.size();
    const double plain =
        total == 0 ? 1.0 : 2.0 * static_cast<double>(plain_subsequence(a, b)) / static_cast<double>(total);
    REQUIRE(indel.ratio_at_least(indel.add(a), indel.add(b), 0) == plain);
  }
}

TEST_CASE("equal texts and hopeless pairs run no match") {
  TextIndex index;
  const TextId one = index.add(U"the drawer holds a mug and a plate");
  const TextId same = index.add(U"the drawer holds a mug and a plate");
  const TextId other = index.add(U"XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX");
  CHECK(index.ratio_at_least(one, same, 0.95) == 1.0);
  CHECK_FALSE(index.ratio_at_least(one, other, 0.95));
  CHECK(index.compared() == 0);
  CHECK(index.avoided() == 2);
}

TEST_CASE("clusters are compared by their first member, so chains do not spread") {
  Batch batch;
  for (const char* text : {"abcdefghijklmnopqrst", "abcdefghijklmnopqrsX", "abcdefghijklmnopqrYX"})
    batch.add("g", "e", text);
  CHECK(clusters("lexical", {}, batch) == std::vector<std::uint32_t>{0, 0, 1});
}

TEST_CASE("pick=best takes the most similar cluster, pick=first the earliest") {
  Batch batch;
  for (const char* text : {"aaaaaaaaaa", "aaaaaabbbb", "aaaaaaabbb"}) batch.add("g", "e", text);
  const Settings settings{{"threshold", "0.7"}};
  CHECK(clusters("lexical", settings, batch) == std::vector<std::uint32_t>{0, 1, 0});
  CHECK(clusters("lexical", {{"threshold", "0.7"}, {"pick", "best"}}, batch) ==
        std::vector<std::uint32_t>{0, 1, 1});
}

TEST_CASE("order=canonical removes the dependence on the order of the episodes") {
  const std::vector<std::string> texts{"abcdefghijklmnopqrst", "abcdefghijklmnopqrsX",
                                       "abcdefghijklmnopqrYX"};
  Batch forth;
  Batch back;
  for (std::size_t i = 0; i < 3; ++i) forth.add("g", "e" + std::to_string(i), texts[i]);
  for (std::size_t i = 3; i-- > 0;) back.add("g", "e" + std::to_string(i), texts[i]);
  const auto joined = [](const std::vector<std::uint32_t>& found, std::size_t x, std::size_t y) {
    return found[x] == found[y];
  };
  const Settings canonical{{"order", "canonical"}};
  CHECK(joined(clusters("lexical", canonical, forth), 0, 1) ==
        joined(clusters("lexical", canonical, back), 2, 1));
  CHECK(joined(clusters("lexical", {}, forth), 0, 1) != joined(clusters("lexical", {}, back), 2, 1));
}

TEST_CASE("joining pages that offer other things is reported") {
  const std::string page =
      "[button] navy [button_]\n[button] olive [button_]\nA woven jacket with a hood, light and warm, "
      "for men and women, in all weathers, two pockets.";
  std::string chosen = page;
  chosen.replace(0, 8, "[clicked button]");
  Batch batch;
  batch.add("g", "e", page).actions = batch.actions({"click[navy]", "click[olive]"});
  batch.add("g", "f", chosen).actions = batch.actions({"click[navy]", "click[olive]"});
  Result<Matching> matching =
      (*MatcherRegistry().make("lexical", {{"threshold", "0.9"}}))->match(batch.views);
  REQUIRE(matching);
  CHECK(matching->keys[0] == matching->keys[1]);
  REQUIRE(matching->notes.size() == 1);
  CHECK(matching->notes[0].starts_with("1 of 1 texts joined with another differ"));
}

TEST_CASE("up to 5 % of joined pages that offer other things are no reason to warn") {
  const std::string page =
      "A woven jacket with a hood, light and warm, for men and women, in all weathers, pocket ";
  const auto notes = [&](int alike) {
    Batch batch;
    for (int i = 0; i <= alike + 1; ++i) {
      batch.add("g", "e", page + static_cast<char>('A' + i % 50) + static_cast<char>('A' + i / 50)).actions =
          batch.actions(i == alike + 1 ? std::vector<std::string>{"leave"} : std::vector<std::string>{"buy"});
    }
    Result<Matching> matching =
        (*MatcherRegistry().make("lexical", {{"threshold", "0.9"}, {"guard", "none"}}))->match(batch.views);
    REQUIRE(matching);
    CHECK(number_by_first_appearance(matching->keys) == std::vector<std::uint32_t>(batch.views.size(), 0));
    return matching->notes;
  };
  CHECK(notes(30).empty());
  REQUIRE(notes(10).size() == 1);
  CHECK(notes(10)[0].starts_with("1 of 11 texts joined with another differ"));
}

TEST_CASE("thresholds outside [0, 1] are refused") {
  for (const char* threshold : {"1.01", "-0.1", "nan", "much"}) {
    CHECK_FALSE(MatcherRegistry().make("lexical", {{"threshold", threshold}}));
  }
}

TEST_CASE("text that is no UTF-8 is matched as bytes") {
  Batch batch;
  for (const char* text : {"caf\xe9", "caf\xe9", "caf\xe8", "caf\xc3\xa9"}) batch.add("g", "e", text);
  CHECK(clusters("lexical", {}, batch) == std::vector<std::uint32_t>{0, 0, 1, 2});
}

}  // namespace
}  // namespace lodestep::canonicalizer
