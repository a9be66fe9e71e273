// How replies describe a session: the result object that OpenEnv and /v1 share, and its parts.
//   std::string reply = result_json(session, step_result);
// Threads: pure; the caller holds the session's lease.
#pragma once

#include <string>
#include <vector>

#include "envs/environment.h"
#include "harness/server/session.h"

namespace lodestep::harness {

// done: the environment ended or the step budget ran out.
bool is_done(const Session& session, const StepResult& result);

// {"observation":{"text","available_actions","state_key","terminated","truncated"},"reward","done","metadata":{...}}
std::string result_json(const Session& session, const StepResult& result);

// The session's present situation; taken from its record where that has it already.
struct Shown {
  std::vector<std::string> actions;
  std::string state_key;
};
Shown shown_situation(const Session& session);

// A finite number in Python's form, "0.0" rather than "0": clients of the originals expect a float.
std::string reward_json(double reward);
std::string image_json(const Image& image);
std::string details_json(const Details& details);

}  // namespace lodestep::harness
