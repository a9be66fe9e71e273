// What the GraphGPO release adds to each observation: where the agent is, what it holds and in which
// condition, and what it moved from where to where. Read off commands and replies, as the release does.
//   Tracker tracker;
//   tracker.follow("take mug 1 from desk 1", reply);
//   text = tracker.turn_text(reply);
// Threads: a value.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lodestep::alfworld {

class Tracker {
 public:
  void follow(std::string_view action, std::string_view reply);
  // "REPLY Location: L. Items in hand (status): H. MOVES"; ends in a blank when nothing was moved.
  std::string turn_text(std::string_view reply) const;
  // The same facts as JSON values: obs_location, obs_holding (texts), items_info {"mug 1":["heated"]},
  // item_location {"mug 1":{"old":"shelf 1","new":"desk 1"}}.
  std::map<std::string, std::string> facts() const;

  std::vector<std::string> save() const;
  Status load(const std::vector<std::string>& fields);  // on failure nothing changes

 private:
  struct Treated {
    std::string name;
    unsigned marks = 0;  // bits: heated, cooled, cleaned, sliced
  };
  struct Moved {
    std::string name, from, to;
  };
  std::string status(const std::string& name) const;
  bool is_treated(const std::string& name) const;
  void mark(std::string_view name, unsigned bit);
  void take(std::string_view name);
  void put();

  std::string location_ = "middle of a room";
  std::string holding_ = "nothing";
  std::vector<Treated> treated_;
  std::vector<Moved> moved_;  // in order of first take
};

}  // namespace lodestep::alfworld
