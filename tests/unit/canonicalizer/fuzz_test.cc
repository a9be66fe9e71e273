// Any pages at all, through every matcher: no crash, the same keys twice, groups and guards kept apart, and
// for `robust` the same states whatever the order of the views.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "base/rng.h"
#include "tests/support/fuzz.h"
#include "tests/unit/canonicalizer/views.h"

namespace lodestep::canonicalizer {
namespace {

using testing::Batch;

std::string random_page(PythonRandom& dice) {
  static const std::vector<std::string> kPieces{"[button] Buy [button_]",
                                                "[clicked button] Buy [clicked button_]",
                                                "Price: $12.50",
                                                "Price: $13.50",
                                                "#_P_#",
                                                "Step 7 of 9",
                                                "Updated 10:20",
                                                "you see a mug 1, a pen 2",
                                                "you see a pen 2, a mug 1",
                                                " [SEP] ",
                                                "\xff\xfe",
                                                "\xe4\xb8\xad\xe6\x96\x87",
                                                "",
                                                " ",
                                                "\x01",
                                                "\x02x",
                                                "1,2.3,",
                                                "as of 2024-01-02",
                                                "[",
                                                "]",
                                                "Cafe\xcc\x81"};
  std::string page;
  for (std::size_t lines = dice.below(7); lines-- > 0;) {
    page += kPieces[dice.below(kPieces.size())];
    if (dice.below(4) == 0) page += static_cast<char>(dice.below(256));
    page += dice.below(5) == 0 ? " [SEP] " : "\n";
  }
  return page;
}

Batch random_batch(PythonRandom& dice) {
  static const std::vector<std::string> kActions{"click[buy]", "up", "look", "", "[", "]["};
  Batch batch;
  const std::size_t size = 1 + dice.below(30);
  std::map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < size; ++i) {
    const std::string group = "g" + std::to_string(dice.below(2));
    const std::string episode = "e" + std::to_string(dice.below(4));
    PageView& view = batch.add(group, episode, random_page(dice));
    const auto before = last.find(group + episode);
    view.t = before == last.end() ? 0 : batch.views[before->second].t + 1;
    if (before != last.end() && dice.below(5) > 0) {
      view.previous = before->second;
      view.action_before = batch.keep(kActions[dice.below(kActions.size())]);
    }
    last[group + episode] = i;
    if (dice.below(4) > 0) {
      std::vector<std::string> actions;
      for (std::size_t k = dice.below(4); k-- > 0;) actions.push_back(kActions[dice.below(kActions.size())]);
      view.actions = batch.actions(actions);
    }
    view.truth = view.truth_relevant = view.truth_stage = view.text;
  }
  return batch;
}

TEST_CASE("fuzz: any pages through every matcher", "[fuzz]") {
  PythonRandom dice(21);
  for (int round = 0; round < test::fuzz_rounds(150); ++round) {
    const Batch batch = random_batch(dice);
    for (const std::string& name : MatcherRegistry().names()) {
      INFO(name << " round " << round);
      Result<Matching> one = (*MatcherRegistry().make(name, {}))->match(batch.views);
      Result<Matching> two = (*MatcherRegistry().make(name, {}))->match(batch.views);
      REQUIRE(one);
      REQUIRE(two);
      REQUIRE(one->keys == two->keys);
      for (std::size_t i = 0; i < batch.views.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const PageView& a = batch.views[i];
          const PageView& b = batch.views[j];
          if (a.group != b.group) REQUIRE(one->keys[i] != one->keys[j]);
          if (name.starts_with("true") || a.actions.has_value() != b.actions.has_value()) continue;
          const bool same_actions = !a.actions || std::is_permutation(a.actions->begin(), a.actions->end(),
                                                                      b.actions->begin(), b.actions->end());
          if (a.group == b.group && a.text == b.text && same_actions) REQUIRE(one->keys[i] == one->keys[j]);
        }
      }
    }
  }
}

TEST_CASE("fuzz: robust sees the same states in any order", "[fuzz]") {
  PythonRandom dice(22);
  for (int round = 0; round < test::fuzz_rounds(200); ++round) {
    const Batch batch = random_batch(dice);
    std::vector<std::size_t> order(batch.views.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    dice.shuffle(order);
    std::vector<std::size_t> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    std::vector<PageView> shuffled;
    for (const std::size_t i : order) {
      shuffled.push_back(batch.views[i]);
      if (batch.views[i].previous) shuffled.back().previous = place[*batch.views[i].previous];
    }
    for (const char* witness : {"strict", "relaxed", "first"}) {
      Result<Matching> one = (*MatcherRegistry().make("robust", {{"witness", witness}}))->match(batch.views);
      Result<Matching> two = (*MatcherRegistry().make("robust", {{"witness", witness}}))->match(shuffled);
      REQUIRE(one);
      REQUIRE(two);
      for (std::size_t i = 0; i < order.size(); ++i) REQUIRE(two->keys[i] == one->keys[order[i]]);
    }
  }
}

}  // namespace
}  // namespace lodestep::canonicalizer
