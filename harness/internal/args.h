// The options of one command: declared, parsed and refused in one way for all of them.
//   Args args("export", "writes every recorded step");
//   args.positional("RUN", run, "recording");
//   args.option("--out", out, "file to write").required();
//   if (Result<bool> go = args.parse(words, io); !go || !*go) return ...;   // see run_command
// Threads: one. Targets must outlive parse(). CLI11 does the parsing, behind this header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "harness/command.h"

namespace lodestep::harness {

class Args {
 public:
  Args(const std::string& command, const std::string& summary);
  ~Args();
  Args(const Args&) = delete;
  Args& operator=(const Args&) = delete;

  // Each target's present value is the default that --help shows.
  Args& option(const std::string& flag, std::string& target, const std::string& help);
  Args& option(const std::string& flag, std::int64_t& target, const std::string& help);
  Args& option(const std::string& flag, double& target, const std::string& help);
  Args& flag(const std::string& flag, bool& target, const std::string& help);
  Args& positional(const std::string& name, std::string& target, const std::string& help);
  Args& positionals(const std::string& name, std::vector<std::string>& target, const std::string& help);
  // --set key=value, repeatable.
  Args& settings(Settings& target, const std::string& help);
  // The last declared option must be given.
  Args& required();
  // The last declared number must lie in this range.
  Args& range(std::int64_t low, std::int64_t high);
  // A line below the options in --help.
  Args& footer(const std::string& text);

  // True: go on. False: --help was asked for and printed. An error names the word and the nearest known one.
  Result<bool> parse(const std::vector<std::string>& words, Io& io);
  // Whether an option was given on the command line.
  bool given(const std::string& flag) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lodestep::harness
