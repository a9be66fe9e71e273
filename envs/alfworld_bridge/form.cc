#include "envs/alfworld_bridge/form.h"

#include <algorithm>

namespace lodestep::alfworld {
namespace {

bool adds(const Form& form, const Binding& binding, std::int16_t predicate, const Args& args) {
  for (const Change& effect : form.changes) {
    if (!effect.change.positive || effect.change.predicate != predicate) continue;
    Args other;
    if (resolve(binding, effect.change, other) && other == args) return true;
  }
  return false;
}

}  // namespace

bool resolve(const Binding& binding, const Claim& claim, Args& args) {
  args = {};
  for (std::size_t i = 0; i < claim.arity; ++i) {
    args[i] = value(binding, claim.args[i]);
    if (args[i] == kNone) return false;
  }
  return true;
}

bool is_noop(const Form& form, const Binding& binding) {
  if (!form.may_be_noop) return false;
  for (const Change& effect : form.changes) {
    Args args;
    if (!resolve(binding, effect.change, args)) return false;
    bool implied = !effect.change.positive && adds(form, binding, effect.change.predicate, args);
    for (const Claim& claim : form.claims) {
      if (implied) break;
      if (claim.predicate != effect.change.predicate || claim.positive != effect.change.positive) continue;
      Args other;
      implied = resolve(binding, claim, other) && other == args;
    }
    if (!implied) return false;
  }
  return true;
}

Form make_form(const Domain& domain, const Problem& problem, const std::vector<bool>& relevant,
               std::size_t action, const Formula& formula, std::size_t index) {
  Form form;
  form.action = action;
  form.formula = &formula;
  std::vector<Id> constants;
  for (const std::string& name : formula.constants) {
    const auto found =
        std::lower_bound(problem.constants.begin(), problem.constants.end(), name,
                         [](const Constant& constant, const std::string& id) { return constant.id < id; });
    const bool known = found != problem.constants.end() && found->id == name;
    constants.push_back(known ? static_cast<Id>(found - problem.constants.begin()) : kNone);
  }
  const auto claim = [&](const Literal& literal) {
    Claim out{literal.predicate, literal.positive, false, literal.arity, {}};
    out.changes =
        literal.predicate >= 0 && domain.predicates[static_cast<std::size_t>(literal.predicate)].fluent;
    for (std::size_t k = 0; k < literal.arity; ++k) {
      const Term& term = literal.args[k];
      out.args[k] = {term.variable, term.variable ? term.index : constants[term.index]};
    }
    return out;
  };
  for (const Literal& literal : formula.cases[index].literals) {
    form.claims.push_back(claim(literal));
    for (const Argument& argument : form.claims.back().args) {
      if (literal.positive && !argument.variable && argument.index == kNone) form.possible = false;
    }
  }
  const std::vector<std::uint16_t>& witnesses = formula.cases[index].witnesses;
  const bool is_goal = action == domain.actions.size();
  const std::size_t parameters = is_goal ? 0 : domain.actions[action].parameters;
  for (std::size_t v = 0; v < parameters; ++v) form.variables.push_back(static_cast<std::uint16_t>(v));
  form.variables.insert(form.variables.end(), witnesses.begin(), witnesses.end());
  for (const std::uint16_t variable : form.variables) {
    const std::int16_t type = formula.variables[variable].type;
    const auto fits = [&](const Constant& constant) { return type == kAnyType || constant.type == type; };
    if (std::none_of(problem.constants.begin(), problem.constants.end(), fits)) form.possible = false;
  }
  if (is_goal) return form;
  for (const Effect& effect : domain.actions[action].effects) {
    Change change{claim(effect.change), effect.conditional, {}, false, false};
    if (effect.conditional) change.condition = claim(effect.condition);
    change.relevant = relevant[static_cast<std::size_t>(effect.change.predicate)];
    form.changes.push_back(change);
  }
  form.may_be_noop = std::all_of(form.changes.begin(), form.changes.end(), [&](const Change& effect) {
    const auto alike = [&](const Claim& other) {
      return other.predicate == effect.change.predicate && other.positive == effect.change.positive;
    };
    const auto added = [&](const Change& other) {
      return other.change.predicate == effect.change.predicate && other.change.positive;
    };
    return !effect.conditional &&
           (std::any_of(form.claims.begin(), form.claims.end(), alike) ||
            (!effect.change.positive && std::any_of(form.changes.begin(), form.changes.end(), added)));
  });
  return form;
}

}  // namespace lodestep::alfworld
