// From a problem to tables: which ground facts can ever hold, which actions can ever be carried out,
// how they are spelled and what they change.
#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "envs/alfworld_bridge/fact_store.h"
#include "envs/alfworld_bridge/form.h"
#include "envs/alfworld_bridge/game.h"
#include "envs/alfworld_bridge/instance_search.h"
#include "envs/alfworld_bridge/narrator.h"
#include "envs/alfworld_bridge/task_view.h"
#include "envs/environment.h"

namespace lodestep::alfworld {
namespace {

constexpr std::size_t kMaxAtoms = 30000;  // atoms and rows must fit the codes of game.h
constexpr std::size_t kMaxRows = 30000;
constexpr std::size_t kMaxInstances = 400000;
constexpr std::size_t kWideDependents = 128;  // from here on masks beat counters

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
      const Formula& precondition = domain_.actions[a].precondition;
      for (std::size_t c = 0; c < precondition.cases.size(); ++c)
        forms_.push_back(make_form(domain_, problem_, relevant_, a, precondition, c));
    }
    load_facts();
    if (Status status = find_instances(); !status) return status;
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
  struct Instance {
    std::uint32_t form = 0;
    std::uint32_t binding = 0;  // into bindings_
  };

  Error unsupported(const std::string& message) const {
    return {ErrorCode::kUnsupported, message, where_, ""};
  }
  std::size_t arity(std::size_t predicate) const { return domain_.predicates[predicate].arity; }
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

  void load_facts() {
    initial_.reserve(problem_.init.size());
    for (const Fact& fact : problem_.init) {
      if (!relevant_[fact.predicate]) continue;
      const auto [number, fresh] = store_.insert(fact.predicate, arity(fact.predicate), fact.args);
      if (fresh) initial_.push_back(number);
    }
  }

  // 1. Instances of actions.

  Status find_instances() {
    InstanceSearch search(problem_, store_, forms_, [this](std::uint32_t f, const Binding& binding) {
      return add_instance(f, binding);
    });
    const char* failure = search.reach();
    return failure == nullptr ? Status() : Status(unsupported(failure));
  }

  // Returns why there can be no more instances, or nullptr.
  const char* add_instance(std::uint32_t f, const Binding& binding) {
    const Form& form = forms_[f];
    if (is_noop(form, binding)) return nullptr;
    for (const Change& effect : form.changes) {
      if (!effect.relevant) continue;
      Args args;
      if (!resolve(binding, effect.change, args)) return nullptr;  // speaks of an object that does not exist
      if (!effect.change.positive) continue;
      const auto predicate = static_cast<std::uint16_t>(effect.change.predicate);
      store_.insert(predicate, arity(predicate), args);
      if (store_.size() > kMaxAtoms) return "more than 30000 facts can become true";
    }
    if (instances_.size() == kMaxInstances) return "more than 400000 ground actions";
    instances_.push_back({f, static_cast<std::uint32_t>(bindings_.size())});
    bindings_.insert(bindings_.end(), binding.begin(),
                     binding.begin() + static_cast<std::ptrdiff_t>(form.formula->variables.size()));
    return nullptr;
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
    // Sorted by predicate, last argument, ..., first argument: which is the order of the keys as numbers.
    std::vector<std::pair<std::uint64_t, std::int32_t>> changing, fixed;
    for (std::size_t i = 0; i < store_.size(); ++i) {
      const FactStore::Entry& entry = store_[static_cast<std::int32_t>(i)];
      std::vector<std::pair<std::uint64_t, std::int32_t>>* part = nullptr;
      if (domain_.predicates[entry.predicate].fluent) {
        part = &changing;
      } else if (std::binary_search(grammar_.reads.begin(), grammar_.reads.end(), entry.predicate) ||
                 is_role(entry.predicate)) {
        part = &fixed;
      }
      if (part != nullptr)
        part->emplace_back(fact_key(entry.predicate, entry.args), static_cast<std::int32_t>(i));
    }
    std::sort(changing.begin(), changing.end());
    std::sort(fixed.begin(), fixed.end());
    AtomTable& atoms = game_.atoms;
    atoms.changing = static_cast<Id>(changing.size());
    atoms.range.resize(domain_.predicates.size());
    atom_of_.assign(store_.size(), kNone);
    std::size_t slots = 16;
    while (slots < (changing.size() + fixed.size()) * 4 / 3) slots *= 2;
    atoms.slots.assign(slots, kNone);
    atoms.args.reserve(changing.size() + fixed.size());
    for (const auto* part : {&changing, &fixed}) {
      for (const auto& [key, fact] : *part) {
        const FactStore::Entry& entry = store_[fact];
        const Id atom = static_cast<Id>(atoms.args.size());
        AtomTable::Range& range = atoms.range[entry.predicate];
        if (range.first == range.last) range.first = atom;
        range.last = static_cast<Id>(atom + 1);
        atoms.args.push_back(entry.args);
        atom_of_[static_cast<std::size_t>(fact)] = atom;
        std::size_t at = spread(key) & (slots - 1);
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
    std::vector<std::size_t> used(forms_.size(), 0);
    for (const Instance& instance : instances_) ++used[instance.form];
    std::vector<std::size_t> asked(domain_.predicates.size(), 0);
    for (std::size_t f = 0; f < forms_.size(); ++f) {
      for (const Claim& claim : forms_[f].claims) {
        if (claim.positive && claim.changes && pivot_claim(forms_[f], claim.predicate) >= 0)
          asked[static_cast<std::size_t>(claim.predicate)] += used[f];
      }
    }
    const auto most = std::max_element(asked.begin(), asked.end());
    if (most == asked.end() || *most == 0) return note_forms();
    const auto predicate = static_cast<std::int16_t>(most - asked.begin());
    game_.pivots = game_.atoms.range[static_cast<std::size_t>(predicate)];
    for (Form& form : forms_) {
      form.pivot = pivot_claim(form, predicate);
      if (form.pivot >= 0 && !command_binds_[form.action]) find_holes(form);
    }
    note_forms();
  }

  void note_forms() {
    for (Form& form : forms_) {
      for (std::uint16_t v = 0; v < form.formula->variables.size(); ++v) {
        if (std::find(form.holes.begin(), form.holes.end(), v) == form.holes.end()) form.kept.push_back(v);
      }
      RowForm out{static_cast<std::uint8_t>(form.action),
                  static_cast<std::uint8_t>(domain_.actions[form.action].parameters),
                  form.pivot >= 0,
                  {}};
      for (const std::uint16_t hole : form.holes) {
        const Claim& pivot = form.claims[static_cast<std::size_t>(form.pivot)];
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

  // The only positive claim of this predicate, or -1.
  static std::int32_t pivot_claim(const Form& form, std::int16_t predicate) {
    std::int32_t found = -1;
    for (std::size_t i = 0; i < form.claims.size(); ++i) {
      if (!form.claims[i].positive || form.claims[i].predicate != predicate) continue;
      if (found >= 0) return -1;
      found = static_cast<std::int32_t>(i);
    }
    return found;
  }

  static bool same_fact(const Claim& a, const Claim& b) {
    if (a.predicate != b.predicate) return false;
    for (std::size_t i = 0; i < a.arity; ++i) {
      if (a.args[i].variable != b.args[i].variable || a.args[i].index != b.args[i].index) return false;
    }
    return true;
  }

  // Parameters that occur in the pivot claim and otherwise only in an effect that removes it.
  void find_holes(Form& form) const {
    const Claim& pivot = form.claims[static_cast<std::size_t>(form.pivot)];
    const auto mentions = [](const Claim& claim, std::size_t variable) {
      return std::any_of(claim.args.begin(), claim.args.begin() + claim.arity, [&](const Argument& argument) {
        return argument.variable && argument.index == variable;
      });
    };
    for (std::size_t i = 0; i < pivot.arity; ++i) {
      if (!pivot.args[i].variable) continue;
      const std::uint16_t variable = pivot.args[i].index;
      bool hole =
          variable < domain_.actions[form.action].parameters && !command_mentions(form.action, variable);
      for (std::size_t k = 0; k < form.claims.size() && hole; ++k) {
        if (static_cast<std::int32_t>(k) != form.pivot && mentions(form.claims[k], variable)) hole = false;
      }
      for (const Change& effect : form.changes) {
        if (!hole) break;
        if (!effect.relevant || !(mentions(effect.change, variable) ||
                                  (effect.conditional && mentions(effect.condition, variable))))
          continue;
        hole = !effect.conditional && !effect.change.positive && same_fact(effect.change, pivot);
      }
      if (hole && std::find(form.holes.begin(), form.holes.end(), variable) == form.holes.end())
        form.holes.push_back(variable);
    }
    if (form.holes.empty()) return;
    for (Change& effect : form.changes) {
      effect.removes_pivot =
          !effect.conditional && !effect.change.positive && same_fact(effect.change, pivot);
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

  struct Group {                        // instances that differ in their holes alone: one row
    std::uint32_t first = 0, last = 0;  // into the order made by group_instances
    std::uint32_t text = 0, size = 0;   // the command, in a common block of texts
    std::string_view view(const std::string& texts) const {
      return std::string_view(texts).substr(text, size);
    }
  };

  Status make_rows() {
    const std::vector<std::uint32_t> order = group_instances();
    std::vector<Group> groups;
    std::string texts;
    const Narrator narrator(game_, game_.start_bits.data());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      const Instance& now = instances_[order[i]];
      if (i > 0 && instances_[order[i - 1]].form == now.form && !forms_[now.form].holes.empty() &&
          compare_kept(instances_[order[i - 1]], now) == 0) {
        groups.back().last = i + 1;
        continue;
      }
      Group group{i, i + 1, static_cast<std::uint32_t>(texts.size()), 0};
      spell(narrator, now, texts);
      group.size = static_cast<std::uint32_t>(texts.size()) - group.text;
      groups.push_back(group);
    }
    if (groups.size() > kMaxRows) return unsupported("more than 30000 commands");
    number_commands(groups, texts);
    game_.row_words = (groups.size() + 63) / 64;
    game_.pivot_masks.assign(
        static_cast<std::size_t>(game_.pivots.last - game_.pivots.first) * game_.row_words, 0);
    game_.free_rows.assign(game_.row_words, 0);
    game_.rows.reserve(groups.size());
    game_.codes.reserve(groups.size() * 14);
    std::size_t command = 0;
    for (std::uint32_t r = 0; r < groups.size(); ++r) {
      const Group& group = groups[r];
      while (game_.command_rows[command + 1] <= r) ++command;
      const Instance& instance = instances_[order[group.first]];
      const Form& form = forms_[instance.form];
      Binding binding = binding_of(instance);
      for (const std::uint16_t hole : form.holes) binding[hole] = kNone;
      Row row{static_cast<std::uint32_t>(game_.codes.size()), static_cast<Id>(command),
              static_cast<Id>(instance.form), 0, 0};
      game_.codes.insert(
          game_.codes.end(), binding.begin(),
          binding.begin() + static_cast<std::ptrdiff_t>(domain_.actions[form.action].parameters));
      const std::size_t before = game_.codes.size();
      add_claims(form, binding);
      const std::size_t literals = game_.codes.size() - before;
      add_changes(form, binding);
      const std::size_t effects = game_.codes.size() - before - literals;
      if (literals > 255 || effects > 255)
        return unsupported("an action with more than 255 conditions or effects");
      row.literals = static_cast<std::uint8_t>(literals);
      row.effects = static_cast<std::uint8_t>(effects);
      game_.rows.push_back(row);
      const std::uint64_t bit = std::uint64_t{1} << (r % 64);
      if (form.pivot < 0) {
        game_.free_rows[r / 64] |= bit;
        continue;
      }
      const Claim& pivot = form.claims[static_cast<std::size_t>(form.pivot)];
      for (std::uint32_t i = group.first; i < group.last; ++i) {
        Args args{};
        for (std::size_t k = 0; k < pivot.arity; ++k) {
          args[k] = pivot.args[k].variable ? bindings_[instances_[order[i]].binding + pivot.args[k].index]
                                           : pivot.args[k].index;
        }
        const std::size_t number = static_cast<std::size_t>(atom(pivot.predicate, args) - game_.pivots.first);
        game_.pivot_masks[number * game_.row_words + r / 64] |= bit;
      }
    }
    return {};
  }

  // By form, in order of discovery; but instances that differ in their holes alone are neighbours.
  std::vector<std::uint32_t> group_instances() const {
    std::vector<std::uint32_t> begin(forms_.size() + 1, 0);
    for (const Instance& instance : instances_) ++begin[instance.form + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::uint32_t> order(instances_.size());
    std::vector<std::uint32_t> next = begin;
    for (std::uint32_t i = 0; i < instances_.size(); ++i) order[next[instances_[i].form]++] = i;
    for (std::size_t f = 0; f < forms_.size(); ++f) {
      if (forms_[f].holes.empty()) continue;
      std::stable_sort(order.begin() + begin[f], order.begin() + begin[f + 1],
                       [this](std::uint32_t a, std::uint32_t b) {
                         return compare_kept(instances_[a], instances_[b]) < 0;
                       });
    }
    return order;
  }

  // Order of two instances of one form with their holes left out.
  int compare_kept(const Instance& x, const Instance& y) const {
    for (const std::uint16_t v : forms_[x.form].kept) {
      const int difference = int{bindings_[x.binding + v]} - int{bindings_[y.binding + v]};
      if (difference != 0) return difference;
    }
    return 0;
  }

  // Appends the text of the instance's command.
  void spell(const Narrator& narrator, const Instance& instance, std::string& out) const {
    const Form& form = forms_[instance.form];
    const Wording& wording = grammar_.wordings[form.action];
    Context context;
    for (const std::uint16_t v : form.kept) {
      if (v < wording.slots.size()) context.bind(wording.slots[v], bindings_[instance.binding + v]);
    }
    narrator.expand(wording.command, context, out);
  }

  // Sorts the groups by their texts and numbers the commands. A text is cut before its third blank, where
  // texts tend to repeat; each piece is kept once. Sorting pairs of pieces sorts the texts, because nothing
  // sorts before the blank that a second piece begins with: a game with control characters is not cut.
  void number_commands(std::vector<Group>& groups, const std::string& texts) {
    unsigned controls = 0;
    for (const char c : texts) controls |= static_cast<unsigned>(static_cast<unsigned char>(c) < ' ');
    std::unordered_map<std::string_view, Id, ContainerHash> numbers;
    std::vector<std::string_view> pieces;
    std::vector<std::array<Id, 2>> pairs(groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const std::string_view text = groups[g].view(texts);
      std::size_t cut = controls == 0 ? text.find(' ') : text.size();
      for (int words = 1; words < 3 && cut < text.size(); ++words) cut = text.find(' ', cut + 1);
      cut = std::min(cut, text.size());
      for (const std::size_t side : {0, 1}) {
        const std::string_view piece = side == 0 ? text.substr(0, cut) : text.substr(cut);
        if (g > 0 && pieces[pairs[g - 1][side]] == piece) {  // as it often is
          pairs[g][side] = pairs[g - 1][side];
          continue;
        }
        const auto [found, fresh] = numbers.emplace(piece, static_cast<Id>(pieces.size()));
        if (fresh) pieces.push_back(piece);
        pairs[g][side] = found->second;
      }
    }
    std::vector<Id> sorted(pieces.size());
    std::iota(sorted.begin(), sorted.end(), Id{0});
    std::sort(sorted.begin(), sorted.end(), [&](Id a, Id b) { return pieces[a] < pieces[b]; });
    std::vector<Id> rank(pieces.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      rank[sorted[i]] = static_cast<Id>(i);
      game_.pieces.add(pieces[sorted[i]]);
    }
    std::vector<std::uint64_t> keys(groups.size());  // ranks of both pieces, then the group's number
    for (std::size_t g = 0; g < groups.size(); ++g)
      keys[g] = std::uint64_t{rank[pairs[g][0]]} << 48 | std::uint64_t{rank[pairs[g][1]]} << 32 | g;
    std::sort(keys.begin(), keys.end());
    std::vector<Group> unsorted(groups.size());
    std::swap(groups, unsorted);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      groups[i] = unsorted[keys[i] & 0xFFFFFFFF];
      if (i > 0 && keys[i] >> 32 == keys[i - 1] >> 32) continue;
      game_.command_pieces.push_back({static_cast<Id>(keys[i] >> 48), static_cast<Id>(keys[i] >> 32)});
      game_.command_rows.push_back(static_cast<Id>(i));
    }
    game_.command_rows.push_back(static_cast<Id>(groups.size()));
    std::size_t slots = 16;
    while (slots < game_.command_count() * 4 / 3) slots *= 2;
    game_.command_slots.assign(slots, kNone);
    for (std::size_t c = 0; c < game_.command_count(); ++c) {
      std::size_t at = ContainerHash()(groups[game_.command_rows[c]].view(texts)) & (slots - 1);
      while (game_.command_slots[at] != kNone) at = (at + 1) & (slots - 1);
      game_.command_slots[at] = static_cast<Id>(c);
    }
  }

  void add_claims(const Form& form, const Binding& binding) {
    const std::size_t begin = game_.codes.size();
    for (std::size_t i = 0; i < form.claims.size(); ++i) {
      const Claim& claim = form.claims[i];
      if (static_cast<std::int32_t>(i) == form.pivot || !claim.changes) continue;
      Args args;
      if (!resolve(binding, claim, args)) continue;  // negative, about an object that does not exist
      const Id number = atom(claim.predicate, args);
      if (number == kNone) continue;  // negative, about a fact that never holds
      const Id code = static_cast<Id>(number * 2 + (claim.positive ? 1 : 0));
      if (std::find(game_.codes.begin() + static_cast<std::ptrdiff_t>(begin), game_.codes.end(), code) ==
          game_.codes.end()) {
        game_.codes.push_back(code);
      }
    }
  }

  void add_changes(const Form& form, const Binding& binding) {
    for (const Change& effect : form.changes) {
      if (!effect.relevant) continue;
      if (effect.removes_pivot) {
        game_.codes.push_back(kPivotRemoved);
        continue;
      }
      Args args;
      resolve(binding, effect.change, args);
      const Id number = atom(effect.change.predicate, args);
      if (number == kNone) continue;  // removes a fact that never holds
      if (effect.conditional && !add_condition(binding, effect.condition)) continue;
      game_.codes.push_back(static_cast<Id>(number * 2 + (effect.change.positive ? 1 : 0)));
    }
  }

  // False: the condition can never hold. Nothing is added when it always does.
  bool add_condition(const Binding& binding, const Claim& condition) {
    Args args;
    const bool exists = resolve(binding, condition, args);
    const std::int32_t fact =
        exists ? store_.find(static_cast<std::uint16_t>(condition.predicate), args) : -1;
    if (fact < 0) return !condition.positive;
    if (!condition.changes) return condition.positive;
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
  }

  // 6. The goal, as ground cases over facts that can change.

  Status make_goal() {
    game_.goal_formula = problem_.goal;
    game_.goal_atoms.assign((game_.atoms.changing + 63U) / 64, 0);
    std::vector<Form> forms;
    for (std::size_t c = 0; c < problem_.goal.cases.size(); ++c)
      forms.push_back(make_form(domain_, problem_, relevant_, domain_.actions.size(), problem_.goal, c));
    InstanceSearch search(problem_, store_, forms, [&](std::uint32_t f, const Binding& binding) {
      return add_goal_case(forms[f], binding);
    });
    if (const char* failure = search.match_all()) return unsupported(failure);
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

  // Returns why there can be no more cases, or nullptr.
  const char* add_goal_case(const Form& form, const Binding& binding) {
    std::vector<Id> codes;
    for (const Claim& claim : form.claims) {
      if (!claim.changes) continue;
      Args args;
      const Id number = resolve(binding, claim, args) ? atom(claim.predicate, args) : kNone;
      if (number == kNone && !claim.positive) continue;
      if (number == kNone) return nullptr;
      codes.push_back(static_cast<Id>(number * 2 + (claim.positive ? 1 : 0)));
    }
    std::sort(codes.begin(), codes.end());
    codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
    goal_cases_.push_back(std::move(codes));
    return goal_cases_.size() <= kMaxInstances ? nullptr : "a goal with too many cases";
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
  std::vector<std::vector<Id>> goal_cases_;
};

}  // namespace

Id AtomTable::find(std::uint16_t predicate, std::size_t arity, const Args& wanted) const {
  Args padded{};
  for (std::size_t i = 0; i < arity; ++i) padded[i] = wanted[i];
  const Range in = range[predicate];
  std::size_t at = spread(fact_key(predicate, padded)) & (slots.size() - 1);
  for (; slots[at] != kNone; at = (at + 1) & (slots.size() - 1)) {
    if (slots[at] >= in.first && slots[at] < in.last && args[slots[at]] == padded) return slots[at];
  }
  return kNone;
}

Status ground(const Rulebook& rules, const Problem& problem, const std::string& where, Game& game) {
  try {
    return Grounder(rules, problem, where, game).run();
  } catch (
      const EnvironmentFailure& failure) {  // of the narrator, while it spells commands and the first text
    return Error{ErrorCode::kUnsupported, failure.what(), where, ""};
  }
}

}  // namespace lodestep::alfworld
