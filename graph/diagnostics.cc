#include "graph/diagnostics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "base/text.h"
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

// Mean squared deviation of x from its mean over equal keys; exactly 0 where equal keys have equal x.
double variance_within(const std::vector<Id>& key, std::vector<double> x) {
  std::vector<double> first;
  for (std::size_t row = 0; row < key.size(); ++row) {
    if (key[row] == kNone) continue;
    const auto k = static_cast<std::size_t>(key[row]);
    if (k >= first.size()) first.resize(k + 1, std::numeric_limits<double>::quiet_NaN());
    if (std::isnan(first[k])) first[k] = x[row];
    x[row] -= first[k];
  }
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

// Ranks from 1, equal values sharing their mean rank.
std::vector<double> ranks(const std::vector<double>& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  std::vector<double> rank(x.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && x[order[end]] == x[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) rank[order[i]] = static_cast<double>(begin + end + 1) / 2;
    begin = end;
  }
  return rank;
}

double rank_correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const std::vector<double> a = ranks(x), b = ranks(y);
  const double middle = (static_cast<double>(x.size()) + 1) / 2;
  double product = 0, left = 0, right = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += (a[i] - middle) * (b[i] - middle);
    left += (a[i] - middle) * (a[i] - middle);
    right += (b[i] - middle) * (b[i] - middle);
  }
  return left == 0 || right == 0 ? 0 : product / std::sqrt(left * right);
}

// `episode` per row (kNone: no part in it), `won` per episode.
std::optional<AgainstTruth> compare_with_truth(const Batch& batch, const Credit& graph,
                                               const std::vector<double>& truth,
                                               const std::vector<Id>& episode,
                                               const std::vector<std::uint8_t>& won) {
  if (truth.empty()) return std::nullopt;
  LODESTEP_CHECK(truth.size() == batch.rows(), truth.size(), batch.rows());
  AgainstTruth out;
  std::vector<double> observed_of_row, true_of_row;
  std::vector<std::vector<std::uint8_t>> seen;
  for (const TransitionGraph& g : graph.graphs) seen.emplace_back(g.nodes(), 0);
  double dead = 0, solvable = 0, reached = 0, equal = 0;
  // The row of an episode's next step, found by time: rows may come in any order.
  std::vector<std::pair<std::pair<Id, std::int32_t>, std::size_t>> in_time;
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (episode[row] == kNone || std::isnan(truth[row])) continue;
    const auto task = static_cast<std::size_t>(batch.task[row]),
               node = static_cast<std::size_t>(graph.node[row]);
    const TransitionGraph& g = graph.graphs[task];
    in_time.push_back({{episode[row], batch.t[row]}, row});
    observed_of_row.push_back(g.distance[node]);
    true_of_row.push_back(truth[row]);
    dead += std::isinf(truth[row]) ? 1 : 0;
    if (seen[task][node] || std::isinf(truth[row])) continue;
    seen[task][node] = 1;
    solvable += 1;
    if (g.reached[node] == 0) continue;
    reached += 1;
    equal += g.distance[node] == truth[row] ? 1 : 0;
    out.bias += g.distance[node] - truth[row];
  }
  out.steps = in_time.size();
  if (out.steps == 0) return std::nullopt;
  std::sort(in_time.begin(), in_time.end());
  double progress[2] = {0, 0}, steps[2] = {0, 0};
  for (std::size_t i = 0; i < in_time.size(); ++i) {
    const std::size_t row = in_time[i].second;
    const bool last = i + 1 == in_time.size() || in_time[i + 1].first.first != episode[row];
    const std::size_t success = won[static_cast<std::size_t>(episode[row])];
    // The last step of a success arrives; where that of a failure led is not recorded as a row.
    if (last && success == 0) continue;
    steps[success] += 1;
    progress[success] += last || truth[in_time[i + 1].second] < truth[row] ? 1 : 0;
  }
  out.dead = share(dead, static_cast<double>(out.steps));
  out.coverage = share(reached, solvable);
  out.equal = share(equal, reached);
  out.bias = share(out.bias, reached);
  out.rank_correlation = rank_correlation(observed_of_row, true_of_row);
  out.progress_in_failed = share(progress[0], steps[0]);
  out.no_progress_in_successful = share(steps[1] - progress[1], steps[1]);
  return out;
}

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
  d.truth = compare_with_truth(batch, *graph, options.true_distance, episode, won);
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
  if (d.truth) {
    const AgainstTruth& t = *d.truth;
    out += line("true distance: steps in lost states", 100 * t.dead, " %");
    out += line("solvable states with an observed way", 100 * t.coverage, " %");
    out += line("observed distance equal to the true one", 100 * t.equal, " %");
    out += line("observed less true distance, mean", t.bias, "");
    out += line("rank correlation of both distances", t.rank_correlation, "");
    out += line("truly progress steps in failed episodes", 100 * t.progress_in_failed, " %");
    out += line("truly other steps in successful episodes", 100 * t.no_progress_in_successful, " %");
  }
  out += calibration_text("gamma^distance", d.graph_value);
  return out + calibration_text("chance under the observed actions", d.policy_value);
}

namespace {

std::string calibration_json(const Calibration& c) {
  std::string out = "{\"brier\":" + json_number(c.brier) +
                    ",\"expected_calibration_error\":" + json_number(c.expected_error) + ",\"bins\":[";
  for (std::size_t i = 0; i < c.bins.size(); ++i) {
    const CalibrationBin& bin = c.bins[i];
    out += (i > 0 ? "," : "") + ("{\"low\":" + json_number(bin.low)) + ",\"high\":" + json_number(bin.high) +
           ",\"visits\":" + std::to_string(bin.visits) + ",\"predicted\":" + json_number(bin.predicted) +
           ",\"frequency\":" + json_number(bin.frequency) + ",\"interval\":[" +
           json_number(bin.frequency_low) + "," + json_number(bin.frequency_high) + "]}";
  }
  return out + "]}";
}

}  // namespace

std::string to_json(const Diagnostics& d) {
  std::string out = "{\"steps\":" + std::to_string(d.steps) + ",\"nodes\":" + std::to_string(d.nodes) +
                    ",\"episodes\":" + std::to_string(d.episodes) +
                    ",\"successes\":" + std::to_string(d.successes);
  const auto number = [&out](const char* name, double value) {
    out += std::string(",\"") + name + "\":" + json_number(value);
  };
  number("node_reuse", d.node_reuse);
  number("coverage", d.coverage);
  number("comparable", d.comparable);
  number("progress_in_failed", d.progress_in_failed);
  number("no_progress_in_successful", d.no_progress_in_successful);
  number("graph_variance", d.graph_variance);
  number("return_variance", d.return_variance);
  number("over_optimism", d.over_optimism);
  if (d.truth) {
    out += ",\"truth\":{\"steps\":" + std::to_string(d.truth->steps);
    number("dead", d.truth->dead);
    number("coverage", d.truth->coverage);
    number("equal", d.truth->equal);
    number("bias", d.truth->bias);
    number("rank_correlation", d.truth->rank_correlation);
    number("progress_in_failed", d.truth->progress_in_failed);
    number("no_progress_in_successful", d.truth->no_progress_in_successful);
    out += "}";
  }
  return out + ",\"graph_value\":" + calibration_json(d.graph_value) +
         ",\"policy_value\":" + calibration_json(d.policy_value) + "}";
}

}  // namespace lodestep::graph
