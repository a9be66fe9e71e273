// The command line: a list of commands, each in one file of harness/commands.
//   int main(int argc, char** argv) { Io io{std::cin, std::cout, std::cerr}; return run_program({argv + 1,
//   argv + argc}, io); }
// Threads: one. Results go to io.out, progress and messages to io.err; exit statuses as in the manual:
// 0 done, 1 the work failed, 2 wrong usage or bad input, 130/143 after SIGINT/SIGTERM.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "base/result.h"

namespace lodestep::harness {

struct Io {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

struct Command {
  std::string name;
  std::string summary;  // one line for `lodestep --help`
  // Runs with the words after the command's name; the value is the exit status.
  Result<int> (*run)(const std::vector<std::string>& words, Io& io);
};

// All commands, in the order of --help.
const std::vector<Command>& commands();

// Exit status for an error: 2 when the caller's words or data are wrong, 1 when the work failed.
int exit_status(const Error& error);

// Runs `lodestep WORDS...`; prints errors as "lodestep: error: WHAT (WHERE)" and a hint line.
int run_program(const std::vector<std::string>& words, Io& io);

}  // namespace lodestep::harness
