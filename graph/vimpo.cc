// VIMPO (arXiv 2606.20008), experimental: the values that a policy's own drift from its reference implies.
//   V(s_t) = sum over k >= t of (r_k - beta * log_ratio_k);  advantage = beta * log_ratio
// step_return is V, episode_advantage the residual of V at the start against the group's mean return.
#include "graph/estimator_list.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

Status run(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  const double beta = read.number("beta");
  if (!read.status()) return read.status();
  if (work.rows() > 0 && work.batch.log_ratio.empty()) {
    return Error{ErrorCode::kInvalidArgument, "vimpo needs the log-ratio of every step", "log_ratio",
                 "log_ratio = log pi - log pi_ref, summed over the step's tokens"};
  }
  credit.step_return = empty_column(work);
  credit.step_advantage = empty_column(work);
  credit.episode_advantage = empty_column(work);
  std::vector<double> total(work.episodes(), 0);
  for (std::size_t e = 0; e < work.episodes(); ++e) {
    const std::span<const Row> rows = work.rows_of_episode[e];
    double value = 0;
    for (std::size_t i = rows.size(); i-- > 0;) {
      total[e] += work.reward(rows[i]);
      value += work.reward(rows[i]) - beta * work.batch.log_ratio[rows[i]];
      credit.step_return[rows[i]] = value;
      credit.step_advantage[rows[i]] = beta * work.batch.log_ratio[rows[i]];
    }
  }
  for (std::size_t task = 0; task < work.tasks; ++task) {
    std::vector<double> returns;
    for (Row e : work.episodes_of_task[task]) returns.push_back(total[e]);
    const double mean = moments(returns, 0).mean;
    for (Row e : work.episodes_of_task[task]) {
      const std::span<const Row> rows = work.rows_of_episode[e];
      const double residual = credit.step_return[rows.front()] - mean;
      for (Row row : rows) credit.episode_advantage[row] = residual;
    }
  }
  credit.group = work.task;
  combine(work, 1, 0, credit);
  return {};
}

}  // namespace

Estimator vimpo() {
  Estimator estimator;
  estimator.info.name = "vimpo";
  estimator.info.summary = "experimental: values implied by the policy's drift from its reference";
  estimator.info.options = {{"beta", "0.1", "strength of the tie to the reference policy", {}}};
  estimator.needs = Needs::kStepReward;
  estimator.run = run;
  return estimator;
}

}  // namespace lodestep::graph
