// The golden catalogue, loaded once, and the settings of golden configurations.
#pragma once

#include <rapidjson/document.h>

#include <memory>
#include <string>

#include "envs/webshop/catalogue.h"
#include "envs/webshop/goals.h"

namespace lodestep::webshop {

std::shared_ptr<const Catalogue> golden_shop();  // nullptr, and says so, when the data is missing
// The same shop imported to a file, for what opens --data; empty when the data is missing.
std::string golden_file();
GoalSettings golden_settings(const rapidjson::Value& config);

}  // namespace lodestep::webshop
