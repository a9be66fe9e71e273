// The skeleton to copy for a new environment: a corridor of N cells with a trap at the left end and
// the goal at the right end. Built, registered and under the laws like any other.
//   auto factory = dummy::env_type().open({});
// A new environment is a folder like this one and a line in envs/registry.cc; docs/new-environment.md
// walks through the files.
#pragma once

#include "envs/factory.h"

namespace lodestep::dummy {

// Name, options and opener for the registry. Tasks "0".."9": task k starts k % 4 + 1 cells from the goal.
EnvType env_type();

}  // namespace lodestep::dummy
