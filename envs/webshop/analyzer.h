// The original's search analyzer: standard tokenizer (UAX #29 as of Unicode 9), possessives, lower case,
// stop words, Porter stems.
//   std::vector<std::string> terms = analyze("Men's running SHOES");   // {"men", "run", "shoe"}
// Threads: pure functions. Any bytes are accepted. Equal to Lucene 8.11's English analyzer chain in the
// golden tests; sources: UAX #29, UTS #51, M. F. Porter, "An algorithm for suffix stripping" (1980).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lodestep::webshop {

std::vector<std::string> analyze(std::string_view text);

// The stages, for tests: words before any filter, and the stem of one lower-case word.
std::vector<std::u32string> tokenize(std::u32string_view text);
std::string porter_stem(std::string word);

}  // namespace lodestep::webshop
