// REINFORCE++ (arXiv 2501.03262) over steps: discounted reward-to-go, whitened over all tokens of the batch.
#include "graph/estimator_list.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

Status run(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  const double gamma = read.number("gamma", 0);
  const Penalty penalty = read_penalty(read);
  if (!read.status()) return read.status();
  credit.step_return = discounted_returns(work, gamma);
  credit.step_advantage = penalised(work, penalty, credit.step_return);
  whiten_over_tokens(work, credit.step_advantage);
  combine(work, 1, 0, credit);
  return {};
}

}  // namespace

Estimator reinforce_plus_plus() {
  Estimator estimator;
  estimator.info.name = "reinforce++";
  estimator.info.summary = "discounted reward-to-go, whitened over the tokens of the batch";
  estimator.info.options = join_options({{{"gamma", "1", "discount per step", {}}}, penalty_options()});
  estimator.needs = Needs::kStepReward;
  estimator.run = run;
  return estimator;
}

}  // namespace lodestep::graph
