// Numbers for pairs of numbers, in order of first appearance.
//   PairNumbers pairs(rows);
//   Id group = pairs.of(task, key);
// Threads: one object, one thread. Open addressing, since this runs once per row and level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "graph/batch.h"

namespace lodestep::graph {

class PairNumbers {
 public:
  explicit PairNumbers(std::size_t at_most) {
    std::size_t size = 16;
    while (size < 2 * at_most) size *= 2;
    slots_.assign(size, kNone);
  }

  // The same number for the same pair; new pairs get 0, 1, 2, ...
  Id of(Id first, Id second) {
    const std::uint64_t pair = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(first)) << 32) |
                               static_cast<std::uint32_t>(second);
    std::size_t slot = ContainerHash()(pair) & (slots_.size() - 1);
    for (; slots_[slot] != kNone; slot = (slot + 1) & (slots_.size() - 1)) {
      if (pairs_[static_cast<std::size_t>(slots_[slot])] == pair) return slots_[slot];
    }
    slots_[slot] = static_cast<Id>(pairs_.size());
    pairs_.push_back(pair);
    return slots_[slot];
  }
  std::size_t size() const { return pairs_.size(); }

 private:
  std::vector<Id> slots_;
  std::vector<std::uint64_t> pairs_;
};

}  // namespace lodestep::graph
