// The PNG files of data/sokoban/tiles, carried inside the program; the build writes embedded_tiles.cc.
//   std::array<std::string, 7> files = embedded_tiles();   // in the order of kTileNames and of Cell
// Threads: pure function.
#pragma once

#include <array>
#include <string>

namespace lodestep::sokoban {

constexpr std::array<const char*, 7> kTileNames{"wall", "floor",  "box_target",      "box_on_target",
                                                "box",  "player", "player_on_target"};

std::array<std::string, 7> embedded_tiles();

}  // namespace lodestep::sokoban
