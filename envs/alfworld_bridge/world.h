// A game being played: the facts that hold now, and what can be done about them. Table-driven; a step
// costs a few memory accesses and the text of its answer.
//   World world(game);
//   std::string text;
//   if (world.step("open drawer 1", text)) ...          // false: "Nothing happens.", text untouched
//   for (Id c : world.commands()) use(game->command(c));
// Threads: one at a time; copies are independent. Shares the game.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envs/alfworld_bridge/game.h"

namespace lodestep::alfworld {

class World {
 public:
  explicit World(std::shared_ptr<const Game> game);
  void restart();  // the state at reset, in place

  const Game& game() const { return *game_; }
  const std::shared_ptr<const Game>& shared_game() const { return game_; }
  bool won() const { return won_; }

  // Plays an offered command, spelled exactly; appends the answer to `text`. False when it is not
  // offered: nothing changes and nothing is appended.
  bool step(std::string_view command, std::string& text);
  bool step(Id command, std::string& text);
  bool play(Id command);  // the same without the answer
  bool offers(Id command) const { return find_row(command) != kNone; }

  // Offered commands in order of their texts, each once. `out` is overwritten.
  void commands(std::vector<Id>& out) const;

  bool holds(Id atom) const { return atom >= game_->atoms.changing || bit(atom); }
  const std::vector<std::uint64_t>& bits() const { return bits_; }  // facts, then "taken away" marks
  // Puts back bits taken from another world of the same game.
  void set_bits(const std::vector<std::uint64_t>& bits);
  std::size_t memory_bytes() const;

 private:
  bool bit(std::size_t i) const { return (bits_[i / 64] >> (i % 64) & 1) != 0; }
  Id find_row(Id command) const;
  Id find_pivot(Id row) const;
  void apply(Id row, Id pivot);
  void set(Id atom, bool value);
  bool goal_holds() const;
  void tell(Id row, Id pivot, std::string& text) const;

  std::shared_ptr<const Game> game_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint64_t> ready_;  // rows whose counted conditions all hold
  std::vector<std::uint8_t> unmet_;   // by row: counted conditions that do not hold
  bool won_ = false;
  bool goal_touched_ = false;
};

}  // namespace lodestep::alfworld
