// Texts to numbers 0, 1, 2, ... in order of first appearance, and back.
//   Interner states;
//   std::int32_t id = states.intern(text);   states.text(id) == text
// Threads: one object, one thread; const methods from several. Owns one copy of each distinct text. A text is
// found by its 64-bit hash and then compared, so equal numbers always mean equal texts. Texts whose hashes
// collide on purpose cost a search in a tree, never a walk over all of them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lodestep {

class Interner {
 public:
  Interner();
  std::int32_t intern(std::string_view text);
  std::int32_t find(std::string_view text) const;  // -1: not seen
  // Asks memory for a text that will be interned soon: a loop over texts at rest, a few texts ahead of
  // itself, waits for memory about half as long.
  static void prefetch(std::string_view text);
  const std::string& text(std::int32_t id) const { return texts_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return texts_.size(); }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::int32_t id = -1;  // -1: free
  };
  static constexpr std::size_t kFarthest =
      32;  // slots from where a text belongs; what finds none is crowded out
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  // Its slot, or the free one for it; kNowhere: all are taken by others.
  std::size_t slot_of(std::string_view text, std::uint64_t hash) const;
  std::int32_t find_or_add(std::string_view text);
  void grow();
  std::vector<Slot> slots_;  // open addressing; the size is a power of two
  std::map<std::string, std::int32_t, std::less<>> crowded_out_;
  std::deque<std::string> texts_;
  std::int32_t last_ = -1;  // the latest number given
};

}  // namespace lodestep
