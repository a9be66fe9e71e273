// Says what the grammar says: expands a rule in a state of a game.
//   Context context;
//   Narrator(game, world.bits()).expand(rule, context, text);
// A grammar can make texts without end in sight, by doubling or by nested queries: each Narrator has a budget
// for all it says, and throws EnvironmentFailure when it is used up.
// Threads: a value over shared immutable tables; one thread each. Owns nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "envs/alfworld_bridge/game.h"

namespace lodestep::alfworld {

// Slots with their constants; `bound` has a bit for each slot in use.
struct Context {
  std::array<Id, kMaxSlots> value{};
  std::uint64_t bound = 0;
  bool has(std::uint8_t slot) const { return (bound >> slot & 1) != 0; }
  void bind(std::uint8_t slot, Id constant) {
    value[slot] = constant;
    bound |= std::uint64_t{1} << slot;
  }
};

class Narrator {
 public:
  // `bits`: the state, game.state_bits of them.
  Narrator(const Game& game, const std::uint64_t* bits)
      : game_(game), grammar_(game.rules->grammar), bits_(bits) {}
  // Appends the text. The context comes back as it was.
  void expand(std::uint16_t rule, Context& context, std::string& out) const;

 private:
  void spend(std::size_t work) const;
  bool holds(Id atom) const;
  bool removed(std::uint16_t predicate, Id atom) const;
  bool any_answer(const Query& query, Context& context) const;
  void put(const Symbol& symbol, Context& context, std::string& out) const;
  void put_value(const Symbol& symbol, const Context& context, std::string& out) const;
  template <typename Visit>
  bool answers(const Query& query, std::size_t index, Context& context, Visit& visit) const;
  template <typename Visit>
  bool answer_with(const Query& query, std::size_t index, Id atom, Context& context, Visit& visit) const;

  const Game& game_;
  const Grammar& grammar_;
  const std::uint64_t* bits_;
  mutable std::size_t left_ = std::size_t{8} << 20;  // rules expanded, facts looked at, letters written
};

}  // namespace lodestep::alfworld
