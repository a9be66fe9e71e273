#include "envs/dummy/dummy_env.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.h"

namespace lodestep::dummy {
namespace {

constexpr std::uint32_t kVersion = 1;  // raise it when any output byte can change
constexpr std::size_t kTasks = 10;

// 1. Settings, parsed once: plain values, no strings to compare in a step.
struct Rules {
  int goal = 6;  // cell of the goal; the trap is cell 0
};

const std::vector<OptionSpec>& option_specs() {
  static const std::vector<OptionSpec> specs{
      {"length", "7", "cells of the corridor, 5 to 100", {}},
  };
  return specs;
}

// 2. The state: only facts that can change the future, so that hash, key and snapshot are complete.
struct State {
  int cell = 0;
};

// 3. The environment: pure functions of (rules, state).
class DummyEnv final : public Environment {
 public:
  explicit DummyEnv(const Rules& rules) : rules_(rules) {}

  Status reset(const Task& task) override {
    const std::optional<std::uint64_t> number = parse_uint(task.id);
    if (!number || *number >= kTasks) {
      return Error{ErrorCode::kNotFound, "dummy has no task '" + task.id + "'", "", "tasks are 0..9"};
    }
    task_ = task;
    state_.cell = rules_.goal - 1 - static_cast<int>(*number % 4);
    return {};
  }

  StepResult step(std::string_view action) override {
    if (observe().done()) return observe();
    const int move = action == "right" ? 1 : action == "left" ? -1 : 0;
    state_.cell += move;
    StepResult result = observe();
    result.action_valid = move != 0;
    result.reward = result.outcome == Outcome::kSuccess ? 1.0 : 0.0;
    return result;
  }

  StepResult observe() const override {
    StepResult result;
    result.observation.text = "You stand in cell " + std::to_string(state_.cell) + ". The goal is cell " +
                              std::to_string(rules_.goal) + ", the trap is cell 0.";
    result.outcome = state_.cell == rules_.goal ? Outcome::kSuccess
                     : state_.cell == 0         ? Outcome::kFailure
                                                : Outcome::kRunning;
    return result;
  }

  std::vector<std::string> admissible_actions() const override {
    if (observe().done()) return {};
    return {"left", "right"};
  }

  std::optional<std::string> gold_action() const override {
    if (observe().done()) return std::nullopt;
    return "right";
  }

  StateKeys state_keys() const override {
    const std::string cell = std::to_string(state_.cell);
    const std::string stage = outcome_name(observe().outcome);
    return {"dummy/1:cell=" + cell, "dummy/1:distance=" + std::to_string(rules_.goal - state_.cell),
            "dummy/1:" + stage};
  }

  Hash128 true_state_hash() const override {
    return Hasher()
        .add("dummy")
        .add_u64(static_cast<std::uint64_t>(rules_.goal))
        .add_u64(static_cast<std::uint64_t>(state_.cell))
        .finish();
  }

  Details details() const override { return {{"cell", std::to_string(state_.cell)}}; }

  std::unique_ptr<Environment> clone() const override {
    auto copy = std::make_unique<DummyEnv>(rules_);
    copy->task_ = task_;
    copy->state_ = state_;
    return copy;
  }

  Snapshot snapshot() const override { return {task_, kVersion, std::to_string(state_.cell)}; }

  Status restore(const Snapshot& snapshot) override {
    const std::optional<std::int64_t> cell = parse_int(snapshot.bytes);
    if (snapshot.task.env != "dummy" || snapshot.version != kVersion || !cell || *cell < 0 ||
        *cell > rules_.goal || std::to_string(*cell) != snapshot.bytes) {
      return Error{ErrorCode::kBadData, "not a snapshot of dummy version 1", "", ""};
    }
    task_ = snapshot.task;
    state_.cell = static_cast<int>(*cell);
    return {};
  }

 private:
  Rules rules_;
  Task task_;
  State state_;
};

// 4. The factory: immutable, owns what episodes share (here only the rules).
class DummyFactory final : public EnvFactory {
 public:
  explicit DummyFactory(const Rules& rules) : rules_(rules) {}
  std::string name() const override { return "dummy"; }
  std::uint32_t version() const override { return kVersion; }
  Hash128 data_digest() const override {
    return Hasher().add("dummy").add_u64(static_cast<std::uint64_t>(rules_.goal)).finish();
  }
  std::vector<std::string> splits() const override { return {"train"}; }
  Result<std::size_t> task_count(std::string_view split) const override {
    if (split != "train") return unknown_split(*this, split);
    return kTasks;
  }
  Result<std::string> task_id(std::string_view split, std::size_t index) const override {
    if (split != "train") return unknown_split(*this, split);
    if (index >= kTasks) return index_past_end(*this, split, index, kTasks);
    return std::to_string(index);
  }
  std::unique_ptr<Environment> make() const override { return std::make_unique<DummyEnv>(rules_); }

 private:
  Rules rules_;
};

Result<std::shared_ptr<const EnvFactory>> open(const EnvConfig& config) {
  if (!config.data.empty()) {
    return Error{ErrorCode::kInvalidArgument, "dummy takes no --data", config.data, "leave it out"};
  }
  Result<Options> options = Options::parse("dummy", option_specs(), config.settings);
  if (!options) return options.error();
  Result<std::int64_t> length = options->integer("length", 5, 100);
  if (!length) return length.error();
  return std::shared_ptr<const EnvFactory>(
      std::make_shared<DummyFactory>(Rules{static_cast<int>(*length) - 1}));
}

}  // namespace

EnvType env_type() {
  return {"dummy",        "a corridor with a goal and a trap: the skeleton for new environments",
          "none",         20,
          option_specs(), &open};
}

}  // namespace lodestep::dummy
