// What the files of the /v1 dialect share: reading bodies, wording errors, playing one session's request.
//   Body body(call, {"action", "step_id"}); if (!body.ok()) return body.refusal();
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

std::string native_error_body(std::string_view code, std::string_view message);
HttpResponse native_error(const Error& error);  // by its code
HttpResponse no_session(SessionPool::Fate fate, const std::string& id);
// No session could be opened: 503 when the server is full, 429 when this client has its share.
HttpResponse capacity_reached(const Call& call, const Error& error);

inline constexpr std::uint64_t kMaxWhole = ~std::uint64_t{0};

// A request's body as an object with known members only. Members of the wrong type refuse the whole request.
class Body {
 public:
  // Of a request; an empty one is an empty object.
  Body(const Call& call, const std::vector<std::string>& known);
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
  void borrow(const rapidjson::Value& object);
  void check_known(const std::vector<std::string>& known);
  rapidjson::Document document_;
  const rapidjson::Value* object_ = &document_;
  std::optional<std::string> problem_;
};

// RESULT plus episode_id, step_count, state_key, terminated, truncated, action_valid.
std::string native_result(const Session& session, const StepResult& result);

// The session, when the id can be one: other dialects keep theirs in the same pool.
SessionPool::Found find_session(Service& service, const std::string& id);
// One step of a leased session with its retry protection. step_id 0: none.
HttpResponse native_step(Service& service, Session& session, const std::string& action,
                         std::uint64_t step_id);
// What a reset asks over what creation asked.
TaskChoice merged_choice(const TaskChoice& created, const TaskChoice& asked);

// The tables of the other files.
std::vector<Route> session_routes();
std::vector<Route> batch_routes();
std::vector<Route> list_routes();
std::vector<Route> group_routes();
std::vector<Route> credit_routes();
std::vector<Route> recording_routes();

}  // namespace lodestep::harness
