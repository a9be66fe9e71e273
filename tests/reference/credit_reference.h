// Credit estimators written as plainly as their formulas, with texts and maps: the oracle of the graph room.
//   std::vector<double> advantage = reference::graphgpo(steps, {.gamma = 0.8});
// Threads: pure functions. Slow on purpose; nothing here is shared with the code it judges.
#pragma once

#include <string>
#include <vector>

namespace lodestep::reference {

struct CreditStep {
  std::string task, episode;
  int t = 0;
  std::string state, next;  // next "success" is the goal
  std::string action;
  double reward = 0, episode_reward = 0;
  bool valid = true, done = false;
  int turns_left = 1;
  std::vector<std::string> keys, next_keys;  // coarse to fine, for evihb
};

struct CreditOptions {
  double gamma = 0.1;
  bool mean_std = true;
  double penalty = 0.1;
  double eps = 1e-6;
};

// Least number of steps to "success" per state of a task; unreachable: the largest finite one + 1.
double graph_distance(const std::vector<CreditStep>& steps, const std::string& task,
                      const std::string& state);

std::vector<double> grpo(const std::vector<CreditStep>& steps, const CreditOptions& options);
std::vector<double> gigpo(const std::vector<CreditStep>& steps, const CreditOptions& options);
std::vector<double> graphgpo(const std::vector<CreditStep>& steps, const CreditOptions& options);
std::vector<double> evi(const std::vector<CreditStep>& steps, double discount);
std::vector<double> evih(const std::vector<CreditStep>& steps);
// One level of back-off per weight; weights[0] is not used. A key of level l is keys[0..l] together.
std::vector<double> evihb(const std::vector<CreditStep>& steps, const std::vector<double>& weights);

}  // namespace lodestep::reference
