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
