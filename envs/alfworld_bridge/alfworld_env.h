// ALFWorld's text games as an environment, answered natively with the original's bytes.
//   auto factory = alfworld::env_type().open({"json_2.1.1", {{"observation", "located"}}});
// Tasks are game folders relative to the data root; docs/alfworld.md describes options, keys, details.
#pragma once

#include "envs/factory.h"

namespace lodestep::alfworld {

EnvType env_type();

}  // namespace lodestep::alfworld
