// /v1/sessions: made, played, looked at, copied, closed.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "harness/server/groups.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/native_parts.h"

namespace lodestep::harness {
namespace {

const std::vector<std::string> kChoiceMembers{"seed", "split", "index", "task_id", "episode_id"};

HttpResponse create_session(const Call& call) {
  Body body(call, {"env", "seed", "split", "index", "task_id", "max_steps", "group"});
  const std::string name = body.text("env").value_or(call.environment.name);
  TaskChoice choice;
  body.choice(choice);
  const std::optional<std::uint64_t> max_steps = body.whole("max_steps", 0, call.service.limits().max_steps);
  const std::string group = body.text("group").value_or("");
  if (group.size() > call.service.limits().name_characters)
    body.refuse("'group' must have at most " + std::to_string(call.service.limits().name_characters) +
                " bytes");
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
  if (!opened) return capacity_reached(call, opened.error());
  {
    const std::lock_guard lock((*opened)->mutex);
    (*opened)->choice = choice;
    (*opened)->group = group;
  }
  const std::size_t most = call.service.limits().batch_sessions;
  if (!group.empty() && !call.service.groups().join(group, *opened, most)) {
    call.service.pool().close((*opened)->id);
    return native_error(409, "GROUP_FULL",
                        "group " + group + " has had " + std::to_string(most) +
                            " sessions (limit batch_sessions): close it with DELETE, or name another");
  }
  return json_response(201, JsonObject().text("session_id", (*opened)->id).end());
}

HttpResponse reset_with(Service& service, Session& session, Body& body) {
  TaskChoice asked;
  body.choice(asked);
  const std::optional<std::string> episode_id = body.text("episode_id");
  if (episode_id && episode_id->size() > service.limits().name_bytes)
    body.refuse("'episode_id' must have at most " + std::to_string(service.limits().name_bytes) + " bytes");
  if (!body.ok()) return body.refusal();
  const Result<StepResult> first = service.reset(session, merged_choice(session.choice, asked), episode_id);
  if (!first) return native_error(first.error());
  return json_response(200, native_result(session, *first));
}

HttpResponse reset_session(const Call& call) {
  Body body(call, kChoiceMembers);
  const SessionPool::Found found = find_session(call.service, call.captured[0]);
  if (!found.lease) return no_session(found.fate, call.captured[0]);
  return reset_with(call.service, *found.lease, body);
}

HttpResponse step_session(const Call& call) {
  Body body(call, {"action", "step_id"});
  const std::optional<std::string> action = body.text("action");
  const std::optional<std::uint64_t> step_id = body.whole("step_id", 1, kMaxWhole);
  if (body.ok() && !action) body.refuse("a step needs the text member 'action'");
  if (!body.ok()) return body.refusal();
  const SessionPool::Found found = find_session(call.service, call.captured[0]);
  if (!found.lease) return no_session(found.fate, call.captured[0]);
  return native_step(call.service, *found.lease, *action, step_id.value_or(0));
}

HttpResponse show_session(const Call& call) {
  std::shared_ptr<Session> session;
  if (is_session_id(call.captured[0])) session = call.service.pool().peek(call.captured[0]);
  if (!session) return no_session(find_session(call.service, call.captured[0]).fate, call.captured[0]);
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
  const SessionPool::Found found = find_session(call.service, call.captured[0]);
  if (!found.lease) return no_session(found.fate, call.captured[0]);
  if (!found.lease->episode.started())
    return native_error(409, "NO_EPISODE", "no episode is running: reset the session first");
  return json_response(200, JsonObject().text("snapshot", base64_encode(found.lease->episode.save())).end());
}

HttpResponse restore_session(const Call& call) {
  Body body(call, {"snapshot"});
  const std::optional<std::string> text = body.text("snapshot");
  if (body.ok() && !text) body.refuse("restore needs the text member 'snapshot'");
  if (!body.ok()) return body.refusal();
  const std::optional<std::string> saved = base64_decode(*text);
  if (!saved) return native_error(400, "BAD_SNAPSHOT", "the snapshot is not base64");
  const SessionPool::Found found = find_session(call.service, call.captured[0]);
  if (!found.lease) return no_session(found.fate, call.captured[0]);
  const Result<StepResult> now = call.service.restore(*found.lease, *saved);
  if (!now) return native_error(400, "BAD_SNAPSHOT", error_reason(now.error()));
  return json_response(200, native_result(*found.lease, *now));
}

HttpResponse fork_session(const Call& call) {
  Body body(call, {"count"});
  const std::uint64_t count = body.whole("count", 1, call.service.limits().batch_sessions).value_or(1);
  if (!body.ok()) return body.refusal();
  if (call.service.draining())
    return native_error(503, "STOPPING", "the server is stopping and takes no new sessions");
  const SessionPool::Found found = find_session(call.service, call.captured[0]);
  if (!found.lease) return no_session(found.fate, call.captured[0]);
  if (!found.lease->episode.started())
    return native_error(409, "NO_EPISODE", "no episode is running: reset the session first");
  std::vector<std::string> ids;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Result<std::shared_ptr<Session>> copy = call.service.fork(*found.lease, call.request.client);
    if (!copy) {  // all or none
      for (const std::string& id : ids) call.service.pool().close(id);
      return capacity_reached(call, copy.error());
    }
    ids.push_back((*copy)->id);
  }
  return json_response(201, JsonObject().raw("sessions", json_array(ids)).end());
}

}  // namespace

std::vector<Route> session_routes() {
  return {
      {"POST", "/sessions", &create_session},
      {"GET", "/sessions/{id}", &show_session},
      {"DELETE", "/sessions/{id}", &delete_session},
      {"POST", "/sessions/{id}/reset", &reset_session},
      {"POST", "/sessions/{id}/step", &step_session},
      {"POST", "/sessions/{id}/snapshot", &snapshot_session},
      {"POST", "/sessions/{id}/restore", &restore_session},
      {"POST", "/sessions/{id}/fork", &fork_session},
  };
}

}  // namespace lodestep::harness
