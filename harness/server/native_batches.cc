// /v1/batch: many sessions reset or stepped in one request; one failure does not fail the others.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/server/internal/json_text.h"
#include "harness/server/internal/native_parts.h"
#include "harness/server/internal/task_fields.h"

namespace lodestep::harness {
namespace {

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
  Body body(call,
            {"sessions", "seed", "split", "index", "task_id", "seeds", "indexes", "task_ids", "groups"});
  const std::vector<std::string> ids = batch_sessions(body, call.service.limits());
  const std::vector<TaskChoice> choices = batch_choices(body, ids.size());
  if (!body.ok()) return body.refusal();
  std::vector<std::string> results;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const SessionPool::Found found = find_session(call.service, ids[i]);
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
  Body body(call, {"sessions", "actions", "step_ids"});
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
    const SessionPool::Found found = find_session(call.service, ids[i]);
    results.push_back(batch_item(found.lease
                                     ? native_step(call.service, *found.lease, actions[i], step_ids[i])
                                     : no_session(found.fate, ids[i])));
  }
  return json_response(200, JsonObject().raw("results", json_list(results)).end());
}

}  // namespace

std::vector<Route> batch_routes() {
  return {{"POST", "/batch/reset", &batch_reset}, {"POST", "/batch/step", &batch_step}};
}

}  // namespace lodestep::harness
