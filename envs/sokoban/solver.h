// What is known about winning a level: push distances, the exact distance d* of every state, searches.
//   LevelMap map(level);
//   std::optional<DistanceTable> table = DistanceTable::build(map, kTableEntries);
//   std::optional<int> moves = table->distance(board.cells());   // nullopt: dead
// Threads: all classes are immutable once made and may be shared. They copy what they need of the level.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "envs/sokoban/level.h"

namespace lodestep::sokoban {

constexpr std::uint16_t kFar = 0xffff;  // "cannot be reached" in every table here

// Static facts. A square is a cell that the player could reach if there were no boxes, numbered row by row.
class LevelMap {
 public:
  explicit LevelMap(const Level& level);

  int squares() const { return static_cast<int>(cell_of_.size()); }
  int square_of(int cell) const { return square_of_[static_cast<std::size_t>(cell)]; }  // -1: none
  int cell_of(int square) const { return cell_of_[static_cast<std::size_t>(square)]; }
  // The square next to it, -1 where a wall is.
  int next(int square, Direction direction) const {
    return next_[static_cast<std::size_t>(square)][static_cast<std::size_t>(direction)];
  }
  const std::vector<int>& targets() const { return targets_; }  // squares, ascending
  // Pushes that a lone box needs from a square to the k-th target, the player standing wherever needed.
  std::uint16_t pushes(std::size_t target, int square) const {
    return pushes_[target][static_cast<std::size_t>(square)];
  }
  bool live(int square) const { return live_[static_cast<std::size_t>(square)]; }  // some target is in reach
  // Boxes that the player can never touch stand on targets; false: the level cannot be won.
  bool sound() const { return sound_; }

  // Squares of the boxes in a grid of this level, ascending; boxes out of reach are left out.
  std::vector<int> boxes_in(const Grid& cells) const;
  // Some box off its target can never be moved again, whoever stands where (a freeze deadlock): walls, dead
  // squares or other frozen boxes hold it on both axes.
  bool frozen(const std::vector<int>& boxes) const;
  // Least sum of pushes that brings every box to a target of its own as if the others were not there
  // (an assignment problem, Kuhn 1955); nullopt: impossible, so the state is dead. Never more than d*.
  std::optional<int> assignment(const std::vector<int>& boxes) const;

 private:
  bool held(int box, std::vector<std::uint8_t>& occupied, std::vector<int>& trail) const;

  std::vector<int> cell_of_;
  std::vector<int> square_of_;
  std::vector<std::array<std::int16_t, 4>> next_;
  std::vector<int> targets_;
  std::vector<std::vector<std::uint16_t>> pushes_;
  std::vector<bool> live_;
  std::vector<bool> target_;
  bool sound_ = true;
};

constexpr std::size_t kTableEntries = 50'000'000;  // 100 MB: any 10x10 level with 4 boxes fits

// d*(s): the least number of moves (steps and pushes count one each) from s to all boxes on targets, for
// every state of a level. Found by one breadth-first search backwards from all solved states.
class DistanceTable {
 public:
  // nullopt when the table would need more than max_entries of 2 bytes; entries = C(live squares, boxes) *
  // squares.
  static std::optional<DistanceTable> build(const LevelMap& map, std::size_t max_entries);
  static std::size_t entries(const LevelMap& map);  // SIZE_MAX when it does not fit a size

  // nullopt: dead. `cells` is a grid of the level of the map.
  std::optional<int> distance(const LevelMap& map, const Grid& cells) const;
  std::uint16_t at(int player, const std::vector<int>& boxes) const;  // squares; boxes ascending; kFar: dead
  std::size_t live_states() const { return live_states_; }  // unsolved and solved states that are not dead
  int greatest() const { return greatest_; }                // the greatest finite distance
  std::size_t bytes() const { return distance_.size() * sizeof(std::uint16_t); }

 private:
  DistanceTable() = default;
  std::size_t squares_ = 0;
  std::vector<int> live_index_;                     // square -> number among live squares, -1
  std::vector<std::vector<std::uint32_t>> choose_;  // choose_[k][n] = C(n, k + 1)
  std::vector<std::uint16_t> distance_;             // rank of the box set * squares + player
  std::size_t live_states_ = 0;
  int greatest_ = 0;
};

}  // namespace lodestep::sokoban
