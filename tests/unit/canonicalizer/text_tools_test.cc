// The text tools under the matchers: edit distance against a plain twin, normal forms, segments.
#include <catch2/catch.hpp>

#include <algorithm>

#include "base/rng.h"
#include "base/text.h"
#include "canonicalizer/edit_distance.h"
#include "canonicalizer/normal_form.h"
#include "canonicalizer/segments.h"
#include "tests/support/fuzz.h"

namespace lodestep::canonicalizer {
namespace {

std::size_t plain_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

TEST_CASE("fuzz: the edit distance equals the plain one", "[fuzz]") {
  PythonRandom dice(3);
  for (int round = 0; round < test::fuzz_rounds(3000); ++round) {
    std::string a(dice.below(round % 10 == 0 ? 300 : 40), ' ');
    for (char& c : a) c = "abcd"[dice.below(4)];
    std::string b = a;
    if (dice.below(2) == 0) b.resize(dice.below(300), 'b');
    for (std::size_t edits = dice.below(30); edits-- > 0 && !b.empty();) {
      const std::size_t at = dice.below(b.size());
      if (dice.below(3) == 0) {
        b.erase(at, 1);
      } else {
        b.insert(at, 1, "abcd"[dice.below(4)]);
      }
    }
    REQUIRE(edit_distance(a, b) == plain_distance(a, b));
  }
  CHECK(edit_similarity("", "") == 1);
  CHECK(edit_similarity("mug", "jugs") == 0.5);
}

TEST_CASE("lines fold to one form") {
  CHECK(fold_line("  Two\t words\xc2\xa0 HERE ") == "two words here");
  CHECK(fold_line("Cafe\xcc\x81") == "caf\xc3\xa9");
  CHECK(fold_line("Stra\xc3\x9f"
                  "e") == "strasse");
  CHECK(fold_line("bad \xff BYTES") == "bad \xff bytes");
  CHECK(to_nfc("Cafe\xcc\x81 X") == "Caf\xc3\xa9 X");
  CHECK(to_nfc("bad \xff Bytes") == "bad \xff Bytes");
}

TEST_CASE("pages split at newlines and [SEP]") {
  CHECK(segments_of("a [SEP] b\n\nc [SEP]  [SEP] d") == std::vector<std::string_view>{"a", "b", "c", "d"});
  CHECK(without_marks("[button] blue [button_]") == "blue");
  CHECK(without_marks("[clicked button] blue [clicked button_]") == "blue");
}

std::string normal(SegmentBook& book, std::string_view raw) {
  const SegmentId id = book.line(raw).segment;
  return id == kNoSegment ? "(none)" : book.segment(id).text;
}

TEST_CASE("clock times and ISO dates go, other numbers stay") {
  SegmentBook book;
  CHECK(normal(book, "Updated 12:03:45") == "(none)");
  CHECK(normal(book, "Last updated: 2024-05-01 09:30 UTC") == "(none)");
  CHECK(normal(book, "Stock as of 9:30 PM") == "stock");
  CHECK(normal(book, "Page 3 of 12, $1,299.50") == "page 3 of 12, $1,299.50");
  CHECK(normal(book, "ratio 16:9") == "ratio 16:9");
  CHECK(normal(book, " \t ") == "(none)");
  CHECK(book.segment(book.line("Updated 12:03").plain).text == "updated 12:03");
}

TEST_CASE("numbers, templates and masks") {
  SegmentBook book;
  const SegmentId one = book.line("12 people look at item 7").segment;
  const SegmentId two = book.line("9 people look at item 7").segment;
  REQUIRE(book.segment(one).numbers.size() == 2);
  CHECK(book.segment(one).template_hash == book.segment(two).template_hash);
  CHECK(book.segment(one).numbers[0].context == book.segment(two).numbers[0].context);
  CHECK(book.segment(one).numbers[0].context != book.segment(one).numbers[1].context);
  const std::uint64_t people = book.segment(one).numbers[0].context;
  const auto is_people = [&](std::uint64_t context) { return context == people; };
  CHECK(book.masked(one, is_people) == book.masked(two, is_people));
  CHECK(book.segment(book.masked(one, is_people)).text == "\x01 people look at item 7");
  CHECK(book.masked(one, [](std::uint64_t) { return false; }) == one);
  // A wall is no number: rows of a board keep their own templates.
  CHECK(book.segment(book.line("#_#").segment).template_hash !=
        book.segment(book.line("###").segment).template_hash);
}

TEST_CASE("words in another order are one set, numbers stay with their word") {
  SegmentBook book;
  const auto sorted = [&](std::string_view raw) { return book.words_sorted(book.line(raw).segment); };
  CHECK(sorted("you see a mug 1, and a plate 2.") == sorted("you see a plate 2, and a mug 1."));
  CHECK(sorted("you see a mug 1, and a plate 2.") != sorted("you see a plate 1, and a mug 2."));
}

}  // namespace
}  // namespace lodestep::canonicalizer
