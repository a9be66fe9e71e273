// Text as the original's Python and Java saw it: case, classes and quoting of code points.
//   std::string query = python_lower("CAF\u00c9");   // "café"
// Threads: pure functions. UTF-8 in and out; malformed bytes become U+FFFD. Characters newer than Unicode
// 14, Python 3.11's, count as unassigned, so that the installed Unicode library decides nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lodestep::webshop {

std::u32string to_points(std::string_view utf8);

// str.lower() and str.upper(): full mappings, a capital sigma by its place in the word.
std::string python_lower(std::string_view utf8);
std::u32string python_lower(std::u32string_view points);
std::string python_upper(std::string_view utf8);

bool is_alphanumeric(char32_t point);  // str.isalnum()
int decimal_digit(char32_t point);     // 0-9 of a digit of any script, -1 if it is none
char32_t java_lower(char32_t point);   // Character.toLowerCase: one code point to one

using Items = std::vector<std::pair<std::string, std::string>>;

// repr(("name", "value")): the tuple's text.
std::u32string repr_pair(std::u32string_view first, std::u32string_view second);
std::string repr_dict(const Items& items);
// json.dumps of a dict of strings: ", " and ": ", ASCII with \u escapes.
std::string json_dumps(const Items& items);

// Word-break class of a code point, packed; see analyzer.cc for the meaning of the bits.
std::uint16_t word_class(char32_t point);

}  // namespace lodestep::webshop
