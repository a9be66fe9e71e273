// What a run came to, in numbers, and as text for a person.
//   Summary summary = summarize(recording);
//   out << to_text(summary);
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "harness/recording.h"

namespace lodestep::harness {

struct GroupSummary {
  std::size_t group = 0;
  std::string task;
  std::size_t episodes = 0, successes = 0;
  double mean_return = 0;
  bool no_signal = false;  // all members score the same
};

struct Summary {
  std::size_t groups = 0, tasks = 0;
  std::size_t episodes = 0;  // that count: finished ones
  std::size_t failed = 0;    // by infrastructure, or abandoned: in no statistic
  std::size_t filtered = 0;  // in groups without signal that were sampled again: in no statistic
  std::size_t successes = 0, truncated = 0, stopped = 0;
  double success_low = 0, success_high = 0;  // 95 % Wilson interval of the success rate
  double mean_return = 0, mean_length = 0;   // per finished episode
  std::size_t steps = 0, invalid = 0;
  std::size_t replies = 0, malformed = 0;  // of a language model, and those in a wrong form
  std::size_t no_signal_groups = 0;
  double node_reuse = 0;  // 1 - states / visits, by exact key within a group
  double coverage = 0;    // share of visited states with an observed path to success
  // Reset groups, which the figures above leave out: forks, their episodes, and the steps after the forks.
  std::size_t branch_groups = 0, branch_episodes = 0, branch_successes = 0, branch_steps = 0;
  std::vector<GroupSummary> per_group;
};

Summary summarize(const Recording& recording);

// A small table, one fact a line.
std::string to_text(const Summary& summary);
std::string to_json(const Summary& summary);

}  // namespace lodestep::harness
