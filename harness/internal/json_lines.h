// Files of one JSON object a line, read one at a time; "-" is standard input.
//   Status read = for_each_json_line(path, io, [&](const rapidjson::Value& row, const std::string& where) {
//     return take(row, where);
//   });
// Threads: one. Blank lines are skipped. Errors name the file and the line.
#pragma once

#include <rapidjson/document.h>

#include <functional>
#include <string>

#include "base/result.h"
#include "harness/command.h"

namespace lodestep::harness {

using JsonLine = std::function<Status(const rapidjson::Value& row, const std::string& where)>;

// Stops at the first error, the reader's or `take`'s own.
Status for_each_json_line(const std::string& path, Io& io, const JsonLine& take);

// A member that must be text, or the error that says so.
Result<std::string> required_text(const rapidjson::Value& row, const char* name, const std::string& where);

}  // namespace lodestep::harness
