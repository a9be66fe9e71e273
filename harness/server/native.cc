// The native dialect /v1: sessions, batches, tasks, limits, and the WebSocket /v1/stream. Groups and credit
// have files of their own.
#include <rapidjson/document.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "harness/internal/json.h"
#include "harness/server/groups.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/native_parts.h"
#include "harness/server/internal/situation.h"
#include "harness/server/internal/task_fields.h"

namespace lodestep::harness {

std::string error_reason(const Error& error) {
  return to_string(error) + (error.hint.empty() ? "" : "; " + error.hint);
}

std::string native_error_body(std::string_view code, std::string_view message) {
  return JsonObject().raw("error", JsonObject().text("code", code).text("message", message).end()).end();
}

HttpResponse native_error(int status, std::string_view code, std::string_view message) {
  return json_response(status, native_error_body(code, message));
}

HttpResponse native_error(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNotFound: return native_error(404, "NOT_FOUND", error_reason(error));
    case ErrorCode::kUnavailable: return native_error(503, "UNAVAILABLE", error_reason(error));
    case ErrorCode::kUnsupported: return native_error(422, "UNSUPPORTED", error_reason(error));
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kBadData: break;
  }
  return native_error(400, "BAD_REQUEST", error_reason(error));
}

HttpResponse native_late(std::string_view message) { return native_error(504, "LATE", message); }

HttpResponse no_session(SessionPool::Fate fate, const std::string& id) {
  const std::string shown = id.substr(0, 64);
  if (fate == SessionPool::Fate::kBusy)
    return native_error(409, "SESSION_BUSY",
                        "another request is playing session " + shown + "; ask again later");
  if (fate == SessionPool::Fate::kClosed)
    return native_error(410, "SESSION_CLOSED", "session " + shown + " was closed or idled too long");
  return native_error(404, "NO_SESSION", "there is no session " + shown);
}

// ---- reading ----

Body::Body(const std::string& text, const std::vector<std::string>& known) {
  if (trim(text).empty()) {
    document_.SetObject();
  } else {
    Result<rapidjson::Document> parsed = parse_json_object(text, "request body");
    if (!parsed) {
      problem_ = error_reason(parsed.error());
      document_.SetObject();
    } else {
      document_.Swap(*parsed);
    }
  }
  object_ = &document_;
  check_known(known);
}

Body::Body(const rapidjson::Value& object, const std::vector<std::string>& known) : object_(&object) {
  if (object.IsObject()) {
    check_known(known);
    return;
  }
  document_.SetObject();
  object_ = &document_;
  problem_ = "the body must be a JSON object";
}

void Body::check_known(const std::vector<std::string>& known) {
  for (const auto& [name, value] : object_->GetObject()) {
    const std::string key(name.GetString(), name.GetStringLength());
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string near = nearest_word(key, known);
    refuse("unknown member '" + key.substr(0, 100) + "'" +
           (near.empty() ? "" : "; did you mean '" + near + "'?") +
           " (known: " + (known.empty() ? std::string("none") : join(known, ", ")) + ")");
  }
}

void Body::refuse(std::string problem) {
  if (!problem_) problem_ = std::move(problem);
}

const rapidjson::Value* Body::member(const char* name) const {
  const auto found = object_->FindMember(name);
  return found == object_->MemberEnd() || found->value.IsNull() ? nullptr : &found->value;
}

std::optional<std::string> Body::text(const char* name) {
  const rapidjson::Value* value = member(name);
  if (value == nullptr) return std::nullopt;
  if (value->IsString()) return std::string(value->GetString(), value->GetStringLength());
  refuse(std::string("'") + name + "' must be text");
  return std::nullopt;
}

std::optional<std::uint64_t> Body::whole(const char* name, std::uint64_t low, std::uint64_t high) {
  const rapidjson::Value* value = member(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<std::uint64_t> number = whole_number(*value);
  if (number && *number >= low && *number <= high) return number;
  refuse(std::string("'") + name + "' must be a whole number from " + std::to_string(low) + " to " +
         std::to_string(high));
  return std::nullopt;
}

std::optional<std::vector<std::string>> Body::texts(const char* name) {
  const rapidjson::Value* value = member(name);
  if (value == nullptr) return std::nullopt;
  std::vector<std::string> out;
  if (value->IsArray()) {
    out.reserve(value->Size());
    for (const rapidjson::Value& item : value->GetArray()) {
      if (!item.IsString()) break;
      out.emplace_back(item.GetString(), item.GetStringLength());
    }
    if (out.size() == value->Size()) return out;
  }
  refuse(std::string("'") + name + "' must be a list of texts");
  return std::nullopt;
}

void Body::choice(TaskChoice& target) {
  const std::vector<FieldProblem> problems = read_choice(*object_, target);
  if (!problems.empty()) refuse("'" + problems[0].field + "': " + problems[0].message);
}

TaskChoice merged_choice(const TaskChoice& created, const TaskChoice& asked) {
  TaskChoice out = created;
  if (asked.seed) out.seed = asked.seed;
  if (!asked.task_id.empty() || asked.index || !asked.split.empty()) {
    out.task_id = asked.task_id;
    out.index = asked.index;
    if (!asked.split.empty()) out.split = asked.split;
  }
  return out;
}

// ---- playing ----

std::string native_result(const Session& session, const StepResult& result) {
  std::string more = JsonObject()
                         .text("session_id", session.id)
                         .text("episode_id", session.episode_id)
                         .count("step_count", session.episode.steps())
                         .boolean("terminated", result.done())
                         .boolean("truncated", session.episode.truncated())
                         .boolean("action_valid", result.action_valid)
                         .text("state_key", Shown(session).state_key())
                         .end();
  more.front() = ',';
  more.pop_back();
  std::string out;
  out.reserve(2048);
  append_result(out, session, result, more);
  return out;
}

HttpResponse native_step(Service& service, Session& session, const std::string& action,
                         std::uint64_t step_id) {
  if (!session.episode.started())
    return native_error(409, "NO_EPISODE", "no episode is running: reset the session first");
  if (step_id != 0) {
    if (step_id == session.step_id) return json_response(200, session.step_reply);
    if (step_id != session.step_id + 1) {
      return native_error(409, "STEP_ID_CONFLICT",
                          "step_id " + std::to_string(step_id) + " does not follow the last one, " +
                              std::to_string(session.step_id) + ": expected " +
                              std::to_string(session.step_id + 1));
    }
  }
  const Result<StepResult> result = service.step(session, action);
  if (!result) return native_error(result.error());
  std::string reply = native_result(session, *result);
  if (step_id != 0) {
    session.step_id = step_id;
    session.step_reply = reply;
  }
  return json_response(200, std::move(reply));
}

namespace {

const std::vector<std::string> kChoiceMembers{"seed", "split", "index", "task_id", "episode_id"};
constexpr std::uint64_t kMaxWhole = ~std::uint64_t{0};

HttpResponse capacity(const Call& call, const Error& error) {
  if (error.code != ErrorCode::kUnavailable) return native_error(error);
  call.service.metrics().count_refusal("capacity");
  return native_error(503, "CAPACITY_REACHED", error_reason(error));
}

HttpResponse create_session(const Call& call) {
  Body body(call.request.body, {"env", "seed", "split", "index", "task_id", "max_steps", "group"});
  const std::string name = body.text("env").value_or(call.environment.name);
  TaskChoice choice;
  body.choice(choice);
  const std::optional<std::uint64_t> max_steps = body.whole("max_steps", 0, call.service.limits().max_steps);
  const std::string group = body.text("group").value_or("");
  if (group.size() > 255) body.refuse("'group' must have at most 255 bytes");
  if (!body.ok()) return body.refusal();
  if (call.service.draining())
    return native_error(503, "STOPPING", "the server is stopping and takes no new sessions");
  const HostedEnvironment* environment = call.service.find_environment(name);
  if (environment == nullptr)
    return native_error(404, "NO_ENVIRONMENT",
                        "this server has no environment '" + name.substr(0, 100) + "'; see /v1/envs");
  if (choice.index || !choice.split.empty()) {  // say now what is wrong with the task, not at the first reset
    const Result<Task> task = Service::choose_task(*environment, choice);
    if (!task) return native_error(task.error());
  }
  Result<std::shared_ptr<Session>> opened =
      call.service.pool().open({*environment, call.request.client,
                                max_steps ? static_cast<std::size_t>(*max_steps) : environment->max_steps});
  if (!opened) return capacity(call, opened.error());
  {
    const std::lock_guard lock((*opened)->mutex);
    (*opened)->choice = choice;
    (*opened)->group = group;
  }
  if (!group.empty()) call.service.groups().join(group, *opened);
  return json_response(201, JsonObject().text("session_id", (*opened)->id).end());
}

// Session ids are 32 hex digits: nothing else reaches the pool, where other dialects keep theirs.
bool is_session_id(const std::string& id) {
  return id.size() == 32 && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

SessionPool::Found find(Service& service, const std::string& id) {
  return is_session_id(id) ? service.pool().find(id) : SessionPool::Found{};
}

HttpResponse reset_with(Service& service, Session& session, Body& body) {
  TaskChoice asked;
  body.choice(asked);
  const std::optional<std::string> episode_id = body.text("episode_id");
  if (!body.ok()) return body.refusal();
  const Result<StepResult> first = service.reset(session, merged_choice(session.choice, asked), episode_id);
  if (!first) return native_error(first.error());
  return json_response(200, native_result(session, *first));
}

HttpResponse reset_session(const Call& call) {
  Body body(call.request.body, kChoiceMembers);
  const SessionPool::Found found = find(call.service, call.captured[0]);
  if (!found.lease) return no_session(found.fate, call.captured[0]);
  return reset_with(call.service, *found.lease, body);
}

HttpResponse step_session(const Call& call) {
  Body body(call.request.body, {"action", "step_id"});
  const std::optional<std::string> action = body.text("action");
  const std::optional<std::uint64_t> step_id = body.whole("step_id", 1, kMaxWhole);
  if (body.ok() && !action) body.refuse("a step needs the text member 'action'");
  if (!body.ok()) return body.refusal();
  const SessionPool::Found found = find(call.service, call.captured[0]);
  if (!found.lease) return no_session(found.fate, call.captured[0]);
  return native_step(call.service, *found.lease, *action, step_id.value_or(0));
}

HttpResponse show_session(const Call& call) {
  std::shared_ptr<Session> session;
  if (is_session_id(call.captured[0])) session = call.service.pool().peek(call.captured[0]);
  if (!session) return no_session(find(call.service, call.captured[0]).fate, call.captured[0]);
  const std::int64_t idle = call.service.pool().clock().milliseconds() - session->last_used;
  JsonObject out;
  out.text("session_id", session->id).text("env", session->environment.name);
  const Lease look(session, call.service.pool().clock(), Lease::Use::kLook);
  if (!look) return json_response(200, out.boolean("busy", true).number("idle_seconds", 0).end());
  const Episode& episode = session->episode;
  if (episode.started()) {
    out.text("episode_id", session->episode_id)
        .text("task_id", episode.task().id)
        .count("seed", episode.task().seed);
  } else {
    out.null("episode_id");
  }
  out.count("step_count", episode.steps())
      .boolean("done", episode.started() && episode.ended())
      .boolean("truncated", episode.truncated())
      .number("idle_seconds", static_cast<double>(session->busy > 1 ? 0 : idle) / 1000.0)
      .count("max_steps", session->max_steps);
  if (!session->group.empty()) out.text("group", session->group);
  return json_response(200, out.end());
}

HttpResponse delete_session(const Call& call) {
  const std::string& id = call.captured[0];
  if (!is_session_id(id)) return no_session(SessionPool::Fate::kUnknown, id);
  if (!call.service.pool().close(id)) {
    // Closing twice is no mistake; closing what never was is.
    const SessionPool::Found found = call.service.pool().find(id);
    if (found.fate == SessionPool::Fate::kUnknown) return no_session(found.fate, id);
  }
  return json_response(200, JsonObject().boolean("closed", true).end());
}

HttpResponse snapshot_session(const Call& call) {
  const SessionPool::Found found = find(call.service, call.captured[0]);
  if (!found.lease) return no_session(found.fate, call.captured[0]);
  if (!found.lease->episode.started())
    return native_error(409, "NO_EPISODE", "no episode is running: reset the session first");
  return json_response(200, JsonObject().text("snapshot", base64_encode(found.lease->episode.save())).end());
}

HttpResponse restore_session(const Call& call) {
  Body body(call.request.body, {"snapshot"});
  const std::optional<std::string> text = body.text("snapshot");
  if (body.ok() && !text) body.refuse("restore needs the text member 'snapshot'");
  if (!body.ok()) return body.refusal();
  const std::optional<std::string> saved = base64_decode(*text);
  if (!saved) return native_error(400, "BAD_SNAPSHOT", "the snapshot is not base64");
  const SessionPool::Found found = find(call.service, call.captured[0]);
  if (!found.lease) return no_session(found.fate, call.captured[0]);
  const Result<StepResult> now = call.service.restore(*found.lease, *saved);
  if (!now) return native_error(400, "BAD_SNAPSHOT", error_reason(now.error()));
  return json_response(200, native_result(*found.lease, *now));
}

HttpResponse fork_session(const Call& call) {
  Body body(call.request.body, {"count"});
  const std::uint64_t count = body.whole("count", 1, call.service.limits().batch_sessions).value_or(1);
  if (!body.ok()) return body.refusal();
  if (call.service.draining())
    return native_error(503, "STOPPING", "the server is stopping and takes no new sessions");
  const SessionPool::Found found = find(call.service, call.captured[0]);
  if (!found.lease) return no_session(found.fate, call.captured[0]);
  if (!found.lease->episode.started())
    return native_error(409, "NO_EPISODE", "no episode is running: reset the session first");
  std::vector<std::string> ids;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Result<std::shared_ptr<Session>> copy = call.service.fork(*found.lease, call.request.client);
    if (!copy) {  // all or none
      for (const std::string& id : ids) call.service.pool().close(id);
      return capacity(call, copy.error());
    }
    ids.push_back((*copy)->id);
  }
  return json_response(201, JsonObject().raw("sessions", json_array(ids)).end());
}

// ---- batches ----

std::string batch_item(const HttpResponse& response) {
  if (response.status == 200) return response.body;
  std::string body = response.body;
  body.pop_back();
  return body + ",\"status\":" + std::to_string(response.status) + "}";
}

std::vector<std::string> batch_sessions(Body& body, const Limits& limits) {
  std::vector<std::string> ids = body.texts("sessions").value_or(std::vector<std::string>{});
  if (body.ok() && body.member("sessions") == nullptr) body.refuse("a batch needs the list 'sessions'");
  if (ids.size() > limits.batch_sessions) {
    body.refuse("a batch has at most " + std::to_string(limits.batch_sessions) +
                " sessions (limit batch_sessions)");
  }
  return ids;
}

// One choice per session from seeds, indexes, task_ids (lists), from groups ({seed, size, ...}), or one for
// all.
std::vector<TaskChoice> batch_choices(Body& body, std::size_t sessions) {
  TaskChoice common;
  body.choice(common);
  std::vector<TaskChoice> choices(sessions, common);
  if (const rapidjson::Value* groups = body.member("groups")) {
    std::vector<TaskChoice> laid;
    if (!groups->IsArray()) body.refuse("'groups' must be a list of objects with a size");
    for (rapidjson::SizeType i = 0; body.ok() && i < groups->Size(); ++i) {
      Body group((*groups)[i], {"seed", "split", "index", "task_id", "size"});
      TaskChoice choice;
      group.choice(choice);
      const std::optional<std::uint64_t> size = group.whole("size", 1, sessions);
      if (group.ok() && !size) group.refuse("a group needs its 'size'");
      if (!group.ok()) {
        body.refuse("groups[" + std::to_string(i) + "]: " + group.problem());
        break;
      }
      laid.insert(laid.end(), static_cast<std::size_t>(*size), merged_choice(common, choice));
    }
    if (body.ok() && laid.size() != sessions) {
      body.refuse("the sizes of 'groups' add up to " + std::to_string(laid.size()) + ", but there are " +
                  std::to_string(sessions) + " sessions");
    }
    if (body.ok()) choices = std::move(laid);
  }
  const auto list = [&](const char* name, const auto& put) {
    const rapidjson::Value* values = body.member(name);
    if (values == nullptr) return;
    if (!values->IsArray() || values->Size() != sessions) {
      body.refuse(std::string("'") + name + "' must be a list with one entry per session");
      return;
    }
    for (rapidjson::SizeType i = 0; i < values->Size(); ++i) {
      if (!put(choices[i], (*values)[i]))
        body.refuse(std::string("'") + name + "' has a bad entry at " + std::to_string(i));
    }
  };
  list("seeds", [](TaskChoice& choice, const rapidjson::Value& value) {
    return (choice.seed = whole_number(value)).has_value();
  });
  list("indexes", [](TaskChoice& choice, const rapidjson::Value& value) {
    return (choice.index = whole_number(value)).has_value();
  });
  list("task_ids", [](TaskChoice& choice, const rapidjson::Value& value) {
    if (value.IsString()) choice.task_id.assign(value.GetString(), value.GetStringLength());
    return value.IsString();
  });
  return choices;
}

HttpResponse batch_reset(const Call& call) {
  Body body(call.request.body,
            {"sessions", "seed", "split", "index", "task_id", "seeds", "indexes", "task_ids", "groups"});
  const std::vector<std::string> ids = batch_sessions(body, call.service.limits());
  const std::vector<TaskChoice> choices = batch_choices(body, ids.size());
  if (!body.ok()) return body.refusal();
  std::vector<std::string> results;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const SessionPool::Found found = find(call.service, ids[i]);
    if (!found.lease) {
      results.push_back(batch_item(no_session(found.fate, ids[i])));
      continue;
    }
    const Result<StepResult> first =
        call.service.reset(*found.lease, merged_choice(found.lease->choice, choices[i]));
    results.push_back(first ? native_result(*found.lease, *first) : batch_item(native_error(first.error())));
  }
  return json_response(200, JsonObject().raw("results", json_list(results)).end());
}

HttpResponse batch_step(const Call& call) {
  Body body(call.request.body, {"sessions", "actions", "step_ids"});
  const std::vector<std::string> ids = batch_sessions(body, call.service.limits());
  const std::vector<std::string> actions = body.texts("actions").value_or(std::vector<std::string>{});
  if (body.ok() && actions.size() != ids.size()) {
    body.refuse("'actions' has " + std::to_string(actions.size()) + " entries for " +
                std::to_string(ids.size()) + " sessions");
  }
  std::vector<std::uint64_t> step_ids(ids.size(), 0);
  if (const rapidjson::Value* given = body.member("step_ids")) {
    if (!given->IsArray() || given->Size() != ids.size()) {
      body.refuse("'step_ids' must be a list with one entry per session");
    } else {
      for (rapidjson::SizeType i = 0; i < given->Size(); ++i) {
        const std::optional<std::uint64_t> id = (*given)[i].IsNull() ? 0 : whole_number((*given)[i]);
        if (!id || (*id == 0 && !(*given)[i].IsNull()))
          body.refuse("'step_ids' holds whole numbers from 1 on, or null");
        step_ids[i] = id.value_or(0);
      }
    }
  }
  if (!body.ok()) return body.refusal();
  std::vector<std::string> results;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const SessionPool::Found found = find(call.service, ids[i]);
    results.push_back(batch_item(found.lease
                                     ? native_step(call.service, *found.lease, actions[i], step_ids[i])
                                     : no_session(found.fate, ids[i])));
  }
  return json_response(200, JsonObject().raw("results", json_list(results)).end());
}

// ---- lists ----

HttpResponse list_environments(const Call& call) {
  std::vector<std::string> out;
  for (const HostedEnvironment& environment : call.service.config().environments) {
    const EnvFactory& factory = *environment.factory;
    std::vector<std::string> splits;
    for (const std::string& split : factory.splits()) {
      const Result<std::size_t> count = factory.task_count(split);
      splits.push_back(JsonObject().text("name", split).count("tasks", count ? *count : 0).end());
    }
    out.push_back(JsonObject()
                      .text("name", environment.name)
                      .text("summary", environment.summary)
                      .count("version", factory.version())
                      .text("data_digest", to_hex(factory.data_digest()))
                      .count("max_steps", environment.max_steps)
                      .raw("splits", json_list(splits))
                      .text("openenv", "/openenv/" + environment.name)
                      .text("agentgym", "/agentgym/" + environment.name)
                      .end());
  }
  return json_response(200, JsonObject().raw("envs", json_list(out)).end());
}

HttpResponse list_tasks(const Call& call) {
  for (const auto& [key, value] : call.target.query) {
    if (key != "env" && key != "split" && key != "offset" && key != "limit") {
      return native_error(
          400, "BAD_REQUEST",
          "unknown parameter '" + key.substr(0, 100) + "' (known: env, split, offset, limit)");
    }
  }
  const std::string name = call.target.parameter("env").value_or(call.environment.name);
  const HostedEnvironment* environment = call.service.find_environment(name);
  if (environment == nullptr)
    return native_error(404, "NO_ENVIRONMENT",
                        "this server has no environment '" + name.substr(0, 100) + "'; see /v1/envs");
  const EnvFactory& factory = *environment->factory;
  const std::string split = call.target.parameter("split").value_or(factory.splits().front());
  const Result<std::size_t> count = factory.task_count(split);
  if (!count) return native_error(404, "NO_SPLIT", error_reason(count.error()));
  const auto number = [&](const char* parameter, std::uint64_t otherwise) {
    const std::optional<std::string> text = call.target.parameter(parameter);
    return text ? parse_uint(*text) : std::optional(otherwise);
  };
  const std::size_t most = call.service.limits().listed_tasks;
  const std::optional<std::uint64_t> offset = number("offset", 0);
  const std::optional<std::uint64_t> limit = number("limit", 1000);
  if (!offset || !limit || *limit > most) {
    return native_error(400, "BAD_REQUEST",
                        "offset and limit are whole numbers; limit is at most " + std::to_string(most));
  }
  const std::size_t begin = std::min<std::size_t>(*offset, *count);
  const std::size_t end = begin + std::min<std::size_t>(*limit, *count - begin);
  std::vector<std::string> ids;
  for (std::size_t i = begin; i < end; ++i) {
    Result<std::string> id = factory.task_id(split, i);
    if (!id) return native_error(id.error());
    ids.push_back(*id);
  }
  return json_response(200, JsonObject()
                                .text("env", name)
                                .text("split", split)
                                .count("offset", begin)
                                .count("total", *count)
                                .raw("tasks", json_array(ids))
                                .end());
}

HttpResponse show_limits(const Call& call) {
  const Limits& limits = call.service.limits();
  JsonObject out;
  const auto put = [&](const char* name, auto value, const char* unit) {
    out.raw(name, JsonObject().raw("value", std::to_string(value)).text("unit", unit).end());
  };
  put("max_sessions", limits.max_sessions, "sessions");
  put("max_sessions_per_client", limits.max_sessions_per_client, "sessions, 0 = no limit of its own");
  put("session_idle", limits.session_idle_seconds, "seconds, 0 = never");
  put("max_connections", limits.max_connections, "connections");
  put("body", limits.body_bytes, "bytes");
  put("header", limits.header_bytes, "bytes");
  put("path", limits.path_bytes, "bytes");
  put("message", limits.message_bytes, "bytes");
  put("json_nesting", limits.json_nesting, "levels");
  put("queued_messages", limits.queued_messages, "messages per WebSocket");
  put("queued_message_bytes", limits.queued_message_bytes, "bytes per WebSocket");
  put("output", limits.output_bytes, "bytes per WebSocket");
  put("batch_sessions", limits.batch_sessions, "sessions per request");
  put("listed_tasks", limits.listed_tasks, "tasks per reply");
  put("max_steps", limits.max_steps, "steps per episode");
  put("header_time", limits.header_seconds, "seconds");
  put("body_progress", limits.body_progress_seconds, "seconds");
  put("keep_alive", limits.keep_alive_seconds, "seconds");
  put("ping", limits.ping_milliseconds / 1000, "seconds");
  put("write", limits.write_seconds, "seconds");
  put("step_time", limits.step_milliseconds / 1000,
      "seconds; a request that takes longer is answered with an error");
  return json_response(200, out.end());
}

HttpResponse openapi(const Call& call) {
  return json_response(200, native_openapi(call.service.config().version));
}

HttpResponse no_handshake(const Call&) {
  return native_error(400, "NO_HANDSHAKE",
                      "a WebSocket handshake is wanted here: 'Upgrade: websocket' and 'Connection: Upgrade'");
}

const std::vector<Route>& routes() {
  static const std::vector<Route> list = [] {
    std::vector<Route> all{
        {"POST", "/sessions", &create_session},
        {"GET", "/sessions/{id}", &show_session},
        {"DELETE", "/sessions/{id}", &delete_session},
        {"POST", "/sessions/{id}/reset", &reset_session},
        {"POST", "/sessions/{id}/step", &step_session},
        {"POST", "/sessions/{id}/snapshot", &snapshot_session},
        {"POST", "/sessions/{id}/restore", &restore_session},
        {"POST", "/sessions/{id}/fork", &fork_session},
        {"POST", "/batch/reset", &batch_reset},
        {"POST", "/batch/step", &batch_step},
        {"GET", "/envs", &list_environments},
        {"GET", "/tasks", &list_tasks},
        {"GET", "/limits", &show_limits},
        {"GET", "/openapi.json", &openapi},
        {"GET", "/stream", &no_handshake},
    };
    for (const Route& route : group_routes()) all.push_back(route);
    for (const Route& route : credit_routes()) all.push_back(route);
    for (const Route& route : recording_routes()) all.push_back(route);
    return all;
  }();
  return list;
}

// ---- /v1/stream ----

class NativeSocket final : public SocketHandler {
 public:
  NativeSocket(Service& service, std::string client) : service_(service), client_(std::move(client)) {}

  bool is_quick(std::string_view text) const override {
    return service_.all_steps_are_quick() && text.size() < 4096 &&
           text.find("/sessions/") != std::string_view::npos &&
           text.find("/step\"") != std::string_view::npos;
  }

  SocketReply late(std::string_view text) const override {
    const Result<rapidjson::Document> message = parse_json_object(text, "message");
    const bool has_id = message && message->HasMember("id");
    return {answer(
        has_id ? to_json((*message)["id"]) : "null", 504,
        native_error_body("LATE",
                          "no answer in time (limit step_time), or a message before this one has none yet"))};
  }

  SocketReply on_message(std::string_view text) override {
    Result<rapidjson::Document> message = parse_json_object(text, "message");
    if (!message)
      return {answer("null", 400, native_error_body("BAD_REQUEST", error_reason(message.error())))};
    std::string id = "null";
    if (const auto member = message->FindMember("id"); member != message->MemberEnd())
      id = to_json(member->value);
    Body body(*message, {"id", "method", "path", "body"});
    const std::optional<std::string> path = body.text("path");
    const std::string method = body.text("method").value_or("POST");
    if (body.ok() && !path) body.refuse("a message needs the text member 'path', such as \"/v1/sessions\"");
    if (!body.ok()) return {answer(id, 400, native_error_body("BAD_REQUEST", body.problem()))};
    const std::optional<Target> target = parse_target(*path);
    if (!target || target->path.empty() || target->path[0] != "v1") {
      return {answer(id, 404, native_error_body("NOT_FOUND", "Not Found"))};
    }
    HttpRequest request{method, *path, "", client_};
    if (const rapidjson::Value* content = body.member("body")) request.body = to_json(*content);
    const HttpResponse response = native_http({service_, service_.default_environment(), request, *target},
                                              {target->path.begin() + 1, target->path.end()});
    return {answer(id, response.status, response.body)};
  }

 private:
  static std::string answer(const std::string& id, int status, const std::string& body) {
    return JsonObject()
        .raw("id", id)
        .raw("status", std::to_string(status))
        .raw("body", body.empty() ? "null" : body)
        .end();
  }

  Service& service_;
  const std::string client_;
};

}  // namespace

HttpResponse native_http(const Call& call, const std::vector<std::string>& path) {
  return dispatch(routes(), call, path, [](int status, std::string_view code, std::string_view message) {
    return native_error(status, code, message);
  });
}

std::unique_ptr<SocketHandler> native_socket(Service& service, const std::string& client) {
  return std::make_unique<NativeSocket>(service, client);
}

}  // namespace lodestep::harness
