// The golden catalogue, loaded once, and the settings of golden configurations.
#pragma once

#include <rapidjson/document.h>

#include <memory>

#include "envs/webshop/catalogue.h"
#include "envs/webshop/goals.h"

namespace lodestep::webshop {

std::shared_ptr<const Catalogue> golden_shop();  // nullptr, and says so, when the data is missing
GoalSettings golden_settings(const rapidjson::Value& config);

}  // namespace lodestep::webshop
