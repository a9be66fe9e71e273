#include "harness/server/internal/task_fields.h"

#include <cmath>

#include "base/text.h"
#include "harness/internal/json.h"
#include "harness/server/internal/json_text.h"

namespace lodestep::harness {
namespace {

const rapidjson::Value* member(const rapidjson::Value& object, const char* name) {
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() || found->value.IsNull() ? nullptr : &found->value;
}

void read_whole(const rapidjson::Value& object, const char* name, std::optional<std::uint64_t>& target,
                std::vector<FieldProblem>& problems) {
  const rapidjson::Value* value = member(object, name);
  if (value == nullptr) return;
  if (const std::optional<std::uint64_t> number = whole_number(*value)) {
    target = number;
    return;
  }
  const bool negative = value->IsNumber() && value->GetDouble() < 0;
  problems.push_back({negative ? "greater_than_equal" : "int_type", name,
                      negative ? "Input should be greater than or equal to 0"
                               : "Input should be a whole number from 0 to 18446744073709551615",
                      shown_input(*value)});
}

void read_text(const rapidjson::Value& object, const char* name, std::string& target,
               std::vector<FieldProblem>& problems) {
  const rapidjson::Value* value = member(object, name);
  if (value == nullptr) return;
  if (value->IsString()) {
    target.assign(value->GetString(), value->GetStringLength());
    return;
  }
  problems.push_back({"string_type", name, "Input should be a valid string", shown_input(*value)});
}

}  // namespace

std::optional<std::uint64_t> whole_number(const rapidjson::Value& value) {
  if (value.IsUint64()) return value.GetUint64();
  if (!value.IsDouble()) return std::nullopt;
  const double number = value.GetDouble();
  if (!(number >= 0 && number <= 9007199254740992.0) || std::floor(number) != number) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

std::vector<FieldProblem> read_choice(const rapidjson::Value& object, TaskChoice& choice) {
  std::vector<FieldProblem> problems;
  read_whole(object, "seed", choice.seed, problems);
  read_whole(object, "index", choice.index, problems);
  read_text(object, "split", choice.split, problems);
  read_text(object, "task_id", choice.task_id, problems);
  return problems;
}

std::string shown_input(const rapidjson::Value& value) {
  if (value.IsObject() && value.MemberCount() > 20) return "{}";
  if (value.IsArray() && value.Size() > 20) return "[]";
  std::string text = to_json(value);
  return text.size() <= 400 ? text : json_quote(text.substr(0, 400));
}

std::string problems_json(const std::vector<FieldProblem>& problems,
                          const std::vector<std::string>& location) {
  std::vector<std::string> items;
  for (const FieldProblem& problem : problems) {
    std::vector<std::string> place = location;
    if (!problem.field.empty()) place.push_back(problem.field);
    items.push_back(JsonObject()
                        .text("type", problem.type)
                        .raw("loc", json_array(place))
                        .text("msg", problem.message)
                        .raw("input", problem.input.empty() ? "null" : problem.input)
                        .end());
  }
  return json_list(items);
}

}  // namespace lodestep::harness
