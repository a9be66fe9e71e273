#include "envs/environment.h"

namespace lodestep {

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kRunning: return "running";
    case Outcome::kSuccess: return "success";
    case Outcome::kFailure: return "failure";
  }
  return "running";
}

}  // namespace lodestep
