#include "base/interner.h"

#include "base/hash.h"

namespace lodestep {

Interner::Interner() : slots_(64) {}

std::size_t Interner::slot_of(std::string_view text, std::uint64_t hash) const {
  std::size_t slot = hash & (slots_.size() - 1);
  for (std::size_t walked = 0; walked < kFarthest; ++walked) {
    const Slot& entry = slots_[slot];
    if (entry.id < 0) return slot;
    if (entry.hash == hash && texts_[static_cast<std::size_t>(entry.id)] == text) return slot;
    slot = (slot + 1) & (slots_.size() - 1);
  }
  return kNowhere;
}

std::int32_t Interner::find(std::string_view text) const {
  const std::size_t slot = slot_of(text, ContainerHash()(text));
  if (slot != kNowhere) return slots_[slot].id;
  const auto found = crowded_out_.find(text);
  return found == crowded_out_.end() ? -1 : found->second;
}

void Interner::prefetch(std::string_view text) {
  constexpr std::size_t kLine = 64;
  for (std::size_t at = 0; at < text.size(); at += kLine) __builtin_prefetch(text.data() + at);
}

std::int32_t Interner::intern(std::string_view text) {
  // A step mostly begins where the one before it ended, and comparing is cheaper than hashing.
  if (last_ >= 0 && texts_[static_cast<std::size_t>(last_)] == text) return last_;
  return last_ = find_or_add(text);
}

std::int32_t Interner::find_or_add(std::string_view text) {
  const std::uint64_t hash = ContainerHash()(text);
  const std::size_t slot = slot_of(text, hash);
  if (slot != kNowhere && slots_[slot].id >= 0) return slots_[slot].id;
  if (slot == kNowhere) {
    if (const auto found = crowded_out_.find(text); found != crowded_out_.end()) return found->second;
  }
  const auto id = static_cast<std::int32_t>(texts_.size());
  texts_.emplace_back(text);
  if (slot == kNowhere) {
    crowded_out_.emplace(texts_.back(), id);
  } else {
    slots_[slot] = {hash, id};
  }
  if (2 * texts_.size() > slots_.size()) grow();
  return id;
}

void Interner::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  for (const auto& [text, id] : crowded_out_) old.push_back({ContainerHash()(text), id});
  crowded_out_.clear();
  for (const Slot& entry : old) {
    if (entry.id < 0) continue;
    const std::string& text = texts_[static_cast<std::size_t>(entry.id)];
    const std::size_t slot = slot_of(text, entry.hash);
    if (slot == kNowhere) {
      crowded_out_.emplace(text, entry.id);
    } else {
      slots_[slot] = entry;
    }
  }
}

}  // namespace lodestep
