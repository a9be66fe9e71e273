// What the files of the /v1 dialect share: reading bodies, wording errors, playing one session's request.
//   Body body(call.request, {"action", "step_id"}); if (!body.ok()) return body.refusal();
// Threads: pure but for the sessions it plays.
#pragma once

#include <rapidjson/document.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/server/internal/dialects.h"
#include "harness/server/session_pool.h"

namespace lodestep::harness {

std::string error_reason(const Error& error);  // message and hint
std::string native_error_body(std::string_view code, std::string_view message);
HttpResponse native_error(const Error& error);  // by its code
HttpResponse no_session(SessionPool::Fate fate, const std::string& id);

// A request's body as an object with known members only. Members of the wrong type refuse the whole request.
class Body {
 public:
  // An empty body is an empty object.
  Body(const std::string& text, const std::vector<std::string>& known);
  Body(const rapidjson::Value& object, const std::vector<std::string>& known);  // borrowed
  bool ok() const { return !problem_; }
  const std::string& problem() const { return *problem_; }
  HttpResponse refusal() const { return native_error(400, "BAD_REQUEST", *problem_); }
  const rapidjson::Value& json() const { return *object_; }

  // Absent and null members give nullopt; those of another type refuse.
  std::optional<std::string> text(const char* name);
  std::optional<std::uint64_t> whole(const char* name, std::uint64_t low, std::uint64_t high);
  std::optional<std::vector<std::string>> texts(const char* name);
  const rapidjson::Value* member(const char* name) const;  // nullptr when absent or null
  void choice(TaskChoice& target);                         // seed, split, index, task_id
  void refuse(std::string problem);

 private:
  void check_known(const std::vector<std::string>& known);
  rapidjson::Document document_;
  const rapidjson::Value* object_ = nullptr;
  std::optional<std::string> problem_;
};

// RESULT plus episode_id, step_count, state_key, terminated, truncated, action_valid.
std::string native_result(const Session& session, const StepResult& result);

// One step of a leased session with its retry protection. step_id 0: none.
HttpResponse native_step(Service& service, Session& session, const std::string& action,
                         std::uint64_t step_id);
// What a reset asks over what creation asked.
TaskChoice merged_choice(const TaskChoice& created, const TaskChoice& asked);

// The tables of the other files.
std::vector<Route> group_routes();
std::vector<Route> credit_routes();
std::vector<Route> recording_routes();

}  // namespace lodestep::harness
