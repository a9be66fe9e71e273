#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

namespace lodestep {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\f\v";

// Reads one code point at `at` and moves past it; nullopt (one byte skipped) on malformed input.
std::optional<char32_t> next_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) {
    ++at;
    return lead;
  }
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  static constexpr std::array<char32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  if (lead < 0xc2 || lead > 0xf4 || at + size > text.size()) {
    ++at;
    return std::nullopt;
  }
  char32_t point = lead & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) {
      ++at;
      return std::nullopt;
    }
    point = (point << 6) | (byte(at + i) & 0x3f);
  }
  if (point < kSmallest[size] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
    ++at;
    return std::nullopt;
  }
  at += size;
  return point;
}

// Length of the white-space code point that ends just before `end`, 0 if none does.
std::size_t space_before(std::string_view text, std::size_t end) {
  for (std::size_t size = 1; size <= 3 && size <= end; ++size) {
    std::size_t at = end - size;
    const std::optional<char32_t> point = next_point(text, at);
    if (point && at == end) return is_python_space(*point) ? size : 0;
  }
  return 0;
}

template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string ascii_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const bool upper = static_cast<unsigned char>(c - 'A') < 26;  // no branch: this runs many bytes at once
    c = static_cast<char>(c + (upper ? 'a' - 'A' : 0));
  }
  return out;
}

bool is_python_space(char32_t point) {
  return (point >= 0x09 && point <= 0x0d) || (point >= 0x1c && point <= 0x20) || point == 0x85 ||
         point == 0xa0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x2028 ||
         point == 0x2029 || point == 0x202f || point == 0x205f || point == 0x3000;
}

std::string_view python_strip(std::string_view utf8) {
  std::size_t first = 0;
  while (first < utf8.size()) {
    std::size_t after = first;
    const std::optional<char32_t> point = next_point(utf8, after);
    if (!point || !is_python_space(*point)) break;
    first = after;
  }
  std::size_t end = utf8.size();
  while (end > first) {
    const std::size_t size = space_before(utf8, end);
    if (size == 0) break;
    end -= size;
  }
  return utf8.substr(first, end - first);
}

std::optional<std::int64_t> parse_int(std::string_view text) { return parse_number<std::int64_t>(text); }
std::optional<std::uint64_t> parse_uint(std::string_view text) { return parse_number<std::uint64_t>(text); }

std::optional<double> parse_double(std::string_view text) {
  const std::optional<double> value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string python_repr(double value) {
  std::array<char, 40> buffer{};
  const double size = std::abs(value);
  const bool scientific = size != 0 && (size < 1e-4 || size >= 1e16);
  const auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format).ptr;
  std::string out(buffer.data(), end);
  if (!scientific && out.find('.') == std::string::npos) out += ".0";
  return out;
}

std::optional<std::u32string> decode_utf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::optional<char32_t> point = next_point(text, at);
    if (!point) return std::nullopt;
    out += *point;
  }
  return out;
}

bool is_valid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    std::uint64_t word = 0;  // eight ASCII bytes at a time
    while (at + sizeof word <= text.size()) {
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & 0x8080808080808080ULL) != 0) break;
      at += sizeof word;
    }
    if (at < text.size() && !next_point(text, at)) return false;
  }
  return true;
}

void append_utf8(std::string& out, char32_t point) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xc0 | (point >> 6));
    put(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    put(0xe0 | (point >> 12));
    put(0x80 | ((point >> 6) & 0x3f));
    put(0x80 | (point & 0x3f));
  } else {
    put(0xf0 | (point >> 18));
    put(0x80 | ((point >> 12) & 0x3f));
    put(0x80 | ((point >> 6) & 0x3f));
    put(0x80 | (point & 0x3f));
  }
}

std::string encode_utf8(std::u32string_view points) {
  std::string out;
  out.reserve(points.size());
  for (const char32_t point : points) append_utf8(out, point);
  return out;
}

std::string json_quote(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size() + text.size() / 4 + 8);
  out += '"';
  std::array<char, 512>
      buffer;  // escapes are frequent in drawn boards: bytes are gathered before they are appended
  std::size_t have = 0;
  const auto put = [&](char c) { buffer[have++] = c; };
  for (std::size_t at = 0; at < text.size();) {
    if (have + 8 > buffer.size()) {
      out.append(buffer.data(), have);
      have = 0;
    }
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x80) {
      const std::size_t start = at;
      const bool valid = next_point(text, at).has_value();
      for (const char c : valid ? text.substr(start, at - start) : std::string_view("\xef\xbf\xbd")) put(c);
      continue;
    }
    ++at;
    if (byte == '"' || byte == '\\') {
      put('\\');
      put(static_cast<char>(byte));
    } else if (byte >= 0x20 && byte != 0x7f) {
      put(static_cast<char>(byte));
    } else if (byte == '\n' || byte == '\r' || byte == '\t') {
      put('\\');
      put(byte == '\n' ? 'n' : byte == '\r' ? 'r' : 't');
    } else {
      for (const char c : std::string_view("\\u00")) put(c);
      put(kDigits[byte >> 4]);
      put(kDigits[byte & 15]);
    }
  }
  out.append(buffer.data(), have);
  return out += '"';
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 40> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

std::string json_array(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ',';
    out += json_quote(text);
  }
  return out += ']';
}

namespace {
constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      word = (word << 8) | (j < have ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) out += j <= have ? kBase64[(word >> (18 - 6 * j)) & 63] : '=';
  }
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string out;
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t value = 0;
    if (i + padding < text.size()) {
      value = kBase64.find(text[i]);
      if (value == std::string_view::npos) return std::nullopt;
    }
    word = (word << 6) | static_cast<std::uint32_t>(value);
    if (i % 4 == 3) {
      for (int shift = 16; shift >= 0; shift -= 8) out += static_cast<char>((word >> shift) & 0xff);
      word = 0;
    }
  }
  out.resize(out.size() - padding);
  if (base64_encode(out) != text) return std::nullopt;  // stray bits under the padding
  return out;
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace lodestep
