// Open-addressing table from 128-bit position keys to numbers, for searches that look at millions of
// positions.
//   if (table.insert(key, node).second) ...;   // true: it was new
// Threads: one. The order of slots never shows outside. Keys are random numbers, so their low bits choose a
// slot.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace lodestep::sokoban {

class KeyTable {
 public:
  // The stored value, and whether it was put there by this call. The all-zero key is not allowed.
  std::pair<std::uint32_t*, bool> insert(const Hash128& key, std::uint32_t value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    std::size_t at = key.low & (slots_.size() - 1);
    for (; slots_[at].first != Hash128{}; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].first == key) return {&slots_[at].second, false};
    }
    slots_[at] = {key, value};
    ++size_;
    return {&slots_[at].second, true};
  }
  std::size_t size() const { return size_; }
  void clear() {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    size_ = 0;
  }

 private:
  using Slot = std::pair<Hash128, std::uint32_t>;
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(256, 2 * slots_.size()));
    old.swap(slots_);
    size_ = 0;
    for (const Slot& slot : old) {
      if (slot.first != Hash128{}) insert(slot.first, slot.second);
    }
  }
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

// The number of one (cell, label) pair in a Zobrist key (Zobrist 1970); a position's key is the exclusive or
// of the numbers of all its pairs.
Hash128 zobrist_number(std::uint64_t pair);
inline void toggle(Hash128& key, const Hash128& number) {
  key.high ^= number.high;
  key.low ^= number.low;
}

}  // namespace lodestep::sokoban
