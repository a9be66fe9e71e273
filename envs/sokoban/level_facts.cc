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

Outlook LevelFacts::outlook(const Grid& cells) const {
  if (const DistanceTable* known = table()) {
    const std::optional<std::string> moves = shortest_solution(map_, *known, cells);
    if (!moves) return {Verdict::kImpossible, std::nullopt, std::nullopt};
    if (moves->empty()) return {Verdict::kSolved, 0, std::nullopt};
    return {Verdict::kSolved, static_cast<int>(moves->size()), direction_of(moves->front())};
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = outlooks_.find(cells);
    if (found != outlooks_.end()) return found->second;
  }
  Outlook outlook;
  SearchResult result = search(map_, cells, {kOptimalNodes, 1});
  if (result.verdict == Verdict::kSolved) outlook.distance = static_cast<int>(result.moves.size());
  if (result.verdict == Verdict::kGaveUp) result = search(map_, cells, {kAnyNodes, 5});
  outlook.verdict = result.verdict;
  if (!result.moves.empty()) outlook.first = direction_of(result.moves.front());
  const std::lock_guard<std::mutex> lock(mutex_);
  if (outlooks_.size() >= kOutlooks) outlooks_.clear();
  return outlooks_.emplace(cells, outlook).first->second;
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
