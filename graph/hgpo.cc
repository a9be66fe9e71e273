// HGPO (arXiv 2602.22817): discounted returns compared among the steps that share the last k states of their
// episodes, for k = 1 to H + 1, averaged with weights that grow with k.
#include <cmath>
#include <string>

#include "graph/estimator_list.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

// For each row the group of rows of its task whose last k + 1 states are equal, from the groups of the last
// k: equal now means equal states and equal histories at the steps before.
std::vector<Id> longer_histories(const Work& work, const std::vector<Id>& shorter) {
  std::vector<Id> before(work.rows(), kNone);
  for (std::size_t e = 0; e < work.episodes(); ++e) {
    const std::span<const Row> rows = work.rows_of_episode[e];
    for (std::size_t i = 1; i < rows.size(); ++i) before[rows[i]] = shorter[rows[i - 1]];
  }
  return pair_groups(work, work.batch.state, before);
}

// numpy's sum of doubles: eight running sums, halves above 128 numbers.
double numpy_sum(std::span<const double> x) {
  if (x.size() > 128) {
    const std::size_t half = x.size() / 2 / 8 * 8;
    return numpy_sum(x.first(half)) + numpy_sum(x.subspan(half));
  }
  double sum = 0;
  std::size_t i = 0;
  if (x.size() >= 8) {
    double r[8];
    for (; i < 8; ++i) r[i] = x[i];
    for (; i + 8 <= x.size(); i += 8) {
      for (std::size_t k = 0; k < 8; ++k) r[k] += x[i + k];
    }
    sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
  }
  for (; i < x.size(); ++i) sum += x[i];
  return sum;
}

// One item per row of a group of two or more. With the released code's arithmetic: whether the mean of equal
// numbers is that number, and hence whether their item counts, hangs on the last bit.
std::vector<double> released_items(const Work& work, const std::vector<Id>& group,
                                   const std::vector<double>& x, const Normaliser& normaliser) {
  std::vector<double> items = empty_column(work);
  const Lists groups(group, count_groups(group));
  std::vector<double> values, squares;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::span<const Row> rows = groups[g];
    if (rows.size() < 2) continue;
    values.clear();
    squares.clear();
    for (Row row : rows) values.push_back(x[row]);
    const double n = static_cast<double>(rows.size());
    const double mean = numpy_sum(values) / n;
    for (double v : values) squares.push_back((v - mean) * (v - mean));
    const double std = std::sqrt(numpy_sum(squares) / (n - normaliser.ddof));
    const double scale = normaliser.scale == Scale::kStd ? std + normaliser.eps : 1;
    for (Row row : rows) items[row] = x[row] == mean ? 0 : (x[row] - mean) / scale;
  }
  return items;
}

// The same in exact terms: no item for a group of one, 0 for a group of equals.
std::vector<double> exact_items(const Work& work, const std::vector<Id>& group, const std::vector<double>& x,
                                const Normaliser& normaliser) {
  std::vector<double> items = group_advantages(work, group, x, normaliser);
  const Lists groups(group, count_groups(group));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].size() == 1) items[groups[g].front()] = kNoNumber;
  }
  return items;
}

Status run(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  Normaliser normaliser = read_normaliser(read);
  const EpisodeTerm term = read_episode_term(read, normaliser);
  const Penalty penalty = read_penalty(read);
  const double gamma = read.number("gamma", 0);
  const double alpha = read.number("alpha", -100, 100);
  const std::int64_t history = read.integer("history_length", 0, 1000);
  const bool base_group = read.flag("base_group");
  const bool as_released = read.is("zero_items", "as-released");
  const bool keep_zeros = read.is("zero_items", "kept");
  if (!read.status()) return read.status();

  // Population deviation inside the groups unless asked otherwise; the episode item keeps the sample's.
  if (!read.given("std") && !read.given("ddof")) normaliser.ddof = 0;
  credit.step_return = discounted_returns(work, gamma);
  const std::vector<double> compared = penalised(work, penalty, credit.step_return);

  std::vector<double> sum(work.rows(), 0), weights(work.rows(), 0);
  const auto add_item = [&](const std::vector<double>& item, double weight) {
    for (std::size_t row = 0; row < work.rows(); ++row) {
      if (std::isnan(item[row]) || (item[row] == 0 && !keep_zeros)) continue;
      sum[row] += weight * item[row];
      weights[row] += weight;
    }
  };
  if (base_group) add_item(episode_advantages(work, term, scores(work, penalty)), 1);
  std::vector<Id> group = number_groups(work, work.batch.state);
  credit.group = group;
  for (std::int64_t k = 1; k <= history + 1; ++k) {
    if (k > 1) group = longer_histories(work, group);
    add_item(as_released ? released_items(work, group, compared, normaliser)
                         : exact_items(work, group, compared, normaliser),
             std::pow(static_cast<double>(k + 1), alpha));
  }
  credit.step_advantage = empty_column(work);
  for (std::size_t row = 0; row < work.rows(); ++row) {
    if (work.task[row] != kNone) credit.step_advantage[row] = sum[row] / (weights[row] + 1e-6);
  }
  combine(work, 1, 0, credit);
  return {};
}

}  // namespace

Estimator hgpo() {
  Estimator estimator;
  estimator.info.name = "hgpo";
  estimator.info.summary = "discounted returns compared among steps that share their last states";
  estimator.info.options = join_options(
      {{{"gamma", "0.95", "discount of the step returns", {}},
        {"history_length", "2", "the longest history is this and the present state", {}},
        {"alpha", "1", "an item over k states weighs (k + 1)^alpha", {}},
        {"zero_items",
         "as-released",
         "an item that is exactly 0: leaves its weight out, by the released code's arithmetic or in exact "
         "terms "
         "(dropped), or counts (kept)",
         {"as-released", "dropped", "kept"}},
        {"base_group", "false", "true: the episode advantage is one more item, of weight 1", {}}},
       normaliser_options("mean_std_norm"),
       episode_options(),
       penalty_options()});
  estimator.needs = Needs::kStepReward;
  estimator.presets = {kReleased};
  estimator.run = run;
  return estimator;
}

}  // namespace lodestep::graph
