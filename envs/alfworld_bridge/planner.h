// Finds a short way to the goal from any state of a game.
//   std::optional<std::vector<Id>> plan = find_plan(view, world, 20000);
// A* over the compact state with a lower bound read off the goal's shape; breadth-first where the
// domain is not known. The same state gives the same plan everywhere. Threads: pure function.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "envs/alfworld_bridge/task_view.h"
#include "envs/alfworld_bridge/world.h"

namespace lodestep::alfworld {

// Commands to the goal, empty when it holds; nullopt when none was found within `node_limit` states.
// Cost: about a millisecond on a household game.
std::optional<std::vector<Id>> find_plan(const TaskView& view, const World& world, std::size_t node_limit);

}  // namespace lodestep::alfworld
