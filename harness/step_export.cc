#include "harness/internal/step_export.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/text.h"

namespace lodestep::harness {
namespace {

std::string number_or_null(const std::optional<double>& value) {
  return value ? json_number(*value) : "null";
}
std::string number_or_null(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "null";
}

// One recorded step with all its estimates, in either form.
class StepWriter {
 public:
  StepWriter(const Recording& recording, bool csv) : recording_(recording), csv_(csv) {
    if (!csv_) return;
    out_ =
        "group,task,member,t,observation,action,valid,format_valid,reward,episode_reward,outcome,truncated,"
        "status,key_exact,"
        "key_relevant,key_stage,state_hash";
    for (const Estimate& estimate : recording.estimates) {
      for (const char* column : {"step_return", "step_advantage", "episode_advantage", "advantage", "group",
                                 "node", "next_node"}) {
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
      for (std::size_t t = 0; t < episode.steps.size(); ++t)
        csv_ ? csv(episode, t, total, row++) : json(episode, t, total, row++);
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
    out_ += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", episode.group,
                        csv_field(episode.task.id), episode.member, t, csv_field(step.before.observation),
                        csv_field(step.action), step.valid ? 1 : 0,
                        !step.format_valid   ? ""
                        : *step.format_valid ? "1"
                                             : "0",
                        json_number(step.reward), json_number(total), outcome_name(episode.outcome),
                        episode.truncated ? 1 : 0, episode_status_name(episode.status),
                        csv_field(step.before.keys.exact), csv_field(step.before.keys.relevant),
                        csv_field(step.before.keys.stage), to_hex(step.before.state_hash));
    for (const Estimate& e : recording_.estimates) {
      out_ += "," + csv_number(e.step_return[row]) + "," + csv_number(e.step_advantage[row]) + "," +
              csv_number(e.episode_advantage[row]) + "," + json_number(e.advantage[row]) + "," +
              csv_number(e.group[row]) + "," + csv_number(e.node[row]) + "," + csv_number(e.next_node[row]);
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
    out_ += fmt::format(
        "{{\"group\":{},\"task\":{},\"seed\":{},\"member\":{},\"t\":{},\"observation\":{},\"admissible\":{},"
        "\"action\":{},\"valid\":{},\"format_valid\":{},\"reward\":{},\"episode_reward\":{},\"outcome\":\"{}"
        "\",\"done\":{},"
        "\"truncated\":{},\"status\":\"{}\",\"keys\":{{\"exact\":{},\"relevant\":{},\"stage\":{}}},"
        "\"state_hash\":\"{}\",\"next_observation\":{},\"next_key\":{},\"advantages\":{{",
        episode.group, json_quote(episode.task.id), episode.task.seed, episode.member, t,
        json_quote(step.before.observation), json_array(step.before.admissible), json_quote(step.action),
        step.valid,
        !step.format_valid   ? "null"
        : *step.format_valid ? "true"
                             : "false",
        json_number(step.reward), json_number(total), outcome_name(episode.outcome),
        last && episode.outcome != Outcome::kRunning, last && episode.truncated,
        episode_status_name(episode.status), json_quote(keys.exact), json_quote(keys.relevant),
        json_quote(keys.stage), to_hex(step.before.state_hash), json_quote(next.observation),
        json_quote(next.keys.exact));
    for (std::size_t i = 0; i < recording_.estimates.size(); ++i) {
      const Estimate& e = recording_.estimates[i];
      out_ += fmt::format(
          "{}{}:{{\"step_return\":{},\"step_advantage\":{},\"episode_advantage\":{},\"advantage\":{},"
          "\"group\":{},\"node\":{},\"next_node\":{}}}",
          i == 0 ? "" : ",", json_quote(e.name), number_or_null(e.step_return[row]),
          number_or_null(e.step_advantage[row]), number_or_null(e.episode_advantage[row]),
          json_number(e.advantage[row]), number_or_null(e.group[row]), number_or_null(e.node[row]),
          number_or_null(e.next_node[row]));
    }
    out_ += "}";
    if (const std::optional<Origin>& from = episode.branched_from) {
      out_ += fmt::format(",\"branched_from\":{{\"group\":{},\"member\":{},\"t\":{}}},\"prefix\":{}",
                          from->group, from->member, from->step, t < from->step);
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

Result<std::string> export_steps(const Recording& recording, bool csv, const std::string& name) {
  if (Status status = check_estimates(recording, name); !status) return status.error();
  return StepWriter(recording, csv).take();
}

}  // namespace lodestep::harness
