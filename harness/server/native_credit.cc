// Advantages over /v1: of a group's recorded steps, under any estimator and matcher.
#include <rapidjson/document.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "harness/credit.h"
#include "harness/internal/json.h"
#include "harness/internal/settings.h"
#include "harness/server/groups.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/native_parts.h"

namespace lodestep::harness {
namespace {

// One member's latest episode, with the names that its client knows.
struct Played {
  EpisodeRecord record;
  std::string session_id;
  std::string episode_id;
};

std::vector<Played> played_episodes(GroupSet& set) {
  std::vector<Played> out;
  const std::lock_guard lock(set.mutex);
  for (const auto& member : set.members) {
    const std::lock_guard session_lock(member->mutex);
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

std::string diagnostics(const Credited& credited) {
  const graph::Summary& summary = credited.credit.summary;
  std::vector<std::string> warnings = summary.warnings;
  warnings.insert(warnings.end(), credited.notes.begin(), credited.notes.end());
  return JsonObject()
      .count("tasks", summary.tasks)
      .count("episodes", summary.episodes)
      .count("rows", summary.rows)
      .count("left_out_rows", summary.left_out_rows)
      .count("unscored_episodes", summary.unscored_episodes)
      .count("successes", summary.successes)
      .count("no_signal_tasks", summary.no_signal_tasks)
      .count("one_member_tasks", summary.one_member_tasks)
      .count("singleton_rows", summary.singleton_rows)
      .text("statistics", summary.statistics)
      .raw("warnings", json_array(warnings))
      .end();
}

HttpResponse group_advantages(const Call& call) {
  CreditRequest request;
  Settings settings;
  for (const auto& [key, value] : call.target.query) {
    if (key == "estimator") {
      request.estimator = value;
    } else if (key == "matcher") {
      request.matcher = value;
    } else if (key == "preset") {
      request.preset = value;
    } else {
      settings.emplace_back(key, value);
    }
  }
  const std::shared_ptr<GroupSet> set = call.service.groups().find(call.captured[0]);
  if (!set) return native_error(404, "NO_GROUP", "there is no group " + call.captured[0].substr(0, 100));
  const Result<RoutedSettings> routed = route_settings(settings, nullptr, request.matcher, {request.estimator});
  if (!routed) return native_error(routed.error());
  request.matcher_settings = routed->matcher;
  if (const auto own = routed->estimators.find(request.estimator); own != routed->estimators.end()) request.settings = own->second;

  std::vector<Played> played = played_episodes(*set);
  Recording recording;
  for (const Played& episode : played) recording.episodes.push_back(episode.record);
  const Result<Credited> credited = credit_recording(recording, request);
  if (!credited) return native_error(credited.error());
  const Estimate& estimate = credited->estimate;
  std::vector<std::string> rows;
  std::size_t row = 0;
  for (const Played& episode : played) {
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
      out.text("session_id", episode.session_id);
      rows.push_back(out.end());
    }
  }
  return json_response(200, JsonObject()
                                .text("group_set_id", set->id)
                                .text("estimator", request.estimator)
                                .text("matcher", request.matcher)
                                .raw("advantages", json_list(rows))
                                .raw("diagnostics", diagnostics(*credited))
                                .end());
}

}  // namespace

std::vector<Route> credit_routes() {
  return {
      {"GET", "/groups/{id}/advantages", &group_advantages},
  };
}

}  // namespace lodestep::harness
