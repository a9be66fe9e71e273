// GRPO for pass@k (arXiv 2503.19595): only the best vote of a task is rewarded, by its lead over the second.
#include <algorithm>

#include "graph/estimator_list.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

// The rows that vote: all, or the first of each episode.
std::vector<Row> voters(const Work& work, std::size_t task, Votes votes) {
  std::vector<Row> rows;
  if (votes == Votes::kRows) {
    rows.assign(work.rows_of_task[task].begin(), work.rows_of_task[task].end());
  } else {
    for (Row e : work.episodes_of_task[task]) rows.push_back(work.rows_of_episode[e].front());
  }
  return rows;
}

Status run(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  const EpisodeTerm term = read_episode_term(read, read_normaliser(read));
  const Penalty penalty = read_penalty(read);
  if (!read.status()) return read.status();
  const std::vector<double> score = scores(work, penalty);
  credit.group = work.task;
  credit.episode_advantage = empty_column(work);
  for (std::size_t task = 0; task < work.tasks; ++task) {
    for (Row row : work.rows_of_task[task]) credit.episode_advantage[row] = 0;
    std::vector<Row> rows = voters(work, task, term.votes);
    if (rows.size() < 2) continue;
    const Moments m = moments(votes_of_task(work, task, term.votes, score), term.normaliser.ddof);
    // The first of equals is the best: a stable order keeps it in front.
    std::stable_sort(rows.begin(), rows.end(), [&](Row a, Row b) { return score[a] > score[b]; });
    const double lead = score[rows[0]] - score[rows[1]];
    const double scale = term.normaliser.scale == Scale::kStd ? m.std + term.normaliser.eps : 1;
    if (lead > 0) credit.episode_advantage[rows[0]] = lead / scale;
  }
  combine(work, 0, 1, credit);
  return {};
}

}  // namespace

Estimator grpo_passk() {
  Estimator estimator = grpo();
  estimator.info.name = "grpo_passk";
  estimator.info.summary = "pass@k: only the best of a group is rewarded, by its lead over the second";
  estimator.run = run;
  return estimator;
}

}  // namespace lodestep::graph
