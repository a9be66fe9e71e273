// GAE (arXiv 1506.02438): PPO's estimator over steps, with the values of a critic. A terminated episode is
// worth nothing after its end; one that was cut goes on at its next_value.
#include <cmath>

#include "graph/estimator_list.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

// V of where the last step of an episode led; NaN when a cut end has none.
double end_value(const Work& work, Row last) {
  if (work.done(last) || work.success(last)) return 0;
  const double given = work.batch.next_value.empty() ? kNoNumber : work.batch.next_value[last];
  if (work.truncated(last)) return given;
  return std::isnan(given) ? 0 : given;
}

Status run(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  const double gamma = read.number("gamma", 0, 1);
  const double lambda = read.number(read.either("lam", "lambda"), 0, 1);
  const bool last_value = read.is("bootstrap", "last_value");
  const bool by_rms = read.is("scale", "rms");
  if (!read.status()) return read.status();
  if (work.rows() > 0 && work.batch.value.empty()) {
    return Error{ErrorCode::kInvalidArgument, "gae needs the critic's value of every step", "value",
                 "add a value to each step, or use an estimator without a critic"};
  }
  credit.step_return = empty_column(work);
  credit.step_advantage = empty_column(work);
  for (std::size_t e = 0; e < work.episodes(); ++e) {
    const std::span<const Row> rows = work.rows_of_episode[e];
    double next_value = end_value(work, rows.back());
    if (std::isnan(next_value)) {
      if (!last_value) {
        return Error{ErrorCode::kInvalidArgument, "a truncated end has no next_value to go on from",
                     "row " + std::to_string(rows.back()),
                     "give next_value there, or --set bootstrap=last_value to take the last step's value"};
      }
      next_value = work.batch.value[rows.back()];
    }
    double carried = 0;
    for (std::size_t i = rows.size(); i-- > 0;) {
      const double value = work.batch.value[rows[i]];
      carried = work.reward(rows[i]) + gamma * next_value - value + gamma * lambda * carried;
      credit.step_advantage[rows[i]] = carried;
      credit.step_return[rows[i]] = carried + value;
      next_value = value;
    }
  }
  credit.group = work.episode;
  if (by_rms) divide_by_rms(credit.step_advantage);
  combine(work, 1, 0, credit);
  return {};
}

}  // namespace

Estimator gae() {
  Estimator estimator;
  estimator.info.name = "gae";
  estimator.info.summary = "PPO's estimator over steps, with the values of a critic";
  estimator.info.options = join_options(
      {{{"gamma", "1", "discount per step", {}},
        {"lam", "1", "how far later surprises count", {}},
        {"lambda", "", "the same as lam", {}},
        {"bootstrap", "next_value", "value after a truncated end", {"next_value", "last_value"}}},
       scale_options()});
  estimator.needs = Needs::kStepReward;
  estimator.run = run;
  return estimator;
}

}  // namespace lodestep::graph
