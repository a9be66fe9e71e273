// The members of a request that name a task, read the same way by every dialect.
//   FieldProblem problem; TaskChoice choice; if (!read_choice(object, choice, problem)) ...
// Threads: pure.
#pragma once

#include <rapidjson/document.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/server/session.h"

namespace lodestep::harness {

// One refused member, in the words that FastAPI's clients know.
struct FieldProblem {
  std::string type;  // "missing", "int_type", ...
  std::string field;
  std::string message;
  std::string input;  // the refused value as JSON
};

// A whole number of at least 0; whole doubles count. nullopt: anything else.
std::optional<std::uint64_t> whole_number(const rapidjson::Value& value);

// Reads seed, split, index and task_id into `choice`; absent and null members leave it alone.
std::vector<FieldProblem> read_choice(const rapidjson::Value& object, TaskChoice& choice);

// The value as JSON, cut when it is long.
std::string shown_input(const rapidjson::Value& value);

// [{"type","loc":[...],"msg","input"}]
std::string problems_json(const std::vector<FieldProblem>& problems,
                          const std::vector<std::string>& location);

}  // namespace lodestep::harness
