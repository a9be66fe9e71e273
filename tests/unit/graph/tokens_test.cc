// Token matrices, rollout assembly and the dynamic-sampling filter against the released code.
#include <rapidjson/document.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/interner.h"
#include "graph/assembly.h"
#include "graph/tokens.h"
#include "graph/transition_graph.h"
#include "tests/support/shared_data.h"

using namespace lodestep;
using graph::TokenMatrix;
using rapidjson::Value;

namespace {

std::optional<rapidjson::Document> document(const std::string& file) {
  const auto text = test::read_shared(file);
  if (!text) {
    test::skip(file);
    return std::nullopt;
  }
  rapidjson::Document parsed;
  parsed.Parse<rapidjson::kParseFullPrecisionFlag>(text->data(), text->size());
  REQUIRE(!parsed.HasParseError());
  return parsed;
}

TokenMatrix matrix(const Value& rows) {
  TokenMatrix m;
  m.rows = rows.Size();
  for (const Value& row : rows.GetArray()) {
    m.columns = row.Size();
    for (const Value& x : row.GetArray()) m.values.push_back(x.GetDouble());
  }
  return m;
}

bool near(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

void compare(const Value& c, const char* field, const TokenMatrix& got) {
  const TokenMatrix exact = matrix(c["expected_f64"][field]), released = matrix(c["expected"][field]);
  std::vector<std::size_t> marks;
  if (c.HasMember("rounding_sensitive") && c["rounding_sensitive"].HasMember(field)) {
    for (const Value& i : c["rounding_sensitive"][field].GetArray()) marks.push_back(i.GetUint());
  }
  REQUIRE(got.values.size() == exact.values.size());
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    INFO(field << " at " << i << ": " << got.values[i] << " and " << exact.values[i]);
    REQUIRE(near(got.values[i], exact.values[i], 1e-9));
    if (std::find(marks.begin(), marks.end(), i) == marks.end())
      REQUIRE(near(got.values[i], released.values[i], 1e-6));
  }
}

Result<graph::TokenCredit> estimate(const Value& c) {
  const TokenMatrix rewards = matrix(c["token_rewards"]), mask = matrix(c["response_mask"]);
  const std::string name = c["estimator"].GetString();
  if (name == "gae") {
    return graph::token_gae(rewards, matrix(c["values"]), mask,
                            {c["params"]["gamma"].GetDouble(), c["params"]["lam"].GetDouble()});
  }
  if (name == "reinforce_plus_plus") {
    return graph::token_reinforce_plus_plus(rewards, mask, c["params"]["gamma"].GetDouble());
  }
  std::vector<double> baselines;
  for (const Value& x : c["baselines"].GetArray()) baselines.push_back(x.GetDouble());
  return graph::token_remax(rewards, baselines, mask);
}

}  // namespace

TEST_CASE("token matrices equal the released code") {
  const auto golden = document("golden/credit/tokens.json");
  if (!golden) return;
  for (const Value& c : (*golden)["cases"].GetArray()) {
    INFO(c["name"].GetString());
    const auto credit = estimate(c);
    REQUIRE(credit.ok());
    compare(c, "advantage", credit->advantage);
    compare(c, "returns", credit->returns);
  }
}

TEST_CASE("token matrices: unequal shapes and too few tokens are refused") {
  const TokenMatrix two{1, 2, {0, 1}}, three{1, 3, {0, 0, 1}}, none{1, 2, {0, 0}};
  CHECK(!graph::token_gae(two, three, two, {}).ok());
  CHECK(!graph::token_reinforce_plus_plus(two, none, 1).ok());
  CHECK(!graph::token_remax(two, std::vector<double>{1, 2}, two).ok());
}

TEST_CASE("the optimal token baseline weighs the group's returns by realised energy") {
  // Two responses of two tokens, rewards 1 and 0 at the end, energies (1, 1) and (3, 0).
  const TokenMatrix rewards{2, 2, {0, 1, 0, 0}}, energy{2, 2, {1, 1, 3, 0}}, mask{2, 2, {1, 1, 1, 1}};
  const auto credit = graph::token_otb(rewards, energy, mask, 0);
  REQUIRE(credit.ok());
  CHECK(credit->advantage.values == std::vector<double>{0.75, 0.6, -0.25, -0.4});
}

TEST_CASE("distances of weighted graphs equal the released code") {
  const auto golden = document("golden/credit/graph.json");
  if (!golden) return;
  for (const Value& c : (*golden)["cases"].GetArray()) {
    if (c["estimator"] != "graph_distance") continue;
    INFO(c["name"].GetString());
    Interner nodes;
    graph::TransitionGraph g;
    for (const Value& e : c["edges"].GetArray()) {
      const graph::Id from = nodes.intern(e[0].GetString()), to = nodes.intern(e[1].GetString());
      g.edges.push_back({from, to, e[2].GetDouble(), 1});
    }
    g.goal = nodes.intern(c["target"].GetString());
    g.state.resize(nodes.size());
    graph::measure(g);
    const Value& expected = c["expected_f64"];
    REQUIRE(expected["nodes"].Size() == nodes.size());
    for (rapidjson::SizeType i = 0; i < expected["nodes"].Size(); ++i) {
      const graph::Id node = nodes.find(expected["nodes"][i].GetString());
      REQUIRE(node >= 0);
      REQUIRE(g.distance[static_cast<std::size_t>(node)] == expected["distance"][i].GetDouble());
    }
  }
}

TEST_CASE("rollout assembly and the dynamic-sampling filter equal the released code") {
  const auto golden = document("golden/credit/graph.json");
  if (!golden) return;
  for (const Value& c : (*golden)["cases"].GetArray()) {
    INFO(c["name"].GetString());
    if (c["estimator"] == "dynamic_filter") {
      std::vector<double> rewards;
      for (const Value& x : c["episode_rewards"].GetArray()) rewards.push_back(x.GetDouble());
      const auto kept = graph::keep_unequal_groups(
          rewards, c["params"]["group_size"].GetUint(),
          c["params"]["last_try"].GetBool() ? graph::LastTry::kYes : graph::LastTry::kNo);
      std::vector<std::size_t> expected;
      for (const Value& i : c["expected"]["kept"].GetArray()) expected.push_back(i.GetUint());
      REQUIRE(kept == expected);
    }
    if (c["estimator"] != "rollout_assembly") continue;
    Interner tasks, episodes, states;
    const graph::Id goal = states.intern("success");
    graph::Batch batch;
    for (const Value& trajectory : c["trajectories"].GetArray()) {
      for (const Value& row : trajectory["rows"].GetArray()) {
        graph::Step step;
        step.task = tasks.intern(trajectory["uid"].GetString());
        step.episode = episodes.intern(trajectory["traj"].GetString());
        step.t = row["t"].GetInt();
        step.active = row["active"].GetBool();
        step.state = states.intern(row["anchor"].GetString());
        step.next_state = states.intern(row["next"].GetString());
        step.reward = row["reward"].GetDouble();
        batch.add(step);
      }
    }
    const graph::Assembly assembly = graph::assemble(batch, goal);
    const Value& rows = c["expected"]["rows"];
    REQUIRE(assembly.rows.size() == rows.Size());
    for (rapidjson::SizeType i = 0; i < rows.Size(); ++i) {
      const std::size_t row = assembly.rows[i];
      REQUIRE(episodes.text(batch.episode[row]) == rows[i]["traj"].GetString());
      REQUIRE(batch.t[row] == rows[i]["t"].GetInt());
      REQUIRE(states.text(batch.state[row]) == rows[i]["anchor"].GetString());
      REQUIRE(states.text(assembly.next_state[i]) == rows[i]["next"].GetString());
      REQUIRE(near(assembly.episode_reward[i], rows[i]["episode_reward"].GetDouble(), 1e-6));
      REQUIRE(
          near(assembly.episode_reward[i], c["expected_f64"]["rows"][i]["episode_reward"].GetDouble(), 1e-9));
    }
  }
}
