#include "envs/alfworld_bridge/task_view.h"

#include <algorithm>

#include "base/text.h"

namespace lodestep::alfworld {
namespace {

// Names of ALFWorld's domain, then those of our own household games.
struct RoleNames {
  std::string_view original, ours;
};
constexpr RoleNames kAt{"atlocation", "stands_at"}, kStands{"receptacleatlocation", "placed_at"},
    kIn{"inreceptacle", "lies_in"}, kHolds{"holds", "carries"}, kOpened{"opened", "ajar"},
    kOpenable{"openable", "has_door"}, kKind{"objecttype", "thing_kind"},
    kSort{"receptacletype", "furniture_kind"}, kUsed{"istoggled", "was_lit"}, kClean{"isclean", "washed"},
    kHot{"ishot", "warm"}, kCool{"iscool", "chilled"}, kSliced{"issliced", "cut_up"};
constexpr RoleNames kFixed[] = {kStands, kOpenable, kKind, kSort};

std::int16_t find(const Domain& domain, RoleNames names) {
  const std::int16_t original = domain.find_predicate(names.original);
  return original >= 0 ? original : domain.find_predicate(names.ours);
}

std::string name_of(const Game& game, Id constant) { return std::string(trim(game.names[constant])); }

}  // namespace

bool plays_a_role(std::string_view predicate) {
  return std::any_of(std::begin(kFixed), std::end(kFixed),
                     [&](RoleNames names) { return predicate == names.original || predicate == names.ours; });
}

TaskView::TaskView(std::shared_ptr<const Game> game) : game_(std::move(game)) {
  const Domain& domain = game_->rules->domain;
  roles_ = {find(domain, kAt),    find(domain, kStands), find(domain, kIn),
            find(domain, kHolds), find(domain, kOpened), find(domain, kOpenable),
            find(domain, kKind),  find(domain, kSort),   find(domain, kUsed)};
  const auto fits = [&](std::int16_t predicate, std::size_t arity, bool fluent) {
    return predicate >= 0 && domain.predicates[static_cast<std::size_t>(predicate)].arity == arity &&
           domain.predicates[static_cast<std::size_t>(predicate)].fluent == fluent;
  };
  known_ = fits(roles_.at, 2, true) && fits(roles_.stands, 2, false) && fits(roles_.in, 2, true) &&
           fits(roles_.holds, 2, true) && fits(roles_.opened, 1, true) && fits(roles_.openable, 1, false) &&
           fits(roles_.kind, 2, false) && fits(roles_.sort, 2, false);
  find_put_form();
  if (!known_) return;
  for (const auto& [name, names] : {std::pair<const char*, RoleNames>{"hot", kHot},
                                    {"cool", kCool},
                                    {"clean", kClean},
                                    {"sliced", kSliced}}) {
    const std::int16_t predicate = find(domain, names);
    if (fits(predicate, 1, true)) statuses_.push_back({name, predicate, false, {}});
  }
  if (!fits(roles_.used, 1, true)) roles_.used = -1;
  find_goal();
  find_tools();
  find_put_places();
}

// Reads the goal's shape: things of a kind, perhaps in a status, in furniture of a sort, held, or used.
void TaskView::find_goal() {
  const Formula& goal = game_->goal_formula;
  if (goal.cases.empty()) return;
  std::vector<std::uint16_t> delivered, targets, held, used;
  const auto add = [](std::vector<std::uint16_t>& list, const Term& term) {
    if (term.variable && std::find(list.begin(), list.end(), term.index) == list.end())
      list.push_back(term.index);
  };
  const std::vector<Literal>& literals = goal.cases[0].literals;
  for (const Literal& literal : literals) {
    if (!literal.positive) continue;
    if (literal.predicate == roles_.holds) add(held, literal.args[1]);
    if (literal.predicate == roles_.used && roles_.used >= 0) add(used, literal.args[0]);
  }
  for (const Literal& literal : literals) {
    if (!literal.positive || literal.predicate != roles_.in) continue;
    if (std::find(used.begin(), used.end(), literal.args[0].index) != used.end())
      continue;  // where the lamp stands
    add(delivered, literal.args[0]);
    add(targets, literal.args[1]);
  }
  wanted_ = delivered.size();
  const auto of_kind = [&](std::int16_t predicate, const std::vector<std::uint16_t>& variables) {
    std::vector<Id> found;
    for (const Literal& literal : literals) {
      if (!literal.positive || literal.predicate != predicate || !literal.args[0].variable ||
          literal.args[1].variable)
        continue;
      if (std::find(variables.begin(), variables.end(), literal.args[0].index) == variables.end()) continue;
      const std::string& kind = goal.constants[literal.args[1].index];
      const AtomTable::Range range = game_->atoms.range[static_cast<std::size_t>(predicate)];
      for (Id atom = range.first; atom < range.last; ++atom) {
        if (game_->ids[game_->atoms.args[atom][1]] == kind) found.push_back(game_->atoms.args[atom][0]);
      }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  };
  std::vector<std::uint16_t> wanted = delivered;
  wanted.insert(wanted.end(), held.begin(), held.end());
  objects_ = of_kind(roles_.kind, wanted);
  receptacles_ = of_kind(roles_.sort, targets);
  lamps_ = of_kind(roles_.kind, used);
  std::string status;
  for (Status& one : statuses_) {
    for (const Literal& literal : literals) {
      if (literal.positive && literal.predicate == one.predicate && literal.args[0].variable &&
          std::find(wanted.begin(), wanted.end(), literal.args[0].index) != wanted.end()) {
        one.required = true;
        status = one.name;
      }
    }
  }
  if (!used.empty() && !held.empty()) kind_ = "look_at_obj_in_light";
  if (wanted_ == 2) kind_ = "pick_two_obj_and_place";
  if (wanted_ == 1) {
    kind_ = status == "hot"     ? "pick_heat_then_place_in_recep"
            : status == "cool"  ? "pick_cool_then_place_in_recep"
            : status == "clean" ? "pick_clean_then_place_in_recep"
            : status.empty()    ? "pick_and_place_simple"
                                : "other";
  }
}

// A location where some row that adds the status for a goal object starts.
void TaskView::find_tools() {
  const Game& game = *game_;
  for (Status& status : statuses_) {
    if (!status.required) continue;
    const AtomTable::Range range = game.atoms.range[static_cast<std::size_t>(status.predicate)];
    for (std::size_t r = 0; r < game.rows.size(); ++r) {
      for (const Id code : game.effects(game.rows[r])) {
        if (code >= kOnlyIf || code % 2 == 0 || code / 2 < range.first || code / 2 >= range.last) continue;
        if (std::find(objects_.begin(), objects_.end(), game.atoms.args[code / 2][0]) == objects_.end())
          continue;
        const std::vector<Id> places = places_of(r);
        status.tools.insert(status.tools.end(), places.begin(), places.end());
      }
    }
    std::sort(status.tools.begin(), status.tools.end());
    status.tools.erase(std::unique(status.tools.begin(), status.tools.end()), status.tools.end());
  }
}

std::vector<Id> TaskView::places_of(std::size_t row) const {
  const Game& game = *game_;
  std::vector<Id> places;
  for (Id pivot = game.pivots.first; pivot < game.pivots.last; ++pivot) {
    const std::uint64_t* mask =
        &game.pivot_masks[static_cast<std::size_t>(pivot - game.pivots.first) * game.row_words];
    if ((mask[row / 64] >> (row % 64) & 1) != 0) places.push_back(game.atoms.args[pivot][1]);
  }
  return places;
}

void TaskView::find_put_places() {
  const Game& game = *game_;
  const AtomTable::Range range = game.atoms.range[static_cast<std::size_t>(roles_.holds)];
  for (std::size_t r = 0; r < game.rows.size(); ++r) {
    for (const Id code : game.effects(game.rows[r])) {
      if (code >= kOnlyIf || code % 2 != 0 || code / 2 < range.first || code / 2 >= range.last) continue;
      const Id object = game.atoms.args[code / 2][1];
      auto found = std::find_if(put_places_.begin(), put_places_.end(),
                                [&](const auto& one) { return one.first == object; });
      if (found == put_places_.end()) found = put_places_.insert(put_places_.end(), {object, {}});
      for (const Id place : places_of(r)) {
        if (std::find(found->second.begin(), found->second.end(), place) == found->second.end())
          found->second.push_back(place);
      }
    }
  }
}

const std::vector<Id>& TaskView::put_places(Id object) const {
  static const std::vector<Id> nowhere;
  const auto found = std::find_if(put_places_.begin(), put_places_.end(),
                                  [&](const auto& one) { return one.first == object; });
  return found == put_places_.end() ? nowhere : found->second;
}

void TaskView::find_put_form() {
  const Rulebook& rules = *game_->rules;
  for (std::size_t a = 0; a < rules.domain.actions.size(); ++a) {
    bool frees = false;
    bool puts = false;
    for (const Effect& effect : rules.domain.actions[a].effects) {
      frees = frees || (!effect.change.positive && effect.change.predicate == roles_.holds);
      puts = puts || (effect.change.positive && effect.change.predicate == roles_.in);
    }
    if (!frees || !puts) continue;
    for (const Symbol& symbol :
         rules.grammar.rules[rules.grammar.wordings[a].command].alternatives[0].symbols) {
      put_form_ += symbol.text;
      if (symbol.kind != Symbol::Kind::kValue) continue;
      for (const Part& part : symbol.choices[0]) {
        put_form_ += part.slots.empty() ? part.text : "{" + rules.grammar.slots[part.slots[0]].name + "}";
      }
    }
    return;
  }
}

Id TaskView::location(const World& world) const {
  if (roles_.at < 0) return kNone;
  const AtomTable::Range range = game_->atoms.range[static_cast<std::size_t>(roles_.at)];
  for (Id atom = range.first; atom < range.last; ++atom) {
    if (world.holds(atom)) return game_->atoms.args[atom][1];
  }
  return kNone;
}

std::vector<Id> TaskView::receptacles_at(Id location) const {
  std::vector<Id> found;
  if (roles_.stands < 0) return found;
  const AtomTable::Range range = game_->atoms.range[static_cast<std::size_t>(roles_.stands)];
  for (Id atom = range.first; atom < range.last; ++atom) {
    if (game_->atoms.args[atom][1] == location) found.push_back(game_->atoms.args[atom][0]);
  }
  std::sort(found.begin(), found.end(), [this](Id a, Id b) { return game_->names[a] < game_->names[b]; });
  return found;
}

Id TaskView::location_of(Id receptacle) const {
  const AtomTable::Range range = game_->atoms.range[static_cast<std::size_t>(roles_.stands)];
  for (Id atom = range.first; atom < range.last; ++atom) {
    if (game_->atoms.args[atom][0] == receptacle) return game_->atoms.args[atom][1];
  }
  return kNone;
}

std::vector<Id> TaskView::holders(const World& world, Id object) const {
  std::vector<Id> found;
  const AtomTable::Range range = game_->atoms.range[static_cast<std::size_t>(roles_.in)];
  for (Id atom = range.first; atom < range.last; ++atom) {
    if (game_->atoms.args[atom][0] == object && world.holds(atom))
      found.push_back(game_->atoms.args[atom][1]);
  }
  return found;
}

Id TaskView::held(const World& world) const {
  if (roles_.holds < 0) return kNone;
  const AtomTable::Range range = game_->atoms.range[static_cast<std::size_t>(roles_.holds)];
  for (Id atom = range.first; atom < range.last; ++atom) {
    if (world.holds(atom)) return game_->atoms.args[atom][1];
  }
  return kNone;
}

bool TaskView::has(const World& world, std::int16_t predicate, Id object) const {
  const Id atom = game_->atoms.find(static_cast<std::uint16_t>(predicate), 1, {object, 0, 0});
  return atom != kNone && world.holds(atom);
}

bool TaskView::is_in(const World& world, Id object, Id receptacle) const {
  const Id atom = game_->atoms.find(static_cast<std::uint16_t>(roles_.in), 2, {object, receptacle, 0});
  return atom != kNone && world.holds(atom);
}

bool TaskView::is_closed(const World& world, Id receptacle) const {
  return has(world, roles_.openable, receptacle) && !has(world, roles_.opened, receptacle);
}

bool TaskView::is_ready(const World& world, Id object) const {
  return std::all_of(statuses_.begin(), statuses_.end(),
                     [&](const Status& s) { return !s.required || has(world, s.predicate, object); });
}

bool TaskView::is_used(const World& world, Id lamp) const {
  return roles_.used >= 0 && has(world, roles_.used, lamp);
}

// What differs from the start, which names the state as well as all facts would.
std::string TaskView::exact(const World& world) const {
  const Game& game = *game_;
  const std::vector<Predicate>& predicates = game.rules->domain.predicates;
  std::string added, gone, removed;
  for (std::size_t p = 0; p < predicates.size(); ++p) {
    const AtomTable::Range range = game.atoms.range[p];
    for (Id atom = range.first; atom < range.last && atom < game.atoms.changing; ++atom) {
      const bool now = world.holds(atom);
      const bool before = (game.start_bits[atom / 64] >> (atom % 64) & 1) != 0;
      bool marked = false;
      if (game.removed_at[p] >= 0) {
        const std::size_t mark = atom + static_cast<std::size_t>(game.removed_at[p]);
        marked = (world.bits()[mark / 64] >> (mark % 64) & 1) != 0;
      }
      if (now == before && !marked) continue;
      std::string fact = predicates[p].name + "(";
      for (std::size_t i = 0; i < predicates[p].arity; ++i) {
        fact += i == 0 ? "" : ",";
        fact += name_of(game, game.atoms.args[atom][i]);
      }
      fact += ')';
      if (now != before) (now ? added : gone) += (now ? " +" : " -") + fact;
      if (marked) removed += " ~" + fact;
    }
  }
  return "alfworld/1:game=" + to_hex(game.digest).substr(0, 12) + added + gone + removed;
}

std::string TaskView::relevant(const World& world) const {
  const Game& game = *game_;
  const Id here = location(world);
  std::string out = "alfworld/1:at=";
  std::string open;
  bool first = true;
  for (const Id receptacle : receptacles_at(here)) {
    out += (first ? "" : "+") + name_of(game, receptacle);
    first = false;
    if (has(world, roles_.opened, receptacle)) open += (open.empty() ? "" : "+") + name_of(game, receptacle);
  }
  const Id hand = held(world);
  const bool wanted = std::find(objects_.begin(), objects_.end(), hand) != objects_.end();
  out += "|hand=" + (hand == kNone ? std::string("none")
                     : wanted      ? name_of(game, hand)
                                   : std::string("other"));
  for (const Id object : objects_) {
    out += "|" + name_of(game, object) + "@";
    first = true;
    for (const Id receptacle : holders(world, object)) {
      out += (first ? "" : "+") + name_of(game, receptacle);
      first = false;
    }
    for (const Status& status : statuses_) {
      if (has(world, status.predicate, object)) out += "," + status.name;
    }
  }
  for (const Id lamp : lamps_) {
    if (is_used(world, lamp)) out += "|used=" + name_of(game, lamp);
  }
  return out + "|open=" + open;
}

std::string TaskView::stage(const World& world) const {
  const Id here = location(world);
  const Id hand = held(world);
  const bool wanted = std::find(objects_.begin(), objects_.end(), hand) != objects_.end();
  std::size_t delivered = 0;
  bool at_target = false;
  for (const Id receptacle : receptacles_) {
    std::size_t inside = 0;
    for (const Id object : objects_)
      inside += is_in(world, object, receptacle) && is_ready(world, object) ? 1 : 0;
    delivered = std::max(delivered, std::min(inside, wanted_));
    at_target = at_target || location_of(receptacle) == here;
  }
  bool lit = false;
  for (const Id lamp : lamps_) {
    lit = lit || is_used(world, lamp);
    for (const Id receptacle : holders(world, lamp)) at_target = at_target || location_of(receptacle) == here;
  }
  bool in_sight = false;
  for (const Id object : objects_) {
    for (const Id receptacle : holders(world, object)) {
      const bool target =
          std::find(receptacles_.begin(), receptacles_.end(), receptacle) != receptacles_.end();
      in_sight = in_sight || (!target && location_of(receptacle) == here && !is_closed(world, receptacle));
    }
  }
  return "alfworld/1:" + kind_ + " hand=" +
         (hand == kNone           ? "none"
          : !wanted               ? "other"
          : is_ready(world, hand) ? "ready"
                                  : "unready") +
         " delivered=" + std::to_string(delivered) + " lamp=" + (lit ? "1" : "0") +
         " target=" + (at_target ? "1" : "0") + " sight=" + (in_sight ? "1" : "0");
}

StateKeys TaskView::keys(const World& world) const {
  StateKeys keys;
  keys.exact = exact(world);
  keys.relevant = known_ ? relevant(world) : keys.exact;
  keys.stage = known_ ? stage(world) : std::string("alfworld/1:") + (world.won() ? "success" : "running");
  return keys;
}

}  // namespace lodestep::alfworld
