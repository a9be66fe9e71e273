// Sokoban as pictures: gym-sokoban's two image modes, with our tiles or the original's.
//   Image picture = tile_image(board.level(), board.cells(), TileSet::builtin());
// Threads: pure functions and immutable values.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "envs/environment.h"
#include "envs/sokoban/level.h"

namespace lodestep::sokoban {

constexpr std::uint32_t kTileSide = 16;  // pixels

class TileSet {
 public:
  // Our own, drawn for this project (data/sokoban).
  static const TileSet& builtin();
  // wall.png, floor.png, box_target.png, box_on_target.png, box.png, player.png, player_on_target.png of a
  // folder: 8-bit RGB, 16 x 16 pixels each; those of the Python package gym-sokoban lie in
  // gym_sokoban/envs/surface.
  static Result<TileSet> load(const std::string& folder);

  const Image& tile(Cell code) const { return tiles_[code]; }

 private:
  static Result<TileSet> decode(const std::array<std::string, 7>& files, const std::string& folder);
  std::array<Image, 7> tiles_;
};

// `rgb_array`: 16 pixels a cell, tiles copied as they are.
Image tile_image(const Level& level, const Grid& cells, const TileSet& tiles);
// `tiny_rgb_array` of gym-sokoban: `scale` x `scale` pixels of one colour a cell.
Image tiny_image(const Level& level, const Grid& cells, std::uint32_t scale);
constexpr std::array<std::array<std::uint8_t, 3>, 7> kTinyColours{{{0, 0, 0},
                                                                   {243, 248, 238},
                                                                   {254, 126, 125},
                                                                   {254, 95, 56},
                                                                   {142, 121, 56},
                                                                   {160, 212, 56},
                                                                   {219, 212, 56}}};

// Pictures of one size side by side, `columns` in a row, with a margin of 8 white pixels around each.
Image contact_sheet(const std::vector<Image>& pictures, std::size_t columns);

}  // namespace lodestep::sokoban
