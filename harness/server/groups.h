// Groups of sessions that are stepped and credited together: G tasks, n members each.
//   std::shared_ptr<GroupSet> set = groups.find(id);
// Threads: the table is safe; of a set, `mutex` guards the list of members, `playing` the step fields.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "harness/server/session.h"

namespace lodestep::harness {

class SessionPool;

struct GroupSet {
  std::string id;
  std::vector<std::string> tasks;                 // in order; empty when members joined one by one
  std::vector<std::shared_ptr<Session>> members;  // task-major
  std::mutex mutex;
  std::timed_mutex playing;  // held while the members are stepped
  std::uint64_t step_id = 0;
  std::string step_reply;
  std::atomic<std::int64_t> last_used{0};
};

class GroupTable {
 public:
  explicit GroupTable(SessionPool& pool) : pool_(pool) {}
  // False when the id is taken.
  bool add(std::shared_ptr<GroupSet> set);
  // Adds a session to the set of that name, which is made when there is none; false when it has `most`.
  bool join(const std::string& id, const std::shared_ptr<Session>& session, std::size_t most);
  std::shared_ptr<GroupSet> find(const std::string& id);
  bool close(const std::string& id);  // and all member sessions
  void sweep();                       // forgets sets whose members are all closed and that idled too long
  std::size_t size();

 private:
  SessionPool& pool_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<GroupSet>> sets_;
};

}  // namespace lodestep::harness
