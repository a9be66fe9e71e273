// The words that name an environment on every command that plays one: ENV, --data, --set.
//   EnvironmentArgs environment; environment.declare(args); ... environment.open();
// Threads: one.
#pragma once

#include <memory>
#include <string>

#include "envs/factory.h"
#include "harness/internal/args.h"

namespace lodestep::harness {

struct EnvironmentArgs {
  std::string name;
  std::string data;
  Settings settings;

  void declare(Args& args);
  Result<std::shared_ptr<const EnvFactory>> open() const;
  // after_done=continue was set: the environment goes on after its end, as some originals do.
  bool plays_on() const;
};

}  // namespace lodestep::harness
