// Replays the text playthroughs of this folder: readable goldens of every environment. LODESTEP_REMAKE=1
// writes them anew (scripts/remake-playthroughs.sh); the change is then reviewed as a diff.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/text.h"
#include "envs/factory.h"

namespace lodestep {
namespace {

const std::filesystem::path kFolder = "tests/playthroughs";

// Indents further lines, so that a field is all that is not flush left.
std::string field(const std::string& name, const std::string& text) {
  std::string out = name + std::string(name.size() < 8 ? 8 - name.size() : 1, ' ');
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "        ";
  }
  return out + "\n";
}

std::string describe(const Environment& env, const StepResult& result) {
  const StateKeys keys = env.state_keys();
  std::string out = field("obs", result.observation.text);
  out += "result  reward=" + json_number(result.reward) + " valid=" + (result.action_valid ? "yes" : "no") +
         " outcome=" + outcome_name(result.outcome) + "\n";
  out += field("actions", join(env.admissible_actions(), " | "));
  return out + field("key", keys.exact) + field("relevant", keys.relevant) + field("stage", keys.stage) +
         "hash    " + to_hex(env.true_state_hash()) + "\n";
}

// A playthrough names its task and its actions; everything else is what the environment answers.
std::string replay(const std::string& text, std::string& environment) {
  std::string out;
  std::unique_ptr<Environment> env;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("# ")) out += std::string(line) + "\n";
    if (line.starts_with("task ")) {
      const std::string rest(trim(line.substr(5)));
      const std::size_t space = rest.find(' ');
      const std::size_t seed_at = rest.rfind(" seed=");
      REQUIRE(space != std::string::npos);
      REQUIRE(seed_at != std::string::npos);
      environment = rest.substr(0, space);
      const auto factory = open_environment(environment, {});
      REQUIRE(factory.ok());
      env = (*factory)->make();
      const auto seed = parse_uint(std::string_view(rest).substr(seed_at + 6));
      REQUIRE(seed.has_value());
      const Status status = env->reset({environment, rest.substr(space + 1, seed_at - space - 1), *seed});
      INFO(rest);
      REQUIRE(status.ok());
      out += "task    " + rest + "\n" + describe(*env, env->observe());
    }
    if (line.starts_with("> ")) {
      REQUIRE(env != nullptr);
      out += "\n" + std::string(line) + "\n" + describe(*env, env->step(line.substr(2)));
    }
  }
  return out;
}

TEST_CASE("playthroughs: every environment answers as written down") {
  std::set<std::string> covered;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".txt" && entry.path().stem() != "CMakeLists")
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::map<std::string, int> count;
  for (const std::filesystem::path& path : files) {
    DYNAMIC_SECTION(path.filename().string()) {
      std::ifstream file(path, std::ios::binary);
      const std::string text(std::istreambuf_iterator<char>(file), {});
      std::string environment;
      const std::string now = replay(text, environment);
      if (std::getenv("LODESTEP_REMAKE") != nullptr) std::ofstream(path, std::ios::binary) << now;
      CHECK((std::getenv("LODESTEP_REMAKE") != nullptr || now == text));
      if (now != text) UNSCOPED_INFO(now);
    }
  }
}

TEST_CASE("playthroughs: every environment has two") {
  std::map<std::string, int> count;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    std::ifstream file(entry.path());
    std::string line;
    while (std::getline(file, line)) {
      if (entry.path().extension() == ".txt" && line.starts_with("task    ")) {
        ++count[line.substr(8, line.find(' ', 8) - 8)];
        break;
      }
    }
  }
  for (const EnvType& type : environment_types()) {
    INFO(type.name);
    CHECK(count[type.name] >= 2);
  }
}

}  // namespace
}  // namespace lodestep
