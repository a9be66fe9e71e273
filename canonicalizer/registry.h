// The matchers by name, with their options; yours join the list with add().
//   MatcherRegistry matchers;
//   matchers.add({"mine", "by my own rule", {{"depth", "3", "how far"}}, make_mine});
//   Result<std::unique_ptr<Matcher>> matcher = matchers.make("mine", {{"depth", "5"}});
// Threads: const use is safe. A made matcher belongs to the caller and outlives the registry.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "canonicalizer/matcher.h"

namespace lodestep::canonicalizer {

struct MatcherKind {
  std::string name;
  std::string help;  // one line
  std::vector<OptionSpec> options;
  std::function<Result<std::unique_ptr<Matcher>>(const Options&)> make;
};

class MatcherRegistry {
 public:
  MatcherRegistry();  // with the built-in ones

  // A kind of the same name is replaced.
  void add(MatcherKind kind);
  const std::vector<MatcherKind>& kinds() const { return kinds_; }
  std::vector<std::string> names() const;

  // Fails on an unknown name or option, naming the known ones, and on a value out of range.
  Result<std::unique_ptr<Matcher>> make(std::string_view name, const Settings& settings) const;

 private:
  std::vector<MatcherKind> kinds_;
};

}  // namespace lodestep::canonicalizer
