// TRACE: how much a step raised the likelihood of the known answer under a frozen reference scorer, on the
// scale of its task.
#include "graph/estimator_list.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

Status run(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  const Normaliser normaliser = read_normaliser(read);
  const Penalty penalty = read_penalty(read);
  if (!read.status()) return read.status();
  if (work.rows() > 0 &&
      (work.batch.answer_logprob_before.empty() || work.batch.answer_logprob_after.empty())) {
    return Error{ErrorCode::kInvalidArgument, "trace needs the answer's log-likelihood around every step",
                 "answer_logprob", "answer_logprob = [before, after]"};
  }
  credit.step_return = empty_column(work);
  for (std::size_t row = 0; row < work.rows(); ++row) {
    if (work.task[row] == kNone) continue;
    credit.step_return[row] = work.batch.answer_logprob_after[row] - work.batch.answer_logprob_before[row];
  }
  credit.group = work.task;
  credit.step_advantage =
      group_advantages(work, credit.group, penalised(work, penalty, credit.step_return), normaliser);
  combine(work, 1, 0, credit);
  return {};
}

}  // namespace

Estimator trace() {
  Estimator estimator;
  estimator.info.name = "trace";
  estimator.info.summary = "gain in the known answer's likelihood, from a frozen reference scorer";
  estimator.info.options = join_options({normaliser_options("mean_std_norm"), penalty_options("0")});
  estimator.run = run;
  return estimator;
}

}  // namespace lodestep::graph
