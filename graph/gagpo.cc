// GAGPO (arXiv 2605.13217): generalised advantages over a value proxy that the group itself gives, the mean
// discounted return over all visits of a state. Our reading of the paper's text.
#include "graph/estimator_list.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

// Mean of x over the rows of each group.
std::vector<double> group_means(std::span<const Id> group, std::span<const double> x) {
  std::vector<double> sum(count_groups(group), 0), count(sum.size(), 0);
  for (std::size_t row = 0; row < group.size(); ++row) {
    if (group[row] == kNone) continue;
    sum[static_cast<std::size_t>(group[row])] += x[row];
    count[static_cast<std::size_t>(group[row])] += 1;
  }
  for (std::size_t g = 0; g < sum.size(); ++g) sum[g] /= count[g];
  return sum;
}

Status run(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  const Normaliser normaliser = read_normaliser(read);
  const Penalty penalty = read_penalty(read);
  const double gamma = read.number("gamma", 0, 1);
  const double lambda = read.number(read.either("lam", "lambda"), 0, 1);
  if (!read.status()) return read.status();

  credit.group = number_groups(work, work.batch.state);
  const std::vector<double> value = group_means(credit.group, discounted_returns(work, gamma));
  credit.step_return = empty_column(work);
  for (std::size_t e = 0; e < work.episodes(); ++e) {
    const std::span<const Row> rows = work.rows_of_episode[e];
    double carried = 0, next_value = 0;  // the end of an episode is worth nothing more
    for (std::size_t i = rows.size(); i-- > 0;) {
      const double here = value[static_cast<std::size_t>(credit.group[rows[i]])];
      carried = work.reward(rows[i]) + gamma * next_value - here + gamma * lambda * carried;
      credit.step_return[rows[i]] = carried;
      next_value = here;
    }
  }
  credit.step_advantage = group_advantages(work, work.task, credit.step_return, normaliser);
  if (penalty.on_step) penalise(work, penalty.coef, credit.step_advantage);
  combine(work, 1, 0, credit);
  return {};
}

}  // namespace

Estimator gagpo() {
  Estimator estimator;
  estimator.info.name = "gagpo";
  estimator.info.summary = "generalised advantages over the group's own mean returns from each state";
  estimator.info.options = join_options({{{"gamma", "0.95", "discount per step", {}},
                                          {"lam", "0.95", "how far later surprises count", {}},
                                          {"lambda", "", "the same as lam", {}}},
                                         normaliser_options("mean_std_norm"),
                                         penalty_options("0")});
  estimator.needs = Needs::kStepReward;
  estimator.run = run;
  return estimator;
}

}  // namespace lodestep::graph
