// The text grammar (twl2) of a game, resolved against its PDDL domain: what is said after a command,
// and how commands are spelled.
//   Result<Grammar> grammar = parse_grammar(text, domain, "game.tw-pddl: grammar");
// Only the features that occur are read (docs/alfworld.md); the rest is refused where it could be
// reached. Everything is resolved to numbers: placeholders to slots, predicates, rules.
// Threads: pure function; the result is a value that all games with this grammar share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "envs/alfworld_bridge/pddl.h"

namespace lodestep::alfworld {

inline constexpr std::size_t kMaxSlots = 48;

// A typed placeholder such as `r:receptacle`; a context maps slots to constants.
struct Slot {
  std::string name;
  std::int16_t type = kAnyType;  // -2: a type the domain does not know
};

struct QueryAtom {
  std::int16_t predicate = -1;  // -1: a predicate the domain does not know, never true
  bool removed = false;         // not_p: holds for facts that an action took away, not for absent ones
  std::uint8_t arity = 0;
  std::array<std::uint8_t, kMaxArity> slots{};
};
using Query = std::vector<QueryAtom>;

// One summand of an expression: fixed text, or an attribute of whichever slot of that name is bound.
struct Part {
  enum class Kind : std::uint8_t { kText, kName, kId };
  Kind kind = Kind::kText;
  std::string text;
  std::vector<std::uint8_t> slots;
};
using Sum = std::vector<Part>;

struct Symbol {
  enum class Kind : std::uint8_t { kText, kTask, kRule, kValue };
  Kind kind = Kind::kText;
  std::string text;          // kText
  std::uint16_t rule = 0;    // kRule
  std::vector<Sum> choices;  // kValue: the first that is not empty
  bool queried = false;      // one copy for each answer of the query
  bool list = false;         // copies joined as a list
  Query query;
};

struct Alternative {
  bool conditional = false;
  Query condition;
  std::vector<Symbol> symbols;
  std::string fault;  // why it cannot be used; empty: fine
  bool unsupported = false;
};

struct Rule {
  std::string name;
  std::size_t line = 0;
  std::vector<Alternative> alternatives;
};

// How one action of the domain is spelled and answered: rules of the grammar.
struct Wording {
  std::uint16_t command = 0;
  std::uint16_t feedback = 0;
  std::vector<std::uint8_t> slots;  // of the action's parameters, in order
};

struct Grammar {
  std::vector<Slot> slots;
  std::vector<Rule> rules;
  std::uint16_t intro = 0;
  std::uint16_t list_empty = 0, list_separator = 0, list_last_separator = 0;
  std::vector<Wording> wordings;             // one for each action of the domain
  std::vector<std::uint16_t> reads;          // predicates that texts ask for, sorted
  std::vector<std::uint16_t> reads_removed;  // those asked for as not_p, sorted
};

// A grammar text without its task sentence: all games that differ in it alone share the rest.
struct SplitGrammar {
  std::string frame;  // the task sentence replaced by a mark
  std::string task;   // the sentence; empty when it could not be told apart
};
SplitGrammar split_task(std::string_view text);

Result<Grammar> parse_grammar(std::string_view text, const Domain& domain, const std::string& where);

}  // namespace lodestep::alfworld
