// The PDDL subset that household games use, read into flat structures.
//   Result<Domain> domain = parse_domain(text, "game.tw-pddl: pddl_domain");
//   Result<Problem> problem = parse_problem(text2, *domain, "game.tw-pddl: pddl_problem");
// Conditions come out in disjunctive normal form. Anything outside the subset (docs/alfworld.md lists
// it) is refused with the construct's name and line. Everything is lower-cased, as the original does.
// Threads: pure functions; the results are values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lodestep::alfworld {

inline constexpr std::size_t kMaxArity = 3;       // arguments of a predicate
inline constexpr std::size_t kMaxVariables = 24;  // of one action or goal, bound ones included
inline constexpr std::int16_t kAnyType = -1;      // `object`, or no type at all: every constant fits
inline constexpr std::int16_t kEquality = -1;     // Literal::predicate of (= a b)

struct Term {
  bool variable = false;
  std::uint16_t index = 0;  // into Formula::variables or Formula::constants
};

struct Literal {
  std::int16_t predicate = kEquality;  // into Domain::predicates
  bool positive = true;
  std::uint8_t arity = 0;
  std::array<Term, kMaxArity> args{};
  bool operator==(const Literal& other) const;
};

struct Conjunction {
  std::vector<Literal> literals;
  std::vector<std::uint16_t> witnesses;  // existential variables in scope: each must take some constant
};

struct Variable {
  std::string name;  // without '?'
  std::int16_t type = kAnyType;
};

// Any one of the cases holds for some values of the variables beyond the given ones.
struct Formula {
  std::vector<Variable> variables;  // an action's parameters first, then the existential ones
  std::vector<std::string> constants;
  std::vector<Conjunction> cases;
};

struct Effect {
  Literal change;  // positive: added
  bool conditional = false;
  Literal condition;  // read in the state before the step
};

struct Action {
  std::string name;
  std::size_t parameters = 0;  // the first ones of precondition.variables
  Formula precondition;
  std::vector<Effect> effects;  // terms refer to precondition's variables and constants
};

struct Predicate {
  std::string name;
  std::uint8_t arity = 0;
  bool fluent = false;  // some action changes it
};

struct Domain {
  std::string name;
  std::vector<std::string> types;  // declared or mentioned; a type nobody declared has no members
  std::vector<Predicate> predicates;
  std::vector<Action> actions;
  std::int16_t find_type(std::string_view type) const;            // kAnyType for "object"; -2: unknown
  std::int16_t find_predicate(std::string_view predicate) const;  // -1: unknown
};

struct Constant {
  std::string id;
  std::int16_t type = kAnyType;
};

struct Fact {
  std::uint16_t predicate = 0;
  std::array<std::uint16_t, kMaxArity> args{};  // into Problem::constants; unused ones are 0
  bool operator==(const Fact&) const = default;
};

struct Problem {
  std::vector<Constant> constants;  // sorted by id (bytes), unique
  std::vector<Fact> init;           // in file order, repetitions kept
  Formula goal;
};

// `where` names the text in messages ("FILE: pddl_domain"); the line is added to it.
Result<Domain> parse_domain(std::string_view text, const std::string& where);
Result<Problem> parse_problem(std::string_view text, const Domain& domain, const std::string& where);

}  // namespace lodestep::alfworld
