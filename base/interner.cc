#include "base/interner.h"

#include "base/hash.h"

namespace lodestep {

Interner::Interner() : slots_(64) {}

std::size_t Interner::slot_of(std::string_view text, std::uint64_t hash) const {
  std::size_t slot = hash & (slots_.size() - 1);
  while (slots_[slot].id >= 0) {
    if (slots_[slot].hash == hash && texts_[static_cast<std::size_t>(slots_[slot].id)] == text) break;
    slot = (slot + 1) & (slots_.size() - 1);
  }
  return slot;
}

std::int32_t Interner::find(std::string_view text) const {
  return slots_[slot_of(text, ContainerHash()(text))].id;
}

std::int32_t Interner::intern(std::string_view text) {
  const std::uint64_t hash = ContainerHash()(text);
  const std::size_t slot = slot_of(text, hash);
  if (slots_[slot].id >= 0) return slots_[slot].id;
  const auto id = static_cast<std::int32_t>(texts_.size());
  slots_[slot] = {hash, id};
  texts_.emplace_back(text);
  if (2 * texts_.size() > slots_.size()) grow();
  return id;
}

void Interner::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  for (const Slot& entry : old) {
    if (entry.id < 0) continue;
    std::size_t slot = entry.hash & (slots_.size() - 1);
    while (slots_[slot].id >= 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = entry;
  }
}

}  // namespace lodestep
