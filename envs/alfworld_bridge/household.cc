#include "envs/alfworld_bridge/household.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/rng.h"
#include "base/text.h"

namespace lodestep::alfworld {
namespace {

constexpr std::string_view kDomain = R"PDDL(
; A household: one person, furniture at places, things in furniture.
(define (domain household)
 (:requirements :adl :typing)
 (:types person place furniture thing kind sort)
 (:predicates
  (stands_at ?p - person ?s - place)
  (placed_at ?f - furniture ?s - place)
  (has_door ?f - furniture)
  (ajar ?f - furniture)
  (lies_in ?t - thing ?f - furniture)
  (carries ?p - person ?t - thing)
  (hands_full ?p - person)
  (thing_kind ?t - thing ?k - kind)
  (furniture_kind ?f - furniture ?s - sort)
  (room_for ?s - sort ?k - kind)
  (portable ?t - thing)
  (washable ?t - thing)
  (warmable ?t - thing)
  (chillable ?t - thing)
  (choppable ?t - thing)
  (switchable ?t - thing)
  (washed ?t - thing)
  (warm ?t - thing)
  (chilled ?t - thing)
  (cut_up ?t - thing)
  (shines ?t - thing)
  (was_lit ?t - thing)
  (seen ?f - furniture)
  (aware ?p - person))

 (:action look
  :parameters (?p - person ?s - place)
  :precondition (stands_at ?p ?s)
  :effect (aware ?p))
 (:action inventory
  :parameters (?p - person)
  :precondition ()
  :effect (aware ?p))
 (:action help
  :parameters (?p - person)
  :precondition ()
  :effect (aware ?p))
 (:action inspect_furniture
  :parameters (?p - person ?f - furniture)
  :precondition (exists (?s - place) (and (stands_at ?p ?s) (placed_at ?f ?s)))
  :effect (seen ?f))
 (:action inspect_thing
  :parameters (?p - person ?t - thing)
  :precondition (carries ?p ?t)
  :effect (aware ?p))
 (:action walk
  :parameters (?p - person ?here - place ?there - place ?f - furniture)
  :precondition (and (stands_at ?p ?here) (placed_at ?f ?there))
  :effect (and (not (stands_at ?p ?here)) (stands_at ?p ?there)))
 (:action open_furniture
  :parameters (?p - person ?s - place ?f - furniture)
  :precondition (and (has_door ?f) (stands_at ?p ?s) (placed_at ?f ?s) (not (ajar ?f)))
  :effect (and (ajar ?f) (seen ?f)))
 (:action close_furniture
  :parameters (?p - person ?s - place ?f - furniture)
  :precondition (and (has_door ?f) (stands_at ?p ?s) (placed_at ?f ?s) (ajar ?f))
  :effect (not (ajar ?f)))
 (:action take
  :parameters (?p - person ?s - place ?t - thing ?f - furniture)
  :precondition (and (portable ?t) (stands_at ?p ?s) (placed_at ?f ?s) (lies_in ?t ?f)
                     (not (hands_full ?p)) (or (not (has_door ?f)) (ajar ?f)))
  :effect (and (not (lies_in ?t ?f)) (carries ?p ?t) (hands_full ?p)))
 (:action put
  :parameters (?p - person ?s - place ?t - thing ?f - furniture ?k - kind ?o - sort)
  :precondition (and (carries ?p ?t) (stands_at ?p ?s) (placed_at ?f ?s) (or (not (has_door ?f)) (ajar ?f))
                     (thing_kind ?t ?k) (furniture_kind ?f ?o) (room_for ?o ?k))
  :effect (and (lies_in ?t ?f) (not (carries ?p ?t)) (not (hands_full ?p))))
 (:action wash
  :parameters (?p - person ?s - place ?f - furniture ?t - thing)
  :precondition (and (washable ?t) (furniture_kind ?f sink_sort) (stands_at ?p ?s) (placed_at ?f ?s) (carries ?p ?t))
  :effect (washed ?t))
 (:action warm_up
  :parameters (?p - person ?s - place ?f - furniture ?t - thing)
  :precondition (and (warmable ?t) (furniture_kind ?f oven_sort) (stands_at ?p ?s) (placed_at ?f ?s) (carries ?p ?t))
  :effect (and (warm ?t) (not (chilled ?t))))
 (:action chill
  :parameters (?p - person ?s - place ?f - furniture ?t - thing)
  :precondition (and (chillable ?t) (furniture_kind ?f fridge_sort) (stands_at ?p ?s) (placed_at ?f ?s) (carries ?p ?t))
  :effect (and (chilled ?t) (not (warm ?t))))
 (:action switch
  :parameters (?p - person ?s - place ?t - thing ?f - furniture)
  :precondition (and (switchable ?t) (stands_at ?p ?s) (placed_at ?f ?s) (lies_in ?t ?f))
  :effect (and (was_lit ?t) (when (shines ?t) (not (shines ?t))) (when (not (shines ?t)) (shines ?t))))
 (:action chop
  :parameters (?p - person ?s - place ?t - thing ?f - furniture ?k - thing)
  :precondition (and (choppable ?t) (thing_kind ?k knife_kind) (stands_at ?p ?s) (placed_at ?f ?s) (lies_in ?t ?f)
                     (or (not (has_door ?f)) (ajar ?f)) (carries ?p ?k))
  :effect (cut_up ?t))
)
)PDDL";

// The mark @TASK@ gives way to the game's sentence.
constexpr std::string_view kGrammar = R"TWL(
grammar :: """
{
  "intro": [{"rhs": "Welcome home.\n\n#look.feedback#\n\n#task#"}],
  "task": [{"rhs": "@TASK@"}],
  "look.feedback": [
    {"condition": "stands_at(p:person, s:place) & placed_at(f:furniture, s:place)",
     "rhs": "In front of you: [{f.name | stands_at(p:person, s:place) & placed_at(f:furniture, s:place)}]."},
    {"rhs": "From the doorway you can make out [{f.indefinite + ' ' + f.name | placed_at(f:furniture, s:place)}]."}
  ],
  "contents": [
    {"condition": "has_door(f:furniture) & ajar(f:furniture)", "rhs": "Its door is open, and inside you find #things#."},
    {"condition": "has_door(f:furniture)", "rhs": "Its door is shut."},
    {"rhs": "You find #things# there."}
  ],
  "things": [{"rhs": "[{t.indefinite + ' ' + t.name | lies_in(t:thing, f:furniture)}]"}],
  "walk.feedback": [{"rhs": "You walk over to the {f.name}. #contents#"}],
  "open.feedback": [{"rhs": "You pull the {f.name} open. #contents#"}],
  "inspect_furniture.feedback": [{"rhs": "You look closely at the {f.name}. #contents#"}],
  "inspect_thing.feedback": [
    {"condition": "washed(t:thing) & warm(t:thing)", "rhs": "The {t.name} is freshly washed and warm."},
    {"condition": "washed(t:thing) & chilled(t:thing)", "rhs": "The {t.name} is freshly washed and cold."},
    {"condition": "washed(t:thing)", "rhs": "The {t.name} is freshly washed."},
    {"condition": "warm(t:thing)", "rhs": "The {t.name} is warm."},
    {"condition": "chilled(t:thing)", "rhs": "The {t.name} is cold."},
    {"condition": "cut_up(t:thing)", "rhs": "The {t.name} is cut into pieces."},
    {"rhs": "The {t.name} looks as it always does."}
  ],
  "inventory.feedback": [
    {"condition": "hands_full(p:person)", "rhs": "In your hands: [{t.indefinite + ' ' + t.name | carries(p:person, t:thing)}]."},
    {"rhs": "Your hands are free."}
  ],
  "switch.feedback": [
    {"condition": "shines(t:thing)", "rhs": "The {t.name} lights up."},
    {"rhs": "The {t.name} goes dark."}
  ],
  "list_empty": [{"rhs": "nothing"}],
  "list_separator": [{"rhs": ", "}],
  "list_last_separator": [{"rhs": ", and "}]
}
""";
action look { template :: "look"; feedback :: "#look.feedback#"; }
action inventory { template :: "inventory"; feedback :: "#inventory.feedback#"; }
action help { template :: "help"; feedback :: "
You can say: look, inventory, go to (furniture), open (furniture), close (furniture), examine (something), take (thing) from (furniture), move (thing) to (furniture), use (thing), clean (thing) with (sink), heat (thing) with (oven), cool (thing) with (fridge), slice (thing) with (knife)."; }
action inspect_furniture { template :: "examine {f}"; feedback :: "#inspect_furniture.feedback#"; }
action inspect_thing { template :: "examine {t}"; feedback :: "#inspect_thing.feedback#"; }
action walk { template :: "go to {f}"; feedback :: "#walk.feedback#"; }
action open_furniture { template :: "open {f}"; feedback :: "#open.feedback#"; }
action close_furniture { template :: "close {f}"; feedback :: "You shut the {f.name}."; }
action take { template :: "take {t} from {f}"; feedback :: "You take the {t.name} from the {f.name}."; }
action put { template :: "move {t} to {f}"; feedback :: "You leave the {t.name} at the {f.name}."; }
action wash { template :: "clean {t} with {f}"; feedback :: "You clean the {t.name} in the {f.name}."; }
action warm_up { template :: "heat {t} with {f}"; feedback :: "You heat the {t.name} in the {f.name}."; }
action chill { template :: "cool {t} with {f}"; feedback :: "You cool the {t.name} in the {f.name}."; }
action switch { template :: "use {t}"; feedback :: "#switch.feedback#"; }
action chop { template :: "slice {t} with {k}"; feedback :: "You slice the {t.name} with the {k.name}."; }
)TWL";

struct Sort {
  std::string_view name;
  bool door;
};
constexpr Sort kSorts[] = {{"armchair", false},  {"bed", false},     {"bin", false},  {"cabinet", true},
                           {"counter", false},   {"cupboard", true}, {"desk", false}, {"drawer", true},
                           {"dresser", false},   {"fridge", true},   {"oven", true},  {"shelf", false},
                           {"sidetable", false}, {"sink", false},    {"sofa", false}, {"table", false},
                           {"tub", false},       {"wardrobe", true}};

struct Kind {
  std::string_view name;
  std::string_view traits;  // w washable, h warmable, c chillable, s choppable
  std::string_view sorts;   // where it fits
};
constexpr Kind kKinds[] = {
    {"apple", "whcs", "counter table fridge oven sink bin shelf"},
    {"book", "", "armchair bed desk drawer dresser shelf sidetable sofa table wardrobe"},
    {"bowl", "whc", "counter table cupboard fridge oven sink shelf"},
    {"brush", "w", "cabinet counter drawer shelf sink tub"},
    {"candle", "", "cabinet counter drawer dresser shelf sidetable table tub"},
    {"clock", "", "desk dresser shelf sidetable table"},
    {"cloth", "w", "bin cabinet counter drawer shelf sink tub"},
    {"egg", "whc", "counter table fridge oven sink bin"},
    {"fork", "w", "counter table drawer sink"},
    {"key", "", "armchair bed desk drawer dresser shelf sidetable sofa table"},
    {"knife", "w", "counter table drawer sink"},
    {"laptop", "", "armchair bed desk sofa table"},
    {"mug", "whc", "counter cupboard desk fridge oven shelf sidetable sink table"},
    {"newspaper", "", "armchair bin desk drawer shelf sidetable sofa table"},
    {"pencil", "", "bin desk drawer dresser shelf sidetable table"},
    {"phone", "", "armchair bed desk drawer dresser shelf sidetable sofa table"},
    {"pillow", "", "armchair bed sofa wardrobe"},
    {"plate", "whc", "counter table cupboard fridge oven sink shelf"},
    {"potato", "whcs", "counter table fridge oven sink bin"},
    {"remote", "", "armchair drawer shelf sidetable sofa table"},
    {"soap", "w", "bin cabinet counter drawer shelf sink tub"},
    {"sponge", "w", "bin cabinet counter drawer shelf sink tub"},
    {"spoon", "w", "counter table drawer sink"},
    {"tomato", "whcs", "counter table fridge oven sink bin"},
    {"towel", "", "cabinet counter shelf tub"},
    {"watch", "", "bed desk drawer dresser shelf sidetable table"},
};

struct Room {
  std::string_view name;
  std::string_view furniture;  // every word once, and those repeated may come again
  std::string_view extra;      // what may be added
  std::string_view kinds;
  bool lamp;
};
constexpr Room kRooms[] = {
    {"kitchen", "counter table sink fridge oven cupboard drawer",
     "counter cupboard cupboard drawer drawer shelf bin",
     "apple bowl egg fork knife mug plate potato spoon tomato", false},
    {"bathroom", "sink tub shelf cabinet", "cabinet cabinet drawer counter bin shelf",
     "brush candle cloth soap sponge towel", false},
    {"bedroom", "bed desk drawer shelf", "drawer drawer dresser sidetable armchair wardrobe shelf",
     "book clock key laptop mug pencil phone pillow watch", true},
    {"livingroom", "sofa table drawer sidetable", "armchair drawer shelf sidetable bin drawer",
     "book key laptop newspaper phone pillow remote watch", true},
};

struct TaskKind {
  std::string_view type;
  std::string_view rooms;
  char trait;               // of the goal object; '-': any
  std::string_view status;  // predicate
  std::size_t wanted;
  std::string_view sentence;  // K the thing, F the furniture
};
constexpr TaskKind kTasks[] = {
    {"look_at_obj_in_light", "bedroom livingroom", '-', "", 1, "study the K by the light of the lamp."},
    {"pick_and_place_simple", "kitchen bathroom bedroom livingroom", '-', "", 1, "bring a K to the F."},
    {"pick_clean_then_place_in_recep", "kitchen bathroom", 'w', "washed", 1,
     "clean a K and bring it to the F."},
    {"pick_cool_then_place_in_recep", "kitchen", 'c', "chilled", 1, "cool a K and bring it to the F."},
    {"pick_heat_then_place_in_recep", "kitchen", 'h', "warm", 1, "heat a K and bring it to the F."},
    {"pick_two_obj_and_place", "kitchen bathroom bedroom livingroom", '-', "", 2,
     "bring two of the Ks to one F."},
};

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string_view word : split(text, ' ')) {
    if (!word.empty()) out.emplace_back(word);
  }
  return out;
}

const Kind& kind_named(std::string_view name) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds),
                       [&](const Kind& kind) { return kind.name == name; });
}

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string capital(std::string_view word) {
  std::string out(word);
  out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

class RoomMaker {
 public:
  RoomMaker(const TaskKind& task, std::uint64_t seed)
      : task_(task), dice_(Hasher().add("household/1").add(task.type).add_u64(seed).finish()) {}

  HouseholdGame make(std::string_view split_name, std::size_t number) {
    choose_room();
    furnish();
    choose_goal();
    scatter();
    const bool look = task_.type == "look_at_obj_in_light";
    std::string sentence;
    for (const char c : task_.sentence) {
      if (c == 'K') {
        sentence += goal_kind_;
      } else if (c == 'F') {
        sentence += target_;
      } else {
        sentence += c;
      }
    }
    std::string grammar(kGrammar);
    grammar.replace(grammar.find("@TASK@"), 6, "Your task is to: " + sentence);
    std::string digits = std::to_string(number);
    digits.insert(0, 4 - std::min<std::size_t>(4, digits.size()), '0');
    HouseholdGame game;
    game.id = std::string(split_name) + "/" + std::string(task_.type) + "-" + capital(goal_kind_) + "-None-" +
              (look ? "Lamp" : capital(target_)) + "-" + std::to_string(room_index_ + 1) + "/home_" + digits;
    game.file = "{\"pddl_domain\": " + json_quote(kDomain) + ", \"grammar\": " + json_quote(grammar) +
                ", \"pddl_problem\": " + json_quote(problem(digits, look)) + ", \"solvable\": true}";
    return game;
  }

 private:
  struct Piece {
    std::string id, sort;
    std::size_t place = 0;
  };
  struct Thing {
    std::string id, kind;
    std::size_t in = 0;  // furniture
  };

  template <typename T>
  const T& any(const std::vector<T>& list) {
    return list[dice_.below(list.size())];
  }

  void choose_room() {
    const std::string room = any(words(task_.rooms));
    while (kRooms[room_index_].name != room) ++room_index_;
  }

  // The goal's kind of thing and where it belongs; it must also fit somewhere else, to be fetched from.
  void choose_goal() {
    std::vector<std::string> kinds;
    for (const std::string& kind : words(kRooms[room_index_].kinds)) {
      const bool fits =
          task_.trait == '-' || kind_named(kind).traits.find(task_.trait) != std::string_view::npos;
      if (fits && targets_for(kind).size() > 1) kinds.push_back(kind);
    }
    goal_kind_ = any(kinds);
    target_ = any(targets_for(goal_kind_));
  }

  // Sorts of furniture in this room that the kind fits into.
  std::vector<std::string> targets_for(const std::string& kind) const {
    std::vector<std::string> targets;
    for (const std::string& sort : words(kind_named(kind).sorts)) {
      if (std::any_of(furniture_.begin(), furniture_.end(), [&](const Piece& p) { return p.sort == sort; }))
        targets.push_back(sort);
    }
    return targets;
  }

  void furnish() {
    const Room& room = kRooms[room_index_];
    std::vector<std::string> sorts = words(room.furniture);
    const std::vector<std::string> extra = words(room.extra);
    for (std::size_t i = 3 + dice_.below(4); i > 0; --i) sorts.push_back(any(extra));
    std::sort(sorts.begin(), sorts.end());
    for (const std::string& sort : sorts) {
      const auto same = static_cast<std::size_t>(std::count_if(
          furniture_.begin(), furniture_.end(), [&](const Piece& p) { return p.sort == sort; }));
      // Now and then two of a sort stand side by side.
      const bool shares = same > 0 && dice_.below(3) == 0;
      furniture_.push_back({sort + "_bar_" + std::to_string(same + 1), sort, shares ? places_ - 1 : places_});
      if (!shares) ++places_;
    }
  }

  // Furniture where a thing of this kind may lie; never the goal's own sort for goal things.
  std::vector<std::size_t> spots(const std::string& kind) const {
    const std::vector<std::string> sorts = words(kind_named(kind).sorts);
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < furniture_.size(); ++i) {
      const bool target =
          kind == goal_kind_ && furniture_[i].sort == target_ && task_.type != "look_at_obj_in_light";
      if (contains(sorts, furniture_[i].sort) && !target) found.push_back(i);
    }
    return found;
  }

  void add(const std::string& kind) {
    const std::vector<std::size_t> where = spots(kind);
    if (where.empty()) return;
    const auto same =
        std::count_if(things_.begin(), things_.end(), [&](const Thing& t) { return t.kind == kind; });
    things_.push_back({kind + "_bar_" + std::to_string(same + 1), kind, any(where)});
  }

  void scatter() {
    for (std::size_t i = task_.wanted + dice_.below(2); i > 0; --i) add(goal_kind_);
    for (const std::string& kind : words(kRooms[room_index_].kinds)) {
      if (kind == goal_kind_) continue;
      for (std::size_t i = dice_.below(3); i > 0; --i) add(kind);
    }
    if (kRooms[room_index_].lamp) {
      std::vector<std::size_t> stands;
      for (std::size_t i = 0; i < furniture_.size(); ++i) {
        if (contains(words("desk sidetable dresser"), furniture_[i].sort)) stands.push_back(i);
      }
      things_.push_back({"lamp_bar_1", "lamp", any(stands)});
    }
  }

  std::string problem(const std::string& name, bool look) const {
    std::string objects = "you - person\n";
    std::string init = "(stands_at you doorway)\n";
    objects += "doorway - place\n";
    for (std::size_t i = 0; i < places_; ++i) objects += "spot" + std::to_string(i + 1) + " - place\n";
    for (const Sort& sort : kSorts) objects += std::string(sort.name) + "_sort - sort\n";
    for (const Kind& kind : kKinds) objects += std::string(kind.name) + "_kind - kind\n";
    objects += "lamp_kind - kind\n";
    for (const Piece& piece : furniture_) {
      objects += piece.id + " - furniture\n";
      init += "(placed_at " + piece.id + " spot" + std::to_string(piece.place + 1) + ")\n(furniture_kind " +
              piece.id + " " + piece.sort + "_sort)\n";
      const Sort& sort = *std::find_if(std::begin(kSorts), std::end(kSorts),
                                       [&](const Sort& s) { return s.name == piece.sort; });
      if (sort.door) init += "(has_door " + piece.id + ")\n";
    }
    for (const Kind& kind : kKinds) {
      for (const std::string& sort : words(kind.sorts))
        init += "(room_for " + sort + "_sort " + std::string(kind.name) + "_kind)\n";
    }
    for (const Thing& thing : things_) {
      objects += thing.id + " - thing\n";
      init += "(thing_kind " + thing.id + " " + thing.kind + "_kind)\n(lies_in " + thing.id + " " +
              furniture_[thing.in].id + ")\n";
      if (thing.kind == "lamp") {
        init += "(switchable " + thing.id + ")\n";
        continue;
      }
      init += "(portable " + thing.id + ")\n";
      for (const char trait : kind_named(thing.kind).traits) {
        init += trait == 'w'   ? "(washable "
                : trait == 'h' ? "(warmable "
                : trait == 'c' ? "(chillable "
                               : "(choppable ";
        init += thing.id + ")\n";
      }
      if (thing.kind != goal_kind_ && furniture_[thing.in].sort == "fridge")
        init += "(chilled " + thing.id + ")\n";
    }
    const std::string kind = goal_kind_ + "_kind";
    std::string goal;
    if (look) {
      goal =
          "(and (exists (?l - thing ?f - furniture ?p - person ?s - place) (and (switchable ?l) (thing_kind "
          "?l lamp_kind) (was_lit ?l) "
          "(lies_in ?l ?f) (placed_at ?f ?s) (stands_at ?p ?s)))\n (exists (?t - thing ?p - person) (and "
          "(thing_kind ?t " +
          kind + ") (carries ?p ?t))))";
    } else if (task_.wanted == 2) {
      goal = "(exists (?f - furniture) (and (furniture_kind ?f " + target_ +
             "_sort) (exists (?a - thing) (and (thing_kind ?a " + kind +
             ") (lies_in ?a ?f) (exists (?b - thing) (and (not (= ?a ?b)) (thing_kind ?b " + kind +
             ") (lies_in ?b ?f)))))))";
    } else {
      const std::string status = task_.status.empty() ? "" : " (" + std::string(task_.status) + " ?t)";
      goal = "(exists (?f - furniture ?t - thing) (and (furniture_kind ?f " + target_ +
             "_sort) (thing_kind ?t " + kind + ") (lies_in ?t ?f)" + status + "))";
    }
    return "(define (problem home_" + name + ")\n (:domain household)\n (:objects\n" + objects +
           ")\n (:init\n" + init + ")\n (:goal " + goal + ")\n)\n";
  }

  const TaskKind& task_;
  Stream dice_;
  std::size_t room_index_ = 0;
  std::string goal_kind_, target_;
  std::vector<Piece> furniture_;
  std::size_t places_ = 0;
  std::vector<Thing> things_;
};

}  // namespace

const std::vector<HouseholdGame>& household_games() {
  static const std::vector<HouseholdGame> games = [] {
    std::vector<HouseholdGame> made;
    std::size_t number = 0;
    for (const auto& [split_name, each] :
         {std::pair<std::string_view, std::size_t>{"train", 8}, {"valid_seen", 3}, {"valid_unseen", 3}}) {
      for (const TaskKind& task : kTasks) {
        for (std::size_t i = 0; i < each; ++i) {
          ++number;
          made.push_back(RoomMaker(task, number).make(split_name, number));
        }
      }
    }
    std::sort(made.begin(), made.end(),
              [](const HouseholdGame& a, const HouseholdGame& b) { return a.id < b.id; });
    return made;
  }();
  return games;
}

}  // namespace lodestep::alfworld
