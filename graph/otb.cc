// Optimal token baseline (arXiv 2602.07078) over steps: reward-to-go less the group's at the same step,
// weighted by the energy that each attempt has realised so far.
#include "graph/estimator_list.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

Status run(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  const double gamma = read.number("gamma", 0, 1);
  const double eps = read.number(read.either("eps", "epsilon"), 0);
  if (!read.status()) return read.status();
  if (work.rows() > 0 && work.batch.energy.empty()) {
    return Error{ErrorCode::kInvalidArgument, "otb needs the energy of every step", "energy",
                 "energy = sum over the step's tokens of 1 - 2 pi + sum pi^2"};
  }
  credit.step_return = discounted_returns(work, gamma);
  credit.step_advantage = empty_column(work);
  credit.group.assign(work.rows(), kNone);
  Id groups = 0;
  for (std::size_t task = 0; task < work.tasks; ++task) {
    std::vector<double> weighted, weight;  // by place in the episode
    std::vector<std::vector<double>> realised;
    for (Row e : work.episodes_of_task[task]) {
      const std::span<const Row> rows = work.rows_of_episode[e];
      weighted.resize(std::max(weighted.size(), rows.size()), 0);
      weight.resize(weighted.size(), 0);
      double sum = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        sum += work.batch.energy[rows[i]];
        weighted[i] += credit.step_return[rows[i]] * sum;
        weight[i] += sum;
      }
    }
    for (Row e : work.episodes_of_task[task]) {
      const std::span<const Row> rows = work.rows_of_episode[e];
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const double scale = weight[i] + eps;
        const double baseline = scale == 0 ? 0 : weighted[i] / scale;
        credit.step_advantage[rows[i]] = credit.step_return[rows[i]] - baseline;
        credit.group[rows[i]] = groups + static_cast<Id>(i);
      }
    }
    groups += static_cast<Id>(weighted.size());
  }
  combine(work, 1, 0, credit);
  return {};
}

}  // namespace

Estimator otb() {
  Estimator estimator;
  estimator.info.name = "otb";
  estimator.info.summary = "reward-to-go against the group's at the same step, weighted by realised energy";
  estimator.info.options = {{"gamma", "1", "discount per step", {}},
                            {"eps", "1e-8", "added to the sum of energies", {}},
                            {"epsilon", "", "the same as eps", {}}};
  estimator.needs = Needs::kStepReward;
  estimator.run = run;
  return estimator;
}

}  // namespace lodestep::graph
