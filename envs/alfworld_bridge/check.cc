#include "envs/alfworld_bridge/check.h"

#include "envs/alfworld_bridge/game_store.h"

namespace lodestep::alfworld {
namespace {

// What is wrong with a walkthrough; empty when it wins at its last command and not before.
std::string replay(const Game& game) {
  World world(std::shared_ptr<const Game>(std::shared_ptr<const Game>(), &game));
  for (std::size_t i = 0; i < game.walkthrough.size(); ++i) {
    if (world.won()) return "the walkthrough wins before its command " + std::to_string(i + 1);
    const Id command = game.find_command(game.walkthrough[i]);
    if (command == kNone || !world.play(command)) {
      return "walkthrough command " + std::to_string(i + 1) + " is not offered: " + game.walkthrough[i];
    }
  }
  return game.walkthrough.empty() || world.won() ? "" : "the walkthrough does not win";
}

}  // namespace

Result<std::vector<GameReport>> check_games(const std::string& path) {
  const Result<std::unique_ptr<GameStore>> store = GameStore::open_all(path);
  if (!store) return store.error();
  std::vector<GameReport> reports;
  for (const GameStore::Entry& entry : (*store)->entries()) {
    GameReport report{entry.id, entry.split, "", entry.refusal, 0};
    if (report.problem.empty()) {
      const Result<std::string> bytes = (*store)->read(entry);
      const auto game =
          bytes ? load_game(*bytes, entry.path) : Result<std::shared_ptr<const Game>>(bytes.error());
      if (!game) {
        report.problem = to_string(game.error());
      } else {
        report.task_type = make_playable(*game, entry.id)->task_type;
        report.walkthrough_steps = (*game)->walkthrough.size();
        report.problem = replay(**game);
      }
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace lodestep::alfworld
