// What a state matcher joins counts in graph and groups alike; `grouping=exact` keeps groups of equal views,
// as the released code does. The command line, recordings and step files agree.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "harness/credit.h"
#include "harness/recorder.h"
#include "program.h"

namespace lodestep::harness::test {
namespace {

// Two episodes of one group: the first succeeds at once, the other one's page has one letter more.
Recording two_pages() {
  Recording recording;
  recording.info = {{"env", "dummy"}, {"max_steps", "5"}};
  for (const char* page : {"The kitchen holds a fridge, a table and two chairs.",
                           "The kitchen holds a fridge, a table and two chairs!"}) {
    EpisodeRecord episode;
    episode.member = recording.episodes.size();
    const bool wins = episode.member == 0;
    StepRecord step;
    step.before.observation = page;
    step.before.keys.exact = page;
    step.before.admissible = {"look", "open door"};
    step.action = wins ? "open door" : "look";
    step.reward = wins ? 10 : 0;
    episode.steps = {step};
    episode.last.observation = episode.last.keys.exact = wins ? "You are out." : "Nothing happens.";
    episode.outcome = wins ? Outcome::kSuccess : Outcome::kFailure;
    recording.episodes.push_back(episode);
  }
  return recording;
}

struct Joined {
  bool nodes = false, groups = false;
  bool operator==(const Joined&) const = default;
};

Joined joined(const CreditRequest& request) {
  const Result<Credited> credited = credit_recording(two_pages(), request);
  REQUIRE(credited);
  return {credited->estimate.node[0] == credited->estimate.node[1],
          credited->estimate.group[0] == credited->estimate.group[1]};
}

TEST_CASE("grouping: a matcher joins groups as it joins nodes, unless grouping=exact") {
  for (const char* estimator : {"graphgpo", "evi"}) {
    INFO(estimator);
    CreditRequest request{.estimator = estimator};
    CHECK(joined(request) == Joined{false, false});
    request.matcher = "lexical";
    CHECK(joined(request) == Joined{true, true});
    for (const char* name : {"grouping", "group_matching"}) {
      request.settings = {{name, "exact"}};
      CHECK(joined(request) == Joined{true, false});
      request.settings = {{name, "same-as-graph"}};
      CHECK(joined(request) == Joined{true, true});
    }
    request.settings = {{"grouping", "exact"}, {"group_matching", "same-as-graph"}};
    CHECK_FALSE(credit_recording(two_pages(), request));
    request.settings = {{"grouping", "fuzzy"}};
    CHECK_FALSE(credit_recording(two_pages(), request));
  }
  // The released code's preset keeps its groups.
  CHECK(joined({.estimator = "graphgpo", .preset = "released", .matcher = "lexical"}) == Joined{true, false});
  CHECK(joined({.estimator = "graphgpo", .preset = "paper", .matcher = "lexical"}) == Joined{true, true});
}

// With the environment's own keys equal pages may be two nodes; exact groups still go by the page.
TEST_CASE("grouping: exact groups hold equal pages, also where the matcher tells them apart") {
  Recording recording = two_pages();
  recording.episodes[1].steps[0].before.observation = recording.episodes[0].steps[0].before.observation;
  const auto credited = [&](const Settings& settings) {
    Result<Credited> credit =
        credit_recording(recording, {.estimator = "graphgpo", .settings = settings, .matcher = "true"});
    REQUIRE(credit);
    return *std::move(credit);
  };
  const Credited exact = credited({{"grouping", "exact"}});
  CHECK(exact.estimate.node[0] != exact.estimate.node[1]);
  CHECK(exact.estimate.group[0] == exact.estimate.group[1]);
  const Credited same = credited({});
  CHECK(same.estimate.group[0] != same.estimate.group[1]);
}

TEST_CASE("grouping: a step file means what a recording means") {
  std::string input;
  for (const EpisodeRecord& episode : two_pages().episodes) {
    input += "{\"task\":\"u\",\"episode\":" + json_quote(std::to_string(episode.member)) +
             ",\"t\":0,\"state\":" + json_quote(episode.steps[0].before.observation) +
             ",\"next_state\":" + json_quote(episode.last.observation) +
             ",\"success\":" + (episode.outcome == Outcome::kSuccess ? "true" : "false") + "}\n";
  }
  const auto of_file = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"credit", "--estimator", "graphgpo", "--in", "-", "--out", "-"});
    const Ran ran = run(words, input);
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    return Joined{ran.out.rfind("\"node\":0") > ran.out.find('\n'),
                  ran.out.rfind("\"group\":0") > ran.out.find('\n')};
  };
  CHECK(of_file({}) == Joined{false, false});
  CHECK(of_file({"--matcher", "lexical"}) == Joined{true, true});
  CHECK(of_file({"--matcher", "lexical", "--set", "grouping=exact"}) == Joined{true, false});
  CHECK(of_file({"--matcher", "lexical", "--preset", "released"}) == Joined{true, false});
  CHECK(of_file({"--matcher", "difflib"}) == Joined{true, false});
  CHECK(of_file({"--matcher", "difflib", "--set", "grouping=same-as-graph"}) == Joined{true, true});
}

TEST_CASE("grouping: rollout --matcher joins noisy pages in groups too, and leaves them apart when told") {
  TemporaryFolder folder;
  const auto groups = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words{"rollout",      "webshop",   "--groups",    "2",
                                   "--group-size", "8",         "--estimator", "graphgpo",
                                   "--matcher",    "robust",    "--set",       "ads=0.6",
                                   "--set",        "max_ads=3", "--out",       folder / name};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run(words);
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    const Result<Recording> recording = read_recording(folder / name);
    REQUIRE(recording);
    const Estimate& estimate = recording->estimates.at(0);
    std::set<std::int64_t> found;
    for (const auto& group : estimate.group) found.insert(group.value_or(-1));
    return found.size();
  };
  CHECK(groups("exact.db", {"--set", "grouping=exact"}) > 3 * groups("joined.db", {}) / 2);
}

}  // namespace
}  // namespace lodestep::harness::test
