// Unicode normal forms of text, for matchers that look past its spelling.
//   fold_line("  Caf\u0065\u0301  BAR ") == "caf\u00e9 bar"
// Threads: pure functions. Invalid UTF-8 comes back with ASCII letters lowered only.
#pragma once

#include <string>
#include <string_view>

namespace lodestep::canonicalizer {

// Unicode NFC; invalid UTF-8 comes back as it is.
std::string to_nfc(std::string_view text);

// NFC of the full case fold.
std::string fold_case(std::string_view text);

// Runs of Unicode white space become one space, none at the ends.
std::string collapse_space(std::string_view text);

// collapse_space of fold_case: how a line is compared.
std::string fold_line(std::string_view text);

}  // namespace lodestep::canonicalizer
