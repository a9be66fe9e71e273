#include "canonicalizer/matcher.h"

#include <unordered_map>

namespace lodestep::canonicalizer {

Status Matcher::load(std::string_view) {
  return Error{ErrorCode::kInvalidArgument, "this matcher has no memory to load", "",
               "a saved model belongs to the matcher `robust`"};
}

std::vector<std::uint32_t> number_by_first_appearance(std::span<const Hash128> keys) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(keys.size());
  std::unordered_map<Hash128, std::uint32_t, ContainerHash> seen;
  for (const Hash128& key : keys) {
    numbers.push_back(seen.try_emplace(key, static_cast<std::uint32_t>(seen.size())).first->second);
  }
  return numbers;
}

}  // namespace lodestep::canonicalizer
