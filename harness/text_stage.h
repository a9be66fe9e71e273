// How far an ALFWorld episode has come, read from its texts alone: the task sentence of the first
// observation, and each located observation (where the agent is, what it holds in which condition, what it
// moved).
//   std::optional<TextStage> stage = TextStage::of(first_observation);
//   std::optional<std::string> key = stage->key(observation);   // comparable between tasks
// Threads: values. It knows the goal, as the environment's own stage key does; docs/credit.md says what is
// read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "harness/steps_jsonl.h"

namespace lodestep::harness {

class TextStage {
 public:
  // nullopt: no sentence "Your task is to: ..." of one of the six kinds.
  static std::optional<TextStage> of(std::string_view first_observation);

  // "KIND hand=none|other|unready|ready delivered=0..2 target=0|1 sight=0|1"; nullopt: the observation does
  // not say where the agent is and what it holds.
  std::optional<std::string> key(std::string_view observation) const;

 private:
  std::string kind_, object_, target_;
  std::string mark_;  // the condition that the goal asks for: "heated", "cooled", "cleaned" or none
};

// Gives steps without keys two levels, the stage and the state, where every episode's texts can be read so.
// False: they cannot, and nothing changes.
bool add_text_keys(StepFile& steps);

// The levels for evihb that go with these keys.
inline constexpr const char* kTextLevels = "batch:0,batch.0:5,task.0:10,task.1:1";

}  // namespace lodestep::harness
