// The rules of Sokoban as gym-sokoban plays them: a level in play, and what one step pays.
//   Board board(level);
//   Moved moved = board.push(Direction::kUp);
//   double reward = gym_reward(before, board.on_target(), level->boxes);
// Threads: one thread at a time. A board refers to its level, which must outlive it.
#pragma once

#include <string>

#include "envs/sokoban/level.h"

namespace lodestep::sokoban {

struct Moved {
  bool player = false;
  bool box = false;
};

class Board {
 public:
  explicit Board(const Level* level);

  // Moves the player one cell; a box ahead is pushed if the cell behind it is free. A blocked push changes
  // nothing, not even the player.
  Moved push(Direction direction);
  // Moves the player onto a free cell only.
  Moved walk(Direction direction);
  bool can_push(Direction direction) const;
  bool can_walk(Direction direction) const;

  const Level& level() const { return *level_; }
  const Grid& cells() const { return cells_; }  // kWall to kPlayer
  int player() const { return player_; }
  int on_target() const { return on_target_; }  // boxes on targets
  bool solved() const { return on_target_ == level_->boxes; }

  // Takes over a position of the same level, as digits 0 to 5; fails, and changes nothing, unless walls,
  // targets and the number of boxes agree and there is one player.
  Status place(std::string_view digits);
  std::string digits() const;  // the cells as digits 0 to 5

 private:
  int ahead(int cell, Direction direction) const;
  bool free(int cell) const;
  void move_player(int cell);

  const Level* level_;
  Grid cells_;
  int player_ = 0;
  int on_target_ = 0;
};

// gym-sokoban's reward of one step: -0.1; +1 or -1 when more or fewer boxes are on targets than at the
// last counted step; +10 while all are. The same doubles, summed in the same order.
double gym_reward(int on_target_before, int on_target, int boxes);

// The verl-agent text of a position: each cell is blank, symbol, blank, tab; rows joined by '\n'.
std::string board_text(const Board& board);

}  // namespace lodestep::sokoban
