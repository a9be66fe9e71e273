// Small text helpers. Bytes unless a comment says code points.
//   for (std::string_view line : split(text, '\n')) ...
// Threads: pure functions. Views point into the argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lodestep {

// All pieces between separators, empty ones kept: split("a,,b", ',') is {"a", "", "b"}.
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

std::string_view trim(std::string_view text);    // ASCII blanks off both ends
std::string ascii_lower(std::string_view text);  // A-Z only; other bytes untouched
// Python's str.strip(): Unicode white space (29 code points) off both ends of UTF-8 text.
std::string_view python_strip(std::string_view utf8);
bool is_python_space(char32_t point);

// Whole text as a decimal number, nothing around it; nullopt when it is not one or does not fit.
std::optional<std::int64_t> parse_int(std::string_view text);
std::optional<std::uint64_t> parse_uint(std::string_view text);
std::optional<double> parse_double(std::string_view text);  // finite only

// Python's repr of a finite double: shortest digits that read back, ".0" if integral,
// exponent form below 1e-4 and from 1e16 on.
std::string python_repr(double value);

// Code points of UTF-8 text; nullopt on any malformed sequence, surrogate or overlong form.
std::optional<std::u32string> decode_utf8(std::string_view text);
bool is_valid_utf8(std::string_view text);
void append_utf8(std::string& out, char32_t point);
std::string encode_utf8(std::u32string_view points);

// Text as a JSON string with its quotes; malformed UTF-8 becomes U+FFFD.
std::string json_quote(std::string_view text);
// A number as JSON: shortest digits that read back; non-finite values become null.
std::string json_number(double value);
std::string json_array(const std::vector<std::string>& texts);  // of strings

// RFC 4648 base64 with padding; decoding is strict.
std::string base64_encode(std::string_view bytes);
std::optional<std::string> base64_decode(std::string_view text);

// The known word nearest to a misspelt one (at most a third of it edited); empty when none is near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

}  // namespace lodestep
