#include "graph/option_reader.h"

namespace lodestep::graph {

template <typename T>
T OptionReader::value_of(const Result<T>& result) {
  if (result) return *result;
  if (status_) status_ = result.error();
  return {};
}

double OptionReader::number(const std::string& name, double low, double high) {
  return value_of(options_.number(name, low, high));
}

std::int64_t OptionReader::integer(const std::string& name, std::int64_t low, std::int64_t high) {
  return value_of(options_.integer(name, low, high));
}

bool OptionReader::flag(const std::string& name) { return value_of(options_.flag(name)); }

std::string OptionReader::either(const std::string& name, const std::string& synonym) {
  if (given(name) && given(synonym) && text(name) != text(synonym)) {
    fail("options '" + name + "' and '" + synonym + "' are one and cannot differ", "give one of them");
  }
  return given(synonym) ? synonym : name;
}

void OptionReader::fail(const std::string& message, const std::string& hint) {
  if (status_) status_ = Error{ErrorCode::kInvalidArgument, message, "--set", hint};
}

}  // namespace lodestep::graph
