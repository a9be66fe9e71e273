// One game, compiled: names, ground facts, commands and their rows, ready to be played by any number
// of worlds at once.
//   Result<std::shared_ptr<const Game>> game = load_game(file_bytes, "game.tw-pddl");
// Domain and grammar come from the file and are compiled once per process for each content; a game
// holds what is its own. Threads: immutable after load. Owns all of its tables.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "envs/alfworld_bridge/grammar.h"
#include "envs/alfworld_bridge/pddl.h"

namespace lodestep::alfworld {

using Id = std::uint16_t;  // of a constant, an atom, a row, a command: numbers within one game
inline constexpr Id kNone = 0xFFFF;
using Args = std::array<Id, kMaxArity>;  // unused ones are 0

// Domain and grammar, shared by all games that carry the same texts.
struct Rulebook {
  Domain domain;
  Grammar grammar;
  std::string domain_text, grammar_text;  // what they were read from; the grammar without its task sentence
};

// Ground facts of a game, numbered: those that can change first, then fixed ones that texts ask for.
// Within a predicate they are ordered by last argument, then the one before, and so on.
struct AtomTable {
  struct Range {
    Id first = 0, last = 0;
  };
  std::vector<Args> args;
  std::vector<Range> range;  // by predicate
  std::vector<Id> slots;     // hash table over args: open addressing, a power of two
  Id changing = 0;           // atoms below this one can change
  Id find(std::uint16_t predicate, std::size_t arity, const Args& wanted) const;  // kNone: no such atom
};

// One case of one action's condition. With a pivot, its rows can start from any of several facts (the
// places one can walk from): that condition lives in Game::pivot_masks, and the parameters in `holes`
// are read off the pivot fact.
struct RowForm {
  struct Hole {
    std::uint8_t parameter = 0, argument = 0;
  };
  std::uint8_t action = 0;
  std::uint8_t parameters = 0;
  bool pivoted = false;
  std::vector<Hole> holes;
};

// A way to carry out a command. Its codes lie together in Game::codes: parameters (holes are kNone),
// then conditions on facts, then changes.
struct Row {
  std::uint32_t begin = 0;
  Id command = 0;
  Id form = 0;
  std::uint8_t literals = 0, effects = 0;  // how many
};

// Conditions and changes: atom * 2 + 1 for true/added, atom * 2 for false/removed.
inline constexpr Id kPivotRemoved = 0xFFFF;  // change: the pivot fact goes
inline constexpr Id kOnlyIf = 0xFFFE;        // change: the next code is a condition of the one after it

// Many short texts in one block.
class TextPool {
 public:
  void add(std::string_view text) {
    bytes_ += text;
    at_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
  std::string_view operator[](std::size_t i) const {
    return std::string_view(bytes_).substr(at_[i], at_[i + 1] - at_[i]);
  }
  std::size_t size() const { return at_.size() - 1; }
  std::size_t memory_bytes() const { return bytes_.capacity() + at_.capacity() * sizeof(at_[0]); }
  void shrink() {
    bytes_.shrink_to_fit();
    at_.shrink_to_fit();
  }

 private:
  std::string bytes_;
  std::vector<std::uint32_t> at_{0};
};

// A command's text is two pieces, since "take mug 1" and " from desk 2" each occur in many commands.
struct CommandText {
  std::string_view head, tail;
  std::size_t size() const { return head.size() + tail.size(); }
  bool operator==(std::string_view text) const {
    return text.size() == size() && text.substr(0, head.size()) == head && text.substr(head.size()) == tail;
  }
  void append_to(std::string& out) const { out.append(head).append(tail); }
  std::string text() const {
    std::string out;
    out.reserve(size());
    append_to(out);
    return out;
  }
};

// An atom with so many dependent rows that masks are cheaper than counters.
struct Wide {
  Id atom = 0;
  std::vector<std::uint64_t> need_true, need_false;  // rows that want it true, or false
};

struct Game {
  std::shared_ptr<const Rulebook> rules;
  Hash128 digest;         // of everything in the file that decides play
  std::string task_text;  // the grammar's task sentence
  std::string goal_text;  // what follows ": " in it
  std::vector<std::string> walkthrough;

  TextPool ids;                     // of the constants, in byte order
  TextPool names;                   // as the player sees them, by constant
  std::vector<std::int16_t> types;  // by constant
  AtomTable atoms;
  std::vector<std::int32_t> removed_at;  // by predicate: bit of "taken away" = atom + this; -1: not kept
  std::size_t state_bits = 0;            // facts, then "taken away" bits

  TextPool pieces;                                // of command texts
  std::vector<std::array<Id, 2>> command_pieces;  // by command, in byte order of the texts
  std::vector<Id> command_slots;                  // hash table over command texts
  std::vector<Id> command_rows;                   // first row of command i; one more at the end

  std::vector<RowForm> forms;
  std::vector<Row> rows;  // sorted by command
  std::vector<Id> codes;
  std::size_t row_words = 0;
  AtomTable::Range pivots;                 // the facts that pivot
  std::vector<std::uint64_t> pivot_masks;  // rows that can start from each pivot; row_words apiece
  std::vector<std::uint64_t> free_rows;    // rows without a pivot
  std::vector<Wide> wides;
  std::vector<std::uint32_t> dependents_at;  // by atom, into dependents; one more at the end
  std::vector<Id> dependents;                // row * 2 + 1 when the row wants the atom true

  std::vector<std::uint32_t> goal_at;     // goal case i is goal[goal_at[i] .. goal_at[i + 1])
  std::vector<Id> goal;                   // literal codes
  std::vector<std::uint64_t> goal_atoms;  // bits: atoms a goal case asks for
  Formula goal_formula;                   // as written, for roles

  std::vector<std::uint64_t> start_bits, start_ready;
  std::vector<std::uint8_t> start_unmet;
  std::string start_text;  // the first observation

  std::span<const Id> params(const Row& row) const {
    return {codes.data() + row.begin, forms[row.form].parameters};
  }
  std::span<const Id> literals(const Row& row) const {
    return {codes.data() + row.begin + forms[row.form].parameters, row.literals};
  }
  std::span<const Id> effects(const Row& row) const {
    return {codes.data() + row.begin + forms[row.form].parameters + row.literals, row.effects};
  }
  std::size_t command_count() const { return command_pieces.size(); }
  CommandText command(std::size_t i) const {
    return {pieces[command_pieces[i][0]], pieces[command_pieces[i][1]]};
  }
  Id find_command(std::string_view text) const;  // kNone: not a command of this game
  std::size_t memory_bytes() const;              // of this game alone
};

// What a game file holds.
struct GameFile {
  std::string domain, grammar, problem;
  bool has_solvable = false, solvable = false;
  std::vector<std::string> walkthrough;
};

Result<GameFile> parse_game_file(std::string_view bytes, const std::string& path);
// Compiles; every message names `path` and the place in it.
Result<std::shared_ptr<const Game>> compile_game(const GameFile& file, const std::string& path);
Result<std::shared_ptr<const Game>> load_game(std::string_view bytes, const std::string& path);

// Fills the tables of a game from its problem (ground.cc).
Status ground(const Rulebook& rules, const Problem& problem, const std::string& where, Game& game);

}  // namespace lodestep::alfworld
