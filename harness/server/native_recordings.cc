// /v1/recordings: what --record writes, read again. The file is the server's own; a request only says
// "current".
#include <algorithm>
#include <optional>
#include <string>

#include "base/text.h"
#include "harness/internal/step_export.h"
#include "harness/recorder.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/native_parts.h"
#include "harness/summary.h"

namespace lodestep::harness {
namespace {

constexpr std::string_view kOnly = "current";

// Everything that is on disk when the request comes.
Result<Recording> read_named(const Call& call) {
  const std::string& file = call.service.config().recording;
  if (file.empty() || call.captured.at(0) != kOnly) {
    return Error{ErrorCode::kNotFound, "there is no recording '" + call.captured.at(0).substr(0, 100) + "'",
                 "", file.empty() ? "this server was started without --record" : "see /v1/recordings"};
  }
  if (Status flushed = call.service.config().recorder->flush(); !flushed) return flushed.error();
  return read_recording(file);
}

HttpResponse no_recording(const Error& error) {
  if (error.code == ErrorCode::kNotFound) return native_error(404, "NO_RECORDING", error_reason(error));
  return native_error(error);
}

// A parameter of the query that is a whole number.
std::optional<std::uint64_t> whole(const Call& call, const char* name, std::uint64_t otherwise) {
  const std::optional<std::string> text = call.target.parameter(name);
  return text ? parse_uint(*text) : std::optional(otherwise);
}

std::optional<HttpResponse> unknown_parameter(const Call& call, const std::vector<std::string>& known) {
  for (const auto& [key, value] : call.target.query) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return native_error(
          400, "BAD_REQUEST",
          "unknown parameter '" + key.substr(0, 100) + "' (known: " + join(known, ", ") + ")");
    }
  }
  return std::nullopt;
}

HttpResponse list_recordings(const Call& call) {
  std::vector<std::string> out;
  if (!call.service.config().recording.empty())
    out.push_back(JsonObject().text("recording_id", kOnly).boolean("open", true).end());
  return json_response(200, JsonObject().raw("recordings", json_list(out)).end());
}

HttpResponse show_recording(const Call& call) {
  const Result<Recording> recording = read_named(call);
  if (!recording) return no_recording(recording.error());
  std::vector<std::string> info;
  for (const auto& [key, value] : recording->info) info.push_back(json_quote(key) + ":" + json_quote(value));
  return json_response(200, JsonObject()
                                .text("recording_id", kOnly)
                                .boolean("open", true)
                                .count("episodes", recording->episodes.size())
                                .count("steps", recording->steps())
                                .raw("info", "{" + join(info, ",") + "}")
                                .raw("summary", to_json(summarize(*recording)))
                                .end());
}

HttpResponse list_episodes(const Call& call) {
  if (auto refused = unknown_parameter(call, {"offset", "limit"})) return *refused;
  const std::size_t most = call.service.limits().listed_tasks;
  const std::optional<std::uint64_t> offset = whole(call, "offset", 0);
  const std::optional<std::uint64_t> limit = whole(call, "limit", 1000);
  if (!offset || !limit || *limit > most) {
    return native_error(400, "BAD_REQUEST",
                        "offset and limit are whole numbers; limit is at most " + std::to_string(most));
  }
  const Result<Recording> recording = read_named(call);
  if (!recording) return no_recording(recording.error());
  const std::size_t total = recording->episodes.size();
  const std::size_t begin = std::min<std::size_t>(*offset, total);
  const std::size_t end = begin + std::min<std::size_t>(*limit, total - begin);
  std::vector<std::string> out;
  for (std::size_t i = begin; i < end; ++i) {
    const EpisodeRecord& episode = recording->episodes[i];
    out.push_back(JsonObject()
                      .count("group", episode.group)
                      .count("member", episode.member)
                      .text("env", episode.task.env)
                      .text("task", episode.task.id)
                      .count("seed", episode.task.seed)
                      .text("status", episode_status_name(episode.status))
                      .text("outcome", outcome_name(episode.outcome))
                      .boolean("truncated", episode.truncated)
                      .count("steps", episode.steps.size())
                      .number("return", episode.total_reward())
                      .end());
  }
  return json_response(200, JsonObject()
                                .text("recording_id", kOnly)
                                .count("offset", begin)
                                .count("total", total)
                                .raw("episodes", json_list(out))
                                .end());
}

// The rows of `lodestep export`, byte for byte; with `group` those of one group.
HttpResponse export_rows(const Call& call) {
  if (auto refused = unknown_parameter(call, {"format", "group"})) return *refused;
  const std::string format = call.target.parameter("format").value_or("jsonl");
  if (format != "jsonl" && format != "csv")
    return native_error(400, "BAD_REQUEST",
                        "unknown format '" + format.substr(0, 100) + "' (known: jsonl, csv)");
  const bool one_group = call.target.parameter("group").has_value();
  const std::optional<std::uint64_t> group = whole(call, "group", 0);
  if (!group) return native_error(400, "BAD_REQUEST", "'group' is a whole number");
  Result<Recording> recording = read_named(call);
  if (!recording) return no_recording(recording.error());
  if (one_group) {
    std::erase_if(recording->episodes, [&](const EpisodeRecord& episode) { return episode.group != *group; });
    recording->estimates.clear();  // their rows are counted over the whole recording
  }
  Result<std::string> rows = export_steps(*recording, format == "csv", std::string(kOnly));
  if (!rows) return native_error(rows.error());
  HttpResponse response{200, std::move(*rows),
                        format == "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson"};
  response.headers.emplace_back("Content-Disposition", "attachment; filename=\"steps." + format + "\"");
  return response;
}

}  // namespace

std::vector<Route> recording_routes() {
  return {
      {"GET", "/recordings", &list_recordings},
      {"GET", "/recordings/{id}", &show_recording},
      {"GET", "/recordings/{id}/episodes", &list_episodes},
      {"GET", "/recordings/{id}/rows", &export_rows},
  };
}

}  // namespace lodestep::harness
