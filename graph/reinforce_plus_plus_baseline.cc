// REINFORCE++ with a group baseline (arXiv 2501.03262): scores less their task's mean, spread over the step's
// tokens and whitened over all tokens of the batch.
#include "graph/estimator_list.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

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
