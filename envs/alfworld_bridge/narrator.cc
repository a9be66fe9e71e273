#include "envs/alfworld_bridge/narrator.h"

#include <algorithm>

#include "base/check.h"
#include "envs/environment.h"

namespace lodestep::alfworld {

void Narrator::spend(std::size_t work) const {
  if (work > left_)
    throw EnvironmentFailure(
        "the game's grammar makes a text that is too long, or looks at too many facts for it");
  left_ -= work;
}

bool Narrator::holds(Id atom) const {
  return atom >= game_.atoms.changing || (bits_[atom / 64] >> (atom % 64) & 1) != 0;
}

bool Narrator::removed(std::uint16_t predicate, Id atom) const {
  if (game_.removed_at[predicate] < 0) return false;
  const std::size_t bit = atom + static_cast<std::size_t>(game_.removed_at[predicate]);
  return (bits_[bit / 64] >> (bit % 64) & 1) != 0;
}

// Extends the context by this fact if it is true and fits, and goes on to the next atom of the query.
template <typename Visit>
bool Narrator::answer_with(const Query& query, std::size_t index, Id atom, Context& context,
                           Visit& visit) const {
  spend(1);
  const QueryAtom& wanted = query[index];
  if (wanted.removed ? !removed(static_cast<std::uint16_t>(wanted.predicate), atom) : !holds(atom))
    return false;
  const Args& args = game_.atoms.args[atom];
  const std::uint64_t before = context.bound;
  bool fits = true;
  for (std::size_t i = 0; i < wanted.arity && fits; ++i) {
    const std::uint8_t slot = wanted.slots[i];
    if (context.has(slot)) {
      fits = context.value[slot] == args[i];
      continue;
    }
    // A new placeholder takes a constant of exactly its type that no other placeholder has.
    fits = game_.types[args[i]] == grammar_.slots[slot].type;
    for (std::uint64_t left = context.bound; left != 0 && fits; left &= left - 1) {
      fits = context.value[static_cast<std::size_t>(__builtin_ctzll(left))] != args[i];
    }
    if (fits) context.bind(slot, args[i]);
  }
  const bool stop = fits && answers(query, index + 1, context, visit);
  context.bound = before;
  return stop;
}

// Calls visit for each answer, in the original's order: nested loops over the facts of each atom,
// sorted by their arguments. True: visit asked to stop.
template <typename Visit>
bool Narrator::answers(const Query& query, std::size_t index, Context& context, Visit& visit) const {
  if (index == query.size()) return visit();
  const QueryAtom& wanted = query[index];
  if (wanted.predicate < 0) return false;
  const auto predicate = static_cast<std::uint16_t>(wanted.predicate);
  AtomTable::Range range = game_.atoms.range[predicate];
  const std::vector<Args>& args = game_.atoms.args;
  std::size_t bound = 0;
  for (std::size_t i = 0; i < wanted.arity; ++i) bound += context.has(wanted.slots[i]) ? 1 : 0;
  if (bound == wanted.arity) {
    Args exact{};
    for (std::size_t i = 0; i < wanted.arity; ++i) exact[i] = context.value[wanted.slots[i]];
    const Id atom = game_.atoms.find(predicate, wanted.arity, exact);
    return atom != kNone && answer_with(query, index, atom, context, visit);
  }
  const std::size_t last = wanted.arity - 1U;
  if (context.has(wanted.slots[last])) {  // the facts with this last argument are neighbours
    const Id value = context.value[wanted.slots[last]];
    const auto begin = args.begin() + range.first, end = args.begin() + range.last;
    range.first = static_cast<Id>(
        std::partition_point(begin, end, [&](const Args& a) { return a[last] < value; }) - args.begin());
    range.last = static_cast<Id>(std::partition_point(args.begin() + range.first, end,
                                                      [&](const Args& a) { return a[last] <= value; }) -
                                 args.begin());
  }
  // Table order is sorted order as long as at most one argument is free.
  if (bound + 1 == wanted.arity) {
    if (range.first < game_.atoms.changing && !wanted.removed) {
      for (Id atom = range.first; atom < range.last; ++atom) {
        const std::uint64_t word = bits_[atom / 64] >> (atom % 64);
        if (word == 0) {
          atom = static_cast<Id>(atom | 63);
          continue;
        }
        atom = static_cast<Id>(atom + __builtin_ctzll(word));
        if (atom >= range.last) break;
        if (answer_with(query, index, atom, context, visit)) return true;
      }
      return false;
    }
    for (Id atom = range.first; atom < range.last; ++atom) {
      if (answer_with(query, index, atom, context, visit)) return true;
    }
    return false;
  }
  spend(static_cast<std::size_t>(range.last - range.first));
  std::vector<Id> sorted;
  for (Id atom = range.first; atom < range.last; ++atom) {
    if (wanted.removed ? removed(predicate, atom) : holds(atom)) sorted.push_back(atom);
  }
  std::sort(sorted.begin(), sorted.end(), [&](Id a, Id b) { return args[a] < args[b]; });
  return std::any_of(sorted.begin(), sorted.end(),
                     [&](Id atom) { return answer_with(query, index, atom, context, visit); });
}

bool Narrator::any_answer(const Query& query, Context& context) const {
  const auto stop = [] { return true; };
  return answers(query, 0, context, stop);
}

void Narrator::put_value(const Symbol& symbol, const Context& context, std::string& out) const {
  const std::size_t begin = out.size();
  spend(1);
  for (const Sum& sum : symbol.choices) {
    for (const Part& part : sum) {
      if (part.kind == Part::Kind::kText) {
        out += part.text;
        continue;
      }
      for (const std::uint8_t slot : part.slots) {
        if (!context.has(slot)) continue;
        const Id constant = context.value[slot];
        out += part.kind == Part::Kind::kId ? game_.ids[constant] : game_.names[constant];
        break;
      }
    }
    if (out.size() > begin) return spend(out.size() - begin);
  }
}

void Narrator::put(const Symbol& symbol, Context& context, std::string& out) const {
  const auto one = [&] {
    if (symbol.kind == Symbol::Kind::kRule) {
      expand(symbol.rule, context, out);
    } else {
      put_value(symbol, context, out);
    }
  };
  if (symbol.kind == Symbol::Kind::kText) {
    spend(symbol.text.size());
    out += symbol.text;
  } else if (symbol.kind == Symbol::Kind::kTask) {
    out += game_.task_text;
  } else if (!symbol.queried) {
    one();
  } else {
    std::size_t count = 0;
    std::size_t separator = 0;  // where the last one begins, and how long it is
    std::size_t length = 0;
    const auto visit = [&] {
      if (symbol.list && count > 0) {
        separator = out.size();
        expand(grammar_.list_separator, context, out);
        length = out.size() - separator;
      }
      one();
      ++count;
      return false;
    };
    answers(symbol.query, 0, context, visit);
    if (!symbol.list) return;
    if (count == 0) expand(grammar_.list_empty, context, out);
    if (count > 1) {
      std::string last;
      expand(grammar_.list_last_separator, context, last);
      out.replace(separator, length, last);
    }
  }
}

void Narrator::expand(std::uint16_t rule, Context& context, std::string& out) const {
  spend(1);
  for (const Alternative& alternative : grammar_.rules[rule].alternatives) {
    if (alternative.conditional && !any_answer(alternative.condition, context)) continue;
    for (const Symbol& symbol : alternative.symbols) put(symbol, context, out);
    return;
  }
  LODESTEP_CHECK(false, grammar_.rules[rule].name);  // parse_grammar sees to a last resort
}

}  // namespace lodestep::alfworld
