#include "harness/server/internal/openenv_parts.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "harness/internal/json.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/mcp.h"
#include "harness/server/internal/situation.h"

namespace lodestep::harness {
namespace {

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string tool_result(const Session& session, const std::string& observation) {
  return JsonObject()
      .raw("observation", observation)
      .raw("reward", reward_json(session.last_reward))
      .boolean("done", session.episode.started() && session.episode.ended())
      .end();
}

}  // namespace

HttpResponse openenv_error(int status, std::string_view, std::string_view message) {
  return json_response(status, JsonObject().text("detail", message).end());
}

HttpResponse unprocessable(const Problems& problems, const std::vector<std::string>& location) {
  return json_response(422, JsonObject().raw("detail", problems_json(problems, location)).end());
}

Problems read_action(const rapidjson::Value& value, Action& action) {
  if (!value.IsObject()) {
    return {{"model_attributes_type", "", "Input should be a valid dictionary", shown_input(value)}};
  }
  const std::optional<std::string> type = text_member(value, "type");
  const bool is_call = type == "call_tool";
  if (is_call || type == "list_tools") {
    action.kind = is_call ? Action::Kind::kCallTool : Action::Kind::kListTools;
  }
  Problems problems;
  bool has_command = false;
  bool has_tool = false;
  for (const auto& [name, member] : value.GetObject()) {
    const std::string_view key(name.GetString(), name.GetStringLength());
    if (key == "metadata") {
      if (!member.IsObject()) {
        problems.push_back(
            {"dict_type", "metadata", "Input should be a valid dictionary", shown_input(member)});
      }
    } else if (action.kind == Action::Kind::kCommand && key == "command") {
      has_command = true;
      if (member.IsString()) {
        action.command.assign(member.GetString(), member.GetStringLength());
      } else {
        problems.push_back({"string_type", "command", "Input should be a valid string", shown_input(member)});
      }
    } else if (action.kind != Action::Kind::kCommand && key == "type") {
    } else if (is_call && key == "tool_name" && member.IsString()) {
      has_tool = true;
      action.tool.assign(member.GetString(), member.GetStringLength());
    } else if (is_call && key == "arguments" && member.IsObject()) {
      action.arguments = &member;
    } else {
      problems.push_back({"extra_forbidden", std::string(key.substr(0, 100)),
                          "Extra inputs are not permitted", shown_input(member)});
    }
  }
  if (action.kind == Action::Kind::kCommand && !has_command) {
    problems.push_back({"missing", "command", "Field required", shown_input(value)});
  }
  if (is_call && !has_tool)
    problems.push_back({"missing", "tool_name", "Field required", shown_input(value)});
  return problems;
}

Result<std::string> play_action(Service& service, Session& session, const Action& action) {
  if (action.kind == Action::Kind::kListTools) {
    return tool_result(session, JsonObject().raw("tools", tools_json("input_schema")).end());
  }
  if (action.kind == Action::Kind::kCallTool) {
    const rapidjson::Value none(rapidjson::kObjectType);
    const Result<std::string> answer =
        call_tool(action.tool, action.arguments ? *action.arguments : none, service, session);
    JsonObject observation;
    observation.text("tool_name", action.tool);
    if (answer) {
      observation.raw("result", *answer).null("error");
    } else {
      const char* type = answer.error().code == ErrorCode::kNotFound          ? "tool_not_found"
                         : answer.error().code == ErrorCode::kInvalidArgument ? "invalid_args"
                                                                              : "execution_error";
      observation.null("result").raw(
          "error", JsonObject().text("error_type", type).text("message", error_reason(answer.error())).end());
    }
    return tool_result(session, observation.end());
  }
  if (!session.episode.started()) {
    return Error{ErrorCode::kInvalidArgument, "no episode is running: send a reset first", "", ""};
  }
  const Result<StepResult> result = service.step(session, action.command);
  if (!result) return result.error();
  return result_json(session, *result);
}

std::string state_json(const Session& session) {
  const Episode& episode = session.episode;
  JsonObject out;
  if (episode.started()) {
    out.text("episode_id", session.episode_id)
        .count("step_count", episode.steps())
        .text("session_id", session.id)
        .text("task_id", episode.task().id)
        .count("seed", episode.task().seed)
        .boolean("done", episode.ended())
        .boolean("truncated", episode.truncated());
  } else {
    out.null("episode_id").count("step_count", 0).text("session_id", session.id);
  }
  return out.end();
}

Problems read_row(const rapidjson::Value& row, TaskChoice& choice) {
  Problems problems = read_choice(row, choice);
  std::erase_if(problems, [](const FieldProblem& problem) { return problem.field == "task_id"; });
  return problems;
}

std::optional<HttpResponse> read_body(const HttpRequest& request, bool required, rapidjson::Document& body) {
  if (trim(request.body).empty() && !required) {
    body.SetObject();
    return std::nullopt;
  }
  if (trim(request.body).empty()) return unprocessable({{"missing", "", "Field required", "null"}}, {"body"});
  Result<rapidjson::Document> parsed = parse_json(request.body, "");
  if (!parsed) return unprocessable({{"json_invalid", "", error_reason(parsed.error()), "{}"}}, {"body"});
  body.Swap(*parsed);
  if (body.IsNull() && !required) body.SetObject();
  if (!body.IsObject()) {
    return unprocessable(
        {{"model_attributes_type", "", "Input should be a valid dictionary", shown_input(body)}}, {"body"});
  }
  return std::nullopt;
}

void check_name(const rapidjson::Value& object, const char* name, std::size_t limit,
                std::optional<std::string>& target, Problems& problems) {
  const auto found = object.FindMember(name);
  if (found == object.MemberEnd() || found->value.IsNull()) return;
  if (!found->value.IsString()) {
    problems.push_back({"string_type", name, "Input should be a valid string", shown_input(found->value)});
    return;
  }
  target.emplace(found->value.GetString(), found->value.GetStringLength());
  if (code_points(*target) > limit) {
    problems.push_back({"string_too_long", name,
                        "String should have at most " + std::to_string(limit) + " characters",
                        shown_input(found->value)});
  }
}

}  // namespace lodestep::harness
