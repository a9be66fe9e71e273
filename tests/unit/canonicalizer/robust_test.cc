// The matcher `robust` on a made-up shop whose true states are known: noise goes, states stay apart.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "canonicalizer/agreement.h"
#include "canonicalizer/edit_distance.h"
#include "canonicalizer/noise_model.h"
#include "tests/support/toy_shop.h"
#include "tests/unit/canonicalizer/views.h"

namespace lodestep::canonicalizer {
namespace {

using test::Noise;
using test::ToyShop;
using testing::Batch;
using testing::clusters;

std::unique_ptr<Matcher> robust(const Settings& settings = {}) {
  Result<std::unique_ptr<Matcher>> matcher = MatcherRegistry().make("robust", settings);
  REQUIRE(matcher);
  return *std::move(matcher);
}

template <typename Part>
std::vector<std::uint32_t> numbered(const std::vector<PageView>& views, Part part) {
  std::map<std::string_view, std::uint32_t> numbers;
  std::vector<std::uint32_t> out;
  for (const PageView& view : views) {
    out.push_back(numbers.try_emplace(part(view), static_cast<std::uint32_t>(numbers.size())).first->second);
  }
  return out;
}

Agreement agreement(Matcher& matcher, const std::vector<PageView>& views) {
  Result<Matching> matching = matcher.match(views);
  REQUIRE(matching);
  const auto groups = numbered(views, [](const PageView& view) { return view.group; });
  const auto truths = numbered(views, [](const PageView& view) { return *view.truth; });
  return measure_agreement(count_pairs(groups, number_by_first_appearance(matching->keys), truths)).pooled;
}

TEST_CASE("noise of every kind is taken out, and no states are joined") {
  struct Case {
    const char* name;
    Noise noise;
    double density;
    std::uint32_t most;
    double least_recall;
  };
  for (const Case& noise :
       {Case{"none", Noise::kNone, 0, 1, 1}, Case{"ads .3 1", Noise::kAds, 0.3, 1, 0.99},
        Case{"ads .3 3", Noise::kAds, 0.3, 3, 0.99}, Case{"ads .6 1", Noise::kAds, 0.6, 1, 0.99},
        Case{"ads .6 3", Noise::kAds, 0.6, 3, 0.99}, Case{"counter", Noise::kCounter, 0.7, 1, 0.99},
        Case{"step counter", Noise::kStepCounter, 1, 1, 0.99}, Case{"time", Noise::kTime, 1, 1, 1},
        Case{"banner", Noise::kBanner, 0.5, 2, 0.99}, Case{"mixed", Noise::kMixed, 0.6, 3, 0.99}}) {
    INFO(noise.name);
    const ToyShop shop({.groups = 12, .noise = noise.noise, .density = noise.density, .most = noise.most});
    const Agreement found = agreement(*robust(), shop.views());
    CHECK(found.false_merge_rate < 0.001);
    CHECK(found.recall >= noise.least_recall);
    CHECK(std::abs(found.node_reuse - found.true_node_reuse) < 0.01);
  }
}

TEST_CASE("exact text is split by the same noise, or the test above shows nothing") {
  const ToyShop shop({.groups = 12, .noise = Noise::kAds, .density = 0.6, .most = 3});
  Result<std::unique_ptr<Matcher>> exact = MatcherRegistry().make("exact", {});
  REQUIRE(exact);
  CHECK(agreement(**exact, shop.views()).recall < 0.5);
}

TEST_CASE("keys do not depend on the order of groups, episodes or views") {
  const ToyShop shop({.groups = 6, .noise = Noise::kMixed, .density = 0.6, .most = 3});
  const std::vector<PageView> views = shop.views();
  const std::vector<Hash128> keys = robust()->match(views)->keys;
  PythonRandom dice(4);
  for (int round = 0; round < 8; ++round) {
    std::vector<std::size_t> order(views.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    dice.shuffle(order);
    std::vector<std::size_t> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    std::vector<PageView> shuffled;
    for (const std::size_t i : order) {
      shuffled.push_back(views[i]);
      if (views[i].previous) shuffled.back().previous = place[*views[i].previous];
    }
    Result<Matching> matching = robust()->match(shuffled);
    REQUIRE(matching);
    bool equal = true;
    for (std::size_t i = 0; i < order.size(); ++i) equal = equal && matching->keys[i] == keys[order[i]];
    CHECK(equal);
  }
}

TEST_CASE("a frozen model gives keys at once, equal in every later batch") {
  const ToyShop first({.groups = 12, .noise = Noise::kAds, .density = 0.6, .most = 3, .seed = 1});
  const ToyShop later({.groups = 12, .noise = Noise::kAds, .density = 0.6, .most = 3, .seed = 2});
  std::unique_ptr<Matcher> teacher = robust();
  REQUIRE(teacher->match(first.views()));
  const std::string saved = teacher->save();

  std::unique_ptr<Matcher> frozen = robust({{"scope", "frozen"}});
  CHECK_FALSE(frozen->match(later.views()));  // nothing loaded yet
  REQUIRE(frozen->load(saved));
  const Agreement found = agreement(*frozen, later.views());
  CHECK(found.false_merge_rate < 0.001);
  CHECK(found.recall > 0.98);

  // One view alone has the key it had among all others: no later view is needed.
  const std::vector<PageView> views = later.views();
  const std::vector<Hash128> keys = frozen->match(views)->keys;
  for (const std::size_t i : {std::size_t{0}, std::size_t{7}, views.size() - 1}) {
    PageView alone = views[i];
    alone.previous.reset();
    Result<Matching> matching = frozen->match(std::span(&alone, 1));
    REQUIRE(matching);
    CHECK(matching->keys[0] == keys[i]);
  }
}

TEST_CASE("keys of a frozen model carry its version") {
  const ToyShop shop({.groups = 3, .noise = Noise::kAds, .density = 0.6, .most = 3, .seed = 5});
  const auto keys_with = [&](const std::string& model) {
    std::unique_ptr<Matcher> frozen = robust({{"scope", "frozen"}});
    REQUIRE(frozen->load(model));
    Result<Matching> matching = frozen->match(shop.views());
    REQUIRE(matching);
    REQUIRE(frozen->save() == model);  // nothing is learnt
    return matching->keys;
  };
  std::unique_ptr<Matcher> teacher = robust();
  REQUIRE(teacher->match(shop.views()));
  const std::string once = teacher->save();
  REQUIRE(teacher->match(shop.views()));
  const std::string twice = teacher->save();
  REQUIRE(once != twice);
  const std::vector<Hash128> first = keys_with(once);
  CHECK(first == keys_with(once));
  const std::vector<Hash128> second = keys_with(twice);
  CHECK(number_by_first_appearance(first) == number_by_first_appearance(second));
  for (std::size_t i = 0; i < first.size(); ++i) REQUIRE(first[i] != second[i]);
}

TEST_CASE("streaming learns between batches") {
  std::unique_ptr<Matcher> stream = robust({{"scope", "stream"}});
  double recall = 0;
  for (int batch = 0; batch < 3; ++batch) {
    const ToyShop shop({.groups = 8, .noise = Noise::kAds, .density = 0.6, .most = 2, .seed = batch});
    recall = agreement(*stream, shop.views()).recall;
  }
  CHECK(recall > 0.98);
}

TEST_CASE("a model survives saving, and damaged bytes are refused whole") {
  const ToyShop shop({.groups = 3, .noise = Noise::kAds, .density = 0.6, .most = 2});
  std::unique_ptr<Matcher> teacher = robust();
  REQUIRE(teacher->match(shop.views()));
  const std::string saved = teacher->save();
  std::unique_ptr<Matcher> again = robust();
  REQUIRE(again->load(saved));
  CHECK(again->save() == saved);
  for (const std::size_t at : {std::size_t{3}, saved.size() / 2, saved.size() - 1}) {
    std::string damaged = saved;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    CHECK_FALSE(again->load(damaged));
  }
  CHECK_FALSE(again->load(saved.substr(0, saved.size() - 9)));
  CHECK_FALSE(again->load(""));
  CHECK(again->save() == saved);
}

TEST_CASE("missing actions and observations before are said") {
  ToyShop shop({.groups = 4, .noise = Noise::kAds, .density = 0.6, .most = 3});
  std::vector<PageView> views = shop.views();
  for (PageView& view : views) {
    view.previous.reset();
    view.action_before.reset();
  }
  Result<Matching> matching = robust()->match(views);
  REQUIRE(matching);
  const auto mentions = [&](std::string_view text) {
    return std::any_of(matching->notes.begin(), matching->notes.end(),
                       [&](const std::string& note) { return note.find(text) != std::string::npos; });
  };
  CHECK(mentions("no action taken or no observation before"));
  CHECK(agreement(*robust(), views).false_merge_rate == 0);
}

TEST_CASE("one view alone has the key of its normal form") {
  Batch batch;
  batch.add("g", "e", "The Drawer  is OPEN.\nUpdated 12:30");
  batch.add("g", "f", "the drawer is open.").t = 3;
  CHECK(clusters("robust", {}, batch) == std::vector<std::uint32_t>{0, 0});
}

TEST_CASE("a page whose lines come in any order is one state once that was seen") {
  const ToyShop shop({.groups = 12, .noise = Noise::kReorder, .density = 0.5, .most = 1});
  CHECK(agreement(*robust(), shop.views()).recall > 0.99);
  CHECK(agreement(*robust({{"order", "keep"}}), shop.views()).recall < 0.95);
}

TEST_CASE("typos=on mends misspelt lines of rich pages, and leaves boards alone") {
  const auto batch_of = [](const std::vector<std::string>& pages, bool rich) {
    Batch batch;
    for (std::size_t i = 0; i < pages.size(); ++i) {
      PageView& view = batch.add("g", "e" + std::to_string(i), pages[i]);
      view.t = 2;
      view.actions = batch.actions({"open door", "look"});
    }
    for (int i = 0; rich && i < 4; ++i) {
      batch.add("g", "rich", "page " + std::string(static_cast<std::size_t>(i + 1), 'x')).actions =
          batch.actions({"go " + std::to_string(i)});
    }
    return batch;
  };
  const std::string line = "The kitchen holds a fridge, a table and two wooden chairs.";
  const std::vector<std::string> pages{line, line,
                                       "The kitchen holds a fridgw, a table and two wooden chairs.",
                                       "The kitchen holds a fridge, a table and two wooden chairs. 2"};
  const Settings on{{"typos", "on"}};
  const std::vector<std::uint32_t> mended = clusters("robust", on, batch_of(pages, true));
  CHECK(mended[2] == mended[0]);
  CHECK(mended[3] != mended[0]);  // another number is another state
  CHECK(clusters("robust", {}, batch_of(pages, true))[2] != mended[0]);
  const std::vector<std::uint32_t> board = clusters("robust", on, batch_of(pages, false));
  CHECK(board[2] != board[0]);
}

TEST_CASE("bad options are refused") {
  for (const Settings& settings :
       {Settings{{"scope", "all"}}, Settings{{"min_support", "0"}}, Settings{{"rounds", "x"}},
        Settings{{"threshold", "0.9"}}, Settings{{"typos", "on"}, {"scope", "stream"}}}) {
    CHECK_FALSE(MatcherRegistry().make("robust", settings));
  }
}

}  // namespace
}  // namespace lodestep::canonicalizer
