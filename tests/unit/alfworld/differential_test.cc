// The native engine against the original, command by command. Needs Python with textworld and alfworld
// (LODESTEP_PYTHON names the interpreter; python3 otherwise) and skips without;
// LODESTEP_DIFFERENTIAL=GAMES,STEPS makes it longer than the short form that runs with the other tests.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/rng.h"
#include "base/text.h"
#include "envs/alfworld_bridge/bridge/python_worker.h"
#include "envs/alfworld_bridge/game_store.h"
#include "tests/support/shared_data.h"

namespace lodestep::alfworld {
namespace {

std::string pick(const World& world, Stream& dice, bool without_lamps) {
  std::vector<Id> ids;
  world.commands(ids);
  const std::string offered = world.game().command(ids[dice.below(ids.size())]).text();
  std::string command;
  switch (dice.below(8)) {
    case 0:  // of this game, perhaps not now
      command = world.game().command(dice.below(world.game().command_count())).text();
      break;
    case 1: command = offered + " 1"; break;
    default: command = offered; break;
  }
  // Whether a lamp of our own household games shines: there the original applies conditional effects one
  // after the other (docs/alfworld.md).
  return without_lamps && command.substr(0, 4) == "use " ? "look" : command;
}

void compare(PythonWorker& original, const std::string& bytes, const std::string& id, std::size_t steps) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "lodestep_differential.tw-pddl";
  std::ofstream(file, std::ios::binary) << bytes;
  const auto game = load_game(bytes, id);
  REQUIRE(game.ok());
  World world(*game);
  Result<PythonReply> reply = original.reset(file.string());
  std::string text = (*game)->start_text;
  Stream dice(hash128(id));
  std::vector<Id> ids;
  std::string command;
  for (std::size_t i = 0; i <= steps; ++i) {
    INFO(id << ", step " << i << ": " << command);
    if (!reply) FAIL(to_string(reply.error()));
    CHECK(reply->observation == text);
    std::vector<std::string> list;
    world.commands(ids);
    for (const Id number : ids) list.push_back((*game)->command(number).text());
    CHECK(reply->admissible == list);
    REQUIRE(reply->won == world.won());
    command = pick(world, dice, id.find("/home_") != std::string::npos);
    text.clear();
    if (!world.step(command, text)) text = "Nothing happens.";
    reply = original.step(command);
  }
  std::filesystem::remove(file);
}

TEST_CASE("native and original answer alike") {
  const char* python = std::getenv("LODESTEP_PYTHON");
  Result<std::unique_ptr<PythonWorker>> original =
      PythonWorker::start(python != nullptr ? python : "python3", 300);
  if (!original) {
    std::cerr << "skipped: " << to_string(original.error()) << "\n";
    return;
  }
  std::size_t games = 2;
  std::size_t steps = 10;
  if (const char* longer = std::getenv("LODESTEP_DIFFERENTIAL")) {
    const auto parts = split(longer, ',');
    games = parse_uint(parts[0]).value_or(games);
    if (parts.size() > 1) steps = parse_uint(parts[1]).value_or(steps);
  }
  // Our own household games, and the released ones where they are there.
  for (const std::string& data : {std::string(), test::shared_path("data/alfworld/json_2.1.1.tar.zst")}) {
    const auto store = GameStore::open({data, {}, true});
    if (!store) continue;
    const std::vector<GameStore::Entry>& all = (*store)->entries();
    for (std::size_t i = 0; i < games; ++i) {
      const GameStore::Entry& entry = all[(i * all.size() / games + 7) % all.size()];
      compare(**original, *(*store)->read(entry), entry.id, steps);
    }
  }
}

}  // namespace
}  // namespace lodestep::alfworld
