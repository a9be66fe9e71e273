// `rules`: equal text after rewriting by a named set of rules, or by a user's file of them.
//   registry.make("rules", {{"rules", "alfworld"}});      // default, sokoban, alfworld, webshop, or a file
//   Result<RuleSet> set = RuleSet::parse("nfc\nspace\nreplace \\d+ left => # left\n", "my.rules");
// Threads: a RuleSet is immutable; sharing it is safe. docs/matchers.md lists the rules.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "canonicalizer/registry.h"

namespace lodestep::canonicalizer {

class RuleSet {
 public:
  // One rule a line, applied in order; `where` names the source in errors, which add the line.
  static Result<RuleSet> parse(std::string_view text, const std::string& where);
  // By built-in name, else from a file.
  static Result<RuleSet> open(const std::string& name_or_path);
  static std::vector<std::string> names();

  std::string apply(std::string_view text) const;

 private:
  struct Rule;
  std::vector<std::shared_ptr<const Rule>> rules_;
};

MatcherKind rules_kind();

}  // namespace lodestep::canonicalizer
