// RLOO (arXiv 2402.14740): an episode's score against the mean of the group's other votes.
#include "graph/estimator_list.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

Status run(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  const EpisodeTerm term =
      read_episode_term(read, {.scale = Scale::kMean, .lone = Lone::kRaw, .leave_one_out = true});
  const Penalty penalty = read_penalty(read);
  if (!read.status()) return read.status();
  credit.group = work.task;
  credit.episode_advantage = episode_advantages(work, term, scores(work, penalty));
  combine(work, 0, 1, credit);
  return {};
}

}  // namespace

Estimator rloo() {
  Estimator estimator;
  estimator.info.name = "rloo";
  estimator.info.summary = "the episode's reward against the mean of the others in its group";
  estimator.info.options = join_options({episode_options(), penalty_options()});
  estimator.presets = {kReleased};
  estimator.run = run;
  return estimator;
}

}  // namespace lodestep::graph
