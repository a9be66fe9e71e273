#include "envs/webshop/unicode.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace lodestep::webshop {
namespace {

struct Run {
  char32_t first;
  std::uint16_t code;
};

constexpr Run kRuns[] = {
#include "envs/webshop/word_break_table.inc"
};

std::uint16_t look_up(char32_t point) {
  const Run* after = std::upper_bound(std::begin(kRuns), std::end(kRuns), point,
                                      [](char32_t value, const Run& run) { return value < run.first; });
  return (after - 1)->code;
}

UChar32 icu(char32_t point) { return static_cast<UChar32>(point); }

bool is_known(char32_t point) {
  UVersionInfo age;
  u_charAge(icu(point), age);
  return age[0] > 0 && age[0] <= 14;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Whether a cased letter stands next to position `at`, case-ignorable ones skipped.
bool cased_beside(std::u32string_view text, std::size_t at, int step) {
  for (std::size_t i = at + static_cast<std::size_t>(step); i < text.size();
       i += static_cast<std::size_t>(step)) {
    if (u_hasBinaryProperty(icu(text[i]), UCHAR_CASE_IGNORABLE) != 0) continue;
    return u_hasBinaryProperty(icu(text[i]), UCHAR_CASED) != 0;
  }
  return false;
}

void append_repr(std::u32string& out, std::u32string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto has = [&](char32_t c) { return text.find(c) != std::u32string_view::npos; };
  const char32_t quote = has(U'\'') && !has(U'"') ? U'"' : U'\'';
  const auto hex = [&](char32_t mark, char32_t value, int digits) {
    out += U'\\';
    out += mark;
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
      out += static_cast<char32_t>(kDigits[(value >> shift) & 15]);
    }
  };
  const auto printable = [](char32_t c) {
    constexpr std::uint32_t kHidden = U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CS_MASK | U_GC_CO_MASK |
                                      U_GC_CN_MASK | U_GC_ZL_MASK | U_GC_ZP_MASK | U_GC_ZS_MASK;
    return c == U' ' || (is_known(c) && (U_GET_GC_MASK(icu(c)) & kHidden) == 0);
  };
  out += quote;
  for (const char32_t c : text) {
    if (c == quote || c == U'\\') {
      out += U'\\';
      out += c;
    } else if (c == U'\n') {
      out += U"\\n";
    } else if (c == U'\r') {
      out += U"\\r";
    } else if (c == U'\t') {
      out += U"\\t";
    } else if (printable(c)) {
      out += c;
    } else if (c < 0x100) {
      hex(U'x', c, 2);
    } else if (c < 0x10000) {
      hex(U'u', c, 4);
    } else {
      hex(U'U', c, 8);
    }
  }
  out += quote;
}

void append_dumped(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto unit = [&](char32_t value) {
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[(value >> shift) & 15];
  };
  out += '"';
  for (const char32_t c : to_points(text)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\b') {
      out += "\\b";
    } else if (c == '\f') {
      out += "\\f";
    } else if (c >= 0x20 && c < 0x7f) {
      out += static_cast<char>(c);
    } else if (c == 0x7f) {
      out += '\x7f';
    } else if (c < 0x10000) {
      unit(c);
    } else {
      unit(0xd7c0 + (c >> 10));
      unit(0xdc00 + (c & 0x3ff));
    }
  }
  out += '"';
}

}  // namespace

std::u32string to_points(std::string_view utf8) {
  std::u32string out;
  if (is_ascii(utf8)) {
    out.resize(utf8.size());
    std::transform(utf8.begin(), utf8.end(), out.begin(),
                   [](char c) { return static_cast<char32_t>(static_cast<unsigned char>(c)); });
    return out;
  }
  if (std::optional<std::u32string> points = decode_utf8(utf8)) return std::move(*points);
  // Rare: take the well-formed pieces, one replacement for each byte that is none.
  for (std::size_t at = 0; at < utf8.size();) {
    std::size_t size = 1;
    std::optional<std::u32string> piece;
    for (; size <= 4 && at + size <= utf8.size(); ++size) {
      piece = decode_utf8(utf8.substr(at, size));
      if (piece) break;
    }
    out += piece ? *piece : std::u32string(1, 0xfffd);
    at += piece ? size : 1;
  }
  return out;
}

std::u32string python_lower(std::u32string_view points) {
  std::u32string out;
  out.reserve(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const char32_t c = points[i];
    if (c < 0x80) {
      out += c >= U'A' && c <= U'Z' ? c + 32 : c;
    } else if (c == 0x130) {
      out += U"i\u0307";
    } else if (c == 0x3a3) {
      out += cased_beside(points, i, -1) && !cased_beside(points, i, 1) ? 0x3c2 : 0x3c3;
    } else {
      out += is_known(c) ? static_cast<char32_t>(u_tolower(icu(c))) : c;
    }
  }
  return out;
}

std::string python_lower(std::string_view utf8) {
  if (is_ascii(utf8)) return ascii_lower(utf8);
  return encode_utf8(python_lower(to_points(utf8)));
}

std::string python_upper(std::string_view utf8) {
  std::string out;
  for (const char32_t c : to_points(utf8)) {
    if (c == 0xdf) {
      out += "SS";
    } else {
      append_utf8(out, c < 0x80 || is_known(c) ? static_cast<char32_t>(u_toupper(icu(c))) : c);
    }
  }
  return out;
}

bool is_alphanumeric(char32_t point) {
  if (point < 0x80) {
    return (point >= U'0' && point <= U'9') || (point >= U'a' && point <= U'z') ||
           (point >= U'A' && point <= U'Z');
  }
  return is_known(point) && ((U_GET_GC_MASK(icu(point)) & U_GC_L_MASK) != 0 ||
                             u_getIntPropertyValue(icu(point), UCHAR_NUMERIC_TYPE) != U_NT_NONE);
}

int decimal_digit(char32_t point) {
  if (point < 0x80) return point >= U'0' && point <= U'9' ? static_cast<int>(point - U'0') : -1;
  return is_known(point) ? u_charDigitValue(icu(point)) : -1;
}

char32_t java_lower(char32_t point) {
  if (point < 0x80) return point >= U'A' && point <= U'Z' ? point + 32 : point;
  return static_cast<char32_t>(u_tolower(icu(point)));
}

std::u32string repr_pair(std::u32string_view first, std::u32string_view second) {
  std::u32string out = U"(";
  append_repr(out, first);
  out += U", ";
  append_repr(out, second);
  return out += U')';
}

std::string repr_dict(const Items& items) {
  std::u32string out = U"{";
  for (const auto& [name, value] : items) {
    if (out.size() > 1) out += U", ";
    append_repr(out, to_points(name));
    out += U": ";
    append_repr(out, to_points(value));
  }
  return encode_utf8(out += U'}');
}

std::string json_dumps(const Items& items) {
  std::string out = "{";
  for (const auto& [name, value] : items) {
    if (out.size() > 1) out += ", ";
    append_dumped(out, name);
    out += ": ";
    append_dumped(out, value);
  }
  return out += '}';
}

std::uint16_t word_class(char32_t point) {
  static const std::vector<std::uint16_t> direct = [] {
    std::vector<std::uint16_t> codes(0x20000);
    for (std::size_t i = 0; i < std::size(kRuns); ++i) {
      const std::size_t end = i + 1 < std::size(kRuns) ? kRuns[i + 1].first : 0x110000;
      for (std::size_t c = kRuns[i].first; c < end && c < codes.size(); ++c) codes[c] = kRuns[i].code;
    }
    return codes;
  }();
  return point < direct.size() ? direct[point] : look_up(point);
}

}  // namespace lodestep::webshop
