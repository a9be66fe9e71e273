// GRPO (arXiv 2402.03300): an episode's score on the scale of its task's scores.
#include "graph/estimator_list.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

Status run(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  const EpisodeTerm term = read_episode_term(read, read_normaliser(read));
  const Penalty penalty = read_penalty(read);
  if (!read.status()) return read.status();
  credit.group = work.task;
  credit.episode_advantage = episode_advantages(work, term, scores(work, penalty));
  combine(work, 0, 1, credit);
  return {};
}

}  // namespace

Estimator grpo() {
  Estimator estimator;
  estimator.info.name = "grpo";
  estimator.info.summary = "the episode's reward against its group's mean and deviation";
  estimator.info.options =
      join_options({normaliser_options("mean_std_norm"), episode_options(), penalty_options()});
  estimator.presets = {kReleased};
  estimator.run = run;
  return estimator;
}

}  // namespace lodestep::graph
