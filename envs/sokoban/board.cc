#include "envs/sokoban/board.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace lodestep::sokoban {
namespace {

int count_on_target(const Grid& cells) {
  return static_cast<int>(std::count(cells.begin(), cells.end(), kBoxOnTarget));
}

}  // namespace

Board::Board(const Level* level)
    : level_(level),
      cells_(level->start),
      player_(level->player),
      on_target_(count_on_target(level->start)) {}

// Walls close every level, so a step from a cell inside never leaves the grid; two steps may, past the
// wall, and only a box next to the player asks for the second.
int Board::ahead(int cell, Direction direction) const {
  switch (direction) {
    case Direction::kUp: return cell - level_->cols;
    case Direction::kDown: return cell + level_->cols;
    case Direction::kLeft: return cell - 1;
    case Direction::kRight: return cell + 1;
  }
  return cell;
}

bool Board::free(int cell) const {
  const std::uint8_t code = cells_[static_cast<std::size_t>(cell)];
  return code == kFloor || code == kTarget;
}

void Board::move_player(int cell) {
  cells_[static_cast<std::size_t>(player_)] = level_->fixed[static_cast<std::size_t>(player_)];
  cells_[static_cast<std::size_t>(cell)] = kPlayer;
  player_ = cell;
}

bool Board::can_walk(Direction direction) const { return free(ahead(player_, direction)); }

bool Board::can_push(Direction direction) const {
  const int next = ahead(player_, direction);
  const std::uint8_t code = cells_[static_cast<std::size_t>(next)];
  if (code == kBox || code == kBoxOnTarget) return free(ahead(next, direction));
  return free(next);
}

Moved Board::walk(Direction direction) {
  if (!can_walk(direction)) return {};
  move_player(ahead(player_, direction));
  return {true, false};
}

Moved Board::push(Direction direction) {
  if (!can_push(direction)) return {};
  const int next = ahead(player_, direction);
  const std::uint8_t code = cells_[static_cast<std::size_t>(next)];
  const bool box = code == kBox || code == kBoxOnTarget;
  if (box) {
    const auto beyond = static_cast<std::size_t>(ahead(next, direction));
    const bool on = level_->fixed[beyond] == kTarget;
    on_target_ += (on ? 1 : 0) - (code == kBoxOnTarget ? 1 : 0);
    cells_[beyond] = on ? kBoxOnTarget : kBox;
  }
  move_player(next);
  return {true, box};
}

Status Board::place(std::string_view digits) {
  const Error foreign{ErrorCode::kBadData, "not a position of this level", "", ""};
  if (digits.size() != cells_.size()) return foreign;
  Grid cells;
  int players = 0;
  int boxes = 0;
  int player = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const int code = digits[i] - '0';
    const int below = level_->fixed[i];
    const bool fits = code == kPlayer        ? below != kWall
                      : code == kBox         ? below == kFloor
                      : code == kBoxOnTarget ? below == kTarget
                                             : code == below;
    if (!fits) return foreign;
    if (code == kPlayer) {
      ++players;
      player = static_cast<int>(i);
    }
    boxes += code == kBox || code == kBoxOnTarget ? 1 : 0;
    cells.push_back(static_cast<std::uint8_t>(code));
  }
  if (players != 1 || boxes != level_->boxes) return foreign;
  cells_ = std::move(cells);
  player_ = player;
  on_target_ = count_on_target(cells_);
  return {};
}

std::string Board::digits() const {
  std::string out;
  out.reserve(cells_.size());
  for (const std::uint8_t code : cells_) out += static_cast<char>('0' + code);
  return out;
}

double gym_reward(int on_target_before, int on_target, int boxes) {
  double reward = -0.1;
  if (on_target > on_target_before) reward += 1;
  if (on_target < on_target_before) reward -= 1;
  if (on_target == boxes) reward += 10;
  return reward;
}

std::string board_text(const Board& board) {
  static constexpr std::string_view kSymbols[] = {" # \t", " _ \t", " O \t", " \xe2\x88\x9a \t",
                                                  " X \t", " P \t", " S \t"};
  const Level& level = board.level();
  const Grid& cells = board.cells();
  // Every symbol has four bytes but that of a box on a target, which has six.
  const std::size_t size = 4 * cells.size() + 2 * static_cast<std::size_t>(board.on_target()) +
                           static_cast<std::size_t>(level.rows - 1);
  std::string out(size, '\n');
  char* at = out.data();
  std::size_t cell = 0;
  for (int row = 0; row < level.rows; ++row) {
    if (row > 0) ++at;  // the break is there
    for (int col = 0; col < level.cols; ++col, ++cell) {
      std::uint8_t code = cells[cell];
      if (code == kPlayer && level.fixed[cell] == kTarget) code = kPlayerOnTarget;
      const std::string_view symbol = kSymbols[code];
      if (code == kBoxOnTarget) {
        std::memcpy(at, symbol.data(), 6);
      } else {
        std::memcpy(at, symbol.data(), 4);
      }
      at += symbol.size();
    }
  }
  return out;
}

}  // namespace lodestep::sokoban
