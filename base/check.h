// Our own mistakes: LODESTEP_CHECK throws InternalError, it never aborts.
//   LODESTEP_CHECK(i < n, i, n);   // the operands are shown in the message
// Threads: safe. Owns nothing. Bad input from outside is not a CHECK: see result.h.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace lodestep {

// Thrown by CHECK only. A server answers 500, a program exits 1; nobody hides it.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Builds "file:line: LODESTEP_CHECK(text) failed [a=1, b=2]" and throws it.
template <typename... Operands>
[[noreturn]] void fail_check(const char* file, int line, const char* text, const Operands&... operands) {
  std::ostringstream message;
  message << file << ':' << line << ": CHECK(" << text << ") failed";
  ((message << " [" << operands << ']'), ...);
  throw InternalError(message.str());
}

}  // namespace lodestep

// A macro, for its file, line and text. NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define LODESTEP_CHECK(condition, ...) \
  ((condition) ? static_cast<void>(0)  \
               : ::lodestep::fail_check(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__))
