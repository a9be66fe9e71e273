#include "harness/server/internal/native_parts.h"

#include <rapidjson/document.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "harness/internal/json.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/situation.h"
#include "harness/server/internal/task_fields.h"

namespace lodestep::harness {

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

HttpResponse capacity_reached(const Call& call, const Error& error) {
  if (error.code != ErrorCode::kUnavailable) return native_error(error);
  call.service.metrics().count_refusal("capacity");
  const int status = capacity_status(error);
  HttpResponse response =
      native_error(status, status == 429 ? "TOO_MANY_SESSIONS" : "CAPACITY_REACHED", error_reason(error));
  response.full = server_is_full(error);
  return response;
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

Body::Body(const Call& call, const std::vector<std::string>& known) {
  document_.SetObject();
  if (call.json != nullptr) {
    borrow(*call.json);
  } else if (!trim(call.request.body).empty()) {
    Result<rapidjson::Document> parsed = parse_json_object(call.request.body, "request body");
    if (parsed) {
      document_.Swap(*parsed);
    } else {
      problem_ = error_reason(parsed.error());
    }
  }
  check_known(known);
}

Body::Body(const rapidjson::Value& object, const std::vector<std::string>& known) {
  document_.SetObject();
  borrow(object);
  check_known(known);
}

void Body::borrow(const rapidjson::Value& object) {
  if (object.IsObject()) {
    object_ = &object;
  } else {
    problem_ = "the body must be a JSON object";
  }
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

SessionPool::Found find_session(Service& service, const std::string& id) {
  return is_session_id(id) ? service.pool().find(id) : SessionPool::Found{};
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

}  // namespace lodestep::harness
