// The analyzer against tokens that Lucene gave, and against every code point's table.
#include <catch2/catch.hpp>

#include <map>

#include "base/rng.h"
#include "base/text.h"
#include "envs/webshop/analyzer.h"
#include "envs/webshop/unicode.h"
#include "tests/support/fuzz.h"
#include "tests/unit/webshop/golden.h"

namespace lodestep::webshop {
namespace {

TEST_CASE("golden analysis") {
  each_line("golden/webshop/analysis.jsonl.zst", [](const rapidjson::Document& line) {
    std::vector<std::string> tokens;
    for (const auto& token : line["tokens"].GetArray()) tokens.push_back(text_of(token));
    INFO(text_of(line["text"]));
    CHECK(analyze(text_of(line["text"])) == tokens);
  });
}

std::string shaped(std::string_view shape, char32_t point) {
  std::string out;
  while (!shape.empty()) {
    if (shape.starts_with("{c}")) {
      append_utf8(out, point);
      shape.remove_prefix(3);
    } else {
      out += shape.front();
      shape.remove_prefix(1);
    }
  }
  return out;
}

std::string replace_all(std::string text, const std::string& what, const std::string& instead) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += instead.size()) {
    text.replace(at, what.size(), instead);
  }
  return text;
}

TEST_CASE("golden table of all characters") {
  const std::string path = "golden/webshop/characters.json.zst";
  const std::optional<std::string> text = test::read_shared(path);
  if (!text) return test::skip(path);
  rapidjson::Document golden;
  golden.Parse(text->c_str());
  std::size_t wrong = 0;
  for (const auto& range : golden["ranges"].GetArray()) {
    const std::string expected = text_of(golden["patterns"][range[2].GetUint()]);
    for (char32_t point = range[0].GetUint(); point <= range[1].GetUint(); ++point) {
      if (point >= 0xd800 && point < 0xe000) continue;
      std::vector<std::string> cells;
      for (const auto& shape : golden["shapes"].GetArray()) {
        cells.push_back(join(analyze(shaped(text_of(shape), point)), " "));
      }
      const std::string got = join(cells, "|");
      std::string own, lower;
      append_utf8(own, point);
      append_utf8(lower, java_lower(point));
      if (got == replace_all(expected, "@", own) || got == replace_all(expected, "@", lower)) continue;
      if (++wrong <= 300)
        UNSCOPED_INFO(std::hex << static_cast<unsigned>(point) << ": " << got << " is not " << expected);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("sequences that the table of characters does not show") {
  const auto words = [](std::string_view text) { return join(analyze(text), " "); };
  CHECK(words("$12.99 1,299.00 3.5mm 1/2 6'2\" usb-c men's o'clock wi_fi u.s. foo.bar color:red") ==
        "12.99 1,299.00 3.5mm 1 2 6'2 usb c men o'clock wi_fi u. foo.bar color:r");
  CHECK(words("16:9 1.a _foo_ 1_2 1'000 3.5_x a_.b") == "16 9 1 _foo_ 1_2 1'000 3.5_x a_ b");
  CHECK(words("shoes bodies generalizations relational possibly apologies yes") ==
        "shoe bodi gener relat possibl apolog ye");
  CHECK(words("\U0001f44d\U0001f3fd!") == "\U0001f44d\U0001f3fd");
  CHECK(words("1\ufe0f\u20e3 #\u20e3") == "1\ufe0f\u20e3 #\u20e3");
  CHECK(words("\U0001f468\u200d\U0001f469\u200d\U0001f467 x") ==
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 x");
  CHECK(words("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7") == "\U0001f1e9\U0001f1ea \U0001f1eb\U0001f1f7");
  CHECK(words("\u05d0\u05d1' \u05d0\"\u05d1 x\"y") == "\u05d0\u05d1' \u05d0\"\u05d1 x y");
  CHECK(words(std::string(300, 'w')) == std::string(255, 'w') + " " + std::string(45, 'w'));
}

TEST_CASE("plain words take a short way to the tokens of the scanner", "[fuzz]") {
  PythonRandom dice(5);
  static constexpr std::string_view kSigns = "aB9'.:,;_-/&\"(#* \t";
  const std::u32string others = U"\u00e9\u2019\u0301\u2605\u6c34\u30ab\ufe0f\u20e3\u200d\U0001f44d\u05d0";
  for (int round = 0; round < test::fuzz_rounds(5000); ++round) {
    std::string text;
    for (std::uint64_t i = 0, n = dice.below(round % 50 == 0 ? 600 : 14); i < n; ++i) {
      if (dice.below(12) == 0) {
        append_utf8(text, others[dice.below(others.size())]);
      } else {
        text += kSigns[dice.below(round % 3 == 0 ? 3 : kSigns.size())];
      }
    }
    std::vector<std::string> expected;
    for (const std::u32string& token : tokenize(to_points(text))) {
      for (std::string& term : analyze(encode_utf8(token))) expected.push_back(std::move(term));
    }
    INFO(text);
    REQUIRE(analyze(text) == expected);
  }
}

TEST_CASE("any bytes are analyzed without harm") {
  PythonRandom dice(11);
  for (int round = 0; round < 3000; ++round) {
    std::string text(dice.below(40), '\0');
    for (char& c : text) c = static_cast<char>(dice.below(256));
    for (const std::string& term : analyze(text)) CHECK(is_valid_utf8(term));
  }
}

}  // namespace
}  // namespace lodestep::webshop
