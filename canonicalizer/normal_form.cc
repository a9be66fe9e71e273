#include "canonicalizer/normal_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace lodestep::canonicalizer {
namespace {

bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
}

std::string map_with(std::string_view text, int options, std::string (*otherwise)(std::string_view)) {
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                                             static_cast<utf8proc_option_t>(options));
  if (size < 0) return otherwise(text);
  std::string out(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(size));
  std::free(mapped);  // NOLINT: utf8proc allocates with malloc
  return out;
}

}  // namespace

std::string to_nfc(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  return map_with(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE,
                  [](std::string_view raw) { return std::string(raw); });
}

std::string fold_case(std::string_view text) {
  if (is_ascii(text)) return ascii_lower(text);
  return map_with(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD, ascii_lower);
}

std::string collapse_space(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool space = false;
  const auto put = [&](std::string_view piece) {
    if (space && !out.empty()) out.push_back(' ');
    space = false;
    out.append(piece);
  };
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    std::size_t size = 1;
    bool blank = false;
    if (byte < 0x80) {
      blank = is_python_space(byte);
    } else {
      utf8proc_int32_t point = 0;
      const utf8proc_ssize_t read =
          utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + i),
                           static_cast<utf8proc_ssize_t>(text.size() - i), &point);
      if (read > 0) {
        size = static_cast<std::size_t>(read);
        blank = is_python_space(static_cast<char32_t>(point));
      }
    }
    if (blank) {
      space = true;
    } else {
      put(text.substr(i, size));
    }
    i += size;
  }
  return out;
}

std::string fold_line(std::string_view text) {
  if (!is_ascii(text)) return collapse_space(fold_case(text));
  std::string out;
  out.reserve(text.size());
  bool space = false;
  for (const char c : text) {
    if (c <= ' ' && is_python_space(static_cast<unsigned char>(c))) {
      space = true;
      continue;
    }
    if (space && !out.empty()) out.push_back(' ');
    space = false;
    out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c);
  }
  return out;
}

}  // namespace lodestep::canonicalizer
