// A game small enough to read, for tests that change one thing and look at the effect.
#pragma once

#include <string>

#include "base/text.h"

namespace lodestep::alfworld::test {

struct SmallGame {
  std::string domain = R"((define (domain small)
 (:requirements :adl :typing)
 (:types agent location receptacle object rtype otype)
 (:predicates (atlocation ?a - agent ?l - location) (receptacleatlocation ?r - receptacle ?l - location)
  (inreceptacle ?o - object ?r - receptacle) (holds ?a - agent ?o - object) (holdsany ?a - agent)
  (openable ?r - receptacle) (opened ?r - receptacle) (objecttype ?o - object ?t - otype)
  (receptacletype ?r - receptacle ?t - rtype) (checked ?x))
 (:action gotolocation :parameters (?a - agent ?lstart - location ?lend - location ?r - receptacle)
  :precondition (and (atlocation ?a ?lstart) (receptacleatlocation ?r ?lend))
  :effect (and (not (atlocation ?a ?lstart)) (atlocation ?a ?lend)))
 (:action openobject :parameters (?a - agent ?l - location ?r - receptacle)
  :precondition (and (openable ?r) (atlocation ?a ?l) (receptacleatlocation ?r ?l) (not (opened ?r)))
  :effect (and (opened ?r) (checked ?r)))
 (:action pickupobject :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
  :precondition (and (atlocation ?a ?l) (receptacleatlocation ?r ?l) (inreceptacle ?o ?r) (not (holdsany ?a))
   (or (not (openable ?r)) (opened ?r)))
  :effect (and (not (inreceptacle ?o ?r)) (holds ?a ?o) (holdsany ?a)))
 (:action putobject :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
  :precondition (and (holds ?a ?o) (atlocation ?a ?l) (receptacleatlocation ?r ?l) (or (not (openable ?r)) (opened ?r)))
  :effect (and (inreceptacle ?o ?r) (not (holds ?a ?o)) (not (holdsany ?a))))
 (:action wait :parameters (?a - agent) :precondition () :effect (checked ?a))
))";
  std::string grammar = R"TWL(grammar :: """
{
 "intro": [{"rhs": "Hello.\n\n#task#"}],
 "task": [{"rhs": "Your task is to: put the cup in the box."}],
 "see": [{"condition": "openable(r:receptacle) & opened(r:receptacle)", "rhs": "Inside: #list#."},
         {"condition": "openable(r:receptacle)", "rhs": "Closed."}, {"rhs": "On it: #list#."}],
 "list": [{"rhs": "[{o.indefinite + ' ' + o.name | inreceptacle(o:object, r:receptacle)}]"}],
 "list_empty": [{"rhs": "nothing"}],
 "list_separator": [{"rhs": ", "}],
 "list_last_separator": [{"rhs": ", and "}]
}
""";
action gotolocation { template :: "go to {r}"; feedback :: "You reach {r.name}. #see#"; }
action openobject { template :: "open {r}"; feedback :: "#see#"; }
action pickupobject { template :: "take {o} from {r}"; feedback :: "Taken {o.name}."; }
action putobject { template :: "move {o} to {r}"; feedback :: "Put {o.name}."; }
action wait { template :: "wait"; feedback :: "Time passes."; }
)TWL";
  std::string problem = R"((define (problem one)
 (:domain small)
 (:objects agent1 - agent l0 l1 l2 - location Table_bar_1 Box_bar_1 - receptacle Cup_bar_1 Cup_bar_2 - object
  tabletype boxtype - rtype cuptype - otype)
 (:init (atlocation agent1 l0) (receptacleatlocation Table_bar_1 l1) (receptacleatlocation Box_bar_1 l2)
  (openable Box_bar_1) (inreceptacle Cup_bar_1 Table_bar_1) (inreceptacle Cup_bar_2 Table_bar_1)
  (objecttype Cup_bar_1 cuptype) (objecttype Cup_bar_2 cuptype) (receptacletype Table_bar_1 tabletype)
  (receptacletype Box_bar_1 boxtype))
 (:goal (exists (?o - object ?r - receptacle) (and (objecttype ?o CupType) (receptacletype ?r BoxType) (inreceptacle ?o ?r))))
))";
  std::string solvable = "\"solvable\": true, ";

  // One change; the text must be there.
  SmallGame& with(std::string SmallGame::*part, const std::string& what, const std::string& by) {
    const std::size_t at = (this->*part).find(what);
    if (at == std::string::npos) throw std::logic_error("no such text: " + what);
    (this->*part).replace(at, what.size(), by);
    return *this;
  }
  std::string file() const {
    return "{" + solvable + "\"pddl_domain\": " + json_quote(domain) +
           ", \"grammar\": " + json_quote(grammar) + ", \"pddl_problem\": " + json_quote(problem) + "}";
  }
};

}  // namespace lodestep::alfworld::test
