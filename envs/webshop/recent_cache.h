// Answers to recent questions, shared by all episodes of a factory: the members of a group ask alike, and
// every view of a page asks again.
//   RecentCache<std::string, std::vector<std::uint32_t>> rankings(8192);
//   if (auto known = rankings.find(query)) use(*known); else auto kept = rankings.keep(query, answer);
// Threads: safe; two threads that miss at once both work the answer out and get the same. Owns what it
// keeps: at most `most` answers, each in the one place that its key names until another key takes it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace lodestep::webshop {

template <typename Key, typename Value>
class RecentCache {
 public:
  using Answer = std::shared_ptr<const Value>;

  explicit RecentCache(std::size_t most) : places_(most) {}

  Answer find(const Key& key) const {  // nullptr: not known, or no longer
    const std::size_t place = place_of(key);
    const std::lock_guard lock(mutex_of(place));
    const std::shared_ptr<const Entry>& entry = places_[place];
    return entry && entry->first == key ? Answer(entry, &entry->second) : nullptr;
  }

  Answer keep(const Key& key, Value value) {
    auto entry = std::make_shared<const Entry>(key, std::move(value));
    const Answer answer(entry, &entry->second);
    const std::size_t place = place_of(key);
    const std::lock_guard lock(mutex_of(place));
    places_[place].swap(entry);
    return answer;  // what was there before goes after the lock
  }

 private:
  using Entry = std::pair<Key, Value>;

  std::size_t place_of(const Key& key) const { return ContainerHash()(key) % places_.size(); }
  std::mutex& mutex_of(std::size_t place) const { return mutexes_[place % mutexes_.size()]; }

  std::vector<std::shared_ptr<const Entry>> places_;
  mutable std::array<std::mutex, 8> mutexes_;  // fewer threads wait for each other
};

}  // namespace lodestep::webshop
