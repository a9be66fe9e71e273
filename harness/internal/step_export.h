// Every recorded step with its keys and advantages, as lines of JSON or as CSV.
//   Result<std::string> rows = export_steps(recording, false, "run.db");
// Threads: pure.
#pragma once

#include <string>

#include "base/result.h"
#include "harness/recording.h"

namespace lodestep::harness {

// Fails when an estimate does not cover all steps; `name` names the recording in that error.
Result<std::string> export_steps(const Recording& recording, bool csv, const std::string& name);

}  // namespace lodestep::harness
