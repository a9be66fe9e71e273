// Reads checked options one after another and keeps the first error for the end.
//   OptionReader read(work.options);
//   const double gamma = read.number("gamma", 0, 1);
//   if (!read.status()) return read.status();
// Threads: one object, one thread. Private to this room.
#pragma once

#include <cstdint>
#include <string>

#include "base/options.h"

namespace lodestep::graph {

class OptionReader {
 public:
  explicit OptionReader(const Options& options) : options_(options) {}
  double number(const std::string& name, double low = -1e100, double high = 1e100);
  std::int64_t integer(const std::string& name, std::int64_t low, std::int64_t high);
  bool flag(const std::string& name);
  const std::string& text(const std::string& name) const { return options_.text(name); }
  bool is(const std::string& name, const std::string& value) const { return text(name) == value; }
  bool given(const std::string& name) const { return options_.given(name); }
  // Of two names of one option, the one that was given; both given with different values is an error.
  std::string either(const std::string& name, const std::string& synonym);
  void fail(const std::string& message, const std::string& hint);
  const Status& status() const { return status_; }

 private:
  template <typename T>
  T value_of(const Result<T>& result);
  const Options& options_;
  Status status_;
};

}  // namespace lodestep::graph
