// From a problem to tables: which ground facts can ever hold, which actions can ever be carried out,
// how they are spelled and what they change.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "envs/alfworld_bridge/game.h"
#include "envs/alfworld_bridge/narrator.h"
#include "envs/alfworld_bridge/task_view.h"

namespace lodestep::alfworld {
namespace {

constexpr std::size_t kMaxAtoms = 30000;  // atoms and rows must fit the codes of game.h
constexpr std::size_t kMaxRows = 30000;
constexpr std::size_t kMaxInstances = 400000;
constexpr std::size_t kMaxWork = 20'000'000;  // steps of the search for instances
constexpr std::size_t kWideDependents = 128;  // from here on masks beat counters

using Binding = std::array<Id, kMaxVariables>;

std::uint64_t key_of(std::uint16_t predicate, const Args& args) {
  return std::uint64_t{predicate} | std::uint64_t{args[0]} << 16 | std::uint64_t{args[1]} << 32 |
         std::uint64_t{args[2]} << 48;
}

std::uint64_t spread(std::uint64_t key) {
  key *= 0x9e3779b97f4a7c15ULL;
  return key ^ (key >> 29);
}

// All facts met so far, in order of arrival, findable by value and by one argument.
class FactStore {
 public:
  struct Entry {
    std::uint16_t predicate = 0;
    Args args{};
    std::array<std::int32_t, kMaxArity> next{-1, -1, -1};  // older fact with the same argument there
  };

  FactStore(std::size_t predicates, std::size_t constants)
      : constants_(constants), heads_(predicates), of_(predicates), distinct_(predicates), table_(4096, -1) {}

  // Number of the fact, and whether it is new.
  std::pair<std::int32_t, bool> insert(std::uint16_t predicate, std::size_t arity, const Args& args) {
    if (2 * (entries_.size() + 1) > table_.size()) grow();
    const std::uint64_t key = key_of(predicate, args);
    std::size_t at = spread(key) & (table_.size() - 1);
    for (; table_[at] >= 0; at = (at + 1) & (table_.size() - 1)) {
      const Entry& entry = entries_[static_cast<std::size_t>(table_[at])];
      if (key_of(entry.predicate, entry.args) == key) return {table_[at], false};
    }
    const auto number = static_cast<std::int32_t>(entries_.size());
    table_[at] = number;
    Entry entry{predicate, args, {-1, -1, -1}};
    std::vector<std::int32_t>& heads = heads_[predicate];
    if (heads.empty()) heads.assign(arity * constants_, -1);
    for (std::size_t i = 0; i < arity; ++i) {
      if (heads[i * constants_ + args[i]] < 0) ++distinct_[predicate][i];
      entry.next[i] = heads[i * constants_ + args[i]];
      heads[i * constants_ + args[i]] = number;
    }
    entries_.push_back(entry);
    of_[predicate].push_back(number);
    return {number, true};
  }

  std::int32_t find(std::uint16_t predicate, const Args& args) const {
    const std::uint64_t key = key_of(predicate, args);
    for (std::size_t at = spread(key) & (table_.size() - 1); table_[at] >= 0;
         at = (at + 1) & (table_.size() - 1)) {
      const Entry& entry = entries_[static_cast<std::size_t>(table_[at])];
      if (key_of(entry.predicate, entry.args) == key) return table_[at];
    }
    return -1;
  }

  std::int32_t newest_with(std::uint16_t predicate, std::size_t position, Id constant) const {
    return heads_[predicate].empty() ? -1 : heads_[predicate][position * constants_ + constant];
  }
  const std::vector<std::int32_t>& of(std::uint16_t predicate) const { return of_[predicate]; }
  // Facts of the predicate for one value of an argument, on average and rounded up.
  std::size_t fan_out(std::uint16_t predicate, std::size_t position) const {
    return of_[predicate].size() / std::max<std::size_t>(1, distinct_[predicate][position]) + 1;
  }
  const Entry& operator[](std::int32_t number) const { return entries_[static_cast<std::size_t>(number)]; }
  std::size_t size() const { return entries_.size(); }

 private:
  void grow() {
    table_.assign(table_.size() * 2, -1);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      std::size_t at = spread(key_of(entries_[i].predicate, entries_[i].args)) & (table_.size() - 1);
      while (table_[at] >= 0) at = (at + 1) & (table_.size() - 1);
      table_[at] = static_cast<std::int32_t>(i);
    }
  }

  std::size_t constants_;
  std::vector<Entry> entries_;
  std::vector<std::vector<std::int32_t>> heads_;
  std::vector<std::vector<std::int32_t>> of_;
  std::vector<std::array<std::size_t, kMaxArity>> distinct_;  // values seen, by predicate and position
  std::vector<std::int32_t> table_;
};

class Grounder {
 public:
  Grounder(const Rulebook& rules, const Problem& problem, const std::string& where, Game& game)
      : domain_(rules.domain),
        grammar_(rules.grammar),
        problem_(problem),
        where_(where),
        game_(game),
        store_(domain_.predicates.size(), problem.constants.size()) {}

  Status run() {
    find_relevant();
    for (std::size_t a = 0; a < domain_.actions.size(); ++a) {
      if (Status status = check_command_rule(a); !status) return status;
      for (std::size_t c = 0; c < domain_.actions[a].precondition.cases.size(); ++c) {
        forms_.push_back(make_form(a, domain_.actions[a].precondition, c));
      }
    }
    load_facts();
    if (Status status = reach(); !status) return status;
    name_constants();
    if (Status status = number_atoms(); !status) return status;
    choose_pivot();
    if (Status status = make_rows(); !status) return status;
    index_rows();
    if (Status status = make_goal(); !status) return status;
    start();
    return {};
  }

 private:
  // One case of one action's (or the goal's) condition, with its constants looked up.
  struct Form {
    std::size_t action = 0;
    const Formula* formula = nullptr;
    const Conjunction* conjunction = nullptr;
    std::vector<Id> constants;             // kNone: the problem has no such object
    std::vector<std::size_t> changing;     // indices of positive literals over facts that can change
    std::vector<std::uint16_t> variables;  // all that need a value
    bool possible = true;
    // Filled by choose_pivot:
    std::int32_t pivot = -1;           // index of the literal that pivots
    std::vector<std::uint16_t> holes;  // parameters known only from the pivot fact
  };
  struct Instance {
    std::uint32_t form = 0;
    std::uint32_t binding = 0;  // into bindings_
  };

  Error unsupported(const std::string& message) const {
    return {ErrorCode::kUnsupported, message, where_, ""};
  }
  std::size_t arity(std::size_t predicate) const { return domain_.predicates[predicate].arity; }
  bool changes(const Literal& literal) const {
    return literal.predicate >= 0 && domain_.predicates[static_cast<std::size_t>(literal.predicate)].fluent;
  }

  // Predicates that can influence a command, a text or the goal. The others are not kept.
  void find_relevant() {
    relevant_.assign(domain_.predicates.size(), false);
    const auto mark = [this](const Formula& formula) {
      for (const Conjunction& one : formula.cases) {
        for (const Literal& literal : one.literals) {
          if (literal.predicate >= 0) relevant_[static_cast<std::size_t>(literal.predicate)] = true;
        }
      }
    };
    for (const Action& action : domain_.actions) mark(action.precondition);
    mark(problem_.goal);
    for (const std::uint16_t predicate : grammar_.reads) relevant_[predicate] = true;
    for (const std::uint16_t predicate : grammar_.reads_removed) relevant_[predicate] = true;
    for (bool grew = true; grew;) {
      grew = false;
      for (const Action& action : domain_.actions) {
        for (const Effect& effect : action.effects) {
          if (!effect.conditional || !relevant_[static_cast<std::size_t>(effect.change.predicate)]) continue;
          const auto read = static_cast<std::size_t>(effect.condition.predicate);
          grew = grew || !relevant_[read];
          relevant_[read] = true;
        }
      }
    }
  }

  // Command texts are fixed at load, so they may ask for fixed facts alone.
  Status check_command_rule(std::size_t action) {
    const Wording& wording = grammar_.wordings[action];
    std::vector<std::uint16_t> todo{wording.command};
    std::vector<bool> used(grammar_.slots.size(), false);
    bool new_placeholders = false;
    for (std::size_t i = 0; i < todo.size() && i < 10000; ++i) {
      for (const Alternative& alternative : grammar_.rules[todo[i]].alternatives) {
        std::vector<const Query*> queries{&alternative.condition};
        for (const Symbol& symbol : alternative.symbols) {
          queries.push_back(&symbol.query);
          if (symbol.kind == Symbol::Kind::kRule) todo.push_back(symbol.rule);
          for (const Sum& sum : symbol.choices) {
            for (const Part& part : sum) {
              for (const std::uint8_t slot : part.slots) used[slot] = true;
            }
          }
        }
        for (const Query* query : queries) {
          for (const QueryAtom& atom : *query) {
            if (atom.removed || (atom.predicate >= 0 &&
                                 domain_.predicates[static_cast<std::size_t>(atom.predicate)].fluent)) {
              return unsupported("the command of action '" + domain_.actions[action].name +
                                 "' depends on facts that change");
            }
            for (std::size_t k = 0; k < atom.arity; ++k) {
              const std::uint8_t slot = atom.slots[k];
              if (std::find(wording.slots.begin(), wording.slots.end(), slot) == wording.slots.end())
                new_placeholders = true;
              used[slot] = true;
            }
          }
        }
      }
    }
    command_uses_.push_back(std::move(used));
    command_binds_.push_back(new_placeholders);
    return {};
  }

  Form make_form(std::size_t action, const Formula& formula, std::size_t index) const {
    Form form;
    form.action = action;
    form.formula = &formula;
    form.conjunction = &formula.cases[index];
    for (const std::string& name : formula.constants) {
      const auto found =
          std::lower_bound(problem_.constants.begin(), problem_.constants.end(), name,
                           [](const Constant& constant, const std::string& id) { return constant.id < id; });
      const bool known = found != problem_.constants.end() && found->id == name;
      form.constants.push_back(known ? static_cast<Id>(found - problem_.constants.begin()) : kNone);
    }
    const std::size_t parameters = action < domain_.actions.size() ? domain_.actions[action].parameters : 0;
    for (std::size_t v = 0; v < parameters; ++v) form.variables.push_back(static_cast<std::uint16_t>(v));
    form.variables.insert(form.variables.end(), form.conjunction->witnesses.begin(),
                          form.conjunction->witnesses.end());
    for (std::size_t i = 0; i < form.conjunction->literals.size(); ++i) {
      const Literal& literal = form.conjunction->literals[i];
      if (literal.positive && changes(literal)) form.changing.push_back(i);
      for (std::size_t k = 0; k < literal.arity; ++k) {
        const bool absent = !literal.args[k].variable && form.constants[literal.args[k].index] == kNone;
        if (absent && literal.positive) form.possible = false;
      }
    }
    return form;
  }

  Id value(const Form& form, const Binding& binding, const Term& term) const {
    return term.variable ? binding[term.index] : form.constants[term.index];
  }
  // The literal's fact; false while a variable has no value or a constant does not exist.
  bool resolve(const Form& form, const Binding& binding, const Literal& literal, Args& args) const {
    args = {};
    for (std::size_t i = 0; i < literal.arity; ++i) {
      args[i] = value(form, binding, literal.args[i]);
      if (args[i] == kNone) return false;
    }
    return true;
  }

  void load_facts() {
    initial_.reserve(problem_.init.size());
    for (const Fact& fact : problem_.init) {
      if (!relevant_[fact.predicate]) continue;
      const auto [number, fresh] = store_.insert(fact.predicate, arity(fact.predicate), fact.args);
      if (fresh) initial_.push_back(number);
    }
  }

  // 1. Reachability: every fact that can become true if nothing were ever taken away, and every
  // instance of an action over such facts. Each instance is found once: at its newest fact.

  Status reach() {
    plans_.assign(forms_.size(), {});
    for (std::uint32_t f = 0; f < forms_.size(); ++f) {
      if (forms_[f].possible && forms_[f].changing.empty()) {
        if (Status status = match(f, -1, -1); !status) return status;
      }
    }
    for (std::size_t fact = 0; fact < store_.size(); ++fact) {
      const std::uint16_t predicate = store_[static_cast<std::int32_t>(fact)].predicate;
      if (!domain_.predicates[predicate].fluent) continue;
      for (std::uint32_t f = 0; f < forms_.size(); ++f) {
        if (!forms_[f].possible) continue;
        for (const std::size_t literal : forms_[f].changing) {
          if (forms_[f].conjunction->literals[literal].predicate != predicate) continue;
          if (Status status = match(f, static_cast<std::int32_t>(literal), static_cast<std::int32_t>(fact));
              !status)
            return status;
        }
      }
    }
    return {};
  }

  // The order in which a form's literals are looked at once the trigger's variables have values: tests as
  // soon as they can be made, otherwise the literal with the fewest candidates.
  struct Step {
    std::uint16_t literal = 0;
    bool test = false;        // all arguments known by then
    std::uint16_t known = 0;  // otherwise: an argument known by then, kMaxArity if there is none
  };
  struct Plan {
    std::vector<Step> steps;
    std::vector<std::uint16_t> loose;  // variables that no literal gives a value
    std::vector<std::uint16_t> late;   // tests that wait for those
  };

  Plan make_plan(const Form& form, std::int32_t trigger) const {
    const std::vector<Literal>& literals = form.conjunction->literals;
    std::vector<bool> bound(form.formula->variables.size(), false);
    std::vector<bool> done(literals.size(), false);
    const auto known = [&](const Term& term) { return !term.variable || bound[term.index]; };
    const auto unknown = [&](const Literal& literal) {
      return std::count_if(literal.args.begin(), literal.args.begin() + literal.arity,
                           [&](const Term& term) { return !known(term); });
    };
    const auto take = [&](std::size_t index) {
      done[index] = true;
      for (std::size_t i = 0; i < literals[index].arity; ++i) {
        if (literals[index].args[i].variable) bound[literals[index].args[i].index] = true;
      }
    };
    if (trigger >= 0) take(static_cast<std::size_t>(trigger));
    Plan plan;
    while (true) {
      std::size_t best = literals.size();
      std::size_t best_cost = SIZE_MAX;
      for (std::size_t i = 0; i < literals.size(); ++i) {
        if (done[i]) continue;
        const auto free = unknown(literals[i]);
        if (free > 0 && (literals[i].predicate == kEquality || !literals[i].positive)) continue;
        std::size_t cost = 0;
        if (free > 0) {
          const auto predicate = static_cast<std::uint16_t>(literals[i].predicate);
          cost = store_.of(predicate).size() + 1000;
          for (std::size_t k = 0; k < literals[i].arity; ++k) {
            if (known(literals[i].args[k])) cost = std::min(cost, store_.fan_out(predicate, k));
          }
        }
        if (cost < best_cost) {
          best = i;
          best_cost = cost;
        }
      }
      if (best == literals.size()) break;
      Step step{static_cast<std::uint16_t>(best), best_cost == 0, kMaxArity};
      std::size_t least = SIZE_MAX;
      for (std::uint16_t i = 0; i < literals[best].arity && !step.test; ++i) {
        if (!known(literals[best].args[i])) continue;
        const std::size_t fan_out = store_.fan_out(static_cast<std::uint16_t>(literals[best].predicate), i);
        if (fan_out < least) step.known = i;
        least = std::min(least, fan_out);
      }
      plan.steps.push_back(step);
      take(best);
    }
    for (const std::uint16_t variable : form.variables) {
      if (!bound[variable]) plan.loose.push_back(variable);
    }
    for (std::size_t i = 0; i < literals.size(); ++i) {
      if (!done[i]) plan.late.push_back(static_cast<std::uint16_t>(i));
    }
    return plan;
  }

  Status match(std::uint32_t f, std::int32_t trigger, std::int32_t fact) {
    const Form& form = forms_[f];
    Binding binding;
    binding.fill(kNone);
    trigger_ = trigger;
    trigger_fact_ = fact;
    if (trigger >= 0) {
      const Literal& literal = form.conjunction->literals[static_cast<std::size_t>(trigger)];
      if (!unify(form, literal, store_[fact].args, binding)) return {};
    }
    std::vector<std::optional<Plan>>& plans = plans_[f];
    plans.resize(form.conjunction->literals.size() + 1);
    std::optional<Plan>& plan = plans[static_cast<std::size_t>(trigger + 1)];
    if (!plan) plan = make_plan(form, trigger);
    plan_ = &*plan;
    return join(f, 0, binding);
  }

  bool type_fits(const Form& form, std::size_t variable, Id constant) const {
    const std::int16_t type = form.formula->variables[variable].type;
    return type == kAnyType || problem_.constants[constant].type == type;
  }

  bool unify(const Form& form, const Literal& literal, const Args& args, Binding& binding) const {
    for (std::size_t i = 0; i < literal.arity; ++i) {
      const Term& term = literal.args[i];
      const Id now = value(form, binding, term);
      if (now == args[i]) continue;
      if (!term.variable || now != kNone || !type_fits(form, term.index, args[i])) return false;
      binding[term.index] = args[i];
    }
    return true;
  }

  Status join(std::uint32_t f, std::size_t at, Binding& binding) {
    if (++work_ > kMaxWork) return unsupported("the game is too large to ground");
    for (; at < plan_->steps.size(); ++at) {
      const Step& step = plan_->steps[at];
      if (!step.test) return extend(f, at, binding);
      if (!passes(forms_[f], binding, step.literal)) return {};
    }
    return fill(f, 0, binding);
  }

  // May this fact stand for literal `index`, given which fact set off the search?
  bool in_time(const Form& form, std::size_t index, std::int32_t fact) const {
    if (trigger_ < 0 || !changes(form.conjunction->literals[index])) return true;
    return static_cast<std::int32_t>(index) < trigger_ ? fact < trigger_fact_ : fact <= trigger_fact_;
  }

  bool passes(const Form& form, const Binding& binding, std::size_t index) const {
    const Literal& literal = form.conjunction->literals[index];
    if (!literal.positive && changes(literal)) return true;  // decided while playing
    Args args;
    const bool exists = resolve(form, binding, literal, args);
    if (literal.predicate == kEquality) return (args[0] == args[1]) == literal.positive;
    const std::int32_t fact = exists ? store_.find(static_cast<std::uint16_t>(literal.predicate), args) : -1;
    return (fact >= 0 && in_time(form, index, fact)) == literal.positive;
  }

  // One branch for each fact that fits the literal of step `at`.
  Status extend(std::uint32_t f, std::size_t at, Binding& binding) {
    const Form& form = forms_[f];
    const Step& step = plan_->steps[at];
    const Literal& literal = form.conjunction->literals[step.literal];
    const auto predicate = static_cast<std::uint16_t>(literal.predicate);
    const Binding before = binding;
    const auto attempt = [&](std::int32_t fact) -> Status {
      if (!in_time(form, step.literal, fact)) return {};
      const Args args = store_[fact].args;
      Status status = unify(form, literal, args, binding) ? join(f, at + 1, binding) : Status();
      binding = before;
      return status;
    };
    if (step.known < kMaxArity) {
      const Id known = value(form, binding, literal.args[step.known]);
      for (std::int32_t fact = store_.newest_with(predicate, step.known, known); fact >= 0;
           fact = store_[fact].next[step.known]) {
        if (Status status = attempt(fact); !status) return status;
      }
      return {};
    }
    const std::size_t count = store_.of(predicate).size();  // those added meanwhile come later by themselves
    for (std::size_t i = 0; i < count; ++i) {
      if (Status status = attempt(store_.of(predicate)[i]); !status) return status;
    }
    return {};
  }

  // Variables that no literal speaks of take every constant of their type.
  Status fill(std::uint32_t f, std::size_t at, Binding& binding) {
    if (++work_ > kMaxWork) return unsupported("the game is too large to ground");
    const Form& form = forms_[f];
    if (at < plan_->loose.size()) {
      const std::uint16_t variable = plan_->loose[at];
      for (std::size_t c = 0; c < problem_.constants.size(); ++c) {
        if (!type_fits(form, variable, static_cast<Id>(c))) continue;
        binding[variable] = static_cast<Id>(c);
        if (Status status = fill(f, at + 1, binding); !status) return status;
      }
      binding[variable] = kNone;
      return {};
    }
    for (const std::uint16_t literal : plan_->late) {
      if (!passes(form, binding, literal)) return {};
    }
    return collecting_goal_ ? add_goal_case(form, binding) : add_instance(f, binding);
  }

  // The original's planner drops an instance whose effects its own condition already implies.
  bool is_noop(const Form& form, const Binding& binding) const {
    const Action& action = domain_.actions[form.action];
    if (action.effects.empty()) return true;
    for (const Effect& effect : action.effects) {
      if (effect.conditional) return false;
      Args args;
      if (!resolve(form, binding, effect.change, args)) return false;
      bool implied = !effect.change.positive && adds(form, binding, effect.change.predicate, args);
      for (const Literal& literal : form.conjunction->literals) {
        if (implied) break;
        if (literal.predicate != effect.change.predicate || literal.positive != effect.change.positive)
          continue;
        Args other;
        implied = resolve(form, binding, literal, other) && other == args;
      }
      if (!implied) return false;
    }
    return true;
  }

  bool adds(const Form& form, const Binding& binding, std::int16_t predicate, const Args& args) const {
    for (const Effect& effect : domain_.actions[form.action].effects) {
      if (!effect.change.positive || effect.conditional || effect.change.predicate != predicate) continue;
      Args other;
      if (resolve(form, binding, effect.change, other) && other == args) return true;
    }
    return false;
  }

  Status add_instance(std::uint32_t f, const Binding& binding) {
    const Form& form = forms_[f];
    if (is_noop(form, binding)) return {};
    for (const Effect& effect : domain_.actions[form.action].effects) {
      if (!relevant_[static_cast<std::size_t>(effect.change.predicate)]) continue;
      Args args;
      if (!resolve(form, binding, effect.change, args)) return {};  // speaks of an object that does not exist
      if (!effect.change.positive) continue;
      const auto predicate = static_cast<std::uint16_t>(effect.change.predicate);
      store_.insert(predicate, arity(predicate), args);
      if (store_.size() > kMaxAtoms) return unsupported("more than 30000 facts can become true");
    }
    if (instances_.size() == kMaxInstances) return unsupported("more than 400000 ground actions");
    instances_.push_back({f, static_cast<std::uint32_t>(bindings_.size())});
    bindings_.insert(bindings_.end(), binding.begin(),
                     binding.begin() + static_cast<std::ptrdiff_t>(form.formula->variables.size()));
    return {};
  }

  // 2. Names: "drawer_bar_..." becomes "drawer 3", numbers dealt from high to low in identifier order.

  void name_constants() {
    const std::size_t count = problem_.constants.size();
    std::vector<bool> occurs(count, false);
    for (const Fact& fact : problem_.init) {
      for (std::size_t i = 0; i < arity(fact.predicate); ++i) occurs[fact.args[i]] = true;
    }
    constexpr std::string_view kBar = "_bar_";
    std::vector<std::string> bases(count);
    std::map<std::string, std::size_t, std::less<>> left;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string& id = problem_.constants[i].id;
      const std::size_t bar = id.find(kBar);
      if (!occurs[i] || bar == std::string::npos) continue;
      bases[i] = id.substr(0, bar);
      if (id.find("basin") != std::string::npos) bases[i] += "basin";
      ++left[bases[i]];
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::string& id = problem_.constants[i].id;
      game_.ids.add(id);
      game_.types.push_back(problem_.constants[i].type);
      if (id.find(kBar) == std::string::npos) {
        game_.names.add(id + " ");
      } else {
        game_.names.add(occurs[i] ? bases[i] + " " + std::to_string(left[bases[i]]--) : id);
      }
    }
  }

  // 3. Atoms.

  Status number_atoms() {
    std::vector<std::int32_t> changing, fixed;
    for (std::size_t i = 0; i < store_.size(); ++i) {
      const std::uint16_t predicate = store_[static_cast<std::int32_t>(i)].predicate;
      if (domain_.predicates[predicate].fluent) {
        changing.push_back(static_cast<std::int32_t>(i));
      } else if (std::binary_search(grammar_.reads.begin(), grammar_.reads.end(), predicate) ||
                 is_role(predicate)) {
        fixed.push_back(static_cast<std::int32_t>(i));
      }
    }
    const auto before = [this](std::int32_t a, std::int32_t b) {
      const FactStore::Entry& x = store_[a];
      const FactStore::Entry& y = store_[b];
      if (x.predicate != y.predicate) return x.predicate < y.predicate;
      for (std::size_t i = kMaxArity; i-- > 0;) {
        if (x.args[i] != y.args[i]) return x.args[i] < y.args[i];
      }
      return false;
    };
    std::sort(changing.begin(), changing.end(), before);
    std::sort(fixed.begin(), fixed.end(), before);
    AtomTable& atoms = game_.atoms;
    atoms.changing = static_cast<Id>(changing.size());
    atoms.range.resize(domain_.predicates.size());
    atom_of_.assign(store_.size(), kNone);
    std::size_t slots = 16;
    while (slots < (changing.size() + fixed.size()) * 4 / 3) slots *= 2;
    atoms.slots.assign(slots, kNone);
    for (const std::vector<std::int32_t>* part : {&changing, &fixed}) {
      for (const std::int32_t fact : *part) {
        const FactStore::Entry& entry = store_[fact];
        const Id atom = static_cast<Id>(atoms.args.size());
        AtomTable::Range& range = atoms.range[entry.predicate];
        if (range.first == range.last) range.first = atom;
        range.last = static_cast<Id>(atom + 1);
        atoms.args.push_back(entry.args);
        atom_of_[static_cast<std::size_t>(fact)] = atom;
        std::size_t at = spread(key_of(entry.predicate, entry.args)) & (slots - 1);
        while (atoms.slots[at] != kNone) at = (at + 1) & (slots - 1);
        atoms.slots[at] = atom;
      }
    }
    game_.removed_at.assign(domain_.predicates.size(), -1);
    game_.state_bits = changing.size();
    for (const std::uint16_t predicate : grammar_.reads_removed) {
      const AtomTable::Range range = atoms.range[predicate];
      if (!domain_.predicates[predicate].fluent || range.first == range.last) continue;
      // May be negative in sense but not in use: bits of this predicate follow those before.
      game_.removed_at[predicate] = static_cast<std::int32_t>(game_.state_bits) - range.first;
      game_.state_bits += static_cast<std::size_t>(range.last - range.first);
    }
    return {};
  }

  // Fixed facts that keys, details and the planner ask for, beside those of the texts.
  bool is_role(std::uint16_t predicate) const { return plays_a_role(domain_.predicates[predicate].name); }

  Id atom(std::int16_t predicate, const Args& args) const {
    const std::int32_t fact = store_.find(static_cast<std::uint16_t>(predicate), args);
    return fact < 0 ? kNone : atom_of_[static_cast<std::size_t>(fact)];
  }

  // 4. Rows.

  // The fact that pivots is the kind that most instances ask for: where the agent is.
  void choose_pivot() {
    std::vector<std::size_t> asked(domain_.predicates.size(), 0);
    for (const Instance& instance : instances_) {
      const Form& form = forms_[instance.form];
      for (const std::size_t index : form.changing) {
        if (pivot_literal(form, form.conjunction->literals[index].predicate) >= 0) {
          ++asked[static_cast<std::size_t>(form.conjunction->literals[index].predicate)];
        }
      }
    }
    const auto most = std::max_element(asked.begin(), asked.end());
    if (most == asked.end() || *most == 0) return note_forms();
    const auto predicate = static_cast<std::int16_t>(most - asked.begin());
    game_.pivots = game_.atoms.range[static_cast<std::size_t>(predicate)];
    for (Form& form : forms_) {
      form.pivot = pivot_literal(form, predicate);
      if (form.pivot >= 0 && !command_binds_[form.action]) find_holes(form);
    }
    note_forms();
  }

  void note_forms() {
    for (const Form& form : forms_) {
      RowForm out{static_cast<std::uint8_t>(form.action),
                  static_cast<std::uint8_t>(domain_.actions[form.action].parameters),
                  form.pivot >= 0,
                  {}};
      for (const std::uint16_t hole : form.holes) {
        const Literal& pivot = form.conjunction->literals[static_cast<std::size_t>(form.pivot)];
        for (std::size_t i = 0; i < pivot.arity; ++i) {
          if (pivot.args[i].variable && pivot.args[i].index == hole) {
            out.holes.push_back({static_cast<std::uint8_t>(hole), static_cast<std::uint8_t>(i)});
            break;
          }
        }
      }
      game_.forms.push_back(std::move(out));
    }
  }

  // The only positive literal of this predicate, or -1.
  std::int32_t pivot_literal(const Form& form, std::int16_t predicate) const {
    std::int32_t found = -1;
    for (const std::size_t index : form.changing) {
      if (form.conjunction->literals[index].predicate != predicate) continue;
      if (found >= 0) return -1;
      found = static_cast<std::int32_t>(index);
    }
    return found;
  }

  // Parameters that occur in the pivot literal and otherwise only in an effect that removes it.
  void find_holes(Form& form) const {
    const std::vector<Literal>& literals = form.conjunction->literals;
    const Literal& pivot = literals[static_cast<std::size_t>(form.pivot)];
    const auto mentions = [](const Literal& literal, std::size_t variable) {
      for (std::size_t i = 0; i < literal.arity; ++i) {
        if (literal.args[i].variable && literal.args[i].index == variable) return true;
      }
      return false;
    };
    for (std::size_t i = 0; i < pivot.arity; ++i) {
      if (!pivot.args[i].variable) continue;
      const std::uint16_t variable = pivot.args[i].index;
      bool hole =
          variable < domain_.actions[form.action].parameters && !command_mentions(form.action, variable);
      for (std::size_t k = 0; k < literals.size() && hole; ++k) {
        if (static_cast<std::int32_t>(k) != form.pivot && mentions(literals[k], variable)) hole = false;
      }
      for (const Effect& effect : domain_.actions[form.action].effects) {
        if (!hole) break;
        const bool matters = relevant_[static_cast<std::size_t>(effect.change.predicate)];
        if (!matters || !(mentions(effect.change, variable) ||
                          (effect.conditional && mentions(effect.condition, variable))))
          continue;
        Literal removed = effect.change;
        removed.positive = true;
        hole = !effect.conditional && !effect.change.positive && removed == pivot;
      }
      if (hole) form.holes.push_back(variable);
    }
  }

  bool command_mentions(std::size_t action, std::size_t variable) const {
    return command_uses_[action][grammar_.wordings[action].slots[variable]];
  }

  Binding binding_of(const Instance& instance) const {
    Binding binding;
    binding.fill(kNone);
    const std::size_t count = forms_[instance.form].formula->variables.size();
    std::copy_n(bindings_.begin() + instance.binding, count, binding.begin());
    return binding;
  }

  struct Group {  // instances that differ in their holes alone, and their command's text
    std::uint32_t first = 0, last = 0;  // into the order made by make_rows
    std::uint32_t text = 0, size = 0;
    std::array<std::uint64_t, 3> key{};  // the text's first bytes, comparable as numbers
    std::string_view view(const std::string& texts) const {
      return std::string_view(texts).substr(text, size);
    }
    void set_key(const std::string& texts) {
      for (std::size_t i = 0; i < 24; ++i) {
        const std::uint64_t byte = i < size ? static_cast<unsigned char>(texts[text + i]) : 0U;
        key[i / 8] |= byte << (56 - 8 * (i % 8));
      }
    }
  };

  Status make_rows() {
    // Instances that differ in their holes alone become one row; they are made neighbours first.
    std::vector<std::uint32_t> order(instances_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const Instance& x = instances_[a];
      const Instance& y = instances_[b];
      if (x.form != y.form) return x.form < y.form;
      return !forms_[x.form].holes.empty() && compare_masked(x, y) < 0;
    });
    std::vector<Group> groups;
    std::string texts;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      const Instance& now = instances_[order[i]];
      if (i > 0 && instances_[order[i - 1]].form == now.form && !forms_[now.form].holes.empty() &&
          compare_masked(instances_[order[i - 1]], now) == 0) {
        groups.back().last = i + 1;
        continue;
      }
      Group group{i, i + 1, static_cast<std::uint32_t>(texts.size()), 0, {}};
      spell(now, texts);
      group.size = static_cast<std::uint32_t>(texts.size()) - group.text;
      group.set_key(texts);
      groups.push_back(group);
    }
    if (groups.size() > kMaxRows) return unsupported("more than 30000 commands");
    std::sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
      if (a.key != b.key) return a.key < b.key;
      const int by_text = a.view(texts).compare(b.view(texts));
      return by_text != 0 ? by_text < 0 : a.first < b.first;
    });
    game_.row_words = (groups.size() + 63) / 64;
    game_.pivot_masks.assign(
        static_cast<std::size_t>(game_.pivots.last - game_.pivots.first) * game_.row_words, 0);
    game_.free_rows.assign(game_.row_words, 0);
    std::unordered_map<std::string_view, Id, ContainerHash> pieces;
    std::string_view last;
    for (std::uint32_t r = 0; r < groups.size(); ++r) {
      const Group& group = groups[r];
      const std::string_view text = group.view(texts);
      if (r == 0 || text != last) {
        if (Status status = add_command(text, static_cast<Id>(r), pieces); !status) return status;
        last = text;
      }
      const Instance& instance = instances_[order[group.first]];
      const Form& form = forms_[instance.form];
      const Binding binding = binding_of(instance);
      Row row{static_cast<std::uint32_t>(game_.codes.size()), static_cast<Id>(game_.command_count() - 1),
              static_cast<Id>(instance.form), 0, 0};
      for (std::uint16_t v = 0; v < domain_.actions[form.action].parameters; ++v) {
        const bool hole = std::find(form.holes.begin(), form.holes.end(), v) != form.holes.end();
        game_.codes.push_back(hole ? kNone : binding[v]);
      }
      const std::size_t before = game_.codes.size();
      add_literals(form, binding);
      const std::size_t literals = game_.codes.size() - before;
      add_effects(form, binding);
      const std::size_t effects = game_.codes.size() - before - literals;
      if (literals > 255 || effects > 255)
        return unsupported("an action with more than 255 conditions or effects");
      row.literals = static_cast<std::uint8_t>(literals);
      row.effects = static_cast<std::uint8_t>(effects);
      game_.rows.push_back(row);
      const std::uint64_t bit = std::uint64_t{1} << (r % 64);
      if (form.pivot < 0) game_.free_rows[r / 64] |= bit;
      for (std::uint32_t i = group.first; i < group.last && form.pivot >= 0; ++i) {
        Args args;
        const Literal& pivot = form.conjunction->literals[static_cast<std::size_t>(form.pivot)];
        resolve(form, binding_of(instances_[order[i]]), pivot, args);
        const std::size_t number = static_cast<std::size_t>(atom(pivot.predicate, args) - game_.pivots.first);
        game_.pivot_masks[number * game_.row_words + r / 64] |= bit;
      }
    }
    game_.command_rows.push_back(static_cast<Id>(groups.size()));
    return {};
  }

  // Order of two instances of one form with their holes left out.
  int compare_masked(const Instance& x, const Instance& y) const {
    const Form& form = forms_[x.form];
    for (std::uint16_t v = 0; v < form.formula->variables.size(); ++v) {
      if (std::find(form.holes.begin(), form.holes.end(), v) != form.holes.end()) continue;
      const int difference = int{bindings_[x.binding + v]} - int{bindings_[y.binding + v]};
      if (difference != 0) return difference;
    }
    return 0;
  }

  // Appends the text of the instance's command.
  void spell(const Instance& instance, std::string& out) const {
    const Form& form = forms_[instance.form];
    const Wording& wording = grammar_.wordings[form.action];
    Context context;
    for (std::uint16_t v = 0; v < wording.slots.size(); ++v) {
      const bool hole = std::find(form.holes.begin(), form.holes.end(), v) != form.holes.end();
      if (!hole) context.bind(wording.slots[v], bindings_[instance.binding + v]);
    }
    Narrator(game_, game_.start_bits.data()).expand(wording.command, context, out);
  }

  // Cut after the third word, where texts tend to repeat.
  Status add_command(std::string_view text, Id row,
                     std::unordered_map<std::string_view, Id, ContainerHash>& pieces) {
    std::size_t cut = text.find(' ');
    for (int words = 1; words < 3 && cut != std::string_view::npos; ++words) cut = text.find(' ', cut + 1);
    cut = std::min(cut, text.size());
    std::array<Id, 2> both{};
    for (const std::size_t side : {0, 1}) {
      const std::string_view piece = side == 0 ? text.substr(0, cut) : text.substr(cut);
      const auto [found, fresh] = pieces.emplace(piece, static_cast<Id>(game_.pieces.size()));
      if (fresh) game_.pieces.add(piece);
      both[side] = found->second;
    }
    if (game_.pieces.size() > 60000) return unsupported("more than 60000 different command texts");
    game_.command_pieces.push_back(both);
    game_.command_rows.push_back(row);
    return {};
  }

  void add_literals(const Form& form, const Binding& binding) {
    const std::size_t begin = game_.codes.size();
    for (std::size_t i = 0; i < form.conjunction->literals.size(); ++i) {
      const Literal& literal = form.conjunction->literals[i];
      if (static_cast<std::int32_t>(i) == form.pivot || !changes(literal)) continue;
      Args args;
      if (!resolve(form, binding, literal, args)) continue;  // negative, about an object that does not exist
      const Id number = atom(literal.predicate, args);
      if (number == kNone) continue;  // negative, about a fact that never holds
      const Id code = static_cast<Id>(number * 2 + (literal.positive ? 1 : 0));
      if (std::find(game_.codes.begin() + static_cast<std::ptrdiff_t>(begin), game_.codes.end(), code) ==
          game_.codes.end()) {
        game_.codes.push_back(code);
      }
    }
  }

  void add_effects(const Form& form, const Binding& binding) {
    for (const Effect& effect : domain_.actions[form.action].effects) {
      if (!relevant_[static_cast<std::size_t>(effect.change.predicate)]) continue;
      Literal removed = effect.change;
      removed.positive = true;
      if (!form.holes.empty() && !effect.change.positive && !effect.conditional &&
          removed == form.conjunction->literals[static_cast<std::size_t>(form.pivot)]) {
        game_.codes.push_back(kPivotRemoved);
        continue;
      }
      Args args;
      resolve(form, binding, effect.change, args);
      const Id number = atom(effect.change.predicate, args);
      if (number == kNone) continue;  // removes a fact that never holds
      if (effect.conditional && !add_condition(form, binding, effect.condition)) continue;
      game_.codes.push_back(static_cast<Id>(number * 2 + (effect.change.positive ? 1 : 0)));
    }
  }

  // False: the condition can never hold. Nothing is added when it always does.
  bool add_condition(const Form& form, const Binding& binding, const Literal& condition) {
    Args args;
    const bool exists = resolve(form, binding, condition, args);
    const std::int32_t fact =
        exists ? store_.find(static_cast<std::uint16_t>(condition.predicate), args) : -1;
    if (fact < 0) return !condition.positive;
    if (!changes(condition)) return condition.positive;
    game_.codes.push_back(kOnlyIf);
    game_.codes.push_back(
        static_cast<Id>(atom_of_[static_cast<std::size_t>(fact)] * 2 + (condition.positive ? 1 : 0)));
    return true;
  }

  // 5. Indexes over rows.

  void index_rows() {
    const std::size_t atoms = game_.atoms.changing;
    const std::size_t rows = game_.rows.size();
    std::vector<std::uint32_t> count(atoms + 1, 0);
    for (const Row& row : game_.rows) {
      for (const Id code : game_.literals(row)) ++count[code / 2];
    }
    std::vector<std::int32_t> wide_of(atoms, -1);
    for (std::size_t a = 0; a < atoms; ++a) {
      if (count[a] < kWideDependents) continue;
      wide_of[a] = static_cast<std::int32_t>(game_.wides.size());
      game_.wides.push_back({static_cast<Id>(a), std::vector<std::uint64_t>(game_.row_words, 0),
                             std::vector<std::uint64_t>(game_.row_words, 0)});
      count[a] = 0;
    }
    game_.dependents_at.assign(atoms + 1, 0);
    for (std::size_t a = 0; a < atoms; ++a) game_.dependents_at[a + 1] = game_.dependents_at[a] + count[a];
    game_.dependents.resize(game_.dependents_at[atoms]);
    std::vector<std::uint32_t> next(game_.dependents_at.begin(), game_.dependents_at.end());
    for (std::size_t r = 0; r < rows; ++r) {
      for (const Id code : game_.literals(game_.rows[r])) {
        const std::size_t a = code / 2;
        if (wide_of[a] >= 0) {
          Wide& wide = game_.wides[static_cast<std::size_t>(wide_of[a])];
          (code % 2 != 0 ? wide.need_true : wide.need_false)[r / 64] |= std::uint64_t{1} << (r % 64);
        } else {
          game_.dependents[next[a]++] = static_cast<Id>(r * 2 + code % 2);
        }
      }
    }
    std::size_t slots = 16;
    while (slots < game_.command_count() * 4 / 3) slots *= 2;
    game_.command_slots.assign(slots, kNone);
    for (std::size_t c = 0; c < game_.command_count(); ++c) {
      std::size_t at = ContainerHash()(game_.command(c).text()) & (slots - 1);
      while (game_.command_slots[at] != kNone) at = (at + 1) & (slots - 1);
      game_.command_slots[at] = static_cast<Id>(c);
    }
  }

  // 6. The goal, as ground cases over facts that can change.

  Status make_goal() {
    game_.goal_formula = problem_.goal;
    game_.goal_atoms.assign((game_.atoms.changing + 63U) / 64, 0);
    collecting_goal_ = true;
    plans_.assign(problem_.goal.cases.size(), {});
    std::vector<Form> forms;
    for (std::size_t c = 0; c < problem_.goal.cases.size(); ++c)
      forms.push_back(make_form(domain_.actions.size(), problem_.goal, c));
    std::swap(forms_, forms);
    for (std::uint32_t f = 0; f < forms_.size(); ++f) {
      if (!forms_[f].possible) continue;
      if (Status status = match(f, -1, -1); !status) return status;
    }
    std::swap(forms_, forms);
    std::sort(goal_cases_.begin(), goal_cases_.end());
    goal_cases_.erase(std::unique(goal_cases_.begin(), goal_cases_.end()), goal_cases_.end());
    for (const std::vector<Id>& one : goal_cases_) {
      game_.goal_at.push_back(static_cast<std::uint32_t>(game_.goal.size()));
      game_.goal.insert(game_.goal.end(), one.begin(), one.end());
      for (const Id code : one) game_.goal_atoms[code / 128] |= std::uint64_t{1} << (code / 2 % 64);
    }
    game_.goal_at.push_back(static_cast<std::uint32_t>(game_.goal.size()));
    return {};
  }

  Status add_goal_case(const Form& form, const Binding& binding) {
    std::vector<Id> codes;
    for (const Literal& literal : form.conjunction->literals) {
      if (!changes(literal)) continue;
      Args args;
      const Id number = resolve(form, binding, literal, args) ? atom(literal.predicate, args) : kNone;
      if (number == kNone && !literal.positive) continue;
      if (number == kNone) return {};
      codes.push_back(static_cast<Id>(number * 2 + (literal.positive ? 1 : 0)));
    }
    std::sort(codes.begin(), codes.end());
    codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
    goal_cases_.push_back(std::move(codes));
    return goal_cases_.size() > kMaxInstances ? unsupported("a goal with too many cases") : Status();
  }

  // 7. The state at reset.

  void start() {
    game_.start_bits.assign((game_.state_bits + 63) / 64 + 1,
                            0);  // one spare word: scans may look past the end
    for (const std::int32_t fact : initial_) {
      const Id number = atom_of_[static_cast<std::size_t>(fact)];
      if (number < game_.atoms.changing) game_.start_bits[number / 64] |= std::uint64_t{1} << (number % 64);
    }
    const std::size_t rows = game_.rows.size();
    game_.start_unmet.assign(rows, 0);
    game_.start_ready.assign(game_.row_words, 0);
    for (std::size_t a = 0; a < game_.atoms.changing; ++a) {
      const bool holds = (game_.start_bits[a / 64] >> (a % 64) & 1) != 0;
      for (std::uint32_t i = game_.dependents_at[a]; i < game_.dependents_at[a + 1]; ++i) {
        if ((game_.dependents[i] % 2 != 0) != holds) ++game_.start_unmet[game_.dependents[i] / 2];
      }
    }
    for (std::size_t r = 0; r < rows; ++r) {
      if (game_.start_unmet[r] == 0) game_.start_ready[r / 64] |= std::uint64_t{1} << (r % 64);
    }
    Context context;
    Narrator(game_, game_.start_bits.data()).expand(grammar_.intro, context, game_.start_text);
  }

  const Domain& domain_;
  const Grammar& grammar_;
  const Problem& problem_;
  const std::string& where_;
  Game& game_;
  FactStore store_;
  std::vector<bool> relevant_;
  std::vector<std::vector<bool>> command_uses_;  // by action and slot
  std::vector<bool> command_binds_;              // by action: the command's text looks for more objects
  std::vector<Form> forms_;
  std::vector<std::int32_t> initial_;
  std::vector<Instance> instances_;
  std::vector<Id> bindings_;
  std::vector<Id> atom_of_;  // by number in store_
  std::int32_t trigger_ = -1, trigger_fact_ = -1;
  std::vector<std::vector<std::optional<Plan>>> plans_;  // by form and trigger + 1
  const Plan* plan_ = nullptr;                           // of the search under way
  std::size_t work_ = 0;
  bool collecting_goal_ = false;
  std::vector<std::vector<Id>> goal_cases_;
};

}  // namespace

Id AtomTable::find(std::uint16_t predicate, std::size_t arity, const Args& wanted) const {
  Args padded{};
  for (std::size_t i = 0; i < arity; ++i) padded[i] = wanted[i];
  const Range in = range[predicate];
  std::size_t at = spread(key_of(predicate, padded)) & (slots.size() - 1);
  for (; slots[at] != kNone; at = (at + 1) & (slots.size() - 1)) {
    if (slots[at] >= in.first && slots[at] < in.last && args[slots[at]] == padded) return slots[at];
  }
  return kNone;
}

Status ground(const Rulebook& rules, const Problem& problem, const std::string& where, Game& game) {
  return Grounder(rules, problem, where, game).run();
}

}  // namespace lodestep::alfworld
