#include "program.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <sstream>

#include "harness/command.h"

namespace lodestep::harness::test {

Ran run(const std::vector<std::string>& words, const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  Io io{in, out, err};
  const int status = run_program(words, io);
  return {status, out.str(), err.str()};
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "lodestep-test-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace lodestep::harness::test
