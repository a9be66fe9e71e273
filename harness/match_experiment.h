// The noise experiment: the same recorded episodes under many kinds of noise, matched by many matchers.
//   Result<Experiment> result = run_match_experiment(recording, settings, matchers, noise_of_environment);
//   std::cout << experiment_table(*result);
// Threads: one call, one thread. docs/matchers.md explains the columns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/options.h"
#include "canonicalizer/agreement.h"
#include "harness/page_noise.h"
#include "harness/recording.h"

namespace lodestep::harness {

struct NoiseSetting {
  std::string name;
  NoisePlan plan;             // laid over the recorded text
  Settings environment = {};  // or the environment's own noise: the episodes are played again with these
};

struct MatcherChoice {
  std::string label;
  std::string matcher;
  Settings settings;
};

struct GraphAgreement {
  double sign = 0, spearman = 0,
         pearson = 0;  // of advantages with those on the true graph; sign: share of steps
  double distance_mean = 0, distance_max = 0;  // |d - true d| over steps that reach success in both graphs
  double reach_differs = 0;                    // share of steps that reach it in one graph only
  canonicalizer::Interval sign_interval;       // 95 %, over groups
};

struct ExperimentRow {
  std::string setting, matcher;
  canonicalizer::AgreementReport page, world;  // against the page's truth and the environment's exact key
  GraphAgreement page_graph, world_graph;
  double coverage = 0;      // share of visited nodes with an observed path to success
  double microseconds = 0;  // of the processor, for matching, a situation
  std::string failure;      // why there is no figure
};

struct Experiment {
  std::string environment;
  std::size_t groups = 0, episodes = 0, steps = 0;
  std::vector<ExperimentRow> rows;
};

std::vector<NoiseSetting> default_noise_settings(bool environment_has_noise);
std::vector<MatcherChoice> default_matchers(const std::string& environment);

// Gives the recording with the same actions played under other settings of the environment.
using Replay = std::function<Result<Recording>(const Recording& recording, const Settings& environment)>;

Result<Experiment> run_match_experiment(const Recording& recording, const std::vector<NoiseSetting>& settings,
                                        const std::vector<MatcherChoice>& matchers, const Replay& replay,
                                        const std::function<void(const std::string&)>& progress);

std::string experiment_table(const Experiment& experiment);  // Markdown
std::string experiment_json(const Experiment& experiment);
std::string experiment_svg(const Experiment& experiment);  // recall and false merges by setting

}  // namespace lodestep::harness
