// Named options, as `--set key=value` passes them to environments, matchers and estimators.
//   static const std::vector<OptionSpec> kOptions{{"rewards", "gym", "gym or sparse"}};
//   Result<Options> options = Options::parse("sokoban", kOptions, settings);
//   if (options->text("rewards") == "gym") ...
// Threads: immutable after parse. Unknown keys are refused with the known ones listed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace lodestep {

struct OptionSpec {
  std::string name;
  std::string default_value;
  std::string help;                  // one line for --help and docs
  std::vector<std::string> choices;  // empty: free text or number
};

using Settings = std::vector<std::pair<std::string, std::string>>;  // key, value; the last one wins

class Options {
 public:
  // `owner` names what is configured in messages. Fails on an unknown key or a value outside choices.
  static Result<Options> parse(std::string_view owner, const std::vector<OptionSpec>& specs,
                               const Settings& settings);

  const std::string& text(const std::string& name) const;  // CHECKs that the option exists
  bool given(const std::string& name) const;               // set by the caller, not by default
  // Checked conversions: an error names the owner, the option, its value and what is expected.
  Result<std::int64_t> integer(const std::string& name, std::int64_t low, std::int64_t high) const;
  Result<double> number(const std::string& name, double low, double high) const;
  Result<bool> flag(const std::string& name) const;  // true/false/1/0/yes/no

 private:
  Error bad_value(const std::string& name, const std::string& expected) const;
  std::string owner_;
  std::map<std::string, std::string> values_;
  std::map<std::string, bool> given_;
};

// "key=value" -> pair; an error when there is no '=' or no key.
Result<std::pair<std::string, std::string>> parse_setting(std::string_view text);

}  // namespace lodestep
