#include "harness/internal/environment_args.h"

namespace lodestep::harness {

void EnvironmentArgs::declare(Args& args) {
  args.positional("ENV", name, "environment, see 'lodestep envs'").required();
  args.option("--data", data, "data of the environment; its embedded default when left out");
  args.settings(settings, "option of the environment, see 'lodestep envs'");
}

Result<std::shared_ptr<const EnvFactory>> EnvironmentArgs::open() const {
  return open_environment(name, {data, settings});
}

bool EnvironmentArgs::plays_on() const {
  bool plays_on = false;
  for (const auto& [key, value] : settings) {
    if (key == "after_done") plays_on = value == "continue";
  }
  return plays_on;
}

}  // namespace lodestep::harness
