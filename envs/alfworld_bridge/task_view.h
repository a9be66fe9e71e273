// What a game is about: which of its facts mean "the agent is here", "it holds this", "that is open",
// which objects the goal speaks of, and the state keys made of that.
//   TaskView view(game);
//   StateKeys keys = view.keys(world);
// Roles are found by predicate names; a domain with other names plays all the same, with coarser keys.
// Threads: immutable after construction. Shares the game.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envs/alfworld_bridge/world.h"
#include "envs/environment.h"

namespace lodestep::alfworld {

// Is this predicate one of those that roles are found by? Its fixed facts are kept then.
bool plays_a_role(std::string_view predicate);

class TaskView {
 public:
  explicit TaskView(std::shared_ptr<const Game> game);

  // A status an object can be put into, and the places with a tool for it.
  struct Status {
    std::string name;
    std::int16_t predicate = -1;
    bool required = false;  // by the goal
    std::vector<Id> tools;  // locations where a command gives it
  };

  const Game& game() const { return *game_; }
  bool known() const { return known_; }  // all roles that keys and planning need were found
  const std::string& kind() const {
    return kind_;
  }  // one of the six task types, from the goal's shape; or "other"
  std::size_t wanted() const {
    return wanted_;
  }  // how many goal objects must be delivered to one receptacle; 0: none
  const std::vector<Id>& objects() const { return objects_; }  // constants of the goal's object type
  const std::vector<Id>& receptacles() const {
    return receptacles_;
  }                                                        // constants of the goal's receptacle type
  const std::vector<Id>& lamps() const { return lamps_; }  // what must be used, if the goal says so
  const std::vector<Status>& statuses() const { return statuses_; }

  // Locations where a command can put this object down; empty: it can never leave the hand.
  const std::vector<Id>& put_places(Id object) const;

  Id location(const World& world) const;                         // of the agent; kNone if unknown
  std::vector<Id> receptacles_at(Id location) const;             // in order of their names
  std::vector<Id> holders(const World& world, Id object) const;  // receptacles it is recorded in
  Id held(const World& world) const;                             // kNone: nothing
  Id location_of(Id receptacle) const;
  bool is_closed(const World& world, Id receptacle) const;
  bool has(const World& world, std::int16_t predicate, Id object) const;
  bool is_in(const World& world, Id object, Id receptacle) const;
  bool is_ready(const World& world, Id object) const;  // has every status the goal requires
  bool is_used(const World& world, Id lamp) const;

  StateKeys keys(const World& world) const;
  // The put command's form, such as "move {o} to {r}"; empty when the domain has none.
  const std::string& put_form() const { return put_form_; }

 private:
  struct Roles {
    std::int16_t at = -1, stands = -1, in = -1, holds = -1, opened = -1, openable = -1;
    std::int16_t kind = -1, sort = -1, used = -1;
  };
  void find_goal();
  void find_tools();
  void find_put_places();
  std::vector<Id> places_of(std::size_t row) const;  // locations where the row can start
  void find_put_form();
  std::string exact(const World& world) const;
  std::string relevant(const World& world) const;
  std::string stage(const World& world) const;

  std::shared_ptr<const Game> game_;
  Roles roles_;
  bool known_ = false;
  std::string kind_ = "other";
  std::size_t wanted_ = 0;
  std::vector<Id> objects_, receptacles_, lamps_;
  std::vector<Status> statuses_;
  std::vector<std::pair<Id, std::vector<Id>>> put_places_;  // by object, sorted
  std::string put_form_;
};

}  // namespace lodestep::alfworld
