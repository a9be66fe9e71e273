#include "envs/alfworld_bridge/world.h"

#include <array>

#include "envs/alfworld_bridge/narrator.h"

namespace lodestep::alfworld {

World::World(std::shared_ptr<const Game> game)
    : game_(std::move(game)),
      bits_(game_->start_bits),
      ready_(game_->start_ready),
      unmet_(game_->start_unmet),
      won_(goal_holds()) {}

void World::restart() {
  bits_ = game_->start_bits;
  ready_ = game_->start_ready;
  unmet_ = game_->start_unmet;
  won_ = goal_holds();
}

void World::set_bits(const std::vector<std::uint64_t>& bits) {
  for (std::size_t word = 0; word < bits.size(); ++word) {
    for (std::uint64_t different = bits_[word] ^ bits[word]; different != 0; different &= different - 1) {
      const std::size_t i = word * 64 + static_cast<std::size_t>(__builtin_ctzll(different));
      if (i < game_->atoms.changing) set(static_cast<Id>(i), !bit(i));
    }
    bits_[word] = bits[word];
  }
  won_ = goal_holds();
}

std::size_t World::memory_bytes() const {
  return sizeof(*this) + 8 * (bits_.capacity() + ready_.capacity()) + unmet_.capacity();
}

void World::set(Id atom, bool value) {
  if (bit(atom) == value) return;
  const Game& game = *game_;
  const std::uint64_t mask = std::uint64_t{1} << (atom % 64);
  bits_[atom / 64] ^= mask;
  goal_touched_ = goal_touched_ || (game.goal_atoms[atom / 64] & mask) != 0;
  for (std::uint32_t i = game.dependents_at[atom], end = game.dependents_at[atom + 1U]; i < end; ++i) {
    const std::size_t row = game.dependents[i] / 2U;
    if ((game.dependents[i] % 2 != 0) == value) {
      if (--unmet_[row] == 0) ready_[row / 64] |= std::uint64_t{1} << (row % 64);
    } else if (unmet_[row]++ == 0) {
      ready_[row / 64] &= ~(std::uint64_t{1} << (row % 64));
    }
  }
}

bool World::goal_holds() const {
  const Game& game = *game_;
  for (std::size_t c = 0; c + 1 < game.goal_at.size(); ++c) {
    bool all = true;
    for (std::uint32_t i = game.goal_at[c]; i < game.goal_at[c + 1] && all; ++i) {
      all = bit(game.goal[i] / 2) == (game.goal[i] % 2 != 0);
    }
    if (all) return true;
  }
  return false;
}

// A pivot fact that holds and from which the row can start; kNone when there is none.
Id World::find_pivot(Id row) const {
  const Game& game = *game_;
  for (std::size_t atom = game.pivots.first; atom < game.pivots.last; ++atom) {
    const std::uint64_t word = bits_[atom / 64] >> (atom % 64);
    if (word == 0) {
      atom |= 63;
      continue;
    }
    atom += static_cast<std::size_t>(__builtin_ctzll(word));
    if (atom >= game.pivots.last) break;
    const std::uint64_t* mask = &game.pivot_masks[(atom - game.pivots.first) * game.row_words];
    if ((mask[row / 64] >> (row % 64) & 1) != 0) return static_cast<Id>(atom);
  }
  return kNone;
}

// The first row of the command whose conditions hold; kNone when it is not offered.
Id World::find_row(Id command) const {
  const Game& game = *game_;
  for (Id row = game.command_rows[command]; row < game.command_rows[command + 1U]; ++row) {
    const std::size_t word = row / 64U;
    const std::uint64_t mask = std::uint64_t{1} << (row % 64);
    bool fits = (ready_[word] & mask) != 0;
    for (std::size_t i = 0; i < game.wides.size() && fits; ++i) {
      const Wide& wide = game.wides[i];
      fits = ((bit(wide.atom) ? wide.need_false : wide.need_true)[word] & mask) == 0;
    }
    if (fits && (!game.forms[game.rows[row].form].pivoted || find_pivot(row) != kNone)) return row;
  }
  return kNone;
}

void World::commands(std::vector<Id>& out) const {
  const Game& game = *game_;
  out.clear();
  std::array<const std::uint64_t*, 16> starts{};  // masks of the pivots that hold; more than 16 never happens
  std::size_t count = 0;
  std::vector<std::uint64_t> united;
  for (std::size_t atom = game.pivots.first; atom < game.pivots.last; ++atom) {
    const std::uint64_t word = bits_[atom / 64] >> (atom % 64);
    if (word == 0) {
      atom |= 63;
      continue;
    }
    atom += static_cast<std::size_t>(__builtin_ctzll(word));
    if (atom >= game.pivots.last) break;
    const std::uint64_t* mask = &game.pivot_masks[(atom - game.pivots.first) * game.row_words];
    if (count == starts.size()) {  // fold what we have into one mask
      if (united.empty()) united.assign(game.row_words, 0);
      for (const std::uint64_t* start : starts) {
        for (std::size_t w = 0; w < game.row_words; ++w) united[w] |= start[w];
      }
      starts[0] = united.data();
      count = 1;
    }
    starts[count++] = mask;
  }
  std::array<const std::uint64_t*, 32> blocked{};
  std::size_t blocks = 0;
  std::vector<std::uint64_t> blocked_too;
  for (const Wide& wide : game.wides) {
    const std::uint64_t* mask = (bit(wide.atom) ? wide.need_false : wide.need_true).data();
    if (blocks < blocked.size()) {
      blocked[blocks++] = mask;
      continue;
    }
    if (blocked_too.empty()) blocked_too.assign(game.row_words, 0);
    for (std::size_t w = 0; w < game.row_words; ++w) blocked_too[w] |= mask[w];
  }
  Id last = kNone;
  for (std::size_t w = 0; w < game.row_words; ++w) {
    std::uint64_t rows = game.free_rows[w];
    for (std::size_t i = 0; i < count; ++i) rows |= starts[i][w];
    rows &= ready_[w];
    for (std::size_t i = 0; i < blocks; ++i) rows &= ~blocked[i][w];
    if (!blocked_too.empty()) rows &= ~blocked_too[w];
    for (; rows != 0; rows &= rows - 1) {
      const Id command = game.rows[w * 64 + static_cast<std::size_t>(__builtin_ctzll(rows))].command;
      if (command != last) out.push_back(command);
      last = command;
    }
  }
}

// Conditions read the old state; removals come before additions.
void World::apply(Id row, Id pivot) {
  const Game& game = *game_;
  std::array<Id, 64> codes{};
  std::vector<Id> more;  // only for actions with very many effects
  std::size_t count = 0;
  const std::span<const Id> effects = game.effects(game.rows[row]);
  for (std::size_t i = 0; i < effects.size(); ++i) {
    Id code = effects[i];
    if (code == kOnlyIf) {
      const Id condition = effects[i + 1];
      i += 2;
      if (bit(condition / 2) != (condition % 2 != 0)) continue;
      code = effects[i];
    }
    if (code == kPivotRemoved) code = static_cast<Id>(pivot * 2);
    if (count < codes.size()) {
      codes[count++] = code;
    } else {
      more.push_back(code);
    }
  }
  goal_touched_ = false;
  for (const bool adding : {false, true}) {
    const auto change = [&](Id code) {
      if ((code % 2 != 0) != adding) return;
      const Id atom = static_cast<Id>(code / 2);
      set(atom, adding);
      for (const std::uint16_t predicate : game.rules->grammar.reads_removed) {
        const AtomTable::Range range = game.atoms.range[predicate];
        if (atom < range.first || atom >= range.last || game.removed_at[predicate] < 0) continue;
        const std::size_t mark = atom + static_cast<std::size_t>(game.removed_at[predicate]);
        const std::uint64_t mask = std::uint64_t{1} << (mark % 64);
        bits_[mark / 64] = adding ? bits_[mark / 64] & ~mask : bits_[mark / 64] | mask;
      }
    };
    for (std::size_t i = 0; i < count; ++i) change(codes[i]);
    for (const Id code : more) change(code);
  }
  if (goal_touched_) won_ = goal_holds();
}

void World::tell(Id row, Id pivot, std::string& text) const {
  const Game& game = *game_;
  const RowForm& form = game.forms[game.rows[row].form];
  const Wording& wording = game.rules->grammar.wordings[form.action];
  Context context;
  const std::span<const Id> params = game.params(game.rows[row]);
  for (std::size_t i = 0; i < params.size(); ++i) context.bind(wording.slots[i], params[i]);
  for (const RowForm::Hole hole : form.holes)
    context.bind(wording.slots[hole.parameter], game.atoms.args[pivot][hole.argument]);
  Narrator(game, bits_.data()).expand(wording.feedback, context, text);
}

bool World::step(std::string_view command, std::string& text) {
  const Id number = game_->find_command(command);
  return number != kNone && step(number, text);
}

bool World::step(Id command, std::string& text) {
  const Id row = find_row(command);
  if (row == kNone) return false;
  const Id pivot = game_->forms[game_->rows[row].form].pivoted ? find_pivot(row) : kNone;
  apply(row, pivot);
  tell(row, pivot, text);
  return true;
}

bool World::play(Id command) {
  const Id row = find_row(command);
  if (row == kNone) return false;
  apply(row, game_->forms[game_->rows[row].form].pivoted ? find_pivot(row) : kNone);
  return true;
}

}  // namespace lodestep::alfworld
