// What every environment is. This page is the specification; tests/laws holds each one to it.
//   auto env = factory->make();
//   if (Status s = env->reset({"sokoban", "gen/6x6/b1/s17"}); !s) return s.error();
//   while (env->observe().outcome == Outcome::kRunning) env->step(policy(env->observe()));
// Threads: one thread at a time; give another thread a clone(). An environment owns its state and
// shares immutable data with its factory. It knows no step budget, batch, reward-to-go or thread:
// truncation, groups and recording belong to the harness.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace lodestep {

struct Task {
  std::string env;         // registered name
  std::string id;          // self-contained name of the episode's problem, the same everywhere
  std::uint64_t seed = 0;  // the only source of chance; environments without chance ignore it
};

struct Image {
  std::uint32_t width = 0;  // pixels
  std::uint32_t height = 0;
  std::string rgb;  // row-major, 3 bytes a pixel; size = 3 * width * height
};

struct Observation {  // all that the agent reads
  std::string text;   // UTF-8
  std::optional<Image> image;
};

enum class Outcome { kRunning, kSuccess, kFailure };
const char* outcome_name(Outcome outcome);  // "running", "success", "failure"

struct StepResult {
  Observation observation;  // of the state reached, also at the end: there is no auto-reset
  double reward = 0;
  Outcome outcome = Outcome::kRunning;
  bool action_valid = true;  // false: not understood or not applicable; the world is unchanged
  bool counted =
      true;  // false: the original's own step counter passes over it (verl-agent's Sokoban "still")
  bool done() const { return outcome != Outcome::kRunning; }
};

// Finer determines coarser: equal exact keys have equal relevant keys, and so on. No history, no
// step count in any of them. Readable and versioned, such as "sokoban/1:...".
struct StateKeys {
  std::string exact;     // all facts that matter for play: the canonical key
  std::string relevant;  // only what matters for this task's goal
  std::string stage;     // progress in a few values, comparable between tasks
};

// Extra facts for logs and adapters, never needed to act. Each value is one JSON value as text,
// such as `3`, `"kitchen"` or `["a","b"]`.
using Details = std::map<std::string, std::string>;

struct Snapshot {
  Task task;
  std::uint32_t version = 0;  // the factory's; restore refuses another
  std::string bytes;
};

// What an environment stands on failed, such as a worker process that died or a game whose texts outgrow
// their budget. Thrown from step(); a rollout counts that episode as failed by infrastructure.
class EnvironmentFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Environment {
 public:
  Environment() = default;
  Environment(const Environment&) = delete;  // copies are explicit: clone()
  Environment& operator=(const Environment&) = delete;
  virtual ~Environment() = default;

  // Starts the task's episode. Fails on an unknown or malformed task and then changes nothing.
  virtual Status reset(const Task& task) = 0;
  // Plays one action, any bytes. Never fails (but see EnvironmentFailure). After the end: no change, no
  // reward.
  virtual StepResult step(std::string_view action) = 0;
  // The present situation again, reward 0: what reset left, or what the last step answered.
  virtual StepResult observe() const = 0;

  // Sorted by bytes, unique; may be empty. Each is valid now. Environments with free text list the
  // forms that can be listed and say in docs/ what else they take.
  virtual std::vector<std::string> admissible_actions() const = 0;
  // Next action of a known solution from here, a shortest one where that is affordable; nullopt when
  // the state is lost or no solution is known. May search: not for a hot path.
  virtual std::optional<std::string> gold_action() const = 0;
  virtual StateKeys state_keys() const = 0;
  virtual Hash128 true_state_hash() const = 0;  // every fact that can change the future
  virtual Details details() const = 0;

  virtual std::unique_ptr<Environment> clone() const = 0;
  virtual Snapshot snapshot() const = 0;
  // Works on a fresh object. Fails on foreign or damaged bytes and then changes nothing.
  virtual Status restore(const Snapshot& snapshot) = 0;
};

}  // namespace lodestep
