#include "harness/server/internal/mcp.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "harness/internal/json.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/routes.h"
#include "harness/server/internal/situation.h"
#include "harness/server/internal/task_fields.h"

namespace lodestep::harness {
namespace {

constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kMethodNotFound = -32601;
constexpr int kInvalidParams = -32602;
constexpr int kInternal = -32603;
constexpr int kServerError = -32000;

std::string rpc_error(const std::string& id, int code, std::string_view message,
                      const std::string& data = {}) {
  JsonObject error;
  error.raw("code", std::to_string(code)).text("message", message);
  if (!data.empty()) error.raw("data", data);
  return JsonObject().text("jsonrpc", "2.0").raw("id", id).raw("error", error.end()).end();
}

std::string rpc_result(const std::string& id, const std::string& result) {
  return JsonObject().text("jsonrpc", "2.0").raw("id", id).raw("result", result).end();
}

struct Tool {
  std::string_view name;
  std::string_view description;
  std::string_view schema;
};

// The names reset, step, state and close belong to the protocol.
constexpr Tool kTools[] = {
    {"new_episode", "Starts an episode: of a given task, or of one that the seed picks.",
     R"({"type":"object","properties":{"seed":{"type":"integer","minimum":0},"split":{"type":"string"},)"
     R"("index":{"type":"integer","minimum":0},"task_id":{"type":"string"}},"additionalProperties":false})"},
    {"act", "Plays one command in the running episode.",
     R"({"type":"object","properties":{"command":{"type":"string"}},"required":["command"],"additionalProperties":false})"},
    {"observe", "Shows the running episode again.",
     R"({"type":"object","properties":{},"additionalProperties":false})"},
};

std::string shown(const Session& session, const StepResult& result) {
  const Environment& environment = session.episode.environment();
  return JsonObject()
      .text("text", result.observation.text)
      .raw("available_actions", json_array(environment.admissible_actions()))
      .text("state_key", environment.state_keys().exact)
      .raw("reward", reward_json(result.reward))
      .boolean("done", is_done(session, result))
      .boolean("terminated", result.done())
      .boolean("truncated", session.episode.truncated())
      .count("step_count", session.episode.steps())
      .end();
}

Status refuse_others(const rapidjson::Value& arguments, const std::vector<std::string>& known) {
  for (const auto& [name, value] : arguments.GetObject()) {
    const std::string key(name.GetString(), name.GetStringLength());
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return Error{ErrorCode::kInvalidArgument, "unknown argument '" + key.substr(0, 100) + "'", "",
                   known.empty() ? "this tool takes none" : "known arguments: " + join(known, ", ")};
    }
  }
  return {};
}

std::string call_in_session(const std::string& id, const std::string& name, const rapidjson::Value& arguments,
                            Service& service, Session& session) {
  const Result<std::string> answer = call_tool(name, arguments, service, session);
  if (answer) return rpc_result(id, *answer);
  const Error& error = answer.error();
  const int code = error.code == ErrorCode::kNotFound || error.code == ErrorCode::kInvalidArgument
                       ? kInvalidParams
                       : kInternal;
  return rpc_error(id, code, error_reason(error));
}

std::string create_session(const std::string& id, const RpcScope& scope) {
  if (!scope.session_id.empty())
    return rpc_result(id, JsonObject().text("session_id", scope.session_id).end());
  if (scope.service.draining())
    return rpc_error(id, kServerError, "the server is stopping and takes no new sessions");
  const Result<std::shared_ptr<Session>> opened =
      scope.service.pool().open({scope.environment, scope.client, scope.environment.max_steps});
  if (!opened) {
    scope.service.metrics().count_refusal("capacity");
    const Error& error = opened.error();
    return rpc_error(id, kServerError, error_reason(error), capacity_json(scope.service, error));
  }
  return rpc_result(id, JsonObject().text("session_id", (*opened)->id).end());
}

std::string close_session(const std::string& id, const rapidjson::Value& params, const RpcScope& scope) {
  const std::optional<std::string> target = text_member(params, "session_id");
  if (!target || target->empty())
    return rpc_error(id, kInvalidParams, "Invalid params: 'session_id' is required");
  if (*target == scope.session_id) {
    return rpc_error(id, kInvalidRequest, "the session ends with its WebSocket; close that instead");
  }
  std::shared_ptr<Session> session;
  if (is_session_id(*target)) session = scope.service.pool().peek(*target);
  if (!session || &session->environment != &scope.environment) {
    return rpc_error(id, kInvalidParams, "Unknown session_id: " + target->substr(0, 100));
  }
  session->closing = true;
  if (session->attached != 0) {
    return rpc_result(
        id, JsonObject().text("session_id", *target).boolean("closed", false).boolean("closing", true).end());
  }
  scope.service.pool().close(*target);
  return rpc_result(id, JsonObject().text("session_id", *target).boolean("closed", true).end());
}

std::string call(const std::string& id, const rapidjson::Value& params, const RpcScope& scope) {
  const std::optional<std::string> name = text_member(params, "name");
  if (!name || name->empty()) return rpc_error(id, kInvalidParams, "Missing 'name' in params");
  const rapidjson::Value none(rapidjson::kObjectType);
  const auto member = params.FindMember("arguments");
  const rapidjson::Value& arguments =
      member == params.MemberEnd() || member->value.IsNull() ? none : member->value;
  if (!arguments.IsObject()) return rpc_error(id, kInvalidParams, "'arguments' must be an object");
  const std::string session_id =
      scope.session_id.empty() ? text_member(params, "session_id").value_or("") : scope.session_id;
  if (session_id.empty()) {  // no session named: an environment for this one call
    Session session(random_id(), scope.environment, scope.environment.max_steps, scope.client);
    return call_in_session(id, *name, arguments, scope.service, session);
  }
  SessionPool::Found found;
  if (is_session_id(session_id)) found = scope.service.pool().find(session_id);
  if (found.fate == SessionPool::Fate::kBusy)
    return rpc_error(id, kServerError, "another request is playing session " + session_id);
  if (!found.lease || &found.lease->environment != &scope.environment) {
    return rpc_error(id, kInvalidParams, "Unknown session_id: " + session_id.substr(0, 100));
  }
  return call_in_session(id, *name, arguments, scope.service, *found.lease);
}

}  // namespace

std::string tools_json(std::string_view schema_name) {
  std::vector<std::string> out;
  for (const Tool& tool : kTools) {
    out.push_back(JsonObject()
                      .text("name", tool.name)
                      .text("description", tool.description)
                      .raw(schema_name, tool.schema)
                      .end());
  }
  return json_list(out);
}

Result<std::string> call_tool(const std::string& name, const rapidjson::Value& arguments, Service& service,
                              Session& session) {
  if (name == "new_episode") {
    if (Status known = refuse_others(arguments, {"seed", "split", "index", "task_id"}); !known)
      return known.error();
    TaskChoice choice;
    const std::vector<FieldProblem> problems = read_choice(arguments, choice);
    if (!problems.empty()) {
      return Error{ErrorCode::kInvalidArgument, problems[0].field + ": " + problems[0].message, "", ""};
    }
    const Result<StepResult> first = service.reset(session, choice);
    if (!first) return first.error();
    return shown(session, *first);
  }
  const bool acts = name == "act";
  if (!acts && name != "observe") {
    return Error{ErrorCode::kNotFound, "Tool not found: " + name.substr(0, 100), "",
                 "known tools: new_episode, act, observe"};
  }
  if (Status known =
          refuse_others(arguments, acts ? std::vector<std::string>{"command"} : std::vector<std::string>{});
      !known) {
    return known.error();
  }
  const std::optional<std::string> command = text_member(arguments, "command");
  if (acts && !command) return Error{ErrorCode::kInvalidArgument, "'command' must be text", "", ""};
  if (!session.episode.started()) {
    return Error{ErrorCode::kUnavailable, "no episode is running", "", "reset, or call new_episode first"};
  }
  if (!acts) return shown(session, session.episode.environment().observe());
  const Result<StepResult> result = service.step(session, *command);
  if (!result) return result.error();
  return shown(session, *result);
}

std::string answer_rpc(const rapidjson::Value& request, const RpcScope& scope) {
  std::string id = "null";
  if (!request.IsObject()) return rpc_error(id, kInvalidRequest, "Invalid Request: not an object");
  if (const auto member = request.FindMember("id"); member != request.MemberEnd()) {
    if (!member->value.IsString() && !member->value.IsNumber() && !member->value.IsNull()) {
      return rpc_error(id, kInvalidRequest, "Invalid Request: 'id' must be text or a number");
    }
    id = to_json(member->value);
  }
  if (text_member(request, "jsonrpc") != "2.0")
    return rpc_error(id, kInvalidRequest, "Invalid Request: 'jsonrpc' must be \"2.0\"");
  const std::optional<std::string> method = text_member(request, "method");
  if (!method) return rpc_error(id, kInvalidRequest, "Invalid Request: 'method' must be text");
  const rapidjson::Value none(rapidjson::kObjectType);
  const auto member = request.FindMember("params");
  const rapidjson::Value& params =
      member == request.MemberEnd() || member->value.IsNull() ? none : member->value;
  if (!params.IsObject()) return rpc_error(id, kInvalidParams, "'params' must be an object");
  if (*method == "tools/list")
    return rpc_result(id, JsonObject().raw("tools", tools_json("inputSchema")).end());
  if (*method == "tools/call") return call(id, params, scope);
  if (*method == "openenv/session/create") return create_session(id, scope);
  if (*method == "openenv/session/close") return close_session(id, params, scope);
  return rpc_error(id, kMethodNotFound, "Method not found: " + method->substr(0, 100));
}

std::string answer_rpc_text(std::string_view body, const RpcScope& scope) {
  Result<rapidjson::Document> request = parse_json(body, "");
  if (!request) return rpc_error("null", kParseError, "Parse error: " + to_string(request.error()));
  return answer_rpc(*request, scope);
}

}  // namespace lodestep::harness
