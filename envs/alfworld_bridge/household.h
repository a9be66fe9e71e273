// The embedded household games: our own small world, so that everything runs with no data at all.
//   for (const HouseholdGame& game : household_games()) load_game(game.file, game.id);
// Made by a generator with a fixed seed; domain, wording and rooms are written for this project.
// Threads: made once, then immutable.
#pragma once

#include <string>
#include <vector>

namespace lodestep::alfworld {

struct HouseholdGame {
  std::string id;    // task id, such as "train/pick_and_place_simple-Mug-None-Shelf-3/home_0012"
  std::string file;  // a game file, as JSON
};

// All of them, sorted by id: six task kinds in train, valid_seen and valid_unseen.
const std::vector<HouseholdGame>& household_games();

}  // namespace lodestep::alfworld
