#include "base/options.h"

#include <algorithm>

#include "base/text.h"

namespace lodestep {

Result<Options> Options::parse(std::string_view owner, const std::vector<OptionSpec>& specs,
                               const Settings& settings) {
  Options options;
  options.owner_ = owner;
  std::vector<std::string> known;
  for (const OptionSpec& spec : specs) {
    known.push_back(spec.name);
    options.values_[spec.name] = spec.default_value;
    options.given_[spec.name] = false;
  }
  for (const auto& [key, value] : settings) {
    const auto spec =
        std::find_if(specs.begin(), specs.end(), [&key = key](const OptionSpec& s) { return s.name == key; });
    if (spec == specs.end()) {
      std::sort(known.begin(), known.end());
      const std::string near = nearest_word(key, known);
      return Error{ErrorCode::kInvalidArgument,
                   "unknown option '" + key + "' for " + std::string(owner) +
                       (near.empty() ? "" : "; did you mean '" + near + "'?"),
                   "--set " + key + "=" + value,
                   known.empty() ? "it takes no options" : "known options: " + join(known, ", ")};
    }
    if (!spec->choices.empty() &&
        std::find(spec->choices.begin(), spec->choices.end(), value) == spec->choices.end()) {
      options.values_[key] = value;
      return options.bad_value(key, "one of " + join(spec->choices, ", "));
    }
    options.values_[key] = value;
    options.given_[key] = true;
  }
  return options;
}

const std::string& Options::text(const std::string& name) const {
  const auto found = values_.find(name);
  LODESTEP_CHECK(found != values_.end(), name);
  return found->second;
}

bool Options::given(const std::string& name) const {
  const auto found = given_.find(name);
  LODESTEP_CHECK(found != given_.end(), name);
  return found->second;
}

Error Options::bad_value(const std::string& name, const std::string& expected) const {
  return Error{ErrorCode::kInvalidArgument,
               "option '" + name + "' of " + owner_ + " cannot be '" + text(name) + "'",
               "--set " + name + "=" + text(name), "expected " + expected};
}

Result<std::int64_t> Options::integer(const std::string& name, std::int64_t low, std::int64_t high) const {
  const std::optional<std::int64_t> value = parse_int(text(name));
  if (!value || *value < low || *value > high) {
    return bad_value(name, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return *value;
}

Result<double> Options::number(const std::string& name, double low, double high) const {
  const std::optional<double> value = parse_double(text(name));
  if (!value || *value < low || *value > high) {
    return bad_value(name, "a number from " + json_number(low) + " to " + json_number(high));
  }
  return *value;
}

Result<bool> Options::flag(const std::string& name) const {
  const std::string value = ascii_lower(text(name));
  if (value == "true" || value == "1" || value == "yes") return true;
  if (value == "false" || value == "0" || value == "no") return false;
  return bad_value(name, "true or false");
}

Result<std::pair<std::string, std::string>> parse_setting(std::string_view text) {
  const std::size_t at = text.find('=');
  if (at == std::string_view::npos || at == 0) {
    return Error{ErrorCode::kInvalidArgument, "'" + std::string(text) + "' is not key=value", "--set", ""};
  }
  return std::pair<std::string, std::string>(text.substr(0, at), text.substr(at + 1));
}

}  // namespace lodestep
