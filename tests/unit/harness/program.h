// Runs the program inside the test: `Ran r = run({"tasks", "dummy"});`
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lodestep::harness::test {

struct Ran {
  int status = 0;
  std::string out, err;
};

Ran run(const std::vector<std::string>& words, const std::string& input = "");

// A folder that is empty at first and removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

void write_file(const std::string& path, const std::string& text);
std::string read_file(const std::string& path);

}  // namespace lodestep::harness::test
