// What several Sokoban tests use.
#pragma once

#include <rapidjson/document.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "envs/factory.h"
#include "envs/sokoban/level.h"
#include "envs/sokoban/solver.h"
#include "tests/support/sha256.h"
#include "tests/support/shared_data.h"

namespace lodestep::sokoban {

using test::sha256;

// golden/sokoban/sokoban.json, nullptr (and a word on standard error) where it is missing.
inline std::shared_ptr<rapidjson::Document> golden_json() {
  const std::string path = "golden/sokoban/sokoban.json";
  const std::optional<std::string> text = test::read_shared(path);
  if (!text) {
    test::skip(path);
    return nullptr;
  }
  auto document = std::make_shared<rapidjson::Document>();
  document->Parse<rapidjson::kParseFullPrecisionFlag>(text->c_str());
  REQUIRE_FALSE(document->HasParseError());
  return document;
}

// A folder of its own for one test, removed at its end.
class TempFolder {
 public:
  explicit TempFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("lodestep-" + name + "-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// The environment, reset to this one level.
inline std::unique_ptr<Environment> open_level(const Level& level, Settings settings) {
  const TempFolder folder("sokoban-level");
  settings.emplace_back("solved", "keep");
  const std::string file =
      folder.write("level.xsb", to_xsb(level.rows, level.cols, view(level.fixed, level.start)));
  auto factory = open_environment("sokoban", {file, settings});
  INFO(factory.status().ok());
  REQUIRE(factory.ok());
  auto env = (*factory)->make();
  REQUIRE(env->reset({"sokoban", "level.xsb#0", 0}).ok());
  return env;
}

// The position as digits 0 to 5, out of the snapshot.
inline std::string cells_of(const Environment& env) {
  const std::string bytes = env.snapshot().bytes;
  const std::size_t first = bytes.find(':') + 1;
  return bytes.substr(first, bytes.find(':', first) - first);
}

inline std::string without_six(std::string digits) {
  std::replace(digits.begin(), digits.end(), '6', '5');
  return digits;
}

}  // namespace lodestep::sokoban
