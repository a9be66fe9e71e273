// Looks through a whole data set: can every game be played, and does its walkthrough win?
//   Result<std::vector<GameReport>> reports = check_games("json_2.1.1.tar.zst");
// Threads: pure function.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace lodestep::alfworld {

struct GameReport {
  std::string id, split, task_type;
  std::string problem;                // why it is refused, or what its walkthrough does; empty: fine
  std::size_t walkthrough_steps = 0;  // 0: the file has none
};

// Every game found at `path` (empty: the embedded ones), sorted by id. Fails when nothing can be opened.
Result<std::vector<GameReport>> check_games(const std::string& path);

}  // namespace lodestep::alfworld
