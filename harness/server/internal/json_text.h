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
  // Values that are JSON already, separated by commas.
  JsonObject& list(std::string_view name, std::string_view values) {
    out_.reserve(out_.size() + name.size() + values.size() + 16);
    raw(name, "[");
    out_ += values;
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
    out_ += '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i != 0) out_ += ',';
      append_quoted(out_, values[i]);
    }
    out_ += ']';
    return *this;
  }
  JsonWriter& count(std::string_view name, std::size_t value) { return raw(name, std::to_string(value)); }
  JsonWriter& boolean(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }

  // Text as JSON; plain ASCII, which most of it is, goes over in one piece.
  static void append_quoted(std::string& out, std::string_view text) {
    for (const char c : text) {
      if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f) {  // negative: not ASCII
        out += json_quote(text);
        return;
      }
    }
    out += '"';
    out += text;
    out += '"';
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
