#include "harness/server/message.h"

#include "base/text.h"

namespace lodestep::harness {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decode_percent(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  if (!is_valid_utf8(out)) return std::nullopt;
  return out;
}

}  // namespace

std::optional<std::string> Target::parameter(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::optional<Target> parse_target(std::string_view target) {
  Target out;
  target = target.substr(0, target.find('#'));
  const std::size_t question = target.find('?');
  std::string_view path = target.substr(0, question);
  if (path.empty() || path[0] != '/') {  // absolute form: http://host/path
    const std::size_t scheme = path.find("://");
    if (scheme == std::string_view::npos) return std::nullopt;
    const std::size_t slash = path.find('/', scheme + 3);
    path = slash == std::string_view::npos ? std::string_view("/") : path.substr(slash);
  }
  for (const std::string_view piece : split(path, '/')) {
    std::optional<std::string> segment = decode_percent(piece, false);
    if (!segment) return std::nullopt;
    if (segment->find("..") != std::string::npos || segment->find('\0') != std::string::npos ||
        segment->find('\\') != std::string::npos) {
      return std::nullopt;
    }
    if (!segment->empty()) out.path.push_back(std::move(*segment));
  }
  if (question != std::string_view::npos) {
    for (const std::string_view pair : split(target.substr(question + 1), '&')) {
      if (pair.empty()) continue;
      const std::size_t equals = pair.find('=');
      std::optional<std::string> key = decode_percent(pair.substr(0, equals), true);
      std::optional<std::string> value = decode_percent(
          equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true);
      if (!key || !value) return std::nullopt;
      out.query.emplace_back(std::move(*key), std::move(*value));
    }
  }
  return out;
}

}  // namespace lodestep::harness
