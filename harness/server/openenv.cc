// The OpenEnv dialect: HTTP routes, the WebSocket /ws with its error codes, task routes.
#include <rapidjson/document.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "harness/internal/json.h"
#include "harness/server/internal/dialects.h"
#include "harness/server/internal/frames.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/mcp.h"
#include "harness/server/internal/situation.h"
#include "harness/server/internal/task_fields.h"

namespace lodestep::harness {
namespace {

using Problems = std::vector<FieldProblem>;

HttpResponse openenv_error(int status, std::string_view, std::string_view message) {
  return json_response(status, JsonObject().text("detail", message).end());
}

HttpResponse unprocessable(const Problems& problems, const std::vector<std::string>& location) {
  return json_response(422, JsonObject().raw("detail", problems_json(problems, location)).end());
}

std::string reason(const Error& error) {
  return to_string(error) + (error.hint.empty() ? "" : "; " + error.hint);
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string title(const std::string& name) {
  std::string out = name;
  if (!out.empty()) out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return out;
}

// What a client may send as an action.
struct Action {
  std::string command;
  enum class Kind { kCommand, kListTools, kCallTool } kind = Kind::kCommand;
  std::string tool;
  const rapidjson::Value* arguments = nullptr;
};

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

std::string tool_result(const Session& session, const std::string& observation) {
  return JsonObject()
      .raw("observation", observation)
      .raw("reward", reward_json(session.last_reward))
      .boolean("done", session.episode.started() && session.episode.ended())
      .end();
}

// Plays one action; the value is the result object.
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
          "error", JsonObject().text("error_type", type).text("message", reason(answer.error())).end());
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

// What a reset says of the task. Trainers pass whole data rows: a task_id that is no text is one of their own
// columns.
Problems read_row(const rapidjson::Value& row, TaskChoice& choice) {
  Problems problems = read_choice(row, choice);
  std::erase_if(problems, [](const FieldProblem& problem) { return problem.field == "task_id"; });
  return problems;
}

// ---- HTTP ----

// The body as an object. An absent body is an empty object where that is allowed.
std::optional<HttpResponse> read_body(const HttpRequest& request, bool required, rapidjson::Document& body) {
  if (trim(request.body).empty() && !required) {
    body.SetObject();
    return std::nullopt;
  }
  if (trim(request.body).empty()) return unprocessable({{"missing", "", "Field required", "null"}}, {"body"});
  Result<rapidjson::Document> parsed = parse_json(request.body, "");
  if (!parsed) return unprocessable({{"json_invalid", "", reason(parsed.error()), "{}"}}, {"body"});
  body.Swap(*parsed);
  if (body.IsNull() && !required) body.SetObject();
  if (!body.IsObject()) {
    return unprocessable(
        {{"model_attributes_type", "", "Input should be a valid dictionary", shown_input(body)}}, {"body"});
  }
  return std::nullopt;
}

// A text member of bounded length; absent and null are fine.
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
  if (!first) return openenv_error(400, "", reason(first.error()));
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
  if (!first) return openenv_error(503, "", reason(first.error()));
  const Result<std::string> result = play_action(call.service, session, action);
  if (!result) return openenv_error(503, "", reason(result.error()));
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
      return openenv_error(capacity_status(opened.error()), "", reason(opened.error()));
    found = pool.find(web_id(call));
    if (!found.lease) return web_busy();
  }
  const Result<StepResult> first = call.service.reset(*found.lease, wish.choice, wish.episode_id);
  if (!first) return openenv_error(400, "", reason(first.error()));
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
  if (!result) return openenv_error(503, "", reason(result.error()));
  return json_response(200, *result);
}

HttpResponse web_state(const Call& call) {
  const SessionPool::Found found = call.service.pool().find(web_id(call));
  if (found.fate == SessionPool::Fate::kBusy) return web_busy();
  if (!found.lease || !found.lease->episode.started()) return web_unstarted();
  return json_response(200, state_json(*found.lease));
}

// ---- task routes ----

HttpResponse list_environments(const Call& call) {
  return json_response(200, json_array({call.environment.name}));
}

const HostedEnvironment* named(const Call& call) {
  return ascii_lower(call.captured[0]) == call.environment.name ? &call.environment : nullptr;
}

HttpResponse unknown_environment() { return openenv_error(404, "", "Unknown environment"); }

std::string_view split_type(std::string_view split) {
  if (split.starts_with("train")) return "train";
  if (split.starts_with("valid") || split.starts_with("dev") || split.starts_with("eval"))
    return "validation";
  return "test";
}

HttpResponse splits(const Call& call) {
  const HostedEnvironment* environment = named(call);
  if (environment == nullptr) return unknown_environment();
  std::vector<std::string> out;
  const std::vector<std::string> names = environment->factory->splits();
  for (const std::string& split : names) {
    // A single list of tasks is what one trains on, whatever its name.
    const std::string_view type = names.size() == 1 ? std::string_view("train") : split_type(split);
    out.push_back(JsonObject().text("name", split).text("type", type).end());
  }
  return json_response(200, json_list(out));
}

struct TaskQuery {
  const HostedEnvironment* environment = nullptr;
  std::string split;
  std::size_t count = 0;
  rapidjson::Document body;
};

// Reads the split of a task route; a reply means refused.
std::optional<HttpResponse> read_query(const Call& call, TaskQuery& query) {
  query.environment = named(call);
  if (query.environment == nullptr) return unknown_environment();
  if (auto refused = read_body(call.request, true, query.body)) return refused;
  const auto split = query.body.FindMember("split");
  if (split == query.body.MemberEnd()) {
    return unprocessable({{"missing", "split", "Field required", shown_input(query.body)}}, {"body"});
  }
  if (!split->value.IsString()) {
    return unprocessable(
        {{"string_type", "split", "Input should be a valid string", shown_input(split->value)}}, {"body"});
  }
  query.split.assign(split->value.GetString(), split->value.GetStringLength());
  const Result<std::size_t> count = query.environment->factory->task_count(query.split);
  if (!count) return openenv_error(400, "", reason(count.error()));
  query.count = *count;
  return std::nullopt;
}

std::string task_json(const TaskQuery& query, std::size_t index) {
  const Result<std::string> id = query.environment->factory->task_id(query.split, index);
  LODESTEP_CHECK(id.ok(), index);
  return JsonObject().text("task_id", *id).text("split", query.split).count("index", index).end();
}

std::string task_list(const TaskQuery& query, std::size_t start, std::size_t stop) {
  std::vector<std::string> tasks;
  for (std::size_t i = start; i < stop; ++i) tasks.push_back(task_json(query, i));
  return json_list(tasks);
}

HttpResponse num_tasks(const Call& call) {
  TaskQuery query;
  if (auto refused = read_query(call, query)) return *refused;
  return json_response(200, JsonObject().count("num_tasks", query.count).end());
}

HttpResponse too_many(const Call& call, std::size_t count) {
  return openenv_error(501, "",
                       "the split has " + std::to_string(count) + " tasks; one reply lists at most " +
                           std::to_string(call.service.limits().listed_tasks) + ": use task_range");
}

HttpResponse tasks(const Call& call) {
  TaskQuery query;
  if (auto refused = read_query(call, query)) return *refused;
  if (query.count > call.service.limits().listed_tasks) return too_many(call, query.count);
  return json_response(200, JsonObject()
                                .raw("tasks", task_list(query, 0, query.count))
                                .text("env_name", query.environment->name)
                                .end());
}

// A required or optional whole member; problems are added.
std::optional<std::int64_t> read_position(const TaskQuery& query, const char* name, bool required,
                                          Problems& problems) {
  const auto found = query.body.FindMember(name);
  if (found == query.body.MemberEnd() || (!required && found->value.IsNull())) {
    if (required) problems.push_back({"missing", name, "Field required", shown_input(query.body)});
    return std::nullopt;
  }
  if (found->value.IsInt64()) return found->value.GetInt64();
  problems.push_back({"int_type", name, "Input should be a valid integer", shown_input(found->value)});
  return std::nullopt;
}

HttpResponse task(const Call& call) {
  TaskQuery query;
  if (auto refused = read_query(call, query)) return *refused;
  Problems problems;
  const std::optional<std::int64_t> index = read_position(query, "index", true, problems);
  if (!problems.empty()) return unprocessable(problems, {"body"});
  if (*index < 0 || static_cast<std::uint64_t>(*index) >= query.count) {
    return openenv_error(400, "",
                         "Invalid task index: the split has " + std::to_string(query.count) + " tasks");
  }
  return json_response(200,
                       JsonObject().raw("task", task_json(query, static_cast<std::size_t>(*index))).end());
}

HttpResponse task_range(const Call& call) {
  TaskQuery query;
  if (auto refused = read_query(call, query)) return *refused;
  Problems problems;
  const std::int64_t start = read_position(query, "start", false, problems).value_or(0);
  const std::int64_t stop =
      read_position(query, "stop", false, problems).value_or(static_cast<std::int64_t>(query.count));
  if (!problems.empty()) return unprocessable(problems, {"body"});
  if (start < 0 || stop < 0)
    return openenv_error(400, "", "Invalid task range: start and stop are at least 0");
  const std::size_t end = std::min(static_cast<std::size_t>(stop), query.count);
  const std::size_t begin = std::min(static_cast<std::size_t>(start), end);
  if (end - begin > call.service.limits().listed_tasks) return too_many(call, end - begin);
  return json_response(200, JsonObject().raw("tasks", task_list(query, begin, end)).end());
}

// ---- WebSocket ----

std::string socket_error(std::string_view code, std::string_view message, const std::string& extra = {}) {
  JsonObject data;
  data.text("code", code).text("message", message);
  std::string body = data.end();
  if (!extra.empty()) body.insert(body.size() - 1, "," + extra);
  return JsonObject().text("type", "error").raw("data", body).end();
}

std::string validation_error(const Problems& problems, const std::vector<std::string>& location) {
  std::string message = "Invalid message";
  if (!problems.empty()) {
    message +=
        ": " + (problems[0].field.empty() ? std::string() : problems[0].field + ": ") + problems[0].message;
  }
  return socket_error("VALIDATION_ERROR", message, "\"errors\":" + problems_json(problems, location));
}

class OpenEnvSocket final : public SocketHandler {
 public:
  OpenEnvSocket(Service& service, const HostedEnvironment& environment, std::string client,
                const std::string& session_id)
      : service_(service),
        environment_(environment),
        counters_(service.metrics().of(environment.name)),
        client_(std::move(client)) {
    if (session_id.empty()) {
      begin();
    } else {
      attach(session_id);
    }
  }

  ~OpenEnvSocket() override {
    if (!session_) return;
    if (owned_) {
      service_.pool().close(session_->id);
      return;
    }
    session_->last_used = service_.pool().clock().milliseconds();
    session_->attached = 0;
    if (session_->closing) service_.pool().close(session_->id);
  }

  bool is_quick(std::string_view text) const override {
    const std::string_view head = text.substr(0, 80);
    return service_.steps_are_quick(counters_) && text.size() < 65536 && (!session_ || session_->busy == 0) &&
           (head.find("\"step\"") != std::string_view::npos ||
            head.find("\"state\"") != std::string_view::npos);
  }

  SocketReply greeting() override {
    return speaks_first_ ? SocketReply{refusal_, close_code::kNormal} : SocketReply{};
  }

  SocketReply late(std::string_view text) const override {
    const Result<rapidjson::Document> message = parse_json(text, "");
    if (message && message->IsObject() && text_member(*message, "type") == "close")
      return {"", close_code::kNormal};
    return {socket_error("EXECUTION_ERROR",
                         "no answer in time: the environment takes longer than " +
                             json_number(static_cast<double>(service_.limits().step_milliseconds) / 1000) +
                             " s (limit step_time)")};
  }

  void on_dropped() override { lost_ = true; }

  SocketReply on_message(std::string_view text) override {
    // A full server says so late, in answer to the first message: older clients would lose it.
    if (full_ && !session_) begin();  // one may be free by now
    if (!session_) return {refusal_, close_code::kNormal, full_};
    alignas(std::max_align_t) char pool[2048];  // enough for a step: no memory from the heap
    rapidjson::MemoryPoolAllocator<> allocator(pool, sizeof pool);
    rapidjson::Document message(&allocator, 256);
    if (Status parsed = parse_json(text, "", message); !parsed) {
      return {socket_error("INVALID_JSON", "Invalid JSON: " + to_string(parsed.error()))};
    }
    if (!message.IsObject())
      return {socket_error("SESSION_ERROR", "a message is a JSON object"), close_code::kNormal};
    const std::optional<std::string> type = text_member(message, "type");
    if (type == "step") return {step(message)};
    if (type == "reset") return {reset(message)};
    if (type == "state") return {state(message)};
    if (type == "mcp") return {rpc(message)};
    if (type == "close") {
      if (const Problems extra = envelope(message, false); !extra.empty())
        return {validation_error(extra, {})};
      return {"", close_code::kNormal};
    }
    return {socket_error("UNKNOWN_TYPE", "Unknown message type: " + type.value_or("(none)").substr(0, 100) +
                                             "; known: reset, step, state, mcp, close")};
  }

 private:
  void begin() {
    full_ = false;
    if (service_.draining()) {
      refuse("the server is stopping and takes no new sessions");
      return;
    }
    try {
      Result<std::shared_ptr<Session>> opened =
          service_.pool().open({environment_, client_, environment_.max_steps});
      if (opened) {
        session_ = *opened;
        session_->attached = 1;
        owned_ = true;
        return;
      }
      full_ = server_is_full(opened.error());
      service_.metrics().count_refusal("capacity");
      const std::string numbers = capacity_json(service_, opened.error());
      refusal_ =
          socket_error("CAPACITY_REACHED", reason(opened.error()), numbers.substr(1, numbers.size() - 2));
    } catch (const std::exception& error) {
      refusal_ = socket_error("FACTORY_ERROR", error.what());
    }
  }

  void attach(const std::string& session_id) {
    std::shared_ptr<Session> found;
    if (is_session_id(session_id)) found = service_.pool().peek(session_id);
    if (!found || &found->environment != &environment_) {
      return refuse("Unknown session_id: " + session_id.substr(0, 100));
    }
    int none = 0;
    if (!found->attached.compare_exchange_strong(none, 1)) {
      return refuse("session " + found->id + " already has a WebSocket");
    }
    if (found->closing || found->closed) {
      found->attached = 0;
      return refuse("Unknown session_id: " + session_id.substr(0, 100));
    }
    session_ = std::move(found);
  }

  // Only newer clients name a session; they read an error that comes unasked.
  void refuse(const std::string& why) {
    refusal_ = socket_error("SESSION_ERROR", why);
    speaks_first_ = true;
  }

  // The envelope's problems: only type and data may stand in it.
  static Problems envelope(const rapidjson::Value& message, bool takes_data) {
    Problems problems;
    for (const auto& [name, value] : message.GetObject()) {
      const std::string_view key(name.GetString(), name.GetStringLength());
      if (key == "type" || (takes_data && key == "data")) continue;
      problems.push_back({"extra_forbidden", std::string(key.substr(0, 100)),
                          "Extra inputs are not permitted", shown_input(value)});
    }
    return problems;
  }

  static const rapidjson::Value* data_of(const rapidjson::Value& message, bool required, Problems& problems) {
    const auto data = message.FindMember("data");
    if (data == message.MemberEnd()) {
      if (required) problems.push_back({"missing", "data", "Field required", shown_input(message)});
      return nullptr;
    }
    if (data->value.IsObject()) return &data->value;
    problems.push_back({"dict_type", "data", "Input should be a valid dictionary", shown_input(data->value)});
    return nullptr;
  }

  static std::string observation(std::string_view result) {
    constexpr std::string_view kHead = R"({"type":"observation","data":)";
    std::string out;
    out.reserve(kHead.size() + result.size() + 1);
    out += kHead;
    out += result;
    out += '}';
    return out;
  }

  std::string step(const rapidjson::Value& message) {
    Problems problems = envelope(message, true);
    const rapidjson::Value* data = data_of(message, true, problems);
    if (!problems.empty()) return validation_error(problems, {});
    Action action;
    problems = read_action(*data, action);
    if (!problems.empty()) return validation_error(problems, {"data"});
    const Lease lease(session_, service_.pool().clock());
    if (!lease) return busy();
    if (lease->closed) return socket_error("EXECUTION_ERROR", "the session is closed");
    if (lost_)
      return socket_error("EXECUTION_ERROR",
                          "an answer came too late and the episode was lost with it: send a reset first");
    const Result<std::string> result = play_action(service_, *lease, action);
    return result ? observation(*result) : socket_error("EXECUTION_ERROR", reason(result.error()));
  }

  std::string reset(const rapidjson::Value& message) {
    Problems problems = envelope(message, true);
    const rapidjson::Value* data = data_of(message, false, problems);
    if (!problems.empty()) return validation_error(problems, {});
    TaskChoice choice;
    std::optional<std::string> episode_id;
    if (data != nullptr) {
      problems = read_row(*data, choice);
      check_name(*data, "episode_id", service_.limits().name_bytes, episode_id, problems);
      if (!problems.empty()) return validation_error(problems, {"data"});
    }
    const Lease lease(session_, service_.pool().clock());
    if (!lease) return busy();
    if (lease->closed) return socket_error("EXECUTION_ERROR", "the session is closed");
    const Result<StepResult> first = service_.reset(*lease, choice, episode_id);
    if (first) lost_ = false;
    return first ? observation(result_json(*lease, *first))
                 : socket_error("EXECUTION_ERROR", reason(first.error()));
  }

  std::string state(const rapidjson::Value& message) {
    if (const Problems extra = envelope(message, false); !extra.empty()) return validation_error(extra, {});
    const Lease lease(session_, service_.pool().clock());
    if (!lease) return busy();
    return JsonObject().text("type", "state").raw("data", state_json(*lease)).end();
  }

  std::string rpc(const rapidjson::Value& message) {
    Problems problems = envelope(message, true);
    const rapidjson::Value* data = data_of(message, true, problems);
    if (!problems.empty()) return validation_error(problems, {});
    return JsonObject()
        .text("type", "mcp")
        .raw("data", answer_rpc(*data, {service_, environment_, client_, session_->id}))
        .end();
  }

  static std::string busy() {
    return socket_error("EXECUTION_ERROR", "another request is playing the session");
  }

  Service& service_;
  const HostedEnvironment& environment_;
  const EnvironmentCounters& counters_;
  const std::string client_;
  std::shared_ptr<Session> session_;
  bool owned_ = false;
  bool lost_ = false;          // the episode went on without its player
  bool full_ = false;          // no session was free
  bool speaks_first_ = false;  // the refusal does not wait for a message
  std::string refusal_;
};

class McpSocket final : public SocketHandler {
 public:
  McpSocket(Service& service, const HostedEnvironment& environment, std::string client)
      : service_(service), environment_(environment), client_(std::move(client)) {
    if (service_.draining()) {
      refusal_ = "the server is stopping and takes no new sessions";
      return;
    }
    Result<std::shared_ptr<Session>> opened =
        service_.pool().open({environment_, client_, environment_.max_steps});
    if (opened) {
      session_ = *opened;
      session_->attached = 1;
    } else {
      service_.metrics().count_refusal("capacity");
      refusal_ = reason(opened.error());
    }
  }
  ~McpSocket() override {
    if (session_) service_.pool().close(session_->id);
  }
  bool is_quick(std::string_view) const override { return false; }
  SocketReply late(std::string_view) const override {
    return {JsonObject()
                .text("jsonrpc", "2.0")
                .null("id")
                .raw("error", JsonObject()
                                  .raw("code", "-32000")
                                  .text("message", "no answer in time (limit step_time)")
                                  .end())
                .end()};
  }
  SocketReply on_message(std::string_view text) override {
    if (!session_) {
      return {JsonObject()
                  .text("jsonrpc", "2.0")
                  .null("id")
                  .raw("error", JsonObject().raw("code", "-32000").text("message", refusal_).end())
                  .end(),
              close_code::kNormal};
    }
    return {answer_rpc_text(text, {service_, environment_, client_, session_->id})};
  }

 private:
  Service& service_;
  const HostedEnvironment& environment_;
  const std::string client_;
  std::shared_ptr<Session> session_;
  std::string refusal_;
};

const std::vector<Route>& routes(bool web) {
  static const std::vector<Route> usual{
      {"GET", "/health", &health},
      {"GET", "/metadata", &metadata},
      {"GET", "/schema", &schema},
      {"GET", "/openapi.json", &openapi},
      {"POST", "/reset", &reset},
      {"POST", "/step", &step},
      {"GET", "/state", &state},
      {"POST", "/mcp", &mcp},
      {"GET", "/list_environments", &list_environments},
      {"GET", "/{env}/splits", &splits},
      {"POST", "/{env}/num_tasks", &num_tasks},
      {"POST", "/{env}/tasks", &tasks},
      {"POST", "/{env}/task", &task},
      {"POST", "/{env}/task_range", &task_range},
      {"GET", "/ws", &no_handshake},
      {"GET", "/mcp", &no_handshake},
  };
  static const std::vector<Route> with_web = [] {
    std::vector<Route> all = usual;
    all.push_back({"GET", "/web/metadata", &metadata});
    all.push_back({"POST", "/web/reset", &web_reset});
    all.push_back({"POST", "/web/step", &web_step});
    all.push_back({"GET", "/web/state", &web_state});
    return all;
  }();
  return web ? with_web : usual;
}

}  // namespace

HttpResponse openenv_http(const Call& call, const std::vector<std::string>& path) {
  return dispatch(routes(call.service.config().web), call, path, &openenv_error);
}

HttpResponse openenv_late(std::string_view message, bool by_client) {
  return openenv_error(by_client ? 408 : 504, "", message);
}

std::unique_ptr<SocketHandler> openenv_socket(Service& service, const HostedEnvironment& environment,
                                              const std::string& client, const std::string& session_id) {
  return std::make_unique<OpenEnvSocket>(service, environment, client, session_id);
}

std::unique_ptr<SocketHandler> mcp_socket(Service& service, const HostedEnvironment& environment,
                                          const std::string& client) {
  return std::make_unique<McpSocket>(service, environment, client);
}

}  // namespace lodestep::harness
