// The state graph as a picture, and the document that the viewer reads.
#include <rapidjson/document.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "base/rng.h"
#include "harness/view/group_graph.h"
#include "harness/view/view_document.h"
#include "recordings.h"

namespace lodestep::harness::test {
namespace {

// The node that the group's step i left, or reached.
const GroupNode& node(const GroupGraph& graph, const std::vector<std::optional<std::size_t>>& ends,
                      std::size_t i) {
  REQUIRE(ends[i].has_value());
  return graph.nodes[*ends[i]];
}

TEST_CASE("a group's graph marks start, success, dead and open states") {
  const Recording recording = credited(small_recording());
  const std::vector<GroupGraph> graphs = group_graphs(recording, recording.estimates[0]);
  REQUIRE(graphs.size() == 2);
  const GroupGraph& graph = graphs[0];
  CHECK(graph.group == 0);
  // Steps: 0-1 the success, 2-4 the failure, 5-6 the truncated one.
  REQUIRE(graph.from.size() == 7);
  const GroupNode& start = node(graph, graph.from, 0);
  CHECK(start.start);
  CHECK(start.distance == 2.0);
  CHECK(start.visits == 4);
  CHECK(node(graph, graph.from, 1).distance == 1.0);
  CHECK(node(graph, graph.to, 1).success);
  CHECK(node(graph, graph.to, 1).distance == 0.0);
  const GroupNode& pit = node(graph, graph.to, 4);
  CHECK(pit.dead);
  CHECK_FALSE(pit.open);
  CHECK_FALSE(pit.distance.has_value());
  for (const std::size_t lost : {5u, 6u}) {
    CHECK(node(graph, graph.to, lost).open);
    CHECK_FALSE(node(graph, graph.to, lost).dead);
  }
  CHECK(graphs[1].group == 3);
  for (const GroupNode& other : graphs[1].nodes) CHECK(other.open);
}

TEST_CASE("a state that the environment calls dead is dead, whatever was left untried") {
  Recording recording = small_recording();
  recording.episodes[2].steps[1].before.distance = std::numeric_limits<double>::infinity();
  recording = credited(std::move(recording));
  const GroupGraph graph = group_graphs(recording, recording.estimates[0])[0];
  CHECK(node(graph, graph.from, 6).dead);
  CHECK_FALSE(node(graph, graph.from, 6).open);
}

TEST_CASE("edges carry the mean of their steps' signal") {
  const Recording recording = credited(small_recording());
  const Estimate& estimate = recording.estimates[0];
  const GroupGraph graph = group_graphs(recording, estimate)[0];
  std::size_t steps = 0;
  for (const GroupEdge& edge : graph.edges) {
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < graph.from.size(); ++i) {
      if (graph.from[i] != edge.from || graph.to[i] != edge.to) continue;
      sum += *estimate.step_advantage[i];
      ++count;
    }
    CHECK(edge.count == count);
    CHECK(edge.advantage == Approx(sum / static_cast<double>(count)).margin(1e-12));
    steps += count;
  }
  CHECK(steps == graph.from.size());
}

// A recording of random walks over `states` states; the walk that hits state 0 succeeds.
Recording random_walks(std::uint64_t seed, std::size_t episodes, std::size_t steps, std::uint64_t states) {
  Recording recording;
  Stream dice(Hash128{seed, 0});
  for (std::size_t e = 0; e < episodes; ++e) {
    std::vector<std::string> walk{"s1"};
    Outcome outcome = Outcome::kRunning;
    while (walk.size() <= steps && outcome == Outcome::kRunning) {
      const std::uint64_t next = dice.below(states);
      walk.push_back("s" + std::to_string(next));
      if (next == 0) outcome = Outcome::kSuccess;
    }
    recording.episodes.push_back(episode(0, e, walk, outcome, outcome == Outcome::kSuccess ? 1 : 0));
  }
  return credited(std::move(recording));
}

TEST_CASE("places: columns follow distance, rows keep apart, bands do not mix") {
  for (const std::uint64_t states : {3u, 20u, 400u}) {
    const Recording recording = random_walks(states, 16, 50, states);
    const GroupGraph graph = group_graphs(recording, recording.estimates[0])[0];
    std::map<std::pair<int, double>, std::vector<double>> rows;
    double lowest_reached = -1, highest_lost = 1e9;
    for (const GroupNode& a : graph.nodes) {
      CHECK(a.column >= 0);
      CHECK(a.column < graph.columns);
      CHECK(a.row >= 0);
      CHECK(a.row < graph.rows);
      rows[{a.column, a.shift}].push_back(a.row);
      CHECK(a.shift >= 0);
      CHECK(a.shift < 1);
      (a.distance ? lowest_reached : highest_lost) =
          a.distance ? std::max(lowest_reached, a.row) : std::min(highest_lost, a.row);
      for (const GroupNode& b : graph.nodes) {
        if (a.distance && b.distance) CHECK((*a.distance < *b.distance) == (a.column > b.column));
      }
    }
    CHECK(lowest_reached < highest_lost);
    for (auto& [place, list] : rows) {
      CHECK(list.size() <= 28);
      std::sort(list.begin(), list.end());
      for (std::size_t i = 1; i < list.size(); ++i) CHECK(list[i] - list[i - 1] >= 0.98);  // rounded to 0.01
    }
  }
}

TEST_CASE("calibration counts each visited state of an episode once") {
  const Recording recording = credited(small_recording());
  const std::vector<GroupGraph> graphs = group_graphs(recording, recording.estimates[0]);
  const std::vector<CalibrationBin> bins = calibration(recording, graphs, 0.5, 4);
  // Values: start 0.25 (visited by 3 episodes, 1 succeeds), middle 0.5 (2, 1), side, x and y 0 (1 + 2 + 1,
  // 0).
  CHECK(bins[0].visits == 4);
  CHECK(bins[0].success_rate == 0);
  CHECK(bins[1].visits == 3);
  CHECK(bins[1].success_rate == Approx(1.0 / 3));
  CHECK(bins[1].mean_value == Approx(0.25));
  CHECK(bins[2].visits == 2);
  CHECK(bins[2].success_rate == Approx(0.5));
  CHECK(bins[2].rate_low < 0.5);
  CHECK(bins[2].rate_high > 0.5);
  CHECK(bins[3].visits == 0);
}

TEST_CASE("the document holds every step, text and number of the recording") {
  Recording recording = small_recording();
  recording.episodes[1].steps[0].before.observation = "</script><b>\"quoted\"\\ \n\t";
  recording.episodes[1].steps[1].action = std::string("bad \xff utf-8");
  recording.info["na\"me"] = "va<lue";
  recording = credited(credited(std::move(recording), "graphgpo"), "grpo");
  const Result<std::string> text = view_document("a<b.db", recording);
  REQUIRE(text.ok());
  CHECK(text->find('<') == std::string::npos);

  rapidjson::Document json;
  json.Parse<rapidjson::kParseFullPrecisionFlag>(text->c_str());
  REQUIRE_FALSE(json.HasParseError());
  CHECK(std::string(json["format"].GetString()) == "lodestep-view/1");
  CHECK(std::string(json["name"].GetString()) == "a<b.db");
  CHECK(std::string(json["info"]["na\"me"].GetString()) == "va<lue");
  const auto text_of = [&](const rapidjson::Value& id) {
    return std::string(json["texts"][id.GetUint()].GetString());
  };
  CHECK(json["groups"]["id"].Size() == 2);
  CHECK(json["groups"]["id"][1].GetInt() == 3);
  CHECK(text_of(json["groups"]["task"][1]) == "t3");
  const auto& episodes = json["episodes"];
  CHECK(std::string(episodes["seed"][0].GetString()) == "18446744073709551615");
  const auto& steps = json["steps"];
  std::size_t row = 0;
  for (rapidjson::SizeType e = 0; e < recording.episodes.size(); ++e) {
    const EpisodeRecord& record = recording.episodes[e];
    CHECK(episodes["first"][e].GetUint() == row);
    CHECK(episodes["steps"][e].GetUint() == record.steps.size());
    CHECK(text_of(episodes["outcome"][e]) == outcome_name(record.outcome));
    CHECK(text_of(episodes["last"]["observation"][e]) == record.last.observation);
    for (const StepRecord& step : record.steps) {
      const auto i = static_cast<rapidjson::SizeType>(row);
      CHECK(text_of(steps["observation"][i]) == step.before.observation);
      if (row != 3) CHECK(text_of(steps["action"][i]) == step.action);  // row 3: malformed, see below
      CHECK(steps["reward"][i].GetDouble() == step.reward);
      CHECK(json["lists"][steps["admissible"][i].GetUint()].Size() == step.before.admissible.size());
      for (rapidjson::SizeType k = 0; k < recording.estimates.size(); ++k) {
        CHECK(json["estimates"][k]["advantage"][i].GetDouble() == recording.estimates[k].advantage[row]);
      }
      ++row;
    }
  }
  CHECK(text_of(steps["action"][3]) == "bad \xef\xbf\xbd utf-8");
  CHECK(steps["action"].Size() == row);
  // grpo has no graph of its own and is shown on the other's.
  CHECK(json["graphs"].Size() == 1);
  CHECK(json["estimates"][1]["graph"].GetInt() == 0);
  CHECK(json["estimates"][1]["step_advantage"].IsNull());
  CHECK(json["graphs"][0]["groups"].Size() == 2);
}

TEST_CASE("estimates with the same matcher share a graph; without any, one is made") {
  Recording recording = credited(credited(small_recording(), "graphgpo"), "graphgpo");
  rapidjson::Document json;
  json.Parse(view_document("a", recording)->c_str());
  CHECK(json["graphs"].Size() == 1);

  json.Parse(view_document("a", credited(small_recording(), "grpo"))->c_str());
  REQUIRE(json["graphs"].Size() == 1);
  CHECK(json["graphs"][0]["groups"][0]["id"].Size() == 6);
}

TEST_CASE("an empty recording is a document; an estimate of another length is refused by name") {
  CHECK(view_document("empty", {}).ok());
  Recording recording = credited(small_recording());
  recording.episodes.pop_back();
  const Result<std::string> refused = view_document("a", recording);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().where == "graphgpo");
}

TEST_CASE("the page is one file that fetches nothing") {
  const std::string page = view_page("{\"format\":\"lodestep-view/1\"}");
  CHECK(page.find("id=\"document\">{\"format\":\"lodestep-view/1\"}</script>") != std::string::npos);
  CHECK(page.find("default-src 'none'") != std::string::npos);
  for (const char* reference : {"<link", "<img", "<iframe", " src=", " href=", "@import", "url("}) {
    CHECK(page.find(reference) == std::string::npos);
  }
}

}  // namespace
}  // namespace lodestep::harness::test
