#include "graph/diagnostics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "graph/pair_numbers.h"
#include "graph/statistics.h"

namespace lodestep::graph {
namespace {

// Wilson's score interval (1927) at 95 %.
void wilson(double successes, double trials, double& low, double& high) {
  const double z = 1.959963984540054, p = successes / trials;
  const double middle = p + z * z / (2 * trials);
  const double spread = z * std::sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials));
  low = std::max(0.0, (middle - spread) / (1 + z * z / trials));
  high = std::min(1.0, (middle + spread) / (1 + z * z / trials));
}

Calibration calibrate(const std::vector<double>& predicted, const std::vector<std::uint8_t>& came_true) {
  Calibration out;
  constexpr std::size_t kBins = 10;
  for (std::size_t i = 0; i < kBins; ++i) {
    CalibrationBin bin;
    bin.low = static_cast<double>(i) / kBins;
    bin.high = static_cast<double>(i + 1) / kBins;
    out.bins.push_back(bin);
  }
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const double p = std::clamp(predicted[i], 0.0, 1.0);
    CalibrationBin& bin = out.bins[std::min(kBins - 1, static_cast<std::size_t>(p * kBins))];
    ++bin.visits;
    bin.predicted += p;
    bin.frequency += came_true[i];
    out.brier += (p - came_true[i]) * (p - came_true[i]);
  }
  if (predicted.empty()) return out;
  const double all = static_cast<double>(predicted.size());
  out.brier /= all;
  for (CalibrationBin& bin : out.bins) {
    if (bin.visits == 0) continue;
    const double visits = static_cast<double>(bin.visits);
    wilson(bin.frequency, visits, bin.frequency_low, bin.frequency_high);
    bin.predicted /= visits;
    bin.frequency /= visits;
    out.expected_error += visits / all * std::abs(bin.predicted - bin.frequency);
  }
  return out;
}

// Mean over the rows with key >= 0 of x within equal keys: the value of a node from the returns of its steps.
std::vector<double> means_by(const std::vector<Id>& key, const std::vector<double>& x) {
  Id largest = kNone;
  for (Id k : key) largest = std::max(largest, k);
  std::vector<double> sum(static_cast<std::size_t>(largest + 1), 0), count(sum.size(), 0), out(key.size(), 0);
  for (std::size_t row = 0; row < key.size(); ++row) {
    if (key[row] == kNone) continue;
    sum[static_cast<std::size_t>(key[row])] += x[row];
    count[static_cast<std::size_t>(key[row])] += 1;
  }
  for (std::size_t row = 0; row < key.size(); ++row) {
    const auto k = static_cast<std::size_t>(key[row]);
    if (key[row] != kNone) out[row] = sum[k] / count[k];
  }
  return out;
}

// Mean squared deviation of x from its mean over equal keys.
double variance_within(const std::vector<Id>& key, const std::vector<double>& x) {
  const std::vector<double> mean = means_by(key, x);
  double squares = 0, rows = 0;
  for (std::size_t row = 0; row < key.size(); ++row) {
    if (key[row] == kNone) continue;
    squares += (x[row] - mean[row]) * (x[row] - mean[row]);
    rows += 1;
  }
  return rows == 0 ? 0 : squares / rows;
}

double share(double part, double whole) { return whole == 0 ? 0 : part / whole; }

}  // namespace

Result<Diagnostics> diagnose(const Batch& batch, const DiagnosticOptions& options) {
  const auto ask = [&](const std::string& estimator, Settings settings) {
    settings.emplace_back("penalty_coef", "0");
    return estimate({.estimator = estimator,
                     .settings = std::move(settings),
                     .matcher = options.matcher,
                     .threads = options.threads},
                    batch);
  };
  Settings graph_settings = options.settings;
  char gamma[32];
  std::snprintf(gamma, sizeof gamma, "%.17g", options.gamma);
  graph_settings.insert(
      graph_settings.end(),
      {{"gamma", gamma}, {"r_succ", "1"}, {"group_matching", "same-as-graph"}, {"episode_w", "0"}});
  const Result<Credit> graph = ask("graphgpo", graph_settings);
  if (!graph) return graph.error();
  graph_settings.emplace_back("transitions", "policy");
  const Result<Credit> policy = ask("graphgpo", graph_settings);
  if (!policy) return policy.error();
  Settings chance_settings = options.settings;
  chance_settings.emplace_back("discount", "1");
  const Result<Credit> chance = ask("evi", chance_settings);
  if (!chance) return chance.error();
  char discount[32];
  std::snprintf(discount, sizeof discount, "%.17g", options.discount);
  const Result<Credit> returns = ask("gigpo", {{"gamma", discount}});
  if (!returns) return returns.error();

  Diagnostics d;
  PairNumbers transitions(batch.rows()), episodes(batch.rows());
  std::vector<Id> transition(batch.rows(), kNone), episode(batch.rows(), kNone);
  std::vector<std::uint8_t> won;  // per episode
  std::vector<std::uint32_t> members;
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    const Id group = graph->group[row];
    if (group == kNone) continue;
    if (static_cast<std::size_t>(group) >= members.size())
      members.resize(static_cast<std::size_t>(group) + 1);
    ++members[static_cast<std::size_t>(group)];
    episode[row] = episodes.of(batch.task[row], batch.episode[row]);
    if (static_cast<std::size_t>(episode[row]) == won.size()) won.push_back(0);
    const TransitionGraph& g = graph->graphs[static_cast<std::size_t>(batch.task[row])];
    if (graph->next_node[row] == g.goal) won[static_cast<std::size_t>(episode[row])] = 1;
    transition[row] = transitions.of(group, graph->next_node[row]);
  }
  double progress[2] = {0, 0}, steps[2] = {0, 0}, comparable = 0;
  std::vector<double> graph_value, policy_value;
  std::vector<std::uint8_t> came_true;
  const std::vector<double> chance_here = means_by(graph->group, chance->step_return);
  const std::vector<double> discounted_here = means_by(graph->group, policy->step_return);
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (episode[row] == kNone) continue;
    const TransitionGraph& g = graph->graphs[static_cast<std::size_t>(batch.task[row])];
    const double here = g.distance[static_cast<std::size_t>(graph->node[row])];
    const Id next = graph->next_node[row];
    const std::size_t success = won[static_cast<std::size_t>(episode[row])];
    steps[success] += 1;
    progress[success] += next != kNone && g.distance[static_cast<std::size_t>(next)] < here ? 1 : 0;
    comparable += members[static_cast<std::size_t>(graph->group[row])] > 1 ? 1 : 0;
    graph_value.push_back(
        g.reached[static_cast<std::size_t>(graph->node[row])] ? std::pow(options.gamma, here) : 0);
    policy_value.push_back(chance_here[row]);
    came_true.push_back(static_cast<std::uint8_t>(success));
    // The node's own value is one step further than the mean of where its steps led.
    d.over_optimism += graph_value.back() - options.gamma * discounted_here[row];
  }
  d.steps = graph_value.size();
  d.episodes = episodes.size();
  d.successes = static_cast<std::size_t>(std::count(won.begin(), won.end(), 1));
  const double all = static_cast<double>(d.steps);
  double reached = 0, places = 0;
  for (const TransitionGraph& g : graph->graphs) {
    d.nodes += g.nodes();
    for (std::size_t v = 0; v < g.nodes(); ++v) {
      if (static_cast<Id>(v) == g.goal) continue;
      places += 1;
      reached += g.reached[v];
    }
  }
  d.node_reuse = d.steps == 0 ? 0 : 1 - static_cast<double>(members.size()) / all;
  d.coverage = share(reached, places);
  d.comparable = share(comparable, all);
  d.progress_in_failed = share(progress[0], steps[0]);
  d.no_progress_in_successful = share(steps[1] - progress[1], steps[1]);
  d.graph_variance = variance_within(transition, graph->step_return);
  d.return_variance = variance_within(transition, returns->step_return);
  d.over_optimism = share(d.over_optimism, all);
  d.graph_value = calibrate(graph_value, came_true);
  d.policy_value = calibrate(policy_value, came_true);
  return d;
}

namespace {

std::string line(const char* name, double value, const char* unit) {
  char text[160];
  std::snprintf(text, sizeof text, "  %-52s %9.4g%s\n", name, value, unit);
  return text;
}

std::string calibration_text(const char* name, const Calibration& c) {
  std::string out = line((std::string(name) + ": Brier score").c_str(), c.brier, "");
  out += line((std::string(name) + ": expected calibration error").c_str(), c.expected_error, "");
  for (const CalibrationBin& bin : c.bins) {
    if (bin.visits == 0) continue;
    char text[160];
    std::snprintf(text, sizeof text,
                  "    [%.1f, %.1f)  predicted %.3f  came true %.3f  [%.3f, %.3f]  %zu visits\n", bin.low,
                  bin.high, bin.predicted, bin.frequency, bin.frequency_low, bin.frequency_high, bin.visits);
    out += text;
  }
  return out;
}

}  // namespace

std::string to_text(const Diagnostics& d) {
  std::string out = "diagnostics over " + std::to_string(d.steps) + " steps, " + std::to_string(d.nodes) +
                    " nodes, " + std::to_string(d.successes) + " successes in " + std::to_string(d.episodes) +
                    " episodes\n";
  out += line("node reuse", 100 * d.node_reuse, " %");
  out += line("nodes with an observed way to success", 100 * d.coverage, " %");
  out += line("steps that can be compared", 100 * d.comparable, " %");
  out += line("progress steps in failed episodes", 100 * d.progress_in_failed, " %");
  out += line("other steps in successful episodes", 100 * d.no_progress_in_successful, " %");
  out += line("variance within equal transitions: graph", d.graph_variance, "");
  out += line("variance within equal transitions: discounted return", d.return_variance, "");
  out += line("over-optimism of the best observed way", d.over_optimism, "");
  out += calibration_text("gamma^distance", d.graph_value);
  return out + calibration_text("chance under the observed actions", d.policy_value);
}

}  // namespace lodestep::graph
