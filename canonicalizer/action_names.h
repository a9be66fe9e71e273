// Which lines of a page name an admissible action, such as a button's: they are never noise.
//   ActionNames names(actions);
//   if (names.contains(book.line(raw).bare)) ...
// Threads: immutable once made. Owns hashes only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "canonicalizer/matcher.h"

namespace lodestep::canonicalizer {

// Each action in folded form, and the text in its brackets where it has any.
std::vector<std::string> names_of(std::span<const std::string> actions);

class ActionNames {
 public:
  ActionNames() = default;
  explicit ActionNames(std::span<const std::string> actions);
  // Whether the hash is that of an action, or of the text in its brackets, in folded form.
  bool contains(const Hash128& folded_line) const;

 private:
  std::vector<Hash128> names_;  // sorted
};

// Of the lines that name an action, with their marks, in any order; equal for pages that offer and show as
// chosen the same things.
Hash128 hash_of_named_lines(const PageView& view);

}  // namespace lodestep::canonicalizer
