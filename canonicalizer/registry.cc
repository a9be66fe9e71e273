#include "canonicalizer/registry.h"

#include <algorithm>

#include "base/text.h"
#include "canonicalizer/embedding.h"
#include "canonicalizer/exact.h"
#include "canonicalizer/lexical.h"
#include "canonicalizer/robust.h"
#include "canonicalizer/rules.h"
#include "canonicalizer/truth.h"

namespace lodestep::canonicalizer {

MatcherRegistry::MatcherRegistry() {
  for (MatcherKind& kind : truth_kinds()) add(std::move(kind));
  add(exact_kind());
  add(rules_kind());
  add(lexical_kind());
  add(robust_kind());
  add(embedding_kind());
}

void MatcherRegistry::add(MatcherKind kind) {
  const auto old = std::find_if(kinds_.begin(), kinds_.end(),
                                [&](const MatcherKind& known) { return known.name == kind.name; });
  if (old != kinds_.end()) {
    *old = std::move(kind);
  } else {
    kinds_.push_back(std::move(kind));
  }
}

std::vector<std::string> MatcherRegistry::names() const {
  std::vector<std::string> names;
  for (const MatcherKind& kind : kinds_) names.push_back(kind.name);
  return names;
}

Result<std::unique_ptr<Matcher>> MatcherRegistry::make(std::string_view name,
                                                       const Settings& settings) const {
  for (const MatcherKind& kind : kinds_) {
    if (kind.name != name) continue;
    Result<Options> options = Options::parse("matcher " + kind.name, kind.options, settings);
    if (!options) return options.error();
    return kind.make(*options);
  }
  const std::string near = nearest_word(name, names());
  return Error{ErrorCode::kInvalidArgument, "unknown matcher \"" + std::string(name) + "\"", "",
               near.empty() ? "known: " + join(names(), ", ") : "did you mean \"" + near + "\"?"};
}

}  // namespace lodestep::canonicalizer
