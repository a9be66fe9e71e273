// One --set for environment, matcher and estimators: who is meant by a key.
//   Result<RoutedSettings> routed = route_settings(settings, *type, "exact", {"graphgpo"});
// Threads: pure function.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/options.h"
#include "envs/factory.h"

namespace lodestep::harness {

struct RoutedSettings {
  Settings environment, matcher;
  std::map<std::string, Settings> estimators;  // by estimator name
};

// A key belongs to the first of environment, matcher, estimators that knows it; "env.KEY", "matcher.KEY" and
// "estimator.KEY" name one of them. An estimator's key goes to all listed estimators that know it. `type` may
// be null where there is no environment. A key that nobody knows is an error that lists the known ones.
Result<RoutedSettings> route_settings(const Settings& settings, const EnvType* type,
                                      const std::string& matcher, const std::vector<std::string>& estimators);

}  // namespace lodestep::harness
