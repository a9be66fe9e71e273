// One case of an action's (or the goal's) condition, with names looked up in one problem.
//   const Form form = make_form(domain, problem, relevant, action, domain.actions[action].precondition, 0);
//   Args args;
//   if (resolve(binding, form.claims[0], args)) ...   // the ground fact that the claim speaks of
// Threads: plain data. `formula` points into the domain or the problem. Internal to ground.cc and
// instance_search.cc.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "envs/alfworld_bridge/game.h"

namespace lodestep::alfworld {

using Binding = std::array<Id, kMaxVariables>;  // a constant for each variable, kNone: not yet

// A term of a formula as this problem sees it: a variable's number, or a constant of the problem (kNone: it
// has no such object).
struct Argument {
  bool variable = false;
  Id index = 0;
};

struct Claim {  // a literal with its constants looked up
  std::int16_t predicate = kEquality;
  bool positive = true;
  bool changes = false;
  std::uint8_t arity = 0;
  std::array<Argument, kMaxArity> args{};
};

struct Change {  // an effect with its constants looked up
  Claim change;
  bool conditional = false;
  Claim condition;
  bool relevant = true;
  bool removes_pivot = false;  // filled by the grounder: it takes away the fact that pivots
};

struct Form {
  std::size_t action = 0;  // domain.actions.size(): the goal
  const Formula* formula = nullptr;
  std::vector<Claim> claims;
  std::vector<Change> changes;
  std::vector<std::uint16_t> variables;  // all that need a value
  bool possible = true;
  bool may_be_noop = false;  // by its predicates, its effects could all be implied by its condition
  // Filled by the grounder:
  std::int32_t pivot = -1;           // index of the claim that pivots
  std::vector<std::uint16_t> holes;  // parameters known only from the pivot fact
  std::vector<std::uint16_t> kept;   // the other variables
};

// `relevant`: by predicate, whether its facts are kept.
Form make_form(const Domain& domain, const Problem& problem, const std::vector<bool>& relevant,
               std::size_t action, const Formula& formula, std::size_t index);

inline Id value(const Binding& binding, const Argument& argument) {
  return argument.variable ? binding[argument.index] : argument.index;
}

// The claim's fact; false while a variable has no value or a constant does not exist.
bool resolve(const Binding& binding, const Claim& claim, Args& args);

// The original's planner drops an instance whose effects its own condition already implies.
bool is_noop(const Form& form, const Binding& binding);

}  // namespace lodestep::alfworld
