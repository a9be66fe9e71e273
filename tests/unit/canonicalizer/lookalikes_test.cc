// Pages that are nearly equal and yet different states stay apart under `robust`: alone, and among noise.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "base/rng.h"
#include "tests/support/lookalikes.h"
#include "tests/unit/canonicalizer/views.h"

namespace lodestep::canonicalizer {
namespace {

using test::actions_on;
using test::Lookalike;
using test::lookalikes;
using testing::Batch;

std::string with_advertisements(PythonRandom& dice, const std::string& page) {
  static const std::vector<std::string> kAds{
      "Limited offer: mugs for only $8.80!", "Sponsored: tents 20% off",
      "Hurry, 12 sold in the last hour",     "Free shipping today",
      "Hurry, 55 sold in the last hour",     "Join the club and save 10%"};
  std::string out = page;
  for (std::size_t count = dice.below(3); count-- > 0;) {
    std::vector<std::size_t> borders{0};
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i] == '\n') borders.push_back(i + 1);
    }
    out.insert(borders[dice.below(borders.size())], kAds[dice.below(kAds.size())] + "\n");
  }
  return out;
}

std::set<Hash128> keys_of(const Matching& matching, const Batch& batch, std::string_view page) {
  std::set<Hash128> keys;
  for (std::size_t i = 0; i < batch.views.size(); ++i) {
    if (batch.views[i].truth == page) keys.insert(matching.keys[i]);
  }
  return keys;
}

bool disjoint(const std::set<Hash128>& a, const std::set<Hash128>& b) {
  return std::none_of(a.begin(), a.end(), [&](const Hash128& key) { return b.contains(key); });
}

TEST_CASE("there are enough lookalikes, all different") {
  std::set<std::pair<std::string, std::string>> seen;
  for (const Lookalike& pair : lookalikes()) {
    CHECK(pair.a != pair.b);
    CHECK(seen.emplace(pair.a, pair.b).second);
  }
  CHECK(seen.size() >= 120);
}

TEST_CASE("robust merges no lookalikes that stand alone") {
  for (const bool with_actions : {true, false}) {
    for (const std::int64_t t : {0, 3}) {
      for (const Lookalike& pair : lookalikes()) {
        INFO(pair.kind << '\n' << pair.a << "\n---\n" << pair.b);
        Batch batch;
        for (const std::string& page : {pair.a, pair.b}) {
          PageView& view = batch.add("g", "e" + std::to_string(batch.views.size()), page);
          view.t = t;
          if (with_actions) view.actions = batch.actions(actions_on(page));
        }
        CHECK(testing::clusters("robust", {}, batch) == std::vector<std::uint32_t>{0, 1});
      }
    }
  }
}

// Each pair in a group of its own: eight episodes start on one page, and half of them go on to each page.
TEST_CASE("robust merges no lookalikes among noise, and joins the views of each") {
  PythonRandom dice(8);
  Batch batch;
  const std::vector<Lookalike> pairs = lookalikes();
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    for (int member = 0; member < 8; ++member) {
      const std::string group = "g" + std::to_string(p);
      const std::string episode = "e" + std::to_string(member);
      const std::string& page = member % 2 == 0 ? pairs[p].a : pairs[p].b;
      PageView& start = batch.add(group, episode, with_advertisements(dice, "Start\nChoose a way."));
      start.actions = batch.actions({"one", "other"});
      start.truth = "start";
      PageView& view = batch.add(group, episode, with_advertisements(dice, page));
      view.t = 1;
      view.previous = batch.views.size() - 2;
      view.action_before = member % 2 == 0 ? "one" : "other";
      view.actions = batch.actions(actions_on(page));
      view.truth = batch.keep(std::to_string(p) + page);
    }
  }
  Result<Matching> matching = (*MatcherRegistry().make("robust", {}))->match(batch.views);
  REQUIRE(matching);
  std::size_t split = 0;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    INFO(pairs[p].kind << '\n' << pairs[p].a << "\n---\n" << pairs[p].b);
    const std::set<Hash128> a = keys_of(*matching, batch, std::to_string(p) + pairs[p].a);
    const std::set<Hash128> b = keys_of(*matching, batch, std::to_string(p) + pairs[p].b);
    CHECK(disjoint(a, b));
    split += a.size() + b.size() - 2;
  }
  CHECK(split == 0);
}

}  // namespace
}  // namespace lodestep::canonicalizer
