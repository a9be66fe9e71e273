// OpenEnv's task routes: splits, how many tasks, which.
#include <rapidjson/document.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/text.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/openenv_parts.h"

namespace lodestep::harness {
namespace {

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
  if (!count) return openenv_error(400, "", error_reason(count.error()));
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

}  // namespace

std::vector<Route> openenv_task_routes() {
  return {
      {"GET", "/list_environments", &list_environments},
      {"GET", "/{env}/splits", &splits},
      {"POST", "/{env}/num_tasks", &num_tasks},
      {"POST", "/{env}/tasks", &tasks},
      {"POST", "/{env}/task", &task},
      {"POST", "/{env}/task_range", &task_range},
  };
}

}  // namespace lodestep::harness
