// Step traces of the two originals, replayed through the environment: rewards, ends and positions.
#include <rapidjson/document.h>
#include <catch2/catch.hpp>

#include "envs/factory.h"
#include "envs/sokoban/board.h"
#include "tests/support/shared_data.h"
#include "tests/unit/sokoban/support.h"

namespace lodestep::sokoban {
namespace {

// Replays one trace. The original's own step limit answers "done" at exactly that many counted steps; the
// environment knows no limit, so the expected flags leave that one out.
void replay(const rapidjson::Value& trace, int rows, int cols, const std::string& actions, bool zero_counts) {
  const Level level = *level_from_codes(rows, cols, trace["start"].GetString());
  auto env = open_level(level, {{"actions", actions}, {"after_done", "continue"}});
  const auto& moves = trace["actions"];
  int counted = 0;
  for (rapidjson::SizeType t = 0; t < moves.Size(); ++t) {
    INFO("seed " << trace["seed"].GetInt() << " boxes " << trace["num_boxes"].GetInt() << " step " << t);
    const StepResult result = env->step(std::to_string(moves[t].GetInt()));
    if (zero_counts || moves[t].GetInt() != 0) ++counted;
    CHECK(result.action_valid);
    CHECK(result.reward == trace["rewards"][t].GetDouble());
    const bool limit = counted == trace["max_steps"].GetInt() && (zero_counts || moves[t].GetInt() != 0);
    CHECK((result.done() || limit) == (trace["done"][t].GetInt() == 1));
    CHECK(cells_of(*env) == without_six(trace["states"][t].GetString()));
    const Details details = env->details();
    if (trace.HasMember("won")) {
      CHECK(result.done() == (trace["won"][t].GetInt() == 1));
      CHECK((details.at("moved_player") == "true") == (trace["effective"][t].GetInt() == 1));
      CHECK(counted == trace["steps_counted"][t].GetInt());
    } else {
      CHECK((details.at("moved_player") == "true") == (trace["moved_player"][t].GetInt() == 1));
      CHECK((details.at("moved_box") == "true") == (trace["moved_box"][t].GetInt() == 1));
    }
  }
}

TEST_CASE("step traces of verl-agent and gym-sokoban") {
  const auto golden = golden_json();
  if (!golden) return;
  CHECK((*golden)["fork_traces"].Size() == 28);
  for (const auto& trace : (*golden)["fork_traces"].GetArray()) replay(trace, 6, 6, "verl", false);
  CHECK((*golden)["gym_sokoban_traces"].Size() == 6);
  for (const auto& trace : (*golden)["gym_sokoban_traces"].GetArray()) {
    replay(trace, trace["dim"][0].GetInt(), trace["dim"][1].GetInt(), "gym", true);
  }
}

TEST_CASE("optimal lengths and state counts of the golden rooms") {
  const auto golden = golden_json();
  if (!golden) return;
  for (const auto& room : (*golden)["rooms"].GetArray()) {
    if (!room["ok"].GetBool()) continue;
    INFO("seed " << room["seed"].GetInt() << " boxes " << room["num_boxes"].GetInt());
    std::string codes;
    for (rapidjson::SizeType row = 0; row < 6; ++row) {
      for (rapidjson::SizeType col = 0; col < 6; ++col) {
        int code = room["room_state"][row][col].GetInt();
        if (code == kPlayer && room["room_structure"][row][col].GetInt() == kTarget) code = kPlayerOnTarget;
        codes += static_cast<char>('0' + code);
      }
    }
    const Level level = *level_from_codes(6, 6, codes);
    const LevelMap map(level);
    const auto table = DistanceTable::build(map, kTableEntries);
    REQUIRE(table.has_value());
    CHECK(table->distance(map, level.start) == room["opt_moves"].GetInt());
    // Walk forward from the start; solved states end play.
    std::vector<Board> seen{Board(&level)};
    std::set<std::string> known{seen.front().digits()};
    int live = 0;
    int greatest = 0;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const std::optional<int> distance = table->distance(map, seen[i].cells());
      live += distance ? 1 : 0;
      greatest = std::max(greatest, distance.value_or(0));
      CHECK((distance == 0) == seen[i].solved());
      if (seen[i].solved()) continue;
      for (const Direction direction : kDirections) {
        Board next = seen[i];
        if (next.push(direction).player && known.insert(next.digits()).second) seen.push_back(next);
      }
    }
    CHECK(static_cast<int>(seen.size()) == room["reachable_states"].GetInt());
    CHECK(live == room["live_states"].GetInt());
    CHECK(greatest == room["max_dstar"].GetInt());
  }
}

}  // namespace
}  // namespace lodestep::sokoban
