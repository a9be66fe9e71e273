// What the files of the OpenEnv dialect share: reading actions and bodies, wording refusals, playing an
// action.
//   Action action; Problems problems = read_action(value, action); if (!problems.empty()) ...
// Threads: pure but for the session that is played.
#pragma once

#include <rapidjson/document.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/server/internal/dialects.h"
#include "harness/server/internal/task_fields.h"

namespace lodestep::harness {

using Problems = std::vector<FieldProblem>;

HttpResponse openenv_error(int status, std::string_view code, std::string_view message);
HttpResponse unprocessable(const Problems& problems, const std::vector<std::string>& location);  // 422

// What a client may send as an action.
struct Action {
  std::string command;
  enum class Kind { kCommand, kListTools, kCallTool } kind = Kind::kCommand;
  std::string tool;
  const rapidjson::Value* arguments = nullptr;
};
Problems read_action(const rapidjson::Value& value, Action& action);

// Plays one action; the value is the result object.
Result<std::string> play_action(Service& service, Session& session, const Action& action);
std::string state_json(const Session& session);

// What a reset says of the task. Trainers pass whole data rows: a task_id that is no text is one of their own
// columns.
Problems read_row(const rapidjson::Value& row, TaskChoice& choice);
// A text member of at most so many characters; absent and null are fine.
void check_name(const rapidjson::Value& object, const char* name, std::size_t limit,
                std::optional<std::string>& target, Problems& problems);
// The body as an object; the reply when it is none. An absent body is an empty object where that is allowed.
std::optional<HttpResponse> read_body(const HttpRequest& request, bool required, rapidjson::Document& body);

// The tables of the other files.
std::vector<Route> openenv_play_routes();
std::vector<Route> openenv_web_routes();
std::vector<Route> openenv_task_routes();

}  // namespace lodestep::harness
