// What leaves an episode: one struct per step, one per episode, one per run. Recorder, credit, export,
// report and server all read these; a field is added here and nowhere else.
//   Result<Recording> recording = read_recording("run.db");
//   for (const EpisodeRecord& episode : recording->episodes) ...
// Threads: plain values. Text is UTF-8 bytes as the agent read them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "envs/environment.h"

namespace lodestep::harness {

// What the agent saw before an action, and how we name the situation.
struct Situation {
  std::string observation;
  std::vector<std::string> admissible;  // sorted
  StateKeys keys;
  Hash128 state_hash;
  std::optional<double> distance;  // true steps to success where the environment tells; infinity = dead
};

struct StepRecord {
  Situation before;
  std::string action;
  bool valid = true;  // the environment understood the action and could carry it out
  double reward = 0;
  std::optional<bool> format_valid =
      {};  // a model's reply kept to the form asked for; absent: no model replied
};

enum class EpisodeStatus {
  kFinished,   // terminated, truncated or stopped by its policy
  kFailed,     // cut by the infrastructure (endpoint, crash): in no statistic
  kAbandoned,  // a session closed before its end
  kFiltered,   // finished, but its group scored all the same and others were sampled instead: in no statistic
};
const char* episode_status_name(EpisodeStatus status);  // "finished", "failed", "abandoned", "filtered"

// The key of RunInfo that lists the filtered groups, as "3,7".
inline constexpr const char* kFilteredGroups = "filtered_groups";

// The key of RunInfo that lists reset groups (branching.h).
inline constexpr const char* kBranches = "branches";

// Where a forked episode comes from: it shares its first `step` steps with that one, and they get no credit.
struct Origin {
  std::size_t group = 0, member = 0, step = 0;
};

struct EpisodeRecord {
  std::size_t group = 0;   // position of the group in the run
  std::size_t member = 0;  // position within the group
  Task task;
  EpisodeStatus status = EpisodeStatus::kFinished;
  Outcome outcome = Outcome::kRunning;
  bool truncated = false;  // the step budget ran out
  std::string failure;     // why it failed or was stopped; empty otherwise
  std::vector<StepRecord> steps;
  Situation last;                       // reached by the last step
  std::optional<Origin> branched_from;  // in reset groups
  std::size_t own_steps() const { return steps.size() - (branched_from ? branched_from->step : 0); }
  double total_reward() const;
};

// How a run was made: enough to make it again. Keys such as "env", "policy", "seed"; values are text.
using RunInfo = std::map<std::string, std::string>;

// One estimator's answer for a run, one row per recorded step in (group, member, t) order.
struct Estimate {
  std::string name;  // "graphgpo", or "graphgpo:lexical" when a matcher other than the default was used
  std::string estimator;
  std::string matcher;
  std::string settings;  // JSON object of the options given
  std::vector<std::optional<double>> step_return, step_advantage, episode_advantage;
  std::vector<double> advantage;
  std::vector<std::optional<std::int64_t>> group, node, next_node;
};

struct Recording {
  RunInfo info;
  std::vector<EpisodeRecord> episodes;  // by (group, member)
  std::vector<Estimate> estimates;      // in the order they were stored
  std::size_t steps() const;
};

}  // namespace lodestep::harness
