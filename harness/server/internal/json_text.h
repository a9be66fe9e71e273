// JSON written member by member, in the order of the calls.
//   std::string reply = JsonObject().text("id", id).number("reward", 0.5).boolean("done", true).end();
// Threads: values.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace lodestep::harness {

class JsonObject {
 public:
  explicit JsonObject(std::size_t bytes = 0) { out_.reserve(bytes); }  // about as many as it will have
  JsonObject& raw(std::string_view name, std::string_view json) {
    out_ += first_ ? "{\"" : ",\"";
    first_ = false;
    out_ += name;  // names are ours: no escapes needed
    out_ += "\":";
    out_ += json;
    return *this;
  }
  // A list whose values are JSON already: pieces of it, each of some values separated by commas.
  JsonObject& list(std::string_view name, const std::vector<std::string_view>& pieces) {
    raw(name, "[");
    bool first = true;
    for (const std::string_view piece : pieces) {
      if (piece.empty()) continue;
      if (!first) out_ += ',';
      first = false;
      out_ += piece;
    }
    out_ += ']';
    return *this;
  }
  JsonObject& text(std::string_view name, std::string_view value) { return raw(name, json_quote(value)); }
  JsonObject& number(std::string_view name, double value) { return raw(name, json_number(value)); }
  JsonObject& count(std::string_view name, std::size_t value) { return raw(name, std::to_string(value)); }
  JsonObject& boolean(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }
  JsonObject& null(std::string_view name) { return raw(name, "null"); }
  std::string end() {
    out_ += first_ ? "{}" : "}";
    return std::move(out_);
  }

 private:
  std::string out_;
  bool first_ = true;
};

// The same for nested objects, written straight to the end of a text.
//   JsonWriter(out).open().open("data").text("id", id).close().close();
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}
  JsonWriter& open() {
    out_ += '{';
    first_ = true;
    return *this;
  }
  JsonWriter& open(std::string_view name) { return begin(name).open(); }
  JsonWriter& close() {
    out_ += '}';
    first_ = false;
    return *this;
  }
  JsonWriter& raw(std::string_view name, std::string_view json) {
    begin(name);
    out_ += json;
    return *this;
  }
  JsonWriter& text(std::string_view name, std::string_view value) {
    begin(name);
    append_quoted(out_, value);
    return *this;
  }
  JsonWriter& texts(std::string_view name, const std::vector<std::string>& values) {
    begin(name);
    append_quoted(out_, values);
    return *this;
  }
  JsonWriter& count(std::string_view name, std::size_t value) { return raw(name, std::to_string(value)); }
  JsonWriter& boolean(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }

  // Text as JSON, as json_quote writes it, in one pass without branches: boards are half escapes. What is
  // rare is written again.
  static void append_quoted(std::string& out, std::string_view text) {
    const std::size_t before = out.size();
    out.resize(before + 2 * text.size() + 2);
    char* to = out.data() + before;
    *to++ = '"';
    unsigned rare = 0, wide = 0;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      const unsigned char escape = kEscapes[byte];
      rare |= escape;
      wide |= byte;
      *to = '\\';
      to += escape != 0 ? 1 : 0;
      *to++ = escape != 0 ? static_cast<char>(escape) : c;
    }
    *to++ = '"';
    out.resize(static_cast<std::size_t>(to - out.data()));
    if ((rare & kRare) == 0 && ((wide & 0x80) == 0 || is_valid_utf8(text))) return;
    out.resize(before);
    out += json_quote(text);
  }
  static void append_quoted(std::string& out, const std::vector<std::string>& texts) {
    out += '[';
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (i != 0) out += ',';
      append_quoted(out, texts[i]);
    }
    out += ']';
  }

 private:
  // What follows the backslash of a byte; 0: it stands for itself, kRare: see json_quote.
  static constexpr unsigned char kRare = 0x80;
  static constexpr std::array<unsigned char, 256> kEscapes = [] {
    std::array<unsigned char, 256> out{};
    for (std::size_t byte = 0; byte < 0x20; ++byte) out[byte] = kRare;
    out[0x7f] = kRare;
    out['\n'] = 'n', out['\r'] = 'r', out['\t'] = 't', out['"'] = '"', out['\\'] = '\\';
    return out;
  }();

  JsonWriter& begin(std::string_view name) {
    out_ += first_ ? "\"" : ",\"";
    first_ = false;
    out_ += name;  // names are ours: no escapes needed
    out_ += "\":";
    return *this;
  }

  std::string& out_;
  bool first_ = true;
};

// Array of values that are JSON already.
inline std::string json_list(const std::vector<std::string>& values) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out += ',';
    out += values[i];
  }
  return out + "]";
}

}  // namespace lodestep::harness
