// Credit estimators by name: a batch of steps in, advantages and the graph that explains them out.
//   Result<Credit> credit = estimate({.estimator = "graphgpo", .preset = "released",
//                                     .settings = {{"gamma", "0.8"}}}, batch);
//   for (double a : credit->advantage) ...           // one per row, in the batch's order
// Threads: estimate may be called from several threads; .threads spreads tasks over own threads, with
// results that do not depend on their number. The caller owns everything returned.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "graph/batch.h"
#include "graph/transition_graph.h"

namespace lodestep::graph {

// Merges states of one task: gets the distinct states in order of first appearance and gives, for each, the
// state that stands for it (itself, or one that came earlier). Called from several threads at once.
using Matcher = std::function<Result<std::vector<Id>>(std::span<const Id> states)>;

struct Request {
  std::string estimator;    // see estimators(); "graphgpo-paper" is graphgpo with preset paper
  std::string preset = {};  // "", "released" or "paper"
  Settings settings = {};   // over the preset
  Matcher matcher = {};     // none: equal ids only
  int threads = 1;
};

struct Summary {
  std::size_t tasks = 0, episodes = 0, rows = 0;
  std::size_t left_out_rows = 0;       // not active, or cut by infrastructure
  std::size_t unscored_episodes = 0;   // a reward was not available
  std::size_t successes = 0;           // episodes; 0 for estimators that ask nobody
  std::size_t truncated_episodes = 0;  // cut by a limit
  std::size_t no_signal_tasks = 0;     // all episode rewards equal
  std::size_t one_member_tasks = 0;    // one episode only
  std::size_t singleton_rows = 0;      // alone in their comparison group
  std::string statistics;              // "steps" or "trajectories": what votes in the episode statistics
  std::vector<std::string> warnings;   // one line each, for a person
};

// A column is empty when the estimator has none; a number is NaN, an id kNone, where a row has none.
struct Credit {
  std::vector<double> step_return, step_advantage, episode_advantage;
  std::vector<double> advantage;        // always there; 0 for rows that take no part
  std::vector<double> weight;           // share of a row's advantage that can be trusted; empty: 1 everywhere
  std::vector<Id> group;                // comparison group, numbered by first appearance in the batch
  std::vector<Id> node, next_node;      // node numbers within the row's task
  std::vector<TransitionGraph> graphs;  // one per task, by task id; empty: no graph
  Summary summary;
};

// Fails on an unknown estimator, preset or option (with the known ones listed) and on what validate()
// refuses. An empty batch gives empty columns.
Result<Credit> estimate(const Request& request, const Batch& batch);

struct EstimatorInfo {
  std::string name;
  std::string summary;  // one line
  std::vector<OptionSpec> options;
  bool has_graph = false;      // Credit::graphs is filled
  bool merges_states = false;  // heeds a matcher
};

// In the order of the documentation.
std::vector<EstimatorInfo> estimators();
// By name, "graphgpo-paper" included; nullopt when unknown.
std::optional<EstimatorInfo> find_estimator(std::string_view name);

// The options a request ends up with (preset, then settings), checked: lets a caller read `similarity`,
// `matcher` or `similarity_threshold` before it makes a Matcher.
Result<Options> resolve_options(const Request& request);

}  // namespace lodestep::graph
