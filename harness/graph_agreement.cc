#include "harness/graph_agreement.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace lodestep::harness {
namespace {

constexpr double kZero = 1e-9;  // advantages and differences of distance below this have no sign

int sign_of(double x) { return x > kZero ? 1 : x < -kZero ? -1 : 0; }

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Sums of pairs of numbers, from which their correlation follows.
struct Moments {
  double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  void add(double a, double b) {
    n += 1;
    x += a;
    y += b;
    xx += a * a;
    yy += b * b;
    xy += a * b;
  }
  void add(const Moments& other) {
    n += other.n;
    x += other.x;
    y += other.y;
    xx += other.xx;
    yy += other.yy;
    xy += other.xy;
  }
  double correlation() const {
    const double sxx = xx - x * x / n;
    const double syy = yy - y * y / n;
    // What rounding leaves of equal numbers is no spread.
    if (!(sxx > 1e-12 * xx) || !(syy > 1e-12 * yy)) return std::nan("");
    return (xy - x * y / n) / std::sqrt(sxx * syy);
  }
};

// Of one task, or summed over several.
struct Sums {
  double steps = 0, same_sign = 0, both_reach = 0, error = 0, largest_error = 0;
  double unreached = 0, true_unreached = 0, reach_differs = 0, nodes = 0, reaching_nodes = 0;
  Moments advantages, ranks;

  void add(const Sums& other) {
    steps += other.steps;
    same_sign += other.same_sign;
    both_reach += other.both_reach;
    error += other.error;
    largest_error = std::max(largest_error, other.largest_error);
    unreached += other.unreached;
    true_unreached += other.true_unreached;
    reach_differs += other.reach_differs;
    nodes += other.nodes;
    reaching_nodes += other.reaching_nodes;
    advantages.add(other.advantages);
    ranks.add(other.ranks);
  }

  GraphAgreement agreement() const {
    GraphAgreement out;
    out.sign = share(same_sign, steps);
    out.spearman = ranks.correlation();
    out.pearson = advantages.correlation();
    out.distance_mean = share(error, both_reach);
    out.distance_max = largest_error;
    out.unreached = share(unreached, steps);
    out.true_unreached = share(true_unreached, steps);
    out.reach_differs = share(reach_differs, steps);
    out.coverage = share(reaching_nodes, nodes);
    return out;
  }
};

// Ranks from 1, equal values sharing their mean rank.
std::vector<double> ranks_of(std::span<const double> x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return x[i] < x[j]; });
  std::vector<double> ranks(x.size());
  for (std::size_t from = 0; from < order.size();) {
    std::size_t to = from + 1;
    while (to < order.size() && x[order[to]] == x[order[from]]) ++to;
    for (std::size_t k = from; k < to; ++k) ranks[order[k]] = 0.5 * static_cast<double>(from + to + 1);
    from = to;
  }
  return ranks;
}

struct Place {
  double distance = 0;
  bool reached = false;
};

Place place_of(const graph::Credit& credit, graph::Id task, std::size_t row) {
  const graph::Id node = credit.node[row];
  if (node == graph::kNone) return {};
  const graph::TransitionGraph& graph = credit.graphs[static_cast<std::size_t>(task)];
  const auto at = static_cast<std::size_t>(node);
  return {graph.distance[at], graph.reached[at] != 0};
}

std::vector<Sums> sums_of_tasks(const graph::Credit& found, const graph::Credit& truth,
                                std::span<const graph::Id> task) {
  std::vector<Sums> sums(found.graphs.size());
  const std::vector<double> ranks = ranks_of(found.advantage);
  const std::vector<double> true_ranks = ranks_of(truth.advantage);
  for (std::size_t row = 0; row < task.size(); ++row) {
    Sums& of = sums[static_cast<std::size_t>(task[row])];
    of.steps += 1;
    of.same_sign += sign_of(found.advantage[row]) == sign_of(truth.advantage[row]) ? 1 : 0;
    of.advantages.add(found.advantage[row], truth.advantage[row]);
    of.ranks.add(ranks[row], true_ranks[row]);
    const Place mine = place_of(found, task[row], row);
    const Place real = place_of(truth, task[row], row);
    of.unreached += mine.reached ? 0 : 1;
    of.true_unreached += real.reached ? 0 : 1;
    of.reach_differs += mine.reached != real.reached ? 1 : 0;
    if (!mine.reached || !real.reached) continue;
    of.both_reach += 1;
    const double error = std::fabs(mine.distance - real.distance);
    of.error += error;
    of.largest_error = std::max(of.largest_error, error);
  }
  for (std::size_t t = 0; t < found.graphs.size(); ++t) {
    const graph::TransitionGraph& graph = found.graphs[t];
    for (std::size_t node = 0; node < graph.nodes(); ++node) {
      if (graph.visits[node] == 0) continue;
      sums[t].nodes += 1;
      sums[t].reaching_nodes += graph.reached[node] != 0 ? 1 : 0;
    }
  }
  return sums;
}

// The ranks within one task, where its own correlation is asked for.
double spearman_of_task(const graph::Credit& found, const graph::Credit& truth,
                        std::span<const graph::Id> task, std::size_t which) {
  std::vector<double> mine, real;
  for (std::size_t row = 0; row < task.size(); ++row) {
    if (static_cast<std::size_t>(task[row]) != which) continue;
    mine.push_back(found.advantage[row]);
    real.push_back(truth.advantage[row]);
  }
  const std::vector<double> ranks = ranks_of(mine);
  const std::vector<double> true_ranks = ranks_of(real);
  Moments moments;
  for (std::size_t i = 0; i < ranks.size(); ++i) moments.add(ranks[i], true_ranks[i]);
  return moments.correlation();
}

}  // namespace

GraphReport compare_graphs(const graph::Credit& found, const graph::Credit& truth,
                           std::span<const graph::Id> task) {
  static constexpr double GraphAgreement::*kFields[] = {
      &GraphAgreement::sign,           &GraphAgreement::spearman,      &GraphAgreement::pearson,
      &GraphAgreement::distance_mean,  &GraphAgreement::distance_max,  &GraphAgreement::unreached,
      &GraphAgreement::true_unreached, &GraphAgreement::reach_differs, &GraphAgreement::coverage};
  const std::vector<Sums> sums = sums_of_tasks(found, truth, task);
  GraphReport report;
  Sums all;
  for (std::size_t t = 0; t < sums.size(); ++t) {
    all.add(sums[t]);
    report.groups.push_back(sums[t].agreement());
    report.groups.back().spearman = spearman_of_task(found, truth, task, t);
  }
  report.pooled = all.agreement();
  for (double GraphAgreement::*field : kFields) {
    const canonicalizer::Interval interval =
        canonicalizer::bootstrap_interval(sums.size(), [&](std::span<const std::size_t> drawn) {
          Sums sum;
          for (const std::size_t t : drawn) sum.add(sums[t]);
          return sum.agreement().*field;
        });
    report.low.*field = interval.low;
    report.high.*field = interval.high;
  }
  return report;
}

std::vector<PlacedStep> placed_steps(const graph::Credit& credit, std::span<const graph::Id> task,
                                     std::span<const Hash128> true_state) {
  std::vector<PlacedStep> steps;
  for (std::size_t row = 0; row < task.size(); ++row) {
    if (credit.node[row] == graph::kNone) continue;
    steps.push_back(
        {static_cast<std::uint32_t>(task[row]), true_state[row], place_of(credit, task[row], row).distance});
  }
  return steps;
}

CrossBatch cross_batch_consistency(std::span<const PlacedStep> one, std::span<const PlacedStep> two) {
  struct Mean {
    double sum = 0, count = 0;
    double value() const { return sum / count; }
  };
  using States = std::map<Hash128, Mean>;
  const auto by_task = [](std::span<const PlacedStep> steps) {
    std::map<std::uint32_t, States> tasks;
    for (const PlacedStep& step : steps) {
      Mean& mean = tasks[step.task][step.true_state];
      mean.sum += step.distance;
      mean.count += 1;
    }
    return tasks;
  };
  const std::map<std::uint32_t, States> first = by_task(one);
  const std::map<std::uint32_t, States> second = by_task(two);
  std::vector<Mean> tasks;  // of the states' shares
  for (const auto& [task, states] : first) {
    const auto again = second.find(task);
    if (again == second.end()) continue;
    std::vector<std::pair<double, double>> distances;
    for (const auto& [state, mean] : states) {
      const auto known = again->second.find(state);
      if (known != again->second.end()) distances.emplace_back(mean.value(), known->second.value());
    }
    Mean shares;
    for (std::size_t i = 0; i < distances.size() && distances.size() > 1; ++i) {
      double same = 0;
      for (std::size_t k = 0; k < distances.size(); ++k) {
        if (k == i) continue;
        same += sign_of(distances[i].first - distances[k].first) ==
                        sign_of(distances[i].second - distances[k].second)
                    ? 1
                    : 0;
      }
      shares.sum += same / static_cast<double>(distances.size() - 1);
      shares.count += 1;
    }
    tasks.push_back(shares);
  }
  CrossBatch out;
  const auto over = [&](std::span<const std::size_t> drawn) {
    Mean all;
    for (const std::size_t t : drawn) {
      all.sum += tasks[t].sum;
      all.count += tasks[t].count;
    }
    return all.value();  // NaN without states
  };
  std::vector<std::size_t> every(tasks.size());
  std::iota(every.begin(), every.end(), std::size_t{0});
  out.consistency = over(every);
  out.interval = canonicalizer::bootstrap_interval(tasks.size(), over);
  for (const Mean& shares : tasks) out.states += static_cast<std::size_t>(shares.count);
  return out;
}

}  // namespace lodestep::harness
