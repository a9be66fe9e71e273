// Sokoban as an environment: gym-sokoban's rules and rewards, verl-agent's text, tasks from generated rooms
// or level files.
//   auto factory = sokoban::env_type().open({"levels.xsb", {{"rewards", "sparse"}}});
// docs/sokoban.md is the guide: rules, options, task ids, keys.
#pragma once

#include "envs/factory.h"

namespace lodestep::sokoban {

// Name, options and opener for the registry.
EnvType env_type();

}  // namespace lodestep::sokoban
