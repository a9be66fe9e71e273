// The facts met while a game is grounded: in order of arrival, findable by value and by one argument.
//   FactStore store(predicates, constants);
//   const auto [number, fresh] = store.insert(predicate, 2, {cup, table});
// Threads: one at a time. Owns its tables. Internal to ground.cc and instance_search.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "envs/alfworld_bridge/game.h"

namespace lodestep::alfworld {

// Sorts facts by predicate, then last argument, ..., then first argument.
inline std::uint64_t fact_key(std::uint16_t predicate, const Args& args) {
  return std::uint64_t{predicate} << 48 | std::uint64_t{args[2]} << 32 | std::uint64_t{args[1]} << 16 |
         std::uint64_t{args[0]};
}

// Spreads keys over the low bits, for tables whose size is a power of two.
inline std::uint64_t spread(std::uint64_t key) {
  key *= 0x9e3779b97f4a7c15ULL;
  return key ^ (key >> 32);
}

class FactStore {
 public:
  struct Entry {
    std::uint16_t predicate = 0;
    Args args{};
    std::array<std::int32_t, kMaxArity> next{-1, -1, -1};  // older fact with the same argument there
  };

  FactStore(std::size_t predicates, std::size_t constants)
      : constants_(constants), heads_(predicates), of_(predicates), distinct_(predicates), table_(4096) {
    entries_.reserve(2048);
  }

  // Number of the fact, and whether it is new.
  std::pair<std::int32_t, bool> insert(std::uint16_t predicate, std::size_t arity, const Args& args) {
    if (2 * (entries_.size() + 1) > table_.size()) grow();
    const std::uint64_t key = fact_key(predicate, args);
    Slot& slot = table_[slot_of(key)];
    if (slot.number >= 0) return {slot.number, false};
    const auto number = static_cast<std::int32_t>(entries_.size());
    slot = {key, number};
    Entry entry{predicate, args, {-1, -1, -1}};
    std::vector<std::int32_t>& heads = heads_[predicate];
    if (heads.empty()) heads.assign(arity * constants_, -1);
    for (std::size_t i = 0; i < arity; ++i) {
      std::int32_t& head = heads[i * constants_ + args[i]];
      if (head < 0) ++distinct_[predicate][i];
      entry.next[i] = head;
      head = number;
    }
    entries_.push_back(entry);
    of_[predicate].push_back(number);
    return {number, true};
  }

  // -1: no such fact.
  std::int32_t find(std::uint16_t predicate, const Args& args) const {
    return table_[slot_of(fact_key(predicate, args))].number;
  }

  std::int32_t newest_with(std::uint16_t predicate, std::size_t position, Id constant) const {
    return heads_[predicate].empty() ? -1 : heads_[predicate][position * constants_ + constant];
  }
  const std::vector<std::int32_t>& of(std::uint16_t predicate) const { return of_[predicate]; }
  // Facts of the predicate for one value of an argument, on average and rounded up.
  std::size_t fan_out(std::uint16_t predicate, std::size_t position) const {
    return of_[predicate].size() / std::max<std::size_t>(1, distinct_[predicate][position]) + 1;
  }
  const Entry& operator[](std::int32_t number) const { return entries_[static_cast<std::size_t>(number)]; }
  std::size_t size() const { return entries_.size(); }
  std::size_t predicates() const { return of_.size(); }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::int32_t number = -1;  // -1: free
  };

  // Where the key is, or the free slot where it belongs.
  std::size_t slot_of(std::uint64_t key) const {
    std::size_t at = spread(key) & (table_.size() - 1);
    while (table_[at].number >= 0 && table_[at].key != key) at = (at + 1) & (table_.size() - 1);
    return at;
  }

  void grow() {
    std::vector<Slot> old(table_.size() * 2);
    std::swap(old, table_);
    for (const Slot& slot : old) {
      if (slot.number >= 0) table_[slot_of(slot.key)] = slot;
    }
  }

  std::size_t constants_;
  std::vector<Entry> entries_;
  std::vector<std::vector<std::int32_t>> heads_;
  std::vector<std::vector<std::int32_t>> of_;
  std::vector<std::array<std::size_t, kMaxArity>> distinct_;  // values seen, by predicate and position
  std::vector<Slot> table_;
};

}  // namespace lodestep::alfworld
