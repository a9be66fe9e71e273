#include "harness/internal/settings.h"

#include <algorithm>

#include "base/text.h"
#include "graph/estimator.h"
#include "harness/matchers.h"

namespace lodestep::harness {
namespace {

bool knows(const std::vector<OptionSpec>& options, const std::string& key) {
  return std::any_of(options.begin(), options.end(),
                     [&](const OptionSpec& option) { return option.name == key; });
}

std::vector<OptionSpec> matcher_options(const std::string& name) {
  const canonicalizer::MatcherRegistry& registry = matchers();
  for (const canonicalizer::MatcherKind& kind : registry.kinds()) {
    if (kind.name == name) return kind.options;
  }
  return {};
}

std::vector<OptionSpec> estimator_options(const std::string& name) {
  for (const graph::EstimatorInfo& info : graph::estimators()) {
    if (info.name == name) return info.options;
  }
  return {};
}

}  // namespace

Result<RoutedSettings> route_settings(const Settings& settings, const EnvType* type,
                                      const std::string& matcher,
                                      const std::vector<std::string>& estimators) {
  RoutedSettings routed;
  const std::vector<OptionSpec> environment = type == nullptr ? std::vector<OptionSpec>() : type->options;
  const std::vector<OptionSpec> matching = matcher_options(matcher);
  for (const auto& [whole, value] : settings) {
    const std::size_t dot = whole.find('.');
    const std::string owner = dot == std::string::npos ? "" : whole.substr(0, dot);
    const bool named = owner == "env" || owner == "matcher" || owner == "estimator";
    const std::string key = named ? whole.substr(dot + 1) : whole;
    if ((!named || owner == "env") && knows(environment, key)) {
      routed.environment.emplace_back(key, value);
      continue;
    }
    if ((!named || owner == "matcher") && knows(matching, key)) {
      routed.matcher.emplace_back(key, value);
      continue;
    }
    bool taken = false;
    if (!named || owner == "estimator") {
      for (const std::string& estimator : estimators) {
        if (!knows(estimator_options(estimator), key)) continue;
        routed.estimators[estimator].emplace_back(key, value);
        taken = true;
      }
    }
    if (taken) continue;
    std::vector<std::string> known;
    for (const OptionSpec& option : environment) known.push_back(option.name);
    for (const OptionSpec& option : matching) known.push_back(option.name);
    for (const std::string& estimator : estimators) {
      for (const OptionSpec& option : estimator_options(estimator)) known.push_back(option.name);
    }
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    const std::string near = nearest_word(key, known);
    return Error{ErrorCode::kInvalidArgument,
                 "unknown option '" + whole + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"),
                 "--set " + whole + "=" + value, "known options: " + join(known, ", ")};
  }
  return routed;
}

}  // namespace lodestep::harness
