// The golden catalogue, loaded once, the settings of golden configurations, and files of a test.
#pragma once

#include <rapidjson/document.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "envs/webshop/catalogue.h"
#include "envs/webshop/goals.h"

namespace lodestep::webshop {

std::shared_ptr<const Catalogue> golden_shop();  // nullptr, and says so, when the data is missing
// The same shop imported to a file, for what opens --data; empty when the data is missing.
std::string golden_file();
GoalSettings golden_settings(const rapidjson::Value& config);

// Files of one test, in a folder of their own that goes with them.
class Files {
 public:
  Files() { std::filesystem::create_directories(folder_); }
  ~Files() { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  bool has(const std::string& name) const { return std::filesystem::exists(path(name)); }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("webshop-test-" + std::to_string(::getpid()));
};

}  // namespace lodestep::webshop
