// Pages that differ by typing errors are one state under typos=on; pages that differ otherwise are not.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cctype>

#include "base/rng.h"
#include "canonicalizer/misspelt_pages.h"
#include "tests/unit/canonicalizer/views.h"

namespace lodestep::canonicalizer {
namespace {

using testing::Batch;
using testing::clusters;

const std::string kPage =
    "Instruction: find me a woven jacket with a hood for men\nWoven hooded jacket, light and warm\nPrice: "
    "49.90\n"
    "Rating: 4.2\n";

std::string with(const std::string& from, const std::string& to) {
  std::string page = kPage;
  REQUIRE(page.find(from) != std::string::npos);
  return page.replace(page.find(from), from.size(), to);
}

CleanPage page(std::string text, std::int64_t t = 1, std::uint32_t views = 1) {
  return {0, Hash128{1, 1}, t, views, std::move(text)};
}

bool joined(const CleanPage& a, const CleanPage& b) {
  const std::vector<CleanPage> pages{a, b};
  const std::vector<std::size_t> found = join_misspelt(pages);
  return found[0] == found[1];
}

TEST_CASE("a typing error does not make another page") {
  const CleanPage right = page(kPage, 0, 20);
  CHECK(joined(right, page(with("Price", "rPice"))));   // in a short line
  CHECK(joined(right, page(with("hooded", "hoode"))));  // a letter left out
  CHECK(joined(page(with("Price", "rPice")), page(with("Rating", "Raitng"))));
  CHECK(joined(right, right));
}

TEST_CASE("what is no typing error makes another page") {
  const CleanPage right = page(kPage, 0, 20);
  CHECK_FALSE(joined(right, page(with("49.90", "49.99"))));               // a number
  CHECK_FALSE(joined(right, page(with("4.2", "N.A."))));                  // no number
  CHECK_FALSE(joined(right, page(with("for men", "for women"), 1, 20)));  // both words are common
  CHECK_FALSE(joined(right, page(with("warm", "red"))));                  // not even nearly the word
  CHECK_FALSE(joined(right, page(with("Rating: 4.2\n", ""))));            // a line
  CHECK_FALSE(joined(right, page(with("light and warm", "light"))));      // words left out
  CleanPage elsewhere = page(with("Price", "rPice"));
  elsewhere.group = 1;
  CHECK_FALSE(joined(right, elsewhere));
  elsewhere = page(with("Price", "rPice"));
  elsewhere.bucket = {2, 2};
  CHECK_FALSE(joined(right, elsewhere));
}

TEST_CASE("fuzz: misspelt pages join in any order of the batch") {
  PythonRandom dice(41);
  for (int round = 0; round < 60; ++round) {
    std::vector<CleanPage> pages;
    for (std::int64_t i = 0; i < 8; ++i) {
      std::string text = dice.below(3) == 0 ? with("jacket", "coat") : kPage;
      for (std::size_t typos = dice.below(4); typos-- > 0;) {
        const std::size_t at = dice.below(text.size() - 1);
        if (std::isalpha(static_cast<unsigned char>(text[at])) != 0 &&
            std::isalpha(static_cast<unsigned char>(text[at + 1])) != 0) {
          std::swap(text[at], text[at + 1]);
        }
      }
      pages.push_back(page(text, static_cast<std::int64_t>(dice.below(3)),
                           static_cast<std::uint32_t>(1 + dice.below(5))));
    }
    const std::vector<std::size_t> found = join_misspelt(pages);
    std::vector<std::size_t> order(pages.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    dice.shuffle(order);
    std::vector<CleanPage> shuffled;
    for (const std::size_t i : order) shuffled.push_back(pages[i]);
    const std::vector<std::size_t> again = join_misspelt(shuffled);
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (std::size_t k = 0; k < order.size(); ++k) {
        REQUIRE((again[i] == again[k]) == (found[order[i]] == found[order[k]]));
      }
    }
  }
}

// Five sets of actions, so that the pages count as rich; the page itself is seen often.
Batch shop(const std::vector<std::string>& pages) {
  Batch batch;
  for (int i = 0; i < 5; ++i) {
    batch.add("g", "e" + std::to_string(i), "Way " + std::string(1, static_cast<char>('a' + i))).actions =
        batch.actions({"go " + std::to_string(i)});
  }
  for (std::size_t i = 0; i < pages.size(); ++i) {
    PageView& view = batch.add("g", "v" + std::to_string(i), pages[i]);
    view.t = 3;
    view.actions = batch.actions({"click[navy]", "click[olive]", "click[buy now]"});
  }
  return batch;
}

TEST_CASE("typos=on: short lines and misspelt labels, but never another option") {
  const std::string options = "[clicked button] navy [clicked button_]\n[button] olive [button_]\n";
  const std::string other = "[button] navy [button_]\n[clicked button] olive [clicked button_]\n";
  const std::string label = "[clicked button] nayv [clicked button_]\n[button] olive [button_]\n";
  std::vector<std::string> pages(6, kPage + options);
  pages.push_back(with("Price", "Pirce") + options);
  pages.push_back(kPage + label);
  pages.push_back(kPage + other);
  pages.push_back(with("Price", "rPice") + other);
  const std::vector<std::uint32_t> found = clusters("robust", {{"typos", "on"}}, shop(pages));
  const std::size_t first = 5;
  CHECK(found[first + 6] == found[first]);
  CHECK(found[first + 7] == found[first]);
  CHECK(found[first + 8] != found[first]);
  CHECK(found[first + 9] == found[first + 8]);
  const std::vector<std::uint32_t> strict = clusters("robust", {}, shop(pages));
  CHECK(strict[first + 6] != strict[first]);
}

TEST_CASE("typos=on is refused on boards, with a note") {
  Batch batch;
  for (const char* board : {"###\n#P_#\n###", "###\n#_P#\n###", "###\n#P_#\n###"}) {
    batch.add("g", "e" + std::to_string(batch.views.size()), board).actions =
        batch.actions({"left", "right"});
  }
  Result<Matching> matching = (*MatcherRegistry().make("robust", {{"typos", "on"}}))->match(batch.views);
  REQUIRE(matching);
  CHECK(number_by_first_appearance(matching->keys) == std::vector<std::uint32_t>{0, 1, 0});
  CHECK(std::any_of(matching->notes.begin(), matching->notes.end(),
                    [](const std::string& note) { return note.starts_with("typos=on has no effect"); }));
}

}  // namespace
}  // namespace lodestep::canonicalizer
