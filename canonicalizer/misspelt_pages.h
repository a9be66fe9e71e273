// Joins pages that differ by typing errors alone, once noise is gone: the second step of typos=on.
//   std::vector<std::size_t> stands_for = join_misspelt(pages);   // pages[stands_for[i]] is page i's state
// Threads: pure function. docs/matchers.md (robust, typos) explains the rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"

namespace lodestep::canonicalizer {

struct CleanPage {
  std::uint32_t group = 0;
  Hash128 bucket;      // of the admissible actions and the options shown as chosen: pages of two never join
  std::int64_t t = 0;  // when the page was first seen
  std::uint32_t views = 0;  // and how often
  std::string text;         // its lines without noise
};

// Per page the index of the page that stands for it, itself or another of its group and bucket. In the order
// of (t, text), a page joins the first earlier one of Indel similarity >= .93 whose numbers are the same and
// whose words are the same, in the same places, or misspelt: of nearly the same letters, one of the two far
// rarer.
std::vector<std::size_t> join_misspelt(std::span<const CleanPage> pages);

}  // namespace lodestep::canonicalizer
