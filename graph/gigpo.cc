// GiGPO (arXiv 2505.10978): the episode term of GRPO, plus discounted returns compared among the steps that
// started from the same state.
#include "graph/estimator_list.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

// The state that stands for each row's state. Unlike the graph's, the list of candidates holds no next
// states.
Result<std::vector<Id>> merged_states(const Work& work) {
  std::vector<Id> merged = work.batch.state;
  if (!work.matcher) return merged;
  std::vector<Status> matched(work.tasks);
  for_each_block(work.tasks, work.threads, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
    std::vector<Id> place(work.states, kNone);
    for (std::size_t task = begin; task < end; ++task) {
      std::vector<Id> distinct;
      for (Row row : work.rows_of_task[task]) {
        Id& at = place[static_cast<std::size_t>(work.batch.state[row])];
        if (at == kNone) {
          at = static_cast<Id>(distinct.size());
          distinct.push_back(work.batch.state[row]);
        }
      }
      const Result<std::vector<Id>> stands_for = work.matcher(distinct);
      if (!stands_for) {
        matched[task] = stands_for.error();
        return;
      }
      for (Row row : work.rows_of_task[task]) {
        merged[row] =
            (*stands_for)[static_cast<std::size_t>(place[static_cast<std::size_t>(work.batch.state[row])])];
      }
      for (Id state : distinct) place[static_cast<std::size_t>(state)] = kNone;
    }
  });
  for (const Status& status : matched) {
    if (!status) return status.error();
  }
  return merged;
}

Status run(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  const Normaliser normaliser = read_normaliser(read);
  const EpisodeTerm term = read_episode_term(read, normaliser);
  const Penalty penalty = read_penalty(read);
  const Grouping grouping = read_grouping(read);
  const double gamma = read.number("gamma", 0);
  const double step_weight = read.number("step_w");
  const double episode_weight = read.number("episode_w");
  if (!read.status()) return read.status();

  credit.step_return = discounted_returns(work, gamma);
  const std::vector<double> compared = penalised(work, penalty, credit.step_return);
  const Result<std::vector<Id>> merged = merged_states(work);
  if (!merged) return merged.error();
  credit.group = step_groups(work, *merged, grouping);
  credit.step_advantage =
      group_advantages(work, credit.group, compared, normaliser.with_least(grouping.least));
  credit.episode_advantage = episode_advantages(work, term, scores(work, penalty));
  combine(work, step_weight, episode_weight, credit);
  return {};
}

}  // namespace

Estimator gigpo() {
  Estimator estimator;
  estimator.info.name = "gigpo";
  estimator.info.summary = "GRPO plus discounted returns compared among steps from the same state";
  estimator.info.merges_states = true;
  estimator.info.options =
      join_options({{{"gamma", "0.95", "discount of the step returns", {}},
                     {"step_w", "1", "weight of the step advantage", {}},
                     {"episode_w", "1", "weight of the episode advantage", {}},
                     {"similarity", "false", "true: states of a task that are alike are one group", {}},
                     {"similarity_threshold", "0.95", "how alike, between 0 and 1", {}}},
                    normaliser_options("mean_std_norm"),
                    grouping_options(),
                    episode_options(),
                    penalty_options()});
  estimator.needs = Needs::kStepReward;
  estimator.presets = {kReleased};
  estimator.run = run;
  return estimator;
}

}  // namespace lodestep::graph
