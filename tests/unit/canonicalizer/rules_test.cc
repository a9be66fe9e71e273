// The matcher `rules`: its named rules, its sets, a user's own file.
#include <catch2/catch.hpp>

#include "canonicalizer/rules.h"
#include "tests/unit/canonicalizer/views.h"

namespace lodestep::canonicalizer {
namespace {

using testing::Batch;
using testing::clusters;

bool equal_by(const std::string& set, std::string a, std::string b) {
  Batch batch;
  batch.add("g", "e", std::move(a));
  batch.add("g", "f", std::move(b));
  const std::vector<std::uint32_t> found = clusters("rules", {{"rules", set}}, batch);
  return found[0] == found[1];
}

TEST_CASE("counters, times, ids, case, space and banners do not tell states apart") {
  CHECK(equal_by("default", "Step 2\nYou are in the hall.", "Step 5\nYou are in the hall."));
  CHECK(equal_by("default", "turn 3/15: a door", "turn 14/15: a door"));
  CHECK(equal_by("default", "12 steps left. a door", "3 steps left. a door"));
  CHECK(equal_by("default", "Updated 2024-05-01 10:30\na door", "Updated 2024-06-11 09:12\na door"));
  CHECK(equal_by("default", "session id: 8f3a-77b\na door", "session id: 11c0-90d\na door"));
  CHECK(equal_by("default", "A  door\n\n", "a door"));
  CHECK(equal_by("default", "Sponsored: buy mugs\na door", "a door"));
  CHECK(equal_by("default", "*** Spring sale ***\na door", "*** Autumn sale ***\na door"));
  CHECK(equal_by("default", "Cafe\xcc\x81", "caf\xc3\xa9"));
  CHECK(equal_by("default", "31 people are looking\na door", "7 people are looking\na door"));
}

TEST_CASE("what tells states apart stays") {
  CHECK_FALSE(equal_by("default", "you carry 2 mugs", "you carry 3 mugs"));
  CHECK_FALSE(equal_by("webshop", "Page 1 (Total results: 50)", "Page 2 (Total results: 50)"));
  CHECK_FALSE(equal_by("webshop", "[button] B0ABC [button_]", "[button] B0ABD [button_]"));
  CHECK_FALSE(equal_by("webshop", "[button] red [button_]", "[clicked button] red [clicked button_]"));
  CHECK_FALSE(equal_by("sokoban", "#_P_#", "#__P#"));
  CHECK_FALSE(equal_by("sokoban", "# P  #", "#  P #"));
  CHECK_FALSE(equal_by("alfworld", "you see a mug 1, and a pen 2.", "you see a mug 2, and a pen 1."));
}

TEST_CASE("the order of a list does not count in alfworld") {
  CHECK(equal_by("alfworld", "On the desk 1, you see a mug 1, a pen 2, and a book 1.",
                 "On the desk 1, you see a book 1, a mug 1, and a pen 2."));
  CHECK_FALSE(equal_by("webshop", "you see a mug 1, a pen 2", "you see a pen 2, a mug 1"));
}

TEST_CASE("a user's rules, applied in order") {
  const Result<RuleSet> rules = RuleSet::parse(
      "# mine\nspace\nreplace (\\d+) left => # left (\\1 digits gone)\ndrop ad: .*\nsort-lines - .*\nreplace "
      "gone => \n",
      "mine");
  REQUIRE(rules);
  CHECK(rules->apply("ad: mugs\n- pear\n- apple\n3  left\n- b\n- a") ==
        "- apple\n- pear\n# left (3 digits )\n- a\n- b");
}

TEST_CASE("errors in rules name the line") {
  CHECK(RuleSet::parse("nfc\nspaec\n", "mine").error().where == "mine line 2");
  CHECK(RuleSet::parse("nfc\nspaec\n", "mine").error().message.find("did you mean \"space\"") !=
        std::string::npos);
  CHECK(RuleSet::parse("replace ( => x", "mine").error().where == "mine line 1");
  CHECK_FALSE(RuleSet::parse("replace a", "mine"));
  CHECK_FALSE(RuleSet::parse("replace (a) => \\2", "mine"));
  CHECK_FALSE(RuleSet::parse("sort-list a, b", "mine"));
  CHECK(RuleSet::open("no/such.rules").error().hint.find("alfworld") != std::string::npos);
}

}  // namespace
}  // namespace lodestep::canonicalizer
