// Answers to recent questions, shared by all episodes of a factory: the members of a group ask alike, and
// every view of a page asks again.
//   RecentCache<std::string, std::vector<std::uint32_t>> rankings(8192);
//   if (auto known = rankings.find(query)) use(*known); else auto kept = rankings.keep(query, answer);
// Threads: safe; two threads that miss at once both work the answer out and get the same. Owns what it
// keeps, at most `most` answers.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/hash.h"

namespace lodestep::webshop {

template <typename Key, typename Value>
class RecentCache {
 public:
  using Answer = std::shared_ptr<const Value>;

  explicit RecentCache(std::size_t most) : most_young_(most / (2 * kShelves)) {}

  Answer find(const Key& key) {  // nullptr: not known, or no longer
    Shelf& shelf = shelf_of(key);
    const std::lock_guard lock(shelf.mutex);
    if (const auto found = shelf.young.find(key); found != shelf.young.end()) return found->second;
    const auto found = shelf.old.find(key);
    if (found == shelf.old.end()) return nullptr;
    Answer answer = found->second;
    put(shelf, key, answer);
    return answer;
  }

  Answer keep(const Key& key, Value value) {
    auto answer = std::make_shared<const Value>(std::move(value));
    Shelf& shelf = shelf_of(key);
    const std::lock_guard lock(shelf.mutex);
    put(shelf, key, answer);
    return answer;
  }

 private:
  static constexpr std::size_t kShelves = 8;  // fewer threads wait for each other

  using Map = std::unordered_map<Key, Answer, ContainerHash, std::equal_to<>>;
  // What nobody asked for between two times that `young` filled up is dropped.
  struct Shelf {
    std::mutex mutex;
    Map young, old;
  };
  void put(Shelf& shelf, const Key& key, const Answer& answer) {
    if (shelf.young.size() >= most_young_) {
      shelf.old = std::move(shelf.young);
      shelf.young.clear();
    }
    shelf.young[key] = answer;
  }
  Shelf& shelf_of(const Key& key) { return shelves_[ContainerHash()(key) % kShelves]; }

  std::size_t most_young_;
  std::array<Shelf, kShelves> shelves_;
};

}  // namespace lodestep::webshop
