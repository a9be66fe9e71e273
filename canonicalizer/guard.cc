#include "canonicalizer/guard.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace lodestep::canonicalizer {

OptionSpec guard_option() {
  return {
      "guard", "actions", "actions: never join views whose admissible actions differ", {"actions", "none"}};
}

Guard parse_guard(const Options& options) {
  return options.text("guard") == "none" ? Guard::kNone : Guard::kActions;
}

Hash128 hash_of_actions(std::span<const std::string> actions) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(actions.size());
  for (const std::string& action : actions) hashes.push_back(hash128(action).low);
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  Hasher hasher;
  hasher.add_u64(hashes.size() + 1);  // known, even when there are none
  for (const std::uint64_t hash : hashes) hasher.add_u64(hash);
  return hasher.finish();
}

Hash128 guard_hash(Guard guard, const PageView& view) {
  return guard == Guard::kActions && view.actions ? hash_of_actions(*view.actions) : Hash128{};
}

Hash128 key_of(const PageView& view, const Hash128& guard, const Hash128& content) {
  Hasher hasher;
  hasher.add(view.group);
  for (const Hash128& part : {guard, content}) hasher.add_u64(part.high).add_u64(part.low);
  return hasher.finish();
}

std::vector<std::string> notes_on(Guard guard, std::span<const PageView> batch) {
  std::size_t without_actions = 0;
  std::size_t invalid = 0;
  for (const PageView& view : batch) {
    if (!view.actions) ++without_actions;
    if (!is_valid_utf8(view.text)) ++invalid;
  }
  const std::string of_all = " of " + std::to_string(batch.size()) + " views";
  std::vector<std::string> notes;
  if (guard == Guard::kActions && without_actions > 0) {
    notes.push_back("no admissible actions for " + std::to_string(without_actions) + of_all +
                    ": nothing keeps states with different actions apart there");
  }
  if (invalid > 0) {
    notes.push_back("invalid UTF-8 in " + std::to_string(invalid) + of_all + ": matched as bytes");
  }
  return notes;
}

}  // namespace lodestep::canonicalizer
