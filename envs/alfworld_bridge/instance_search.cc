#include "envs/alfworld_bridge/instance_search.h"

#include <algorithm>

namespace lodestep::alfworld {
namespace {

constexpr std::size_t kMaxWork = 20'000'000;  // steps of the search

}  // namespace

InstanceSearch::InstanceSearch(const Problem& problem, const FactStore& store, const std::vector<Form>& forms,
                               Found found)
    : problem_(problem), store_(store), forms_(forms), found_(std::move(found)), plans_(forms.size()) {}

const char* InstanceSearch::match_all() {
  for (std::uint32_t f = 0; f < forms_.size(); ++f) {
    if (forms_[f].possible && !match(f, -1, -1)) return failure_;
  }
  return nullptr;
}

const char* InstanceSearch::reach() {
  struct Trigger {
    std::uint32_t form = 0, claim = 0;
  };
  std::vector<std::vector<Trigger>> triggers(store_.predicates());  // the claims that a new fact may fulfil
  for (std::uint32_t f = 0; f < forms_.size(); ++f) {
    const Form& form = forms_[f];
    if (!form.possible) continue;
    bool waits = false;
    for (std::uint32_t i = 0; i < form.claims.size(); ++i) {
      if (!form.claims[i].positive || !form.claims[i].changes) continue;
      triggers[static_cast<std::size_t>(form.claims[i].predicate)].push_back({f, i});
      waits = true;
    }
    if (!waits && !match(f, -1, -1)) return failure_;
  }
  for (std::size_t fact = 0; fact < store_.size(); ++fact) {
    const auto number = static_cast<std::int32_t>(fact);
    for (const Trigger& trigger : triggers[store_[number].predicate]) {
      if (!match(trigger.form, static_cast<std::int32_t>(trigger.claim), number)) return failure_;
    }
  }
  return nullptr;
}

bool InstanceSearch::give_up() {
  failure_ = "the game is too large to ground";
  return false;
}

InstanceSearch::Plan InstanceSearch::make_plan(const Form& form, std::int32_t trigger) const {
  const std::vector<Claim>& claims = form.claims;
  std::vector<bool> bound(form.formula->variables.size(), false);
  std::vector<bool> done(claims.size(), false);
  const auto known = [&](const Argument& argument) { return !argument.variable || bound[argument.index]; };
  const auto take = [&](std::size_t index) {
    done[index] = true;
    for (std::size_t i = 0; i < claims[index].arity; ++i) {
      if (claims[index].args[i].variable) bound[claims[index].args[i].index] = true;
    }
  };
  if (trigger >= 0) take(static_cast<std::size_t>(trigger));
  Plan plan;
  while (true) {
    std::size_t best = claims.size();
    std::size_t best_cost = SIZE_MAX;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (done[i]) continue;
      const bool free = !std::all_of(claims[i].args.begin(), claims[i].args.begin() + claims[i].arity, known);
      if (free && (claims[i].predicate == kEquality || !claims[i].positive)) continue;
      std::size_t cost = 0;
      if (free) {
        const auto predicate = static_cast<std::uint16_t>(claims[i].predicate);
        cost = store_.of(predicate).size() + 1000;
        for (std::size_t k = 0; k < claims[i].arity; ++k) {
          if (known(claims[i].args[k])) cost = std::min(cost, store_.fan_out(predicate, k));
        }
      }
      if (cost < best_cost) {
        best = i;
        best_cost = cost;
      }
    }
    if (best == claims.size()) break;
    Step step{static_cast<std::uint16_t>(best), best_cost == 0, kMaxArity};
    std::size_t least = SIZE_MAX;
    for (std::uint16_t i = 0; i < claims[best].arity && !step.test; ++i) {
      if (!known(claims[best].args[i])) continue;
      const std::size_t fan_out = store_.fan_out(static_cast<std::uint16_t>(claims[best].predicate), i);
      if (fan_out < least) step.known = i;
      least = std::min(least, fan_out);
    }
    plan.steps.push_back(step);
    take(best);
  }
  for (const std::uint16_t variable : form.variables) {
    if (!bound[variable]) plan.loose.push_back(variable);
  }
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (!done[i]) plan.late.push_back(static_cast<std::uint16_t>(i));
  }
  return plan;
}

// False: the search was given up.
bool InstanceSearch::match(std::uint32_t f, std::int32_t trigger, std::int32_t fact) {
  const Form& form = forms_[f];
  Binding binding;
  binding.fill(kNone);
  trigger_ = trigger;
  trigger_fact_ = fact;
  if (trigger >= 0 &&
      !unify(form, form.claims[static_cast<std::size_t>(trigger)], store_[fact].args, binding))
    return true;
  std::vector<std::optional<Plan>>& plans = plans_[f];
  if (plans.empty()) plans.resize(form.claims.size() + 1);
  std::optional<Plan>& plan = plans[static_cast<std::size_t>(trigger + 1)];
  if (!plan) plan = make_plan(form, trigger);
  plan_ = &*plan;
  return join(form, f, 0, binding);
}

bool InstanceSearch::type_fits(const Form& form, std::size_t variable, Id constant) const {
  const std::int16_t type = form.formula->variables[variable].type;
  return type == kAnyType || problem_.constants[constant].type == type;
}

bool InstanceSearch::unify(const Form& form, const Claim& claim, const Args& args, Binding& binding) const {
  for (std::size_t i = 0; i < claim.arity; ++i) {
    const Argument& argument = claim.args[i];
    const Id now = value(binding, argument);
    if (now == args[i]) continue;
    if (!argument.variable || now != kNone || !type_fits(form, argument.index, args[i])) return false;
    binding[argument.index] = args[i];
  }
  return true;
}

bool InstanceSearch::join(const Form& form, std::uint32_t f, std::size_t at, Binding& binding) {
  if (++work_ > kMaxWork) return give_up();
  for (; at < plan_->steps.size(); ++at) {
    const Step& step = plan_->steps[at];
    const Claim& claim = form.claims[step.claim];
    if (step.test) {
      if (!passes(claim, binding, step.claim)) return true;
      continue;
    }
    if (step.known == kMaxArity) return extend(form, f, at, binding);
    const std::int32_t only = store_.newest_with(static_cast<std::uint16_t>(claim.predicate), step.known,
                                                 value(binding, claim.args[step.known]));
    if (only < 0) return true;
    if (store_[only].next[step.known] >= 0) return extend(form, f, at, binding);
    if (!in_time(claim, step.claim, only) || !unify(form, claim, store_[only].args, binding)) return true;
  }
  return fill(form, f, 0, binding);
}

// May this fact stand for claim `index`, given which fact set off the search?
bool InstanceSearch::in_time(const Claim& claim, std::size_t index, std::int32_t fact) const {
  if (trigger_ < 0 || !claim.changes) return true;
  return static_cast<std::int32_t>(index) < trigger_ ? fact < trigger_fact_ : fact <= trigger_fact_;
}

bool InstanceSearch::passes(const Claim& claim, const Binding& binding, std::size_t index) const {
  if (!claim.positive && claim.changes) return true;  // decided while playing
  Args args;
  const bool exists = resolve(binding, claim, args);
  if (claim.predicate == kEquality) return (args[0] == args[1]) == claim.positive;
  const std::int32_t fact = exists ? store_.find(static_cast<std::uint16_t>(claim.predicate), args) : -1;
  return (fact >= 0 && in_time(claim, index, fact)) == claim.positive;
}

// One branch for each fact that fits the claim of step `at`.
bool InstanceSearch::extend(const Form& form, std::uint32_t f, std::size_t at, Binding& binding) {
  const Step& step = plan_->steps[at];
  const Claim& claim = form.claims[step.claim];
  const auto predicate = static_cast<std::uint16_t>(claim.predicate);
  const Binding before = binding;
  const auto attempt = [&](std::int32_t fact) {
    if (!in_time(claim, step.claim, fact)) return true;
    const Args args = store_[fact].args;
    const bool goes_on = !unify(form, claim, args, binding) || join(form, f, at + 1, binding);
    binding = before;
    return goes_on;
  };
  if (step.known < kMaxArity) {
    const Id known = value(binding, claim.args[step.known]);
    for (std::int32_t fact = store_.newest_with(predicate, step.known, known); fact >= 0;
         fact = store_[fact].next[step.known]) {
      if (!attempt(fact)) return false;
    }
    return true;
  }
  const std::size_t count = store_.of(predicate).size();  // those added meanwhile come later by themselves
  for (std::size_t i = 0; i < count; ++i) {
    if (!attempt(store_.of(predicate)[i])) return false;
  }
  return true;
}

// Variables that no claim speaks of take every constant of their type.
bool InstanceSearch::fill(const Form& form, std::uint32_t f, std::size_t at, Binding& binding) {
  if (++work_ > kMaxWork) return give_up();
  if (at < plan_->loose.size()) {
    const std::uint16_t variable = plan_->loose[at];
    for (std::size_t c = 0; c < problem_.constants.size(); ++c) {
      if (!type_fits(form, variable, static_cast<Id>(c))) continue;
      binding[variable] = static_cast<Id>(c);
      if (!fill(form, f, at + 1, binding)) return false;
    }
    binding[variable] = kNone;
    return true;
  }
  for (const std::uint16_t late : plan_->late) {
    if (!passes(form.claims[late], binding, late)) return true;
  }
  failure_ = found_(f, binding);
  return failure_ == nullptr;
}

}  // namespace lodestep::alfworld
