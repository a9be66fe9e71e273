// JSON written member by member, in the order of the calls.
//   std::string reply = JsonObject().text("id", id).number("reward", 0.5).boolean("done", true).end();
// Threads: values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace lodestep::harness {

class JsonObject {
 public:
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

  // Text as JSON, as json_quote writes it; ASCII without rare characters, which most of it is, in one pass.
  static void append_quoted(std::string& out, std::string_view text) {
    const std::size_t before = out.size();
    out.resize(before + 2 * text.size() + 2);
    char* to = out.data() + before;
    *to++ = '"';
    for (const char c : text) {
      if (static_cast<signed char>(c) < 0x20 || c == '"' || c == '\\' || c == 0x7f) {  // negative: not ASCII
        if (c != '\n' && c != '\t' && c != '"' && c != '\\') {
          out.resize(before);
          out += json_quote(text);
          return;
        }
        *to++ = '\\';
        *to++ = c == '\n' ? 'n' : c == '\t' ? 't' : c;
      } else {
        *to++ = c;
      }
    }
    *to++ = '"';
    out.resize(static_cast<std::size_t>(to - out.data()));
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
