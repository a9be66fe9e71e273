// Levenshtein distance of byte strings, 64 cells of a column at a time.
//   edit_distance("mug", "jug") == 1
// Threads: pure function. Source: Myers 1999 in Hyyro's form for several words (2003).
#pragma once

#include <cstddef>
#include <string_view>

namespace lodestep::canonicalizer {

// O(len a * len b / 64).
std::size_t edit_distance(std::string_view a, std::string_view b);

// 1 - distance / length of the longer; 1 for two empty texts.
double edit_similarity(std::string_view a, std::string_view b);

}  // namespace lodestep::canonicalizer
