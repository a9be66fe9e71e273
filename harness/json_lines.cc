#include "harness/internal/json_lines.h"

#include <fstream>
#include <istream>

#include "base/text.h"
#include "harness/internal/json.h"

namespace lodestep::harness {

Status for_each_json_line(const std::string& path, Io& io, const JsonLine& take) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file)
      return Error{ErrorCode::kNotFound, "cannot read the input file", path, "\"-\" is standard input"};
  }
  std::istream& in = path == "-" ? io.in : file;
  const std::string name = path == "-" ? "standard input" : path;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (trim(line).empty()) continue;
    const std::string where = name + " line " + std::to_string(number);
    const Result<rapidjson::Document> row = parse_json_object(line, where, Repeated::kKept);
    if (!row) return row.error();
    if (Status taken = take(*row, where); !taken) return taken;
  }
  if (in.bad()) return Error{ErrorCode::kUnavailable, "reading broke off", name, ""};
  return {};
}

Result<std::string> required_text(const rapidjson::Value& row, const char* name, const std::string& where) {
  if (std::optional<std::string> text = text_member(row, name)) return *std::move(text);
  const bool there = row.HasMember(name);
  return Error{ErrorCode::kBadData,
               "\"" + std::string(name) + "\" " + (there ? "must be text" : "is missing"), where, ""};
}

}  // namespace lodestep::harness
