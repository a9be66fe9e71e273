#include "graph/parts.h"

#include <algorithm>
#include <cmath>

#include "graph/pair_numbers.h"

namespace lodestep::graph {
namespace {

constexpr std::size_t kBlock = 16;  // tasks or groups handed to a thread at a time

}  // namespace

std::vector<OptionSpec> penalty_options(const std::string& coef) {
  return {{"penalty_coef", coef, "what an invalid action costs; null or 0 for nothing", {}},
          {"penalty_on", "both", "where it is taken off", {"both", "step", "episode", "none"}}};
}

Penalty read_penalty(OptionReader& read) {
  Penalty penalty;
  const std::string& coef = read.text("penalty_coef");
  if (coef != "null" && coef != "none" && coef != "None") penalty.coef = read.number("penalty_coef");
  penalty.on_step = read.is("penalty_on", "both") || read.is("penalty_on", "step");
  penalty.on_episode = read.is("penalty_on", "both") || read.is("penalty_on", "episode");
  return penalty;
}

std::vector<OptionSpec> episode_options() {
  return {
      {"stats",
       "steps",
       "who votes in the episode statistics: each step (as released) or each trajectory once",
       {"steps", "rows", "trajectories"}},
      {"episode_stats", "", "the same as stats", {"", "steps", "rows", "trajectories"}},
      {"cross_steps", "", "true: each step votes; false: the first step of each trajectory", {}},
      {"weights",
       "none",
       "trajectories: a column weight that gives every trajectory the same say in a loss",
       {"none", "trajectories"}},
      {"lone_episode",
       "raw",
       "a task with a single vote: its raw score (as released), or 0",
       {"raw", "zero"}},
  };
}

EpisodeTerm read_episode_term(OptionReader& read, const Normaliser& normaliser) {
  EpisodeTerm term{normaliser, Votes::kRows};
  term.normaliser.lone = read.is("lone_episode", "raw") ? Lone::kRaw : Lone::kZero;
  const std::string& stats = read.text(read.text("episode_stats").empty() ? "stats" : "episode_stats");
  if (stats == "trajectories") term.votes = Votes::kTrajectories;
  if (!read.text("cross_steps").empty()) {
    term.votes = read.flag("cross_steps") ? Votes::kRows : Votes::kFirstRows;
  }
  return term;
}

std::vector<OptionSpec> join_options(const std::vector<std::vector<OptionSpec>>& lists) {
  std::vector<OptionSpec> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

std::vector<double> empty_column(const Work& work) { return std::vector<double>(work.rows(), kNoNumber); }

std::vector<double> scores(const Work& work, const Penalty& penalty) {
  std::vector<double> score = empty_column(work);
  for (std::size_t row = 0; row < work.rows(); ++row) {
    if (work.task[row] != kNone) score[row] = work.episode_reward(row);
  }
  if (penalty.on_episode) penalise(work, penalty.coef, score);
  return score;
}

void penalise(const Work& work, double coef, std::span<double> x) {
  if (coef == 0) return;
  for (std::size_t row = 0; row < work.rows(); ++row) {
    if (work.task[row] != kNone && !work.valid(row)) x[row] -= coef;
  }
}

std::vector<double> penalised(const Work& work, const Penalty& penalty, std::vector<double> step_return) {
  if (penalty.on_step) penalise(work, penalty.coef, step_return);
  return step_return;
}

std::vector<double> votes_of_task(const Work& work, std::size_t task, Votes votes,
                                  std::span<const double> score) {
  std::vector<double> members;
  if (votes == Votes::kRows) {
    for (Row row : work.rows_of_task[task]) members.push_back(score[row]);
    return members;
  }
  for (Row e : work.episodes_of_task[task]) {
    const Row first = work.rows_of_episode[e].front();
    members.push_back(votes == Votes::kFirstRows ? score[first] : work.episode_reward(first));
  }
  return members;
}

std::vector<double> episode_advantages(const Work& work, const EpisodeTerm& term,
                                       std::span<const double> score) {
  std::vector<double> advantage = empty_column(work);
  for_each_block(work.tasks, work.threads, kBlock, [&](std::size_t begin, std::size_t end, std::size_t) {
    std::vector<double> x;
    for (std::size_t task = begin; task < end; ++task) {
      const std::span<const Row> rows = work.rows_of_task[task];
      x.clear();
      for (Row row : rows) x.push_back(score[row]);
      const std::vector<double> members = votes_of_task(work, task, term.votes, score);
      normalise(term.normaliser, members, x, x);
      for (std::size_t i = 0; i < rows.size(); ++i) advantage[rows[i]] = x[i];
    }
  });
  return advantage;
}

std::vector<Id> number_groups(const Work& work, std::span<const Id> key) {
  std::vector<Id> first_row(work.rows(), kNone);
  Id largest = kNone;
  for (Id k : key) largest = std::max(largest, k);
  const auto keys = static_cast<std::size_t>(largest + 1);
  std::vector<Id> seen(keys, kNone);  // first row of the key in the task at hand
  for (std::size_t task = 0; task < work.tasks; ++task) {
    for (Row row : work.rows_of_task[task]) {
      if (key[row] == kNone) continue;
      Id& first = seen[static_cast<std::size_t>(key[row])];
      if (first == kNone) first = static_cast<Id>(row);
      first_row[row] = first;
    }
    for (Row row : work.rows_of_task[task]) {
      if (key[row] != kNone) seen[static_cast<std::size_t>(key[row])] = kNone;
    }
  }
  std::vector<Id> group(work.rows(), kNone);
  Id groups = 0;
  for (std::size_t row = 0; row < work.rows(); ++row) {
    if (first_row[row] == kNone) continue;
    const auto first = static_cast<std::size_t>(first_row[row]);
    group[row] = first == row ? groups++ : group[first];
  }
  return group;
}

std::vector<Id> pair_groups(const Work& work, std::span<const Id> key, std::span<const Id> second) {
  PairNumbers pairs(work.rows());
  std::vector<Id> number(work.rows(), kNone);
  for (std::size_t row = 0; row < work.rows(); ++row) {
    if (key[row] != kNone && second[row] != kNone) number[row] = pairs.of(key[row], second[row]);
  }
  return number_groups(work, number);
}

std::vector<OptionSpec> grouping_options() {
  return {{"time_bucket", "0", "compare only steps of the same stretch of so many; 0: any", {}},
          {"min_group", "2", "groups of fewer steps compare nothing", {}}};
}

Grouping read_grouping(OptionReader& read) {
  return {read.integer("time_bucket", 0, 1'000'000'000),
          static_cast<std::size_t>(read.integer("min_group", 2, 1'000'000'000))};
}

std::vector<OptionSpec> group_matching_options(const std::string& by_default) {
  return {{"group_matching",
           by_default,
           "groups of equal states, or of states that the graph merged",
           {"exact", "same-as-graph"}},
          {"grouping", "", "the same as group_matching", {"exact", "same-as-graph"}}};
}

bool groups_follow_graph(OptionReader& read) {
  return read.is(read.either("group_matching", "grouping"), "same-as-graph");
}

std::span<const Id> compared_states(const Work& work, bool follow_graph, std::span<const Id> node) {
  if (follow_graph) return node;
  return work.batch.exact_state.empty() ? work.batch.state : work.batch.exact_state;
}

std::vector<Id> step_groups(const Work& work, std::span<const Id> key, const Grouping& grouping) {
  if (grouping.time_bucket == 0) return number_groups(work, key);
  std::vector<Id> bucket(work.rows());
  for (std::size_t row = 0; row < work.rows(); ++row) {
    bucket[row] = static_cast<Id>(work.batch.t[row] / grouping.time_bucket);
  }
  return pair_groups(work, key, bucket);
}

std::size_t count_groups(std::span<const Id> group) {
  Id largest = kNone;
  for (Id g : group) largest = std::max(largest, g);
  return static_cast<std::size_t>(largest + 1);
}

std::vector<double> group_advantages(const Work& work, std::span<const Id> group, std::span<const double> x,
                                     const Normaliser& normaliser) {
  std::vector<double> advantage = empty_column(work);
  const Lists groups(group, count_groups(group));
  for_each_block(groups.size(), work.threads, 512, [&](std::size_t begin, std::size_t end, std::size_t) {
    std::vector<double> members;
    for (std::size_t g = begin; g < end; ++g) {
      const std::span<const Row> rows = groups[g];
      members.clear();
      for (Row row : rows) members.push_back(x[row]);
      normalise(normaliser, members, members, members);
      for (std::size_t i = 0; i < rows.size(); ++i) advantage[rows[i]] = members[i];
    }
  });
  return advantage;
}

std::vector<double> discounted_returns(const Work& work, double gamma) {
  std::vector<double> returns = empty_column(work);
  for (std::size_t e = 0; e < work.episodes(); ++e) {
    const std::span<const Row> rows = work.rows_of_episode[e];
    double value = 0;
    for (std::size_t i = rows.size(); i-- > 0;) {
      value = work.reward(rows[i]) + gamma * value;
      returns[rows[i]] = value;
    }
  }
  return returns;
}

std::vector<OptionSpec> turns_options() {
  return {{"max_steps", "0", "turn limit of an episode; 0: the longest episode of the batch", {}}};
}

Result<std::vector<std::int32_t>> turns_left(const Work& work, std::int64_t max_steps) {
  std::size_t longest = 0;
  for (std::size_t e = 0; e < work.episodes(); ++e)
    longest = std::max(longest, work.rows_of_episode[e].size());
  const auto limit =
      static_cast<std::int32_t>(max_steps > 0 ? max_steps : static_cast<std::int64_t>(longest));
  std::vector<std::int32_t> turns(work.rows(), 0);
  for (std::size_t e = 0; e < work.episodes(); ++e) {
    const std::span<const Row> rows = work.rows_of_episode[e];
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int32_t given = work.batch.turns_left.empty() ? 0 : work.batch.turns_left[rows[i]];
      const std::int32_t left = given > 0 ? given : limit - static_cast<std::int32_t>(i);
      if (left < 1 || left > 1'000'000) {
        return Error{ErrorCode::kInvalidArgument,
                     "turns left before a step must be from 1 to 1000000, not " + std::to_string(left),
                     "row " + std::to_string(rows[i]),
                     "give turns_left, or a max_steps that fits the longest episode"};
      }
      turns[rows[i]] = left;
    }
  }
  return turns;
}

void whiten_over_tokens(const Work& work, std::span<double> x) {
  double tokens = 0, sum = 0, squares = 0;
  const auto weight = [&](std::size_t row) {
    return work.batch.tokens.empty() ? 1.0 : static_cast<double>(work.batch.tokens[row]);
  };
  const auto counts = [&](std::size_t row) { return work.task[row] != kNone && work.has_tokens(row); };
  for (std::size_t row = 0; row < x.size(); ++row) {
    if (!counts(row)) continue;
    tokens += weight(row);
    sum += x[row] * weight(row);
  }
  const double mean = sum / (tokens + 1e-8);
  for (std::size_t row = 0; row < x.size(); ++row) {
    if (counts(row)) squares += (x[row] - mean) * (x[row] - mean) * weight(row);
  }
  // One token has no spread: it stays at its own mean.
  const double variance = tokens > 1 ? squares / (tokens + 1e-8) * (tokens / (tokens - 1)) : 0;
  for (std::size_t row = 0; row < x.size(); ++row) {
    if (counts(row)) x[row] = (x[row] - mean) / std::sqrt(variance + 1e-8);
  }
}

std::vector<OptionSpec> scale_options() {
  return {
      {"scale", "none", "rms: divide by the root mean square of the batch's advantages", {"none", "rms"}}};
}

void divide_by_rms(std::span<double> x) {
  double squares = 0;
  std::size_t count = 0;
  for (double value : x) {
    if (std::isnan(value)) continue;
    squares += value * value;
    ++count;
  }
  if (squares == 0) return;
  const double rms = std::sqrt(squares / static_cast<double>(count));
  for (double& value : x) value /= rms;
}

void combine(const Work& work, double step_weight, double episode_weight, Credit& credit) {
  credit.advantage.assign(work.rows(), 0);
  const auto add = [&](std::vector<double>& part, double weight) {
    if (part.empty()) return;
    for (std::size_t row = 0; row < work.rows(); ++row) {
      if (std::isnan(part[row])) continue;
      if (!work.has_tokens(row)) part[row] = 0;  // nothing was generated, so there is nothing to credit
      credit.advantage[row] += weight * part[row];
    }
  };
  add(credit.step_advantage, step_weight);
  add(credit.episode_advantage, episode_weight);
}

}  // namespace lodestep::graph
