// REINFORCE++ with a group baseline (arXiv 2501.03262): scores less their task's mean, spread over the step's
// tokens and whitened over all tokens of the batch.
#include <cmath>

#include "graph/estimator_list.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

// Each row counts as many times as it has tokens; the small constants are the released code's.
void whiten_over_tokens(const Work& work, std::vector<double>& x) {
  double tokens = 0, sum = 0, squares = 0;
  const auto weight = [&](std::size_t row) {
    return work.batch.tokens.empty() ? 1.0 : static_cast<double>(work.batch.tokens[row]);
  };
  const auto counts = [&](std::size_t row) { return work.task[row] != kNone && work.has_tokens(row); };
  for (std::size_t row = 0; row < x.size(); ++row) {
    if (!counts(row)) continue;
    tokens += weight(row);
    sum += x[row] * weight(row);
  }
  const double mean = sum / (tokens + 1e-8);
  for (std::size_t row = 0; row < x.size(); ++row) {
    if (counts(row)) squares += (x[row] - mean) * (x[row] - mean) * weight(row);
  }
  // One token has no spread: it stays at its own mean.
  const double variance = tokens > 1 ? squares / (tokens + 1e-8) * (tokens / (tokens - 1)) : 0;
  for (std::size_t row = 0; row < x.size(); ++row) {
    if (counts(row)) x[row] = (x[row] - mean) / std::sqrt(variance + 1e-8);
  }
}

Status run(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  const EpisodeTerm term = read_episode_term(read, {.scale = Scale::kMean});
  const Penalty penalty = read_penalty(read);
  if (!read.status()) return read.status();
  credit.group = work.task;
  credit.episode_advantage = episode_advantages(work, term, scores(work, penalty));
  whiten_over_tokens(work, credit.episode_advantage);
  combine(work, 0, 1, credit);
  return {};
}

}  // namespace

Estimator reinforce_plus_plus_baseline() {
  Estimator estimator;
  estimator.info.name = "reinforce_plus_plus_baseline";
  estimator.info.summary = "scores less their group's mean, whitened over the tokens of the batch";
  estimator.info.options = join_options({episode_options(), penalty_options()});
  estimator.presets = {kReleased};
  estimator.run = run;
  return estimator;
}

}  // namespace lodestep::graph
