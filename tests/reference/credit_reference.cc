#include "tests/reference/credit_reference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace lodestep::reference {
namespace {

using Steps = std::vector<CreditStep>;
using Key = std::vector<std::string>;
using KeyOf = std::function<Key(const CreditStep&)>;

// x against the mean and sample deviation of the rows with the same key; a row alone gives `alone(x)`.
std::vector<double> against_group(const Steps& steps, const KeyOf& key, const std::vector<double>& x,
                                  const CreditOptions& options, const std::function<double(double)>& alone) {
  std::vector<double> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::vector<double> group;
    for (std::size_t j = 0; j < steps.size(); ++j) {
      if (key(steps[j]) == key(steps[i])) group.push_back(x[j]);
    }
    const double n = static_cast<double>(group.size());
    if (n < 2) {
      out.push_back(alone(x[i]));
      continue;
    }
    double mean = 0, squares = 0;
    for (double v : group) mean += v / n;
    for (double v : group) squares += (v - mean) * (v - mean);
    const bool equal =
        *std::min_element(group.begin(), group.end()) == *std::max_element(group.begin(), group.end());
    const double deviation = equal ? 0 : x[i] - mean;
    out.push_back(options.mean_std ? deviation / (std::sqrt(squares / (n - 1)) + options.eps) : deviation);
  }
  return out;
}

std::vector<double> plus(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

std::vector<double> step_part(const Steps& steps, std::vector<double> returns, const CreditOptions& options) {
  for (std::size_t i = 0; i < steps.size(); ++i) returns[i] -= steps[i].valid ? 0 : options.penalty;
  return against_group(
      steps,
      [](const CreditStep& s) {
        return Key{s.task, s.state};
      },
      returns, options, [](double) { return 0.0; });
}

}  // namespace

double graph_distance(const Steps& steps, const std::string& task, const std::string& state) {
  std::map<std::string, double> distance{{"success", 0}};
  for (bool moved = true; moved;) {  // Bellman and Ford
    moved = false;
    for (const CreditStep& s : steps) {
      if (s.task != task || distance.count(s.next) == 0) continue;
      const double through = distance[s.next] + 1;
      if (distance.count(s.state) > 0 && distance[s.state] <= through) continue;
      distance[s.state] = through;
      moved = true;
    }
  }
  double farthest = 0;
  for (const auto& [node, d] : distance) farthest = std::max(farthest, d);
  return distance.count(state) > 0 ? distance[state] : farthest + 1;
}

std::vector<double> grpo(const Steps& steps, const CreditOptions& options) {
  std::vector<double> score;
  for (const CreditStep& s : steps) score.push_back(s.episode_reward - (s.valid ? 0 : options.penalty));
  return against_group(
      steps, [](const CreditStep& s) { return Key{s.task}; }, score, options,
      [&](double x) { return options.mean_std ? x / (1 + options.eps) : x; });
}

std::vector<double> gigpo(const Steps& steps, const CreditOptions& options) {
  std::vector<double> returns;
  for (const CreditStep& s : steps) {
    double sum = 0;
    for (const CreditStep& later : steps) {
      if (later.task != s.task || later.episode != s.episode || later.t < s.t) continue;
      int between = 0;
      for (const CreditStep& m : steps) {
        between += m.task == s.task && m.episode == s.episode && m.t >= s.t && m.t < later.t ? 1 : 0;
      }
      sum += std::pow(options.gamma, between) * later.reward;
    }
    returns.push_back(sum);
  }
  return plus(step_part(steps, returns, options), grpo(steps, options));
}

std::vector<double> graphgpo(const Steps& steps, const CreditOptions& options) {
  std::vector<double> returns;
  for (const CreditStep& s : steps) {
    returns.push_back(10 * std::pow(options.gamma, graph_distance(steps, s.task, s.next)));
  }
  return plus(step_part(steps, returns, options), grpo(steps, options));
}

std::vector<double> evi(const Steps& steps, double discount) {
  std::map<Key, double> value;
  for (int sweep = 0; sweep < 2000; ++sweep) {
    std::map<Key, std::pair<double, double>> sums;
    for (const CreditStep& s : steps) {
      auto& [sum, visits] = sums[{s.task, s.state}];
      sum += s.next == "success" ? 1 : value[{s.task, s.next}];
      visits += 1;
    }
    for (const auto& [node, sum] : sums) {
      if (node[1] != "success") value[node] = discount * sum.first / sum.second;
    }
  }
  std::vector<double> returns;
  for (const CreditStep& s : steps) returns.push_back(s.next == "success" ? 1 : value[{s.task, s.next}]);
  return against_group(
      steps,
      [](const CreditStep& s) {
        return Key{s.task, s.state};
      },
      returns, {.mean_std = false}, [](double) { return 0.0; });
}

namespace {

// V_k of a state by the definition, by recursion over k.
class TurnValues {
 public:
  explicit TurnValues(const Steps& steps) : steps_(steps) {}
  double value(const std::string& task, const std::string& state, int k) {
    if (state == "success") return 1;
    if (k == 0) return 0;
    const auto known = memory_.find({task, state, k});
    if (known != memory_.end()) return known->second;
    return memory_[{task, state, k}] = mean(task, state, nullptr, k);
  }
  // Over the visits of the state (with the action, when one is given) of V_{k-1} of the next state.
  double mean(const std::string& task, const std::string& state, const std::string* action, int k) {
    double sum = 0, visits = 0;
    for (const CreditStep& s : steps_) {
      if (s.task != task || s.state != state || (action != nullptr && s.action != *action)) continue;
      sum += value(task, s.next, k - 1);
      visits += 1;
    }
    return visits == 0 ? 0 : sum / visits;
  }

 private:
  const Steps& steps_;
  std::map<std::tuple<std::string, std::string, int>, double> memory_;
};

}  // namespace

std::vector<double> evih(const Steps& steps) {
  TurnValues values(steps);
  std::vector<double> out;
  for (const CreditStep& s : steps) {
    out.push_back(values.mean(s.task, s.state, &s.action, s.turns_left) -
                  values.mean(s.task, s.state, nullptr, s.turns_left));
  }
  return out;
}

std::vector<double> evihb(const Steps& steps, const std::vector<double>& weights) {
  const auto cell = [](const std::vector<std::string>& keys, std::size_t level) {
    return Key(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(level) + 1);
  };
  int longest = 0;
  for (const CreditStep& s : steps) longest = std::max(longest, s.turns_left);
  std::map<Key, double> value;  // the length of a cell's key is its level
  const auto value_of = [&](const std::vector<std::string>& keys) {
    double v = 0;
    for (std::size_t l = 0; l < weights.size(); ++l) {
      if (value.count(cell(keys, l)) > 0) v = value[cell(keys, l)];  // a cell without rows has its parent's
    }
    return v;
  };
  std::vector<double> out(steps.size());
  for (int k = 1; k <= longest; ++k) {
    std::vector<double> x;
    for (const CreditStep& s : steps) x.push_back(s.reward + (s.done ? 0 : value_of(s.next_keys)));
    std::map<Key, double> better;
    for (std::size_t l = 0; l < weights.size(); ++l) {
      std::map<Key, std::pair<double, double>> sums;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        sums[cell(steps[i].keys, l)].first += x[i];
        sums[cell(steps[i].keys, l)].second += 1;
      }
      for (const auto& [key, sum] : sums) {
        const double m = l == 0 ? 0 : weights[l];
        const double parent = l == 0 ? 0 : better[Key(key.begin(), key.end() - 1)];
        better[key] = (sum.first + m * parent) / (sum.second + m);
      }
    }
    value = better;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].turns_left == k) out[i] = x[i] - value_of(steps[i].keys);
    }
  }
  return out;
}

}  // namespace lodestep::reference
