#include "harness/server/groups.h"

#include <algorithm>
#include <utility>

#include "harness/server/session_pool.h"

namespace lodestep::harness {

bool GroupTable::add(std::shared_ptr<GroupSet> set) {
  set->last_used = pool_.clock().milliseconds();
  const std::lock_guard lock(mutex_);
  const std::string id = set->id;
  return sets_.emplace(id, std::move(set)).second;
}

bool GroupTable::join(const std::string& id, const std::shared_ptr<Session>& session, std::size_t most) {
  std::shared_ptr<GroupSet> set;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<GroupSet>& entry = sets_[id];
    if (!entry) {
      entry = std::make_shared<GroupSet>();
      entry->id = id;
    }
    set = entry;
  }
  const std::lock_guard lock(set->mutex);
  set->last_used = pool_.clock().milliseconds();
  if (set->members.size() >= most) return false;
  set->members.push_back(session);
  return true;
}

std::shared_ptr<GroupSet> GroupTable::find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = sets_.find(id);
  if (found == sets_.end()) return nullptr;
  found->second->last_used = pool_.clock().milliseconds();
  return found->second;
}

bool GroupTable::close(const std::string& id) {
  std::shared_ptr<GroupSet> set;
  {
    const std::lock_guard lock(mutex_);
    const auto found = sets_.find(id);
    if (found == sets_.end()) return false;
    set = std::move(found->second);
    sets_.erase(found);
  }
  const std::lock_guard lock(set->mutex);
  for (const auto& member : set->members) pool_.close(member->id);
  return true;
}

void GroupTable::sweep() {
  constexpr std::int64_t kUsual = 3600000;  // where sessions live for ever: closed ones do not
  const std::int64_t idle = pool_.config().idle_milliseconds != 0 ? pool_.config().idle_milliseconds : kUsual;
  const std::int64_t now = pool_.clock().milliseconds();
  std::vector<std::shared_ptr<GroupSet>> sets;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, set] : sets_) {
      if (now - set->last_used > idle) sets.push_back(set);
    }
  }
  for (const auto& set : sets) {
    const std::lock_guard set_lock(set->mutex);
    const bool over = std::all_of(set->members.begin(), set->members.end(),
                                  [&](const auto& member) { return pool_.peek(member->id) == nullptr; });
    if (!over) continue;
    const std::lock_guard lock(mutex_);
    sets_.erase(set->id);
  }
}

std::size_t GroupTable::size() {
  const std::lock_guard lock(mutex_);
  return sets_.size();
}

}  // namespace lodestep::harness
