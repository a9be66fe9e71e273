// Advantages over /v1, under any estimator and matcher: of a group's recorded steps, and of steps that a
// client sends.
#include <rapidjson/document.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "base/text.h"
#include "harness/credit.h"
#include "harness/internal/json.h"
#include "harness/internal/settings.h"
#include "harness/server/groups.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/native_parts.h"
#include "harness/step_credit.h"
#include "harness/steps_jsonl.h"

namespace lodestep::harness {
namespace {

// One member's latest episode, with the names that its client knows.
struct Played {
  EpisodeRecord record;
  std::string session_id;
  std::string episode_id;
};

Result<std::vector<Played>> played_episodes(GroupSet& set, const Clock& clock) {
  std::vector<Played> out;
  const std::lock_guard lock(set.mutex);
  for (const auto& member : set.members) {
    const Lease look(member, clock, Lease::Use::kLook);
    if (!look)
      return Error{ErrorCode::kUnavailable, "another request is playing a member of the group", member->id,
                   "ask again later"};
    if (member->too_long) {
      return Error{ErrorCode::kUnsupported, "an episode of the group is too long: its steps are not kept",
                   member->id, "limit kept_steps of /v1/limits"};
    }
    if (member->record) out.push_back({*member->record, member->id, member->episode_id});
  }
  std::stable_sort(out.begin(), out.end(), [](const Played& a, const Played& b) {
    return std::pair(a.record.group, a.record.member) < std::pair(b.record.group, b.record.member);
  });
  return out;
}

template <typename T>
void put(JsonObject& out, const char* name, const std::vector<std::optional<T>>& column, std::size_t row) {
  if (row >= column.size() || !column[row]) {
    out.null(name);
  } else if constexpr (std::is_same_v<T, double>) {
    out.number(name, *column[row]);
  } else {
    out.raw(name, std::to_string(*column[row]));
  }
}

std::string diagnostics(const graph::Summary& summary, const std::vector<std::string>& notes,
                        const std::optional<graph::Diagnostics>& measured) {
  std::vector<std::string> warnings = summary.warnings;
  warnings.insert(warnings.end(), notes.begin(), notes.end());
  JsonObject out;
  out.count("tasks", summary.tasks)
      .count("episodes", summary.episodes)
      .count("rows", summary.rows)
      .count("left_out_rows", summary.left_out_rows)
      .count("unscored_episodes", summary.unscored_episodes)
      .count("successes", summary.successes)
      .count("no_signal_tasks", summary.no_signal_tasks)
      .count("one_member_tasks", summary.one_member_tasks)
      .count("singleton_rows", summary.singleton_rows)
      .text("statistics", summary.statistics)
      .raw("warnings", json_array(warnings));
  if (measured) out.raw("graph", graph::to_json(*measured));
  return out.end();
}

bool is_true(const std::string& value) { return value == "true" || value == "1"; }

// Lets a request use the server's own graph store, if there is one: no request names a file.
std::optional<HttpResponse> use_memory(const Call& call, std::string& store, double& half_life) {
  const ServiceConfig& config = call.service.config();
  if (call.request.method == "GET")
    return native_error(400, "BAD_REQUEST", "a GET changes nothing: 'memory' goes with POST");
  if (config.graph_store.empty())
    return native_error(400, "BAD_REQUEST", "this server remembers no graphs: it runs without --graph-store");
  store = config.graph_store;
  half_life = config.half_life;
  return std::nullopt;
}

// What `lodestep rollout` notes of a recording: it decides an environment's defaults, and how many turns were
// left before each step.
std::map<std::string, std::string> info_of(GroupSet& set) {
  std::set<std::string> environments;
  std::size_t max_steps = 0;
  const std::lock_guard lock(set.mutex);
  for (const auto& member : set.members) {
    environments.insert(member->environment.name);
    max_steps = std::max(max_steps, member->max_steps);
  }
  std::map<std::string, std::string> info{{"max_steps", std::to_string(max_steps)}};
  if (environments.size() == 1) info["env"] = *environments.begin();
  return info;
}

HttpResponse group_advantages(const Call& call) {
  CreditRequest request;
  Settings settings;
  bool measure = false, memory = false;
  for (const auto& [key, value] : call.target.query) {
    if (key == "estimator") {
      request.estimator = value;
    } else if (key == "matcher") {
      request.matcher = value;
    } else if (key == "preset") {
      request.preset = value;
    } else if (key == "diagnostics") {
      measure = is_true(value);
    } else if (key == "memory") {
      memory = is_true(value);
    } else {
      settings.emplace_back(key, value);
    }
  }
  const std::shared_ptr<GroupSet> set = call.service.groups().find(call.captured[0]);
  if (!set) return native_error(404, "NO_GROUP", "there is no group " + call.captured[0].substr(0, 100));
  const Result<RoutedSettings> routed =
      route_settings(settings, nullptr, request.matcher, {request.estimator});
  if (!routed) return native_error(routed.error());
  request.matcher_settings = routed->matcher;
  if (const auto own = routed->estimators.find(request.estimator); own != routed->estimators.end())
    request.settings = own->second;
  if (memory) {
    if (auto refused = use_memory(call, request.graph_store, request.half_life)) return *refused;
    const Result<graph::EstimatorInfo> fits = check_request({.estimator = request.estimator,
                                                             .preset = request.preset,
                                                             .matcher = request.matcher,
                                                             .settings = request.settings,
                                                             .graph_store = request.graph_store});
    if (!fits) return native_error(fits.error());
  }

  const Result<std::vector<Played>> played = played_episodes(*set, call.service.pool().clock());
  if (!played) return native_error(played.error());
  Recording recording;
  recording.info = info_of(*set);
  for (const Played& episode : *played) recording.episodes.push_back(episode.record);
  const Result<Credited> credited = credit_recording(recording, request);
  if (!credited) return native_error(credited.error());
  std::optional<graph::Diagnostics> measured;
  if (measure) {
    Result<graph::Diagnostics> found =
        diagnose_recording(recording, request.matcher, request.matcher_settings);
    if (!found) return native_error(found.error());
    measured = *std::move(found);
  }
  const Estimate& estimate = credited->estimate;
  std::vector<std::string> rows;
  std::size_t row = 0;
  for (const Played& episode : *played) {
    for (std::size_t t = 0; t < episode.record.steps.size(); ++t, ++row) {
      JsonObject out;
      out.text("task", episode.record.task.id).text("episode", episode.episode_id).count("t", t);
      put(out, "step_return", estimate.step_return, row);
      put(out, "step_advantage", estimate.step_advantage, row);
      put(out, "episode_advantage", estimate.episode_advantage, row);
      out.number("advantage", estimate.advantage.at(row));
      put(out, "group", estimate.group, row);
      put(out, "node", estimate.node, row);
      put(out, "next_node", estimate.next_node, row);
      if (!credited->credit.weight.empty()) out.number("weight", credited->credit.weight[row]);
      out.text("session_id", episode.session_id);
      rows.push_back(out.end());
    }
  }
  return json_response(
      200, JsonObject()
               .text("group_set_id", set->id)
               .text("estimator", request.estimator)
               .text("matcher", request.matcher)
               .raw("advantages", json_list(rows))
               .raw("diagnostics", diagnostics(credited->credit.summary, credited->notes, measured))
               .end());
}

// What a client asks of POST /v1/advantages, in whichever of the three forms.
struct StepsWish {
  std::string lines;  // the records, one JSON object a line
  bool answers_lines = false;
  std::string estimator = "graphgpo";
  std::string preset;
  std::string matcher = "exact";
  Settings settings;  // of the estimator; "matcher.KEY" of the matcher
  bool diagnostics = false, memory = false;
};

std::string setting_text(const rapidjson::Value& value) {
  return value.IsString() ? std::string(value.GetString(), value.GetStringLength()) : to_json(value);
}

void append_lines(const rapidjson::Value& records, std::string& lines) {
  for (const rapidjson::Value& record : records.GetArray()) lines += to_json(record) + "\n";
}

// JSON array, JSON object with "records", or one JSON object a line.
std::optional<HttpResponse> read_wish(const Call& call, StepsWish& wish) {
  for (const auto& [key, value] : call.target.query) {
    if (key == "estimator") {
      wish.estimator = value;
    } else if (key == "matcher") {
      wish.matcher = value;
    } else if (key == "preset") {
      wish.preset = value;
    } else if (key == "diagnostics") {
      wish.diagnostics = is_true(value);
    } else if (key == "memory") {
      wish.memory = is_true(value);
    } else {
      wish.settings.emplace_back(key, value);
    }
  }
  const std::string body_text = call.json != nullptr ? to_json(*call.json) : call.request.body;
  const std::string_view text = trim(body_text);
  Result<rapidjson::Document> whole = parse_json(text, "request body");
  const bool is_one_record =
      whole && whole->IsObject() && whole->HasMember("task") && whole->HasMember("episode");
  if (!whole || is_one_record) {  // lines; a malformed one is named by the reader below
    if (!text.starts_with('{'))
      return native_error(400, "BAD_REQUEST",
                          whole ? "the body must hold records" : error_reason(whole.error()));
    wish.lines = text;
    wish.answers_lines = true;
    return std::nullopt;
  }
  if (whole->IsArray()) {
    append_lines(*whole, wish.lines);
    return std::nullopt;
  }
  Body body(*whole,
            {"records", "steps", "estimator", "matcher", "preset", "options", "diagnostics", "memory"});
  wish.estimator = body.text("estimator").value_or(wish.estimator);
  wish.matcher = body.text("matcher").value_or(wish.matcher);
  wish.preset = body.text("preset").value_or(wish.preset);
  for (const auto& [name, wanted] : {std::pair("diagnostics", &wish.diagnostics), {"memory", &wish.memory}}) {
    const rapidjson::Value* given = body.member(name);
    if (given == nullptr) continue;
    if (!given->IsBool()) body.refuse("'" + std::string(name) + "' must be true or false");
    *wanted = given->IsBool() && given->GetBool();
  }
  const rapidjson::Value* records = body.member(body.member("steps") != nullptr ? "steps" : "records");
  if (body.ok() && (records == nullptr || !records->IsArray()))
    body.refuse("'records' (or 'steps') must be a list");
  if (const rapidjson::Value* options = body.member("options")) {
    if (!options->IsObject()) body.refuse("'options' must be an object");
    for (auto option = options->MemberBegin(); body.ok() && option != options->MemberEnd(); ++option) {
      wish.settings.emplace_back(option->name.GetString(), setting_text(option->value));
    }
  }
  if (!body.ok()) return body.refusal();
  append_lines(*records, wish.lines);
  return std::nullopt;
}

// The same way as `lodestep credit`, by the same functions.
HttpResponse advantages(const Call& call) {
  StepsWish wish;
  if (auto refused = read_wish(call, wish)) return *refused;
  StepCreditRequest request{.estimator = wish.estimator,
                            .preset = wish.preset,
                            .matcher = wish.matcher,
                            .settings = wish.settings,
                            .diagnostics = wish.diagnostics};
  if (wish.memory) {
    if (auto refused = use_memory(call, request.graph_store, request.half_life)) return *refused;
  }
  if (const Result<graph::EstimatorInfo> known = check_request(request); !known)
    return native_error(known.error());
  std::istringstream in(wish.lines);
  std::ostringstream out, err;
  Io io{in, out, err};
  Result<StepFile> steps = read_steps("-", UnknownFields::kRefuse, io);
  if (!steps) return native_error(steps.error());
  const Result<StepCredit> credited = credit_steps(request, *steps);
  if (!credited) return native_error(credited.error());
  const std::string lines = credit_lines(*steps, credited->credit);
  if (wish.answers_lines) return {200, lines, "application/x-ndjson"};
  std::string rows = "[";
  for (const std::string_view line : split(lines, '\n')) {
    if (line.empty()) continue;
    if (rows.size() > 1) rows += ',';
    rows += line;
  }
  return json_response(200, JsonObject()
                                .text("estimator", wish.estimator)
                                .text("matcher", wish.matcher)
                                .raw("advantages", rows + "]")
                                .raw("diagnostics", diagnostics(credited->credit.summary, credited->notes,
                                                                credited->diagnostics))
                                .end());
}

}  // namespace

std::vector<Route> credit_routes() {
  return {
      {"POST", "/advantages", &advantages},
      {"GET", "/groups/{id}/advantages", &group_advantages},
      {"POST", "/groups/{id}/advantages", &group_advantages},
  };
}

}  // namespace lodestep::harness
