// What the server has and allows: /v1/envs, /v1/tasks, /v1/limits, and the OpenAPI document.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/native_parts.h"

namespace lodestep::harness {
namespace {

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
  const auto put = [&](const char* name, const std::string& value, const char* unit) {
    out.raw(name, JsonObject().raw("value", value).text("unit", unit).end());
  };
  const auto count = [&](const char* name, std::size_t value, const char* unit) {
    put(name, std::to_string(value), unit);
  };
  const auto time = [&](const char* name, std::int64_t milliseconds, const char* unit) {
    put(name,
        milliseconds % 1000 == 0 ? std::to_string(milliseconds / 1000)
                                 : json_number(static_cast<double>(milliseconds) / 1000),
        unit);
  };
  count("max_sessions", limits.max_sessions, "sessions");
  count("max_sessions_per_client", limits.max_sessions_per_client, "sessions, 0 = no limit of its own");
  time("session_idle", limits.session_idle_seconds * 1000, "seconds, 0 = never");
  count("max_connections", limits.max_connections, "connections");
  count("body", limits.body_bytes, "bytes");
  count("header", limits.header_bytes, "bytes");
  count("path", limits.path_bytes, "bytes");
  count("message", limits.message_bytes, "bytes");
  count("json_nesting", limits.json_nesting, "levels");
  count("connection_requests", 1, "requests played at once for an HTTP connection; further ones stay unread");
  count("socket_messages", 1, "messages played at once for a WebSocket of OpenEnv");
  count("stream_requests", limits.stream_requests, "messages played at once for a /v1/stream");
  time("session_wait", limits.wait_milliseconds,
       "seconds that a request for a session waits in line when none is free, 0 = refused at once");
  count("queued_messages", limits.queued_messages,
        "messages that wait, per WebSocket; further ones stay unread");
  count("queued_message_bytes", limits.queued_message_bytes, "bytes that wait, per WebSocket");
  count("output", limits.output_bytes,
        "bytes of replies that the client of a WebSocket has not read; then it is not read either");
  count("batch_sessions", limits.batch_sessions, "sessions per request and per group");
  count("listed_tasks", limits.listed_tasks, "tasks per reply");
  count("max_steps", limits.max_steps, "steps per episode");
  count("kept_steps", limits.kept_steps, "steps per episode of a group, for its advantages");
  count("name", limits.name_characters,
        "bytes of a group's name; characters of episode_id and request_id over OpenEnv's HTTP");
  count("episode_id", limits.name_bytes, "bytes, other than over OpenEnv's HTTP");
  count("remembered_ids", limits.remembered_ids, "closed sessions that are told apart from unknown ones");
  time("header_time", limits.header_seconds * 1000, "seconds");
  time("body_progress", limits.body_progress_seconds * 1000, "seconds");
  time("keep_alive", limits.keep_alive_seconds * 1000, "seconds");
  time("ping", limits.ping_milliseconds, "seconds; a WebSocket is dropped after two unanswered pings");
  time("write", limits.write_seconds * 1000, "seconds");
  time("busy_wait", kPatience.count(), "seconds that a request waits for a session that another one plays");
  time("step_time", limits.step_milliseconds,
       "seconds; a request that takes longer is answered with an error");
  time("stop_time", limits.stop_milliseconds, "seconds that a stop waits for what still runs");
  return json_response(200, out.end());
}

HttpResponse openapi(const Call& call) {
  return json_response(200, native_openapi(call.service.config().version));
}

}  // namespace

std::vector<Route> list_routes() {
  return {
      {"GET", "/envs", &list_environments},
      {"GET", "/tasks", &list_tasks},
      {"GET", "/limits", &show_limits},
      {"GET", "/openapi.json", &openapi},
  };
}

}  // namespace lodestep::harness
