// /v1/groups: G tasks x n members made in one call, stepped in one message.
#include <rapidjson/document.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "harness/internal/json.h"
#include "harness/runner.h"
#include "harness/server/groups.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/native_parts.h"
#include "harness/server/internal/situation.h"

namespace lodestep::harness {
namespace {

// The members' situations as columns, one entry per member.
class Columns {
 public:
  explicit Columns(std::size_t members) : members_(members) {}

  void add(const Session& session, const StepResult& result) {
    const Shown shown(session);
    JsonWriter::append_quoted(next(kObservations), result.observation.text);
    JsonWriter::append_quoted(next(kActions), shown.actions());
    JsonWriter::append_quoted(next(kKeys), shown.state_key());
    next(kRewards) += reward_json(result.reward);
    next(kDones) += flag(is_done(session, result));
    next(kTerminated) += flag(result.done());
    next(kTruncated) += flag(session.episode.truncated());
    next(kValid) += flag(result.action_valid);
    next(kCounts) += std::to_string(session.episode.steps());
    next(kErrors) += "null";
    if (std::exchange(sized_, true)) return;
    for (std::string& values : values_) values.reserve(members_ * (values.size() + values.size() / 8 + 4));
  }
  // A member that could not be played.
  void add_error(const std::string& message) {
    for (std::size_t column = 0; column < kColumns; ++column) {
      next(column) += column == kErrors ? json_quote(message) : column == kDones ? "true" : "null";
    }
    failed_ = true;
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const std::string& values : values_) sum += values.size();
    return sum;
  }
  // The columns of all `parts`, in their order.
  static void put(JsonObject& out, const std::vector<Columns>& parts) {
    const bool failed =
        std::any_of(parts.begin(), parts.end(), [](const Columns& part) { return part.failed_; });
    std::vector<std::string_view> pieces(parts.size());
    for (std::size_t column = 0; column < kColumns; ++column) {
      if (column == kErrors && !failed) continue;
      for (std::size_t i = 0; i < parts.size(); ++i) pieces[i] = parts[i].values_[column];
      out.list(kNames[column], pieces);
    }
  }

 private:
  enum Column : std::size_t {
    kObservations,
    kActions,
    kKeys,
    kRewards,
    kDones,
    kTerminated,
    kTruncated,
    kValid,
    kCounts,
    kErrors,
    kColumns
  };
  static constexpr std::array<const char*, kColumns> kNames{
      "observations", "available_actions", "state_keys",   "rewards",     "dones",
      "terminated",   "truncated",         "action_valid", "step_counts", "errors"};

  static const char* flag(bool value) { return value ? "true" : "false"; }
  // The column, ready for another value.
  std::string& next(std::size_t column) {
    std::string& values = values_[column];
    if (!values.empty()) values += ',';
    return values;
  }
  const std::size_t members_;  // to come
  std::array<std::string, kColumns> values_;
  bool sized_ = false;
  bool failed_ = false;
};

struct GroupWish {
  const HostedEnvironment* environment = nullptr;
  std::vector<std::string> tasks;
  std::uint64_t seed = 0;
  std::size_t group_size = 1;
  std::size_t max_steps = 0;
};

// One group while its members are started: all of them must start in the same state.
struct Start {
  std::string name;
  TaskChoice choice;
  std::shared_ptr<RecordPlace> place;
  std::optional<Hash128> state = {};
};

Status start_member(Service& service, const std::shared_ptr<Session>& member, Start& group,
                    Columns& columns) {
  const Lease session(member, service.pool().clock());
  session->group = group.name;
  session->place = group.place;
  session->choice = group.choice;
  const Result<StepResult> first = service.reset(*session, session->choice);
  if (!first) return first.error();
  const Hash128 state = session->episode.environment().true_state_hash();
  if (group.state.value_or(state) != state) {
    return Error{ErrorCode::kUnsupported, "the members of a group start in different states",
                 group.choice.task_id, ""};
  }
  group.state = state;
  columns.add(*session, *first);
  return {};
}

// Makes all sessions, or none.
Result<std::shared_ptr<GroupSet>> make_groups(const Call& call, const GroupWish& wish, Columns& columns) {
  Service& service = call.service;
  auto set = std::make_shared<GroupSet>();
  set->id = random_id();
  set->tasks = wish.tasks;
  const auto undo = [&](const Error& error) {
    for (const auto& member : set->members) service.pool().close(member->id);
    return error;
  };
  for (std::size_t g = 0; g < wish.tasks.size(); ++g) {
    Start group{set->id + "/" + std::to_string(g), {wish.seed, "", {}, wish.tasks[g]}, service.new_place()};
    for (std::size_t m = 0; m < wish.group_size; ++m) {
      Result<std::shared_ptr<Session>> opened =
          service.pool().open({*wish.environment, call.request.client, wish.max_steps});
      if (!opened) return undo(opened.error());
      set->members.push_back(*opened);
      if (Status started = start_member(service, *opened, group, columns); !started)
        return undo(started.error());
    }
  }
  service.groups().add(set);
  return set;
}

HttpResponse create_groups(const Call& call) {
  Body body(call, {"env", "tasks", "split", "count", "seed", "group_size", "max_steps"});
  const Limits& limits = call.service.limits();
  GroupWish wish;
  const std::string name = body.text("env").value_or(call.environment.name);
  wish.environment = call.service.find_environment(name);
  wish.seed = body.whole("seed", 0, kMaxWhole).value_or(0);
  wish.group_size = static_cast<std::size_t>(body.whole("group_size", 1, limits.batch_sessions).value_or(1));
  const std::optional<std::uint64_t> max_steps = body.whole("max_steps", 0, limits.max_steps);
  const std::optional<std::vector<std::string>> tasks = body.texts("tasks");
  const std::optional<std::string> split = body.text("split");
  const std::optional<std::uint64_t> count = body.whole("count", 1, limits.batch_sessions);
  if (body.ok() && tasks.has_value() == count.has_value()) {
    body.refuse("name either 'tasks' (a list of ids) or 'count' (with 'split' and 'seed')");
  }
  if (body.ok() && tasks && tasks->empty()) body.refuse("'tasks' is empty");
  if (!body.ok()) return body.refusal();
  if (call.service.draining())
    return native_error(503, "STOPPING", "the server is stopping and takes no new sessions");
  if (wish.environment == nullptr) {
    return native_error(404, "NO_ENVIRONMENT",
                        "this server has no environment '" + name.substr(0, 100) + "'; see /v1/envs");
  }
  wish.max_steps = max_steps ? static_cast<std::size_t>(*max_steps) : wish.environment->max_steps;
  const EnvFactory& factory = *wish.environment->factory;
  if (tasks) {
    wish.tasks = *tasks;
  } else {
    Result<std::vector<std::string>> drawn = draw_tasks(factory, split.value_or(factory.splits().front()),
                                                        static_cast<std::size_t>(*count), wish.seed);
    if (!drawn) return native_error(drawn.error());
    wish.tasks = std::move(*drawn);
  }
  if (wish.tasks.size() * wish.group_size > limits.batch_sessions) {
    return native_error(400, "BAD_REQUEST",
                        std::to_string(wish.tasks.size()) + " x " + std::to_string(wish.group_size) +
                            " sessions are more than one request may make (limit batch_sessions = " +
                            std::to_string(limits.batch_sessions) + ")");
  }
  std::vector<Columns> columns{Columns(wish.tasks.size() * wish.group_size)};
  const Result<std::shared_ptr<GroupSet>> made = make_groups(call, wish, columns.front());
  if (!made) {
    HttpResponse refusal = capacity_reached(call, made.error());
    refusal.full = false;  // who needs many sessions does not hold up those who need one
    return refusal;
  }
  const GroupSet& set = **made;
  std::vector<std::string> groups;
  for (std::size_t g = 0; g < set.tasks.size(); ++g) {
    std::vector<std::string> ids;
    for (std::size_t m = 0; m < wish.group_size; ++m) ids.push_back(set.members[g * wish.group_size + m]->id);
    groups.push_back(JsonObject().text("task", set.tasks[g]).raw("sessions", json_array(ids)).end());
  }
  JsonObject out;
  out.text("group_set_id", set.id)
      .text("env", name)
      .count("seed", wish.seed)
      .raw("groups", json_list(groups));
  Columns::put(out, columns);
  return json_response(201, out.end());
}

HttpResponse no_group(const std::string& id) {
  return native_error(404, "NO_GROUP", "there is no group " + id.substr(0, 100));
}

// Steps one member.
void step_member(Service& service, const std::shared_ptr<Session>& member, const std::string& action,
                 Columns& columns) {
  const Lease session(member, service.pool().clock());
  if (!session) return columns.add_error("another request is playing the session");
  if (session->closed) return columns.add_error("the session is closed");
  if (!session->episode.started()) return columns.add_error("no episode is running");
  const Result<StepResult> result = service.step(*session, action);
  if (!result) return columns.add_error(error_reason(result.error()));
  columns.add(*session, *result);
}

// Steps all members, in parts, on as many threads as are free: members share nothing.
std::vector<Columns> step_all(Service& service, const std::vector<std::shared_ptr<Session>>& members,
                              const std::vector<std::string>& actions) {
  constexpr std::size_t kPart = 16;
  std::vector<Columns> parts((members.size() + kPart - 1) / kPart, Columns(kPart));
  service.helpers().run(parts.size(), [&](std::size_t part) {
    const std::size_t end = std::min((part + 1) * kPart, members.size());
    for (std::size_t i = part * kPart; i < end; ++i)
      step_member(service, members[i], actions[i], parts[part]);
  });
  return parts;
}

std::vector<std::shared_ptr<Session>> members_of(GroupSet& set) {
  const std::lock_guard lock(set.mutex);
  return set.members;
}

HttpResponse step_group(const Call& call) {
  Body body(call, {"actions", "step_id"});
  const std::optional<std::vector<std::string>> actions = body.texts("actions");
  const std::uint64_t step_id = body.whole("step_id", 1, kMaxWhole).value_or(0);
  if (body.ok() && !actions) body.refuse("a group step needs the list 'actions'");
  if (!body.ok()) return body.refusal();
  const std::shared_ptr<GroupSet> set = call.service.groups().find(call.captured[0]);
  if (!set) return no_group(call.captured[0]);
  const std::unique_lock<std::timed_mutex> playing(set->playing, kPatience);
  if (!playing)
    return native_error(409, "GROUP_BUSY",
                        "another request is playing group " + set->id + "; ask again later");
  const std::vector<std::shared_ptr<Session>> members = members_of(*set);
  if (actions->size() != members.size()) {
    return native_error(400, "BAD_REQUEST",
                        "'actions' has " + std::to_string(actions->size()) + " entries for " +
                            std::to_string(members.size()) + " members");
  }
  if (step_id != 0 && step_id == set->step_id) return json_response(200, set->step_reply);
  if (step_id != 0 && step_id != set->step_id + 1) {
    return native_error(409, "STEP_ID_CONFLICT",
                        "step_id " + std::to_string(step_id) + " does not follow the last one: expected " +
                            std::to_string(set->step_id + 1));
  }
  const std::vector<Columns> columns = step_all(call.service, members, *actions);
  std::size_t bytes = 512;
  for (const Columns& part : columns) bytes += part.bytes();
  JsonObject out(bytes);
  out.text("group_set_id", set->id);
  if (step_id != 0) out.count("step_id", step_id);
  Columns::put(out, columns);
  std::string reply = out.end();
  if (step_id != 0) {
    set->step_id = step_id;
    set->step_reply = reply;
  }
  return json_response(200, std::move(reply));
}

HttpResponse show_group(const Call& call) {
  const std::shared_ptr<GroupSet> set = call.service.groups().find(call.captured[0]);
  if (!set) return no_group(call.captured[0]);
  std::vector<std::string> ids;
  for (const auto& member : members_of(*set)) ids.push_back(member->id);
  JsonObject out;
  out.text("group_set_id", set->id).raw("tasks", json_array(set->tasks)).raw("sessions", json_array(ids));
  const std::unique_lock<std::timed_mutex> playing(set->playing, kPatience);
  if (playing) {
    out.count("step_id", set->step_id);
  } else {
    out.boolean("busy", true);
  }
  return json_response(200, out.end());
}

HttpResponse delete_group(const Call& call) {
  if (!call.service.groups().close(call.captured[0])) return no_group(call.captured[0]);
  return json_response(200, JsonObject().boolean("closed", true).end());
}

}  // namespace

std::vector<Route> group_routes() {
  return {
      {"POST", "/groups", &create_groups},
      {"GET", "/groups/{id}", &show_group},
      {"DELETE", "/groups/{id}", &delete_group},
      {"POST", "/groups/{id}/step", &step_group},
  };
}

}  // namespace lodestep::harness
