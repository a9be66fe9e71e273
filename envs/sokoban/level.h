// One Sokoban level: walls and targets that stay, and where the boxes and the player start.
//   Result<Level> level = level_from_rows({"#####", "#@$.#", "#####"});
//   std::string picture = to_xsb(level->rows, level->cols, level->start);
// Threads: immutable values. A Level made by these functions is sound: closed walls, one player, as many
// boxes as targets (at least one).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace lodestep::sokoban {

// The cell codes of gym-sokoban. kPlayerOnTarget appears only in views and level files: in a grid of play
// the player is kPlayer, and `fixed` tells whether a target is below.
enum Cell : std::uint8_t { kWall, kFloor, kTarget, kBoxOnTarget, kBox, kPlayer, kPlayerOnTarget };

using Grid = std::vector<std::uint8_t>;  // rows * cols codes, row by row from the top

constexpr int kMaxSide = 100;   // rows and columns of the largest level that is read
constexpr int kMaxBoxes = 250;  // and its boxes

struct Level {
  int rows = 0;
  int cols = 0;
  Grid fixed;      // kWall, kFloor, kTarget; cells outside the walls are kWall
  Grid start;      // kWall to kPlayer
  int player = 0;  // cell where the player starts
  int boxes = 0;   // number of boxes, equal to the number of targets
};

using LevelFilter = std::function<bool(const Level& level)>;  // true: the level is wanted

// Direction order everywhere: up, down, left, right.
enum class Direction { kUp, kDown, kLeft, kRight };
constexpr Direction kDirections[] = {Direction::kUp, Direction::kDown, Direction::kLeft, Direction::kRight};
const char* direction_word(Direction direction);  // "up", "down", "left", "right"

// Rows of XSB characters: `#` wall, `@`/`p` player, `+`/`P` player on target, `$`/`b` box, `*`/`B` box on
// target, `.`/`o` target, blank, `-`, `_` floor. Short rows are padded; cells outside the walls become
// wall, boxes that stand there on targets included. The error says what is wrong and in which row and column
// (from 1).
Result<Level> level_from_rows(const std::vector<std::string>& rows);

// Codes 0 to 6 as digits, row by row, as gym-sokoban prints its grids.
Result<Level> level_from_codes(int rows, int cols, std::string_view digits);

bool is_xsb(char symbol);                         // one of the characters above
bool is_solved(const Level& level);               // already at the start
Grid view(const Grid& fixed, const Grid& cells);  // the same with kPlayerOnTarget
// Rows of `view` in XSB characters, each ended by '\n'; `floor` is written for floor.
std::string to_xsb(int rows, int cols, const Grid& view_cells, char floor = ' ');
Hash128 content_digest(const Level& level);  // of size, walls, targets, boxes and player

}  // namespace lodestep::sokoban
