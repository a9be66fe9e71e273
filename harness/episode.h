// One environment plus what is not the environment's business: the step budget and its end.
//   Episode episode(factory->make(), 15);
//   if (Status s = episode.reset(task); !s) return s.error();
//   while (!episode.ended()) episode.step(policy(...));
// Threads: one at a time. Owns its environment.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "envs/environment.h"

namespace lodestep::harness {

class Episode {
 public:
  // max_steps = 0: no budget. plays_on: the environment goes on after its end (after_done=continue), so
  // steps are always handed to it and the budget is only marked.
  Episode(std::unique_ptr<Environment> environment, std::size_t max_steps, bool plays_on = false);

  Status reset(const Task& task);
  // One step; after the end nothing changes and the reward is 0.
  StepResult step(std::string_view action);

  bool started() const { return started_; }
  std::size_t steps() const { return steps_; }
  std::size_t turns_left() const;  // of the budget; 0 when there is none
  // The budget ran out before the environment ended: not a failure of the task (truncated, not terminated).
  bool truncated() const { return truncated_; }
  bool ended() const { return truncated_ || done_; }
  const Environment& environment() const { return *environment_; }
  const Task& task() const { return task_; }

  // Text that names the whole situation, step count included; restore() takes it on a fresh episode.
  std::string save() const;
  Status load(std::string_view saved);
  // Another episode that stands where this one stands.
  Episode fork() const;

 private:
  std::unique_ptr<Environment> environment_;
  Task task_;
  std::size_t max_steps_ = 0;
  std::size_t steps_ = 0;
  bool plays_on_ = false;
  bool started_ = false;
  bool truncated_ = false;
  bool done_ = false;  // as the environment said last: asking it again would write its text again
};

}  // namespace lodestep::harness
