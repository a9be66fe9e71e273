// How replies describe a session: the result object that OpenEnv and /v1 share, and its parts.
//   std::string reply = result_json(session, step_result);
// Threads: pure; the caller holds the session's lease.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "envs/environment.h"
#include "harness/server/session.h"

namespace lodestep::harness {

// done: the environment ended or the step budget ran out.
bool is_done(const Session& session, const StepResult& result);

// {"observation":{"text","available_actions","state_key","terminated","truncated"},"reward","done","metadata":{...}}
std::string result_json(const Session& session, const StepResult& result);

// The session's present situation; that of its record where it has one, so that nothing is made twice. Valid
// until the session is played on.
class Shown {
 public:
  explicit Shown(const Session& session);
  const std::vector<std::string>& actions() const {
    return recorded_ != nullptr ? recorded_->admissible : actions_;
  }
  const std::string& state_key() const { return recorded_ != nullptr ? recorded_->keys.exact : state_key_; }

 private:
  const Situation* recorded_ = nullptr;
  std::vector<std::string> actions_;
  std::string state_key_;
};

// {"observation":...,"metadata":{...}} appended to `out`, with members of the caller's own behind it: `more`
// is empty or begins with a comma.
void append_result(std::string& out, const Session& session, const StepResult& result,
                   std::string_view more = {});

// A finite number in Python's form, "0.0" rather than "0": clients of the originals expect a float.
std::string reward_json(double reward);
std::string image_json(const Image& image);
std::string details_json(const Details& details);

}  // namespace lodestep::harness
