// What `lodestep report` and `compare` say about a recording: diagnostics, calibration, hints, group sizes.
#include <catch2/catch.hpp>

#include "harness/hints.h"
#include "harness/internal/json.h"
#include "program.h"

namespace lodestep::harness::test {
namespace {

TEST_CASE(
    "report: what the graph is worth, with calibration, and against true distances where they are known") {
  const TemporaryFolder folder;
  REQUIRE(run({"rollout", "sokoban", "--groups", "4", "--group-size", "6", "--set", "distance=true", "--out",
               folder / "run.db"})
              .status == 0);
  const Ran text = run({"report", folder / "run.db"});
  REQUIRE(text.status == 0);
  for (const char* line :
       {"worst tasks first", "node reuse", "nodes with an observed way", "steps that can be compared",
        "progress steps in failed episodes", "other steps in successful episodes",
        "variance within equal transitions: graph                     0\n", "over-optimism",
        "rank correlation of both distances", "gamma^distance: Brier score",
        "chance under the observed actions: expected calibration error", "came true"}) {
    INFO(line << '\n' << text.out);
    CHECK(text.out.find(line) != std::string::npos);
  }
  const auto json = parse_json(run({"report", folder / "run.db", "--json"}).out, "");
  REQUIRE(json.ok());
  const auto& d = (*json)["diagnostics"];
  CHECK(d["steps"].GetUint64() == (*json)["steps"].GetUint64());
  CHECK(d["truth"]["rank_correlation"].GetDouble() > 0.5);
  CHECK(d["truth"]["bias"].GetDouble() >= 0);  // an observed way is never shorter than the true one
  CHECK(d["graph_value"]["bins"].Size() == 10);
  CHECK(d["graph_variance"].GetDouble() == 0);
  CHECK(d["return_variance"].GetDouble() > 0);
  const Ran credit = run({"credit", "--run", folder / "run.db", "--estimator", "grpo", "--diagnostics"});
  CHECK(credit.err.find("rank correlation of both distances") != std::string::npos);
}

TEST_CASE("report --hints: the shortest way through all that a task's episodes saw") {
  const auto at = [](const std::string& key) {
    Situation s;
    s.keys = {key, key, key};
    return s;
  };
  Recording recording;
  EpisodeRecord won;
  won.task.id = "cup";
  won.outcome = Outcome::kSuccess;
  won.steps = {{at("hall"), "look", true, 0},
               {at("hall"), "go north", true, 0},
               {at("kitchen"), "wait", true, 0},
               {at("garden"), "go in", true, 0},
               {at("pantry"), "take cup", true, 1}};
  won.last = at("pantry with cup");
  EpisodeRecord lost = won;
  lost.member = 1;
  lost.outcome = Outcome::kFailure;
  lost.steps = {{at("hall"), "go north", true, 0}, {at("kitchen"), "go east", true, 0}};
  lost.last = at("pantry");
  EpisodeRecord other = lost;
  other.group = 1;
  other.task.id = "plate";
  recording.episodes = {won, lost, other};
  const std::string hints = hints_text(recording);
  CHECK(hints.find("task cup (1 of 2 episodes succeeded)\n  The shortest way known takes 3 steps:\n"
                   "  1. go north\n  2. go east\n  3. take cup\n") != std::string::npos);
  CHECK(hints.find("task plate (0 of 1 episodes succeeded)\n  No way to success is known.\n") !=
        std::string::npos);
  CHECK(hints.find("for its own task only") != std::string::npos);
}

TEST_CASE("compare --group-sizes: the same steps in smaller groups share less") {
  const TemporaryFolder folder;
  REQUIRE(
      run({"rollout", "sokoban", "--groups", "4", "--group-size", "8", "--out", folder / "run.db"}).status ==
      0);
  const auto sizes =
      parse_json(run({"compare", folder / "run.db", "--group-sizes", "2,4,8", "--json"}).out, "");
  REQUIRE(sizes.ok());
  REQUIRE(sizes->Size() == 3);
  for (rapidjson::SizeType i = 0; i < 3; ++i) {
    CHECK((*sizes)[i]["groups"].GetInt() == 16 >> i);
    CHECK((*sizes)[i]["diagnostics"]["steps"].GetInt() == (*sizes)[2]["diagnostics"]["steps"].GetInt());
  }
  CHECK((*sizes)[0]["diagnostics"]["node_reuse"].GetDouble() <
        (*sizes)[2]["diagnostics"]["node_reuse"].GetDouble());
  const Ran truth = run({"compare", folder / "run.db", "--fidelity", "--group-sizes", "2,8"});
  CHECK(truth.out.find("groups of 2") != std::string::npos);
  CHECK(truth.out.find("groups of 8") != std::string::npos);
}

TEST_CASE("rollout --graph-store: a later run knows the ways of an earlier one") {
  const TemporaryFolder folder;
  const auto play = [&](const std::string& out, const std::string& policy) {
    const Ran ran =
        run({"rollout", "dummy", "--groups", "2", "--group-size", "3", "--policy", policy, "--estimator",
             "graphgpo", "--graph-store", folder / "graphs.db", "--half-life", "5", "--out", folder / out});
    REQUIRE(ran.status == 0);
    return ran.err;
  };
  CHECK(play("1.db", "gold").find("0 edges recalled from 0 batches") != std::string::npos);
  const std::string second = play("2.db", "random");
  INFO(second);
  CHECK(second.find("edges recalled from 1 batches") != std::string::npos);
  CHECK(second.find(" 0 edges recalled") == std::string::npos);
  CHECK(run({"credit", "--run", folder / "2.db", "--estimator", "graphgpo", "--graph-store",
             folder / "graphs.db"})
            .err.find("edges recalled from 2 batches") != std::string::npos);
  CHECK(
      run({"credit", "--run", folder / "2.db", "--estimator", "grpo", "--graph-store", folder / "graphs.db"})
          .status == 2);
}

}  // namespace
}  // namespace lodestep::harness::test
