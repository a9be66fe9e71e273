// The few JSON helpers that several edges share. RapidJSON stays inside the harness.
//   Result<rapidjson::Document> request = parse_json_object(line, "line 3");
// Threads: pure functions.
#pragma once

#include <rapidjson/document.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lodestep::harness {

// Of members with one name: the last one stands, as in Python, or all are left for the caller to see.
enum class Repeated { kLastStands, kKept };

// Parses one strict JSON object: valid UTF-8, no NaN, no trailing text, nesting of at most 64. `where` names
// the place in errors, which also give the byte.
Result<rapidjson::Document> parse_json_object(std::string_view text, const std::string& where,
                                              Repeated repeated = Repeated::kLastStands);
// The same for any JSON value.
Result<rapidjson::Document> parse_json(std::string_view text, const std::string& where);

// The same into a document that the caller made, with memory of its own choice.
Status parse_json(std::string_view text, const std::string& where, rapidjson::Document& document,
                  Repeated repeated = Repeated::kLastStands);

// A member that is text; nullopt when absent or of another type.
std::optional<std::string> text_member(const rapidjson::Value& object, const char* name);

// The value as compact JSON text.
std::string to_json(const rapidjson::Value& value);

}  // namespace lodestep::harness
