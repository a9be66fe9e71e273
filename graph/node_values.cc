#include "graph/node_values.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "graph/pair_numbers.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

constexpr int kMostSweeps = 100'000;

std::size_t index(Id id) { return static_cast<std::size_t>(id); }

double cost_of(const Work& work, Row row, Costs costs) {
  return costs == Costs::kSupplied ? work.cost(row) : 1;
}

// d(s) = min over actions of the mean over its visits of cost + d(s'), upwards from the least distances: in a
// deterministic world these already solve it.
void expected_distances(const Work& work, const NodeOptions& options, GroupGraph& graph, std::size_t task) {
  TransitionGraph& g = graph.tasks[task];
  const std::span<const Row> rows = work.rows_of_task[task];
  PairNumbers pairs(rows.size());
  std::vector<std::size_t> arm;       // per row
  std::vector<std::size_t> arm_node;  // per arm
  for (Row row : rows) {
    const Id done = work.batch.action.empty() ? graph.next_node[row] : work.batch.action[row];
    arm.push_back(index(pairs.of(graph.node[row], done)));
    if (arm.back() == arm_node.size()) arm_node.push_back(index(graph.node[row]));
  }
  const double far = g.farthest + options.far;
  std::vector<double> sum(arm_node.size()), count(arm_node.size(), 0);
  for (std::size_t a : arm) count[a] += 1;
  std::vector<double> best(g.nodes());
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    std::fill(sum.begin(), sum.end(), 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Id next = graph.next_node[rows[i]];
      sum[arm[i]] += cost_of(work, rows[i], options.costs) + (next == kNone ? far : g.distance[index(next)]);
    }
    std::fill(best.begin(), best.end(), std::numeric_limits<double>::infinity());
    for (std::size_t a = 0; a < arm_node.size(); ++a) {
      const double mean = (sum[a] + options.smoothing * far) / (count[a] + options.smoothing);
      best[arm_node[a]] = std::min(best[arm_node[a]], mean);
    }
    double largest_move = 0;
    for (std::size_t v = 0; v < g.nodes(); ++v) {
      if (static_cast<Id>(v) == g.goal || g.reached[v] == 0) continue;
      largest_move = std::max(largest_move, std::abs(best[v] - g.distance[v]));
      g.distance[v] = best[v];
    }
    if (largest_move <= 1e-13) break;
  }
}

std::vector<double> policy_values_of(const Work& work, const NodeOptions& options, const GroupGraph& graph,
                                     std::size_t task) {
  const TransitionGraph& g = graph.tasks[task];
  const std::span<const Row> rows = work.rows_of_task[task];
  std::vector<double> value(g.nodes(), 0), sum(g.nodes()), visits(g.nodes(), options.smoothing);
  std::vector<double> factor;
  for (Row row : rows) {
    visits[index(graph.node[row])] += 1;
    factor.push_back(std::pow(options.omega, cost_of(work, row, options.costs)));
  }
  if (g.nodes() > 0) value[index(g.goal)] = 1;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    std::fill(sum.begin(), sum.end(), 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Id next = graph.next_node[rows[i]];
      if (next != kNone) sum[index(graph.node[rows[i]])] += factor[i] * value[index(next)];
    }
    double largest_move = 0;
    for (std::size_t v = 0; v < g.nodes(); ++v) {
      if (static_cast<Id>(v) == g.goal || visits[v] == 0) continue;
      const double better = sum[v] / visits[v];
      largest_move = std::max(largest_move, std::abs(better - value[v]));
      value[v] = better;
    }
    if (largest_move <= 1e-15) break;
  }
  return value;
}

std::vector<std::uint8_t> open_nodes_of(const Work& work, const GroupGraph& graph, std::size_t task) {
  const TransitionGraph& g = graph.tasks[task];
  const std::span<const Row> rows = work.rows_of_task[task];
  std::vector<std::uint8_t> open(g.nodes(), 0), dead(g.nodes(), 0);
  std::vector<std::vector<Id>> tried(g.nodes());
  std::vector<std::int32_t> admissible(g.nodes(), 0);
  for (Row row : rows) {
    const std::size_t node = index(graph.node[row]);
    tried[node].push_back(work.batch.action.empty() ? graph.next_node[row] : work.batch.action[row]);
    if (!work.batch.admissible_count.empty()) {
      admissible[node] = std::max(admissible[node], work.batch.admissible_count[row]);
    }
    if (work.done(row) && graph.next_node[row] != kNone) dead[index(graph.next_node[row])] = 1;
  }
  std::vector<std::vector<Id>> arrivals(g.nodes());
  for (const Edge& e : g.edges) arrivals[index(e.to)].push_back(e.from);
  std::vector<Id> queue;
  for (std::size_t v = 0; v < g.nodes(); ++v) {
    if (g.reached[v] != 0 || dead[v] != 0) continue;
    std::sort(tried[v].begin(), tried[v].end());
    const auto different = std::unique(tried[v].begin(), tried[v].end()) - tried[v].begin();
    // Without a list of actions nobody can say that all were tried.
    if (admissible[v] > 0 && different >= admissible[v]) continue;
    open[v] = 1;
    queue.push_back(static_cast<Id>(v));
  }
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (Id from : arrivals[index(queue[head])]) {
      if (open[index(from)] != 0 || g.reached[index(from)] != 0) continue;
      open[index(from)] = 1;
      queue.push_back(from);
    }
  }
  return open;
}

template <typename T>
std::vector<std::vector<T>> over_tasks(const Work& work,
                                       const std::function<std::vector<T>(std::size_t)>& of) {
  std::vector<std::vector<T>> out(work.tasks);
  for_each_block(work.tasks, work.threads, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t task = begin; task < end; ++task) out[task] = of(task);
  });
  return out;
}

}  // namespace

std::vector<OptionSpec> node_options() {
  return {
      {"transitions",
       "min",
       "worth of a state: the best observed way on, the best action on average, or the usual one",
       {"min", "expected", "policy"}},
      {"smoothing", "0", "pseudo-visits that led nowhere, per action (expected) or state (policy)", {}},
      {"unreached",
       "dmax+1",
       "states without observed success: dmax+1 (as released), pessimistic:K (dmax + K), censored (those "
       "with "
       "something untried take no part in comparisons), or prior (those are worth what a graph store's "
       "earlier "
       "batches say of their like)",
       {}},
      {"unreachable",
       "",
       "far+1 or separate: dmax+1 and censored by another name",
       {"", "far+1", "separate"}},
  };
}

NodeOptions read_node_options(OptionReader& read, double omega, Costs costs) {
  NodeOptions options;
  options.omega = omega;
  options.costs = costs;
  if (read.is("transitions", "expected")) options.transitions = Transitions::kExpected;
  if (read.is("transitions", "policy")) options.transitions = Transitions::kPolicy;
  options.smoothing = read.number("smoothing", 0);
  const std::string& unreached = read.text("unreached");
  if (unreached == "censored" || read.is("unreachable", "separate")) {
    options.unreached = Unreached::kCensored;
  } else if (unreached.starts_with("pessimistic:")) {
    const std::optional<double> far = parse_double(unreached.substr(12));
    if (!far || *far < 0 || *far > 1e100)
      read.fail("option 'unreached' has no distance after pessimistic:", "such as pessimistic:5");
    options.far = far.value_or(1);
  } else if (unreached == "prior") {
    options.unreached = Unreached::kPrior;
  } else if (unreached != "dmax+1") {
    read.fail("option 'unreached' cannot be '" + unreached + "'",
              "expected dmax+1, censored, prior or pessimistic:K");
  }
  return options;
}

namespace {

// share * omega^distance as one distance.
double prior_distance(const Prior& prior, double omega) {
  const bool discounts = omega > 0 && omega < 1;
  return prior.distance + (discounts ? std::log(prior.share) / std::log(omega) : 0);
}

}  // namespace

void set_distances(const Work& work, const NodeOptions& options, GroupGraph& graph) {
  std::vector<double> prior(work.tasks,
                            std::numeric_limits<double>::quiet_NaN());  // per task, where one is known
  if (options.unreached == Unreached::kPrior) {
    for (const Prior& known : work.batch.priors) {
      const bool here = known.share > 0 && index(known.task) < work.tasks;
      if (here) prior[index(known.task)] = prior_distance(known, options.omega);
    }
  }
  for_each_block(work.tasks, work.threads, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t task = begin; task < end; ++task) {
      TransitionGraph& g = graph.tasks[task];
      for (std::size_t v = 0; v < g.nodes(); ++v) {
        if (g.reached[v] == 0) g.distance[v] = g.farthest + options.far;
      }
      if (!std::isnan(prior[task])) {
        const std::vector<std::uint8_t> open = open_nodes_of(work, graph, task);
        for (std::size_t v = 0; v < g.nodes(); ++v) {
          if (open[v] != 0) g.distance[v] = prior[task];
        }
      }
      if (options.transitions == Transitions::kExpected) expected_distances(work, options, graph, task);
    }
  });
}

std::vector<std::vector<double>> policy_values(const Work& work, const NodeOptions& options,
                                               const GroupGraph& graph) {
  return over_tasks<double>(work,
                            [&](std::size_t task) { return policy_values_of(work, options, graph, task); });
}

std::vector<std::vector<std::uint8_t>> open_nodes(const Work& work, const GroupGraph& graph) {
  return over_tasks<std::uint8_t>(work, [&](std::size_t task) { return open_nodes_of(work, graph, task); });
}

}  // namespace lodestep::graph
