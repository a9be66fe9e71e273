#include "envs/sokoban/level_facts.h"

#include <algorithm>

namespace lodestep::sokoban {

const DistanceTable* LevelFacts::table() const {
  std::call_once(once_, [this] {
    table_ = DistanceTable::build(map_, kTableEntries);
    if (table_) table_bytes_ = table_->bytes();
  });
  return table_ ? &*table_ : nullptr;
}

Result<std::shared_ptr<const LevelFacts>> LevelCache::get(const std::string& id, const Loader& load) {
  const auto keep = [this, &id](std::shared_ptr<const LevelFacts> facts) {
    const auto listed =
        std::find_if(recent_.begin(), recent_.end(), [&](const auto& entry) { return entry.first == id; });
    if (listed != recent_.end()) {
      recent_.splice(recent_.begin(), recent_, listed);
    } else {
      recent_.emplace_front(id, std::move(facts));
    }
    std::size_t bytes = 0;
    for (const auto& entry : recent_) bytes += entry.second->table_bytes();
    while (recent_.size() > 1 && (recent_.size() > kKept || bytes > kKeptBytes)) {
      bytes -= std::min(bytes, recent_.back().second->table_bytes());
      recent_.pop_back();
    }
  };
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = known_.find(id);
    if (found != known_.end()) {
      if (std::shared_ptr<const LevelFacts> facts = found->second.lock()) {
        keep(facts);
        return facts;
      }
    }
  }
  // Outside the lock: a level may take long to make. Two threads may make it twice; the first one stays.
  Result<std::shared_ptr<const LevelFacts>> loaded = load(id);
  if (!loaded) return loaded.error();
  std::shared_ptr<const LevelFacts> made = std::move(*loaded);
  const std::lock_guard<std::mutex> lock(mutex_);
  std::weak_ptr<const LevelFacts>& slot = known_[id];
  if (std::shared_ptr<const LevelFacts> earlier = slot.lock()) {
    made = std::move(earlier);
  } else {
    slot = made;
  }
  keep(made);
  if (known_.size() > sweep_at_) {
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max(4 * kKept, 2 * known_.size());
  }
  return made;
}

}  // namespace lodestep::sokoban
