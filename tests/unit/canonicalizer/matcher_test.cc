// Promises of every matcher, and of the simple ones in particular.
#include <catch2/catch.hpp>

#include "canonicalizer/registry.h"
#include "tests/unit/canonicalizer/views.h"

namespace lodestep::canonicalizer {
namespace {

using testing::Batch;
using testing::clusters;

TEST_CASE("no matcher joins two groups") {
  for (const std::string& name : MatcherRegistry().names()) {
    INFO(name);
    Batch batch;
    batch.add("g0", "e0", "You are in a room.").truth = "room";
    batch.add("g1", "e0", "You are in a room.").truth = "room";
    for (PageView& view : batch.views) view.truth_relevant = view.truth_stage = "room";
    CHECK(clusters(name, {}, batch) == std::vector<std::uint32_t>{0, 1});
  }
}

TEST_CASE("every matcher joins equal views and gives equal keys twice") {
  for (const std::string& name : MatcherRegistry().names()) {
    INFO(name);
    Batch batch;
    for (const char* text : {"the drawer is open", "the shelf holds 3 mugs", "the drawer is open"}) {
      PageView& view = batch.add("g", "e" + std::to_string(batch.views.size()), text);
      view.truth = view.truth_relevant = view.truth_stage = text;
    }
    Result<std::unique_ptr<Matcher>> one = MatcherRegistry().make(name, {});
    Result<std::unique_ptr<Matcher>> two = MatcherRegistry().make(name, {});
    REQUIRE(one);
    REQUIRE(two);
    Result<Matching> first = (*one)->match(batch.views);
    Result<Matching> second = (*two)->match(batch.views);
    REQUIRE(first);
    REQUIRE(second);
    CHECK(first->keys == second->keys);
    CHECK(number_by_first_appearance(first->keys) == std::vector<std::uint32_t>{0, 1, 0});
  }
}

TEST_CASE("the guard keeps views with other actions apart, in whatever order they are listed") {
  Batch batch;
  batch.add("g", "e0", "a door").actions = batch.actions({"open door", "look"});
  batch.add("g", "e1", "a door").actions = batch.actions({"look", "open door"});
  batch.add("g", "e2", "a door").actions = batch.actions({"close door", "look"});
  batch.add("g", "e3", "a door");
  CHECK(clusters("exact", {}, batch) == std::vector<std::uint32_t>{0, 0, 1, 2});
  CHECK(clusters("exact", {{"guard", "none"}}, batch) == std::vector<std::uint32_t>{0, 0, 0, 0});
}

TEST_CASE("what a batch lacks is noted") {
  Batch batch;
  batch.add("g", "e0", "broken \xff bytes");
  Result<Matching> matching = (*MatcherRegistry().make("exact", {}))->match(batch.views);
  REQUIRE(matching);
  REQUIRE(matching->notes.size() == 2);
  CHECK(matching->notes[0].find("no admissible actions for 1 of 1") != std::string::npos);
  CHECK(matching->notes[1].find("invalid UTF-8 in 1 of 1") != std::string::npos);
}

TEST_CASE("the true key must be there") {
  Batch batch;
  batch.add("u3", "e7", "a room").t = 4;
  Result<Matching> matching = (*MatcherRegistry().make("true", {}))->match(batch.views);
  REQUIRE_FALSE(matching);
  CHECK(matching.error().where == "group u3, episode e7, t 4");
}

TEST_CASE("unknown matchers and options are refused with a proposal") {
  CHECK(MatcherRegistry().make("exat", {}).error().hint == "did you mean \"exact\"?");
  CHECK_FALSE(MatcherRegistry().make("exact", {{"treshold", "1"}}));
  CHECK_FALSE(MatcherRegistry().make("exact", {{"guard", "maybe"}}));
}

TEST_CASE("a matcher of one's own joins the list") {
  struct FirstLetter : Matcher {
    Result<Matching> match(std::span<const PageView> batch) override {
      Matching matching;
      for (const PageView& view : batch) {
        matching.keys.push_back(Hasher().add(view.group).add(view.text.substr(0, 1)).finish());
      }
      return matching;
    }
  };
  MatcherRegistry registry;
  registry.add(
      {"first-letter", "by the first letter", {}, [](const Options&) -> Result<std::unique_ptr<Matcher>> {
         return std::unique_ptr<Matcher>(std::make_unique<FirstLetter>());
       }});
  Batch batch;
  batch.add("g", "e", "apple");
  batch.add("g", "e", "bowl");
  batch.add("g", "e", "armchair");
  Result<Matching> matching = (*registry.make("first-letter", {}))->match(batch.views);
  REQUIRE(matching);
  CHECK(number_by_first_appearance(matching->keys) == std::vector<std::uint32_t>{0, 1, 0});
  CHECK_FALSE((*registry.make("first-letter", {}))->load("anything"));
}

}  // namespace
}  // namespace lodestep::canonicalizer
