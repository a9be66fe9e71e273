// The shared parts of estimators: scores, comparison groups, group advantages, discounted returns, graphs.
//   credit.group = number_groups(work, work.batch.state);
//   credit.step_advantage = group_advantages(work, credit.group, x, normaliser);
// Threads: functions of const data. Columns are one number per row of the batch; rows that take no part have
// NaN or kNone. Private to this room.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "graph/statistics.h"
#include "graph/working.h"

namespace lodestep::graph {

inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// What an invalid action costs (the reference: 0.1 off both the step return and the row's score).
struct Penalty {
  double coef = 0;
  bool on_step = true, on_episode = true;
};
std::vector<OptionSpec> penalty_options(const std::string& coef = "0.1");  // penalty_coef, penalty_on
Penalty read_penalty(OptionReader& read);

// Which votes an episode statistic counts.
enum class Votes {
  kRows,          // each step: long episodes weigh more (the released code)
  kFirstRows,     // the first step's score of each episode (the released code, cross_steps=false)
  kTrajectories,  // each episode once, by its reward
};

struct EpisodeTerm {
  Normaliser normaliser;
  Votes votes = Votes::kRows;
};
std::vector<OptionSpec> episode_options();  // stats, episode_stats, cross_steps, lone_episode
EpisodeTerm read_episode_term(OptionReader& read, const Normaliser& normaliser);

// episode_reward, less the penalty on rows with an invalid action.
std::vector<double> scores(const Work& work, const Penalty& penalty);
// The votes of one task's members, given all rows' scores.
std::vector<double> votes_of_task(const Work& work, std::size_t task, Votes votes,
                                  std::span<const double> score);
// Scores on the scale of their task.
std::vector<double> episode_advantages(const Work& work, const EpisodeTerm& term,
                                       std::span<const double> score);

// Which steps are compared beyond their key: only those of one stretch of time, and only in groups of some
// size.
struct Grouping {
  std::int64_t time_bucket = 0;  // steps per stretch; 0: time does not matter
  std::size_t least = 2;
};
std::vector<OptionSpec> grouping_options();  // time_bucket, min_group
Grouping read_grouping(OptionReader& read);
// Whether groups join the states that the graph joined, or equal states only: the released code does the
// latter even where similarity merged the graph.
std::vector<OptionSpec> group_matching_options(const std::string& by_default);  // group_matching, grouping
bool groups_follow_graph(OptionReader& read);
// `node`: per row, of the graph.
std::span<const Id> compared_states(const Work& work, bool follow_graph, std::span<const Id> node);
std::vector<Id> step_groups(const Work& work, std::span<const Id> key, const Grouping& grouping);

// Groups of rows with the same task and key, numbered by first appearance.
std::vector<Id> number_groups(const Work& work, std::span<const Id> key);
// Groups of rows with the same task, key and second key; a row with kNone in either is in none.
std::vector<Id> pair_groups(const Work& work, std::span<const Id> key, std::span<const Id> second);
std::size_t count_groups(std::span<const Id> group);
// x on the scale of its group.
std::vector<double> group_advantages(const Work& work, std::span<const Id> group, std::span<const double> x,
                                     const Normaliser& normaliser);

// G_t = r_t + gamma * G_{t+1} within each episode, in time order.
std::vector<double> discounted_returns(const Work& work, double gamma);
// Takes the penalty off x in rows with an invalid action.
void penalise(const Work& work, double coef, std::span<double> x);
// The step returns that are compared: less the penalty where it goes on steps. Credit::step_return stays
// without it.
std::vector<double> penalised(const Work& work, const Penalty& penalty, std::vector<double> step_return);

// Turns left before each step (at least 1): as recorded, else from the turn limit and the step's place in its
// episode. Fails where an episode is longer than the limit.
std::vector<OptionSpec> turns_options();  // max_steps
Result<std::vector<std::int32_t>> turns_left(const Work& work, std::int64_t max_steps);

// (x - mean) / deviation over all tokens of the batch, each row as often as it has tokens (the released
// code's small constants).
void whiten_over_tokens(const Work& work, std::span<double> x);

// Divides by the root mean square over the batch, the only scaling that training needs here.
std::vector<OptionSpec> scale_options();  // scale
void divide_by_rms(std::span<double> x);

// advantage = weighted sum of the parts that are there. Rows without tokens get 0 in each part.
void combine(const Work& work, double step_weight, double episode_weight, Credit& credit);
std::vector<double> empty_column(const Work& work);  // NaN everywhere

std::vector<OptionSpec> join_options(const std::vector<std::vector<OptionSpec>>& lists);

}  // namespace lodestep::graph
