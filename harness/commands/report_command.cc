// `lodestep report` and `lodestep export`: a recording read again.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "harness/credit.h"
#include "harness/hints.h"
#include "harness/internal/args.h"
#include "harness/internal/commands.h"
#include "harness/internal/whole_file.h"
#include "harness/recorder.h"
#include "harness/summary.h"
#include "harness/view/view_document.h"

namespace lodestep::harness {
namespace {

constexpr std::size_t kGroupsShown = 20;

std::string bar(double share) {
  const auto full = static_cast<std::size_t>(share * 20 + 0.5);
  std::string out;
  for (std::size_t i = 0; i < 20; ++i) out += i < full ? "█" : "·";
  return out;
}

std::string groups_text(Summary summary) {
  auto& groups = summary.per_group;
  std::stable_sort(groups.begin(), groups.end(), [](const GroupSummary& a, const GroupSummary& b) {
    return a.successes * b.episodes < b.successes * a.episodes;
  });
  std::string out = "\nworst tasks first (success, mean return)\n";
  for (std::size_t i = 0; i < std::min(groups.size(), kGroupsShown); ++i) {
    const GroupSummary& g = groups[i];
    const double share = g.episodes == 0 ? 0 : static_cast<double>(g.successes) / static_cast<double>(g.episodes);
    out += fmt::format("  {} {:>3}/{:<3} {:>8.3f}{}  {}\n", bar(share), g.successes, g.episodes, g.mean_return,
                       g.no_signal ? " no signal" : "          ", g.task);
  }
  if (groups.size() > kGroupsShown) out += fmt::format("  and {} more\n", groups.size() - kGroupsShown);
  return out;
}

std::string number_or_null(const std::optional<double>& value) { return value ? json_number(*value) : "null"; }
std::string number_or_null(const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : "null"; }

// One recorded step with all its estimates, in either form.
class StepWriter {
 public:
  StepWriter(const Recording& recording, bool csv) : recording_(recording), csv_(csv) {
    if (!csv_) return;
    out_ = "group,task,member,t,observation,action,valid,format_valid,reward,episode_reward,outcome,truncated,status,key_exact,"
           "key_relevant,key_stage,state_hash";
    for (const Estimate& estimate : recording.estimates) {
      for (const char* column : {"step_return", "step_advantage", "episode_advantage", "advantage", "group", "node", "next_node"}) {
        out_ += "," + csv_field(estimate.name + "." + column);
      }
    }
    if (has_branches()) out_ += ",branched_from_group,branched_from_member,prefix";
    out_ += '\n';
  }

  std::string take() {
    std::size_t row = 0;
    for (const EpisodeRecord& episode : recording_.episodes) {
      const double total = episode.total_reward();
      for (std::size_t t = 0; t < episode.steps.size(); ++t) csv_ ? csv(episode, t, total, row++) : json(episode, t, total, row++);
    }
    return std::move(out_);
  }

 private:
  // RFC 4180: quoted when it holds a comma, a quote or a line break.
  static std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"') out += '"';
      out += c;
    }
    return out + "\"";
  }

  template <typename T>
  static std::string csv_number(const std::optional<T>& value) {
    return value ? number_or_null(value) : "";
  }

  void csv(const EpisodeRecord& episode, std::size_t t, double total, std::size_t row) {
    const StepRecord& step = episode.steps[t];
    out_ += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", episode.group, csv_field(episode.task.id),
                        episode.member, t, csv_field(step.before.observation), csv_field(step.action), step.valid ? 1 : 0,
                        !step.format_valid ? "" : *step.format_valid ? "1" : "0",
                        json_number(step.reward), json_number(total), outcome_name(episode.outcome),
                        episode.truncated ? 1 : 0, episode_status_name(episode.status), csv_field(step.before.keys.exact),
                        csv_field(step.before.keys.relevant), csv_field(step.before.keys.stage), to_hex(step.before.state_hash));
    for (const Estimate& e : recording_.estimates) {
      out_ += "," + csv_number(e.step_return[row]) + "," + csv_number(e.step_advantage[row]) + "," +
              csv_number(e.episode_advantage[row]) + "," + json_number(e.advantage[row]) + "," + csv_number(e.group[row]) +
              "," + csv_number(e.node[row]) + "," + csv_number(e.next_node[row]);
    }
    if (has_branches()) {
      const std::optional<Origin>& from = episode.branched_from;
      out_ += from ? fmt::format(",{},{},{}", from->group, from->member, t < from->step ? 1 : 0) : ",,,0";
    }
    out_ += '\n';
  }

  void json(const EpisodeRecord& episode, std::size_t t, double total, std::size_t row) {
    const StepRecord& step = episode.steps[t];
    const bool last = t + 1 == episode.steps.size();
    const Situation& next = last ? episode.last : episode.steps[t + 1].before;
    const StateKeys& keys = step.before.keys;
    out_ += fmt::format("{{\"group\":{},\"task\":{},\"seed\":{},\"member\":{},\"t\":{},\"observation\":{},\"admissible\":{},"
                        "\"action\":{},\"valid\":{},\"format_valid\":{},\"reward\":{},\"episode_reward\":{},\"outcome\":\"{}\",\"done\":{},"
                        "\"truncated\":{},\"status\":\"{}\",\"keys\":{{\"exact\":{},\"relevant\":{},\"stage\":{}}},"
                        "\"state_hash\":\"{}\",\"next_observation\":{},\"next_key\":{},\"advantages\":{{",
                        episode.group, json_quote(episode.task.id), episode.task.seed, episode.member, t,
                        json_quote(step.before.observation), json_array(step.before.admissible), json_quote(step.action),
                        step.valid, !step.format_valid ? "null" : *step.format_valid ? "true" : "false",
                        json_number(step.reward), json_number(total), outcome_name(episode.outcome),
                        last && episode.outcome != Outcome::kRunning, last && episode.truncated,
                        episode_status_name(episode.status), json_quote(keys.exact), json_quote(keys.relevant),
                        json_quote(keys.stage), to_hex(step.before.state_hash), json_quote(next.observation),
                        json_quote(next.keys.exact));
    for (std::size_t i = 0; i < recording_.estimates.size(); ++i) {
      const Estimate& e = recording_.estimates[i];
      out_ += fmt::format("{}{}:{{\"step_return\":{},\"step_advantage\":{},\"episode_advantage\":{},\"advantage\":{},"
                          "\"group\":{},\"node\":{},\"next_node\":{}}}",
                          i == 0 ? "" : ",", json_quote(e.name), number_or_null(e.step_return[row]),
                          number_or_null(e.step_advantage[row]), number_or_null(e.episode_advantage[row]),
                          json_number(e.advantage[row]), number_or_null(e.group[row]), number_or_null(e.node[row]),
                          number_or_null(e.next_node[row]));
    }
    out_ += "}";
    if (const std::optional<Origin>& from = episode.branched_from) {
      out_ += fmt::format(",\"branched_from\":{{\"group\":{},\"member\":{},\"t\":{}}},\"prefix\":{}", from->group,
                          from->member, from->step, t < from->step);
    }
    out_ += "}\n";
  }

  bool has_branches() const { return recording_.info.contains(kBranches); }

  const Recording& recording_;
  bool csv_;
  std::string out_;
};

// An estimate from before the run was resumed has no row for later steps.
Status check_estimates(const Recording& recording, const std::string& path) {
  for (const Estimate& estimate : recording.estimates) {
    if (estimate.advantage.size() != recording.steps()) {
      return Error{ErrorCode::kBadData, "estimate '" + estimate.name + "' does not cover all steps", path,
                   "compute it again with 'lodestep credit --run'"};
    }
  }
  return {};
}

}  // namespace

Result<int> run_report(const std::vector<std::string>& words, Io& io) {
  Args args("report", "Shows a recording: the summary again, groups, worst tasks, what the graph is worth, calibration.");
  std::string path;
  std::string html;
  bool json = false, hints = false;
  args.positional("RUN", path, "recording").required();
  args.flag("--json", json, "one JSON document");
  args.flag("--hints", hints, "instead: the shortest known way to success of each task, in words, for a prompt");
  args.option("--html", html, "also write the viewer with this recording in it, as one file");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  const Result<Recording> recording = read_recording(path);
  if (!recording) return recording.error();
  if (!html.empty()) {
    const Result<std::string> page = view_recording(path, *recording);
    if (!page) return page.error();
    if (Status status = write_output(html, *page, io); !status) return status.error();
    if (html == "-") return 0;
  }
  if (hints) {
    io.out << hints_text(*recording);
    return 0;
  }
  const Summary summary = summarize(*recording);
  const Result<graph::Diagnostics> diagnostics = diagnose_recording(*recording);
  if (!diagnostics) return diagnostics.error();
  if (json) {
    std::string document = to_json(summary);
    document.pop_back();
    io.out << document << ",\"diagnostics\":" << graph::to_json(*diagnostics) << "}\n";
    return 0;
  }
  const auto info = [&](const char* key) {
    const auto found = recording->info.find(key);
    return found == recording->info.end() ? std::string("?") : found->second;
  };
  io.out << fmt::format("{}: {} (version {}, data {}), policy {}, seed {}\n", path, info("env"), info("env_version"),
                        info("data_digest").substr(0, 12), info("policy"), info("seed"))
         << to_text(summary);
  std::vector<std::string> names;
  for (const Estimate& estimate : recording->estimates) names.push_back(estimate.name);
  io.out << fmt::format("  {:<28}{}\n", "estimates", names.empty() ? "none" : join(names, ", "))
         << groups_text(summary) << '\n'
         << graph::to_text(*diagnostics);
  return 0;
}

Result<int> run_export(const std::vector<std::string>& words, Io& io) {
  Args args("export", "Writes every recorded step with its keys and advantages.");
  std::string path;
  std::string format = "jsonl";
  std::string out = "-";
  args.positional("RUN", path, "recording").required();
  args.option("--format", format, "jsonl or csv");
  args.option("--out", out, "file to write, - = standard output");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  if (format != "jsonl" && format != "csv") {
    return Error{ErrorCode::kInvalidArgument, "unknown format '" + format + "'", "--format", "known formats: jsonl, csv"};
  }
  const Result<Recording> recording = read_recording(path);
  if (!recording) return recording.error();
  if (Status status = check_estimates(*recording, path); !status) return status.error();
  if (Status status = write_output(out, StepWriter(*recording, format == "csv").take(), io); !status) return status.error();
  return 0;
}

}  // namespace lodestep::harness
