// ALFWorld answered by the original engine in a worker process: the oracle of the native one.
//   auto env = make_python_env(store, {"python3", 120});
// Texts, offered commands and the win come from the original; state keys, gold and details from the native
// engine, which follows the same commands. When the worker dies or hangs, step() throws EnvironmentFailure:
// the episode failed by infrastructure; the next reset starts another worker. Threads: one at a time. Owns
// its process.
#pragma once

#include <memory>
#include <string>

#include "envs/alfworld_bridge/game_store.h"
#include "envs/environment.h"

namespace lodestep::alfworld {

struct PythonSettings {
  std::string python = "python3";  // interpreter with textworld and alfworld
  double timeout = 120;            // seconds for one call
};

// `native`: an environment of the same store, which the original's answers are laid over.
std::unique_ptr<Environment> make_python_env(std::shared_ptr<const GameStore> store,
                                             const PythonSettings& settings,
                                             std::unique_ptr<Environment> native, bool plays_on);

}  // namespace lodestep::alfworld
