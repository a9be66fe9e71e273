// The noise experiment: the same recorded episodes under many kinds of noise, matched by many matchers.
//   Result<Experiment> result = run_match_experiment(batches, settings, matchers, noise_of_environment);
//   std::cout << experiment_table(*result);
// Threads: one call, one thread. docs/matchers.md explains the columns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/options.h"
#include "canonicalizer/agreement.h"
#include "harness/graph_agreement.h"
#include "harness/page_noise.h"
#include "harness/recording.h"

namespace lodestep::harness {

struct NoiseSetting {
  std::string name;
  NoisePlan plan;             // laid over the text
  Settings environment = {};  // before that the environment's own noise: the episodes are played with these
};

struct MatcherChoice {
  std::string label;
  std::string matcher;
  Settings settings;
};

// What a row is measured against: the page (its clean text and actions) or the world (the exact key).
struct AgainstTruth {
  std::vector<canonicalizer::PairCounts> counts;  // by group
  canonicalizer::AgreementReport pairs;
  GraphReport graph;
  CrossBatch order;  // of the states in both batches
};

struct ExperimentRow {
  std::string setting, matcher;
  AgainstTruth page, world;
  double microseconds = 0;  // of the processor, for matching, a situation
  std::string failure;      // why there is no figure
};

struct Experiment {
  std::string environment;
  std::size_t groups = 0, episodes = 0, steps = 0;
  CrossBatch page_order, world_order;  // what the true graphs themselves reach
  std::vector<ExperimentRow> rows;
};

std::vector<NoiseSetting> default_noise_settings(bool environment_has_noise);
std::vector<MatcherChoice> default_matchers(const std::string& environment);

// Gives the recording with the same actions played under other settings of the environment.
using Replay = std::function<Result<Recording>(const Recording& recording, const Settings& environment)>;

// Two batches of the same tasks, played with other dice. All figures are of the first; the second serves
// cross-batch consistency alone.
struct PlayedBatches {
  Recording first, second;
};

Result<Experiment> run_match_experiment(const PlayedBatches& batches,
                                        const std::vector<NoiseSetting>& settings,
                                        const std::vector<MatcherChoice>& matchers, const Replay& replay,
                                        const std::function<void(const std::string&)>& progress);

std::string experiment_table(const Experiment& experiment);  // Markdown
std::string experiment_json(const Experiment& experiment);
std::string experiment_svg(const Experiment& experiment);  // recall and false merges by setting

}  // namespace lodestep::harness
