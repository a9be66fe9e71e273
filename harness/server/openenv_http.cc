// OpenEnv over HTTP: an environment of its own for each request, what the environment is, and the web routes.
#include <rapidjson/document.h>

#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/mcp.h"
#include "harness/server/internal/openenv_parts.h"
#include "harness/server/internal/situation.h"

namespace lodestep::harness {
namespace {

std::string title(const std::string& name) {
  std::string out = name;
  if (!out.empty()) out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return out;
}

// What a reset asks for.
struct ResetWish {
  TaskChoice choice;
  std::optional<std::string> episode_id;
};

std::optional<HttpResponse> read_reset(const Call& call, ResetWish& wish) {
  rapidjson::Document body;
  if (auto refused = read_body(call.request, false, body)) return refused;
  Problems problems = read_row(body, wish.choice);
  check_name(body, "episode_id", call.service.limits().name_characters, wish.episode_id, problems);
  if (!problems.empty()) return unprocessable(problems, {"body"});
  return std::nullopt;
}

HttpResponse reset(const Call& call) {
  ResetWish wish;
  if (auto refused = read_reset(call, wish)) return *refused;
  Session session(random_id(), call.environment, call.environment.max_steps, call.request.client);
  const Result<StepResult> first = call.service.reset(session, wish.choice, wish.episode_id);
  if (!first) return openenv_error(400, "", error_reason(first.error()));
  return json_response(200, result_json(session, *first));
}

HttpResponse step(const Call& call) {
  rapidjson::Document body;
  if (auto refused = read_body(call.request, true, body)) return *refused;
  Problems problems;
  const auto value = body.FindMember("action");
  if (value == body.MemberEnd())
    problems.push_back({"missing", "action", "Field required", shown_input(body)});
  if (const auto limit = body.FindMember("timeout_s"); limit != body.MemberEnd() && !limit->value.IsNull()) {
    if (!limit->value.IsNumber()) {
      problems.push_back(
          {"float_type", "timeout_s", "Input should be a valid number", shown_input(limit->value)});
    } else if (!(limit->value.GetDouble() > 0)) {
      problems.push_back(
          {"greater_than", "timeout_s", "Input should be greater than 0", shown_input(limit->value)});
    } else if (call.request.answer_within) {
      call.request.answer_within(limit->value.GetDouble());
    }
  }
  std::optional<std::string> request_id;
  check_name(body, "request_id", call.service.limits().name_characters, request_id, problems);
  if (!problems.empty()) return unprocessable(problems, {"body"});
  Action action;
  problems = read_action(value->value, action);
  if (!problems.empty()) return unprocessable(problems, {"body", "action"});
  // As in the reference server, each HTTP request has an environment of its own: here a fixed first episode.
  Session session(random_id(), call.environment, call.environment.max_steps, call.request.client);
  const Result<StepResult> first =
      call.service.reset(session, {.seed = 0, .split = {}, .index = {}, .task_id = {}});
  if (!first) return openenv_error(503, "", error_reason(first.error()));
  const Result<std::string> result = play_action(call.service, session, action);
  if (!result) return openenv_error(503, "", error_reason(result.error()));
  return json_response(200, *result);
}

HttpResponse state(const Call&) {
  return json_response(200, JsonObject().null("episode_id").count("step_count", 0).end());
}

HttpResponse health(const Call&) { return json_response(200, R"({"status":"healthy"})"); }

HttpResponse metadata(const Call& call) {
  return json_response(200, JsonObject()
                                .text("name", call.environment.name)
                                .text("description", call.environment.summary)
                                .text("version", std::to_string(call.environment.factory->version()) + ".0")
                                .null("readme_content")
                                .null("author")
                                .null("documentation_url")
                                .end());
}

constexpr std::string_view kObservationSchema =
    R"("type":"object","required":["text","available_actions","state_key"],"properties":{)"
    R"("text":{"type":"string"},"available_actions":{"type":"array","items":{"type":"string"}},)"
    R"("state_key":{"type":"string"},"terminated":{"type":"boolean"},"truncated":{"type":"boolean"},)"
    R"("image":{"type":"object"},"reward":{"anyOf":[{"type":"number"},{"type":"null"}]},"done":{"type":"boolean"},)"
    R"("metadata":{"type":"object"}},"additionalProperties":true})";

constexpr std::string_view kStateSchema =
    R"("type":"object","properties":{"episode_id":{"anyOf":[{"type":"string"},{"type":"null"}]},)"
    R"("step_count":{"type":"integer","minimum":0}},"additionalProperties":true})";

HttpResponse schema(const Call& call) {
  const std::string name = title(call.environment.name);
  return json_response(
      200,
      JsonObject()
          .raw("action", "{\"title\":\"" + name +
                             R"(Action","type":"object","additionalProperties":false,"required":["command"],)"
                             R"("properties":{"command":{"type":"string"},"metadata":{"type":"object"}}})")
          .raw("observation", "{\"title\":\"" + name + "Observation\"," + std::string(kObservationSchema))
          .raw("state", "{\"title\":\"" + name + "State\"," + std::string(kStateSchema))
          .end());
}

HttpResponse openapi(const Call& call) {
  return json_response(200, openenv_openapi(call.service.config().version, call.environment.name));
}

HttpResponse mcp(const Call& call) {
  return json_response(
      200, answer_rpc_text(call.request.body, {call.service, call.environment, call.request.client, ""}));
}

// A socket's route without a handshake.
HttpResponse no_handshake(const Call&) {
  return openenv_error(
      400, "", "a WebSocket handshake is wanted here: 'Upgrade: websocket' and 'Connection: Upgrade'");
}

// ---- web routes: one session per mount, for a person who tries the environment out ----

std::string web_id(const Call& call) { return "web/" + call.environment.name; }

HttpResponse web_busy() {
  return openenv_error(409, "", "another request is playing the web session; try again");
}

HttpResponse web_unstarted() {
  return openenv_error(409, "", "no episode is running: POST /web/reset first");
}

HttpResponse web_reset(const Call& call) {
  ResetWish wish;
  if (auto refused = read_reset(call, wish)) return *refused;
  SessionPool& pool = call.service.pool();
  SessionPool::Found found = pool.find(web_id(call));
  if (found.fate == SessionPool::Fate::kBusy) return web_busy();
  if (!found.lease) {
    if (call.service.draining())
      return openenv_error(503, "", "the server is stopping and takes no new sessions");
    const Result<std::shared_ptr<Session>> opened =
        pool.open({call.environment, call.request.client, call.environment.max_steps, web_id(call)});
    if (!opened && opened.error().code == ErrorCode::kUnavailable)
      return openenv_error(capacity_status(opened.error()), "", error_reason(opened.error()));
    found = pool.find(web_id(call));
    if (!found.lease) return web_busy();
  }
  const Result<StepResult> first = call.service.reset(*found.lease, wish.choice, wish.episode_id);
  if (!first) return openenv_error(400, "", error_reason(first.error()));
  return json_response(200, result_json(*found.lease, *first));
}

HttpResponse web_step(const Call& call) {
  rapidjson::Document body;
  if (auto refused = read_body(call.request, true, body)) return *refused;
  const auto value = body.FindMember("action");
  if (value == body.MemberEnd()) {
    return unprocessable({{"missing", "action", "Field required", shown_input(body)}}, {"body"});
  }
  Action action;
  const Problems problems = read_action(value->value, action);
  if (!problems.empty()) return unprocessable(problems, {"body", "action"});
  const SessionPool::Found found = call.service.pool().find(web_id(call));
  if (found.fate == SessionPool::Fate::kBusy) return web_busy();
  if (!found.lease || !found.lease->episode.started()) return web_unstarted();
  const Result<std::string> result = play_action(call.service, *found.lease, action);
  if (!result) return openenv_error(503, "", error_reason(result.error()));
  return json_response(200, *result);
}

HttpResponse web_state(const Call& call) {
  const SessionPool::Found found = call.service.pool().find(web_id(call));
  if (found.fate == SessionPool::Fate::kBusy) return web_busy();
  if (!found.lease || !found.lease->episode.started()) return web_unstarted();
  return json_response(200, state_json(*found.lease));
}

}  // namespace

std::vector<Route> openenv_play_routes() {
  return {
      {"GET", "/health", &health},        {"GET", "/metadata", &metadata}, {"GET", "/schema", &schema},
      {"GET", "/openapi.json", &openapi}, {"POST", "/reset", &reset},      {"POST", "/step", &step},
      {"GET", "/state", &state},          {"POST", "/mcp", &mcp},          {"GET", "/ws", &no_handshake},
      {"GET", "/mcp", &no_handshake},
  };
}

std::vector<Route> openenv_web_routes() {
  return {
      {"GET", "/web/metadata", &metadata},
      {"POST", "/web/reset", &web_reset},
      {"POST", "/web/step", &web_step},
      {"GET", "/web/state", &web_state},
  };
}

}  // namespace lodestep::harness
