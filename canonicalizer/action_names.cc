#include "canonicalizer/action_names.h"

#include <algorithm>
#include <vector>

#include "canonicalizer/normal_form.h"
#include "canonicalizer/segments.h"

namespace lodestep::canonicalizer {

std::vector<std::string> names_of(std::span<const std::string> actions) {
  std::vector<std::string> names;
  names.reserve(2 * actions.size());
  for (const std::string& action : actions) {
    names.push_back(fold_line(action));
    const std::size_t open = action.find('[');
    const std::size_t close = action.rfind(']');
    if (open != std::string::npos && close != std::string::npos && close > open) {
      names.push_back(fold_line(std::string_view(action).substr(open + 1, close - open - 1)));
    }
  }
  return names;
}

ActionNames::ActionNames(std::span<const std::string> actions) {
  names_.reserve(2 * actions.size());
  for (const std::string& name : names_of(actions)) names_.push_back(hash128(name));
  std::sort(names_.begin(), names_.end());
}

bool ActionNames::contains(const Hash128& folded_line) const {
  return std::binary_search(names_.begin(), names_.end(), folded_line);
}

Hash128 hash_of_named_lines(const PageView& view) {
  std::vector<std::string> lines;
  if (view.actions) {
    const ActionNames names(*view.actions);
    for (const std::string_view raw : segments_of(view.text)) {
      std::string line = fold_line(raw);
      if (names.contains(hash128(without_marks(line)))) lines.push_back(std::move(line));
    }
  }
  std::sort(lines.begin(), lines.end());
  Hasher hasher;
  for (const std::string& line : lines) hasher.add(line);
  return hasher.finish();
}

}  // namespace lodestep::canonicalizer
