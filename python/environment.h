// An environment as Python holds it: an episode, the factory it came from, and a lock.
//   Environment env(factory, max_steps, plays_on);
//   StepView view = env.reset({.task = "3"});
// Threads: safe; calls on one object wait for each other, with the GIL released.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "envs/factory.h"
#include "harness/episode.h"
#include "python/convert.h"

namespace lodestep::python {

using FactoryPtr = std::shared_ptr<const EnvFactory>;

// A factory and the settings that the harness needs to know of.
struct Opened {
  FactoryPtr factory;
  const EnvType* type = nullptr;
  bool plays_on = false;  // after_done=continue
};

// One situation as an agent sees it.
struct StepView {
  StepResult result;
  bool truncated = false;
};

// Which episode to start; nothing given: a random task of the default split.
struct Start {
  std::optional<std::string> task;
  std::optional<std::uint64_t> seed;  // absent: a random one
  std::optional<std::string> split;   // absent: the default one
  std::optional<std::size_t> index;   // of the split; absent: drawn by the seed
};

// The index in [0, count) that a reset with this seed draws from a split of `count` tasks.
std::uint64_t draw(std::uint64_t seed, const std::string& split, std::uint64_t count);
// The task that `start` names; the same start with a seed names the same task everywhere.
Task task_of(const Opened& opened, const Start& start);

class PyEnvironment {
 public:
  PyEnvironment(Opened opened, std::size_t max_steps)
      : opened_(std::move(opened)),
        max_steps_(max_steps),
        episode_(opened_.factory->make(), max_steps, opened_.plays_on) {}
  PyEnvironment(Opened opened, std::size_t max_steps, harness::Episode episode)
      : opened_(std::move(opened)), max_steps_(max_steps), episode_(std::move(episode)) {}

  // Runs `work(episode)` alone, without the GIL.
  template <typename Work>
  auto alone(Work work) {
    const nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    return work(episode_);
  }
  // The same; raises when no episode has begun.
  template <typename Work>
  auto playing(Work work) {
    return alone([&](harness::Episode& episode) {
      if (!episode.started()) {
        raise({ErrorCode::kInvalidArgument, "no episode has begun", opened_.factory->name(),
               "call reset() first"});
      }
      return work(episode);
    });
  }

  const Opened& opened() const { return opened_; }
  std::size_t max_steps() const { return max_steps_; }

 private:
  Opened opened_;
  std::size_t max_steps_;
  std::mutex mutex_;
  harness::Episode episode_;
};

}  // namespace lodestep::python
