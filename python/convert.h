// Between C++ values and Python objects: what every binding file needs.
//   check(episode.reset(task));                          // raises lodestep.Error
//   auto factory = value_or_raise(open_environment(...));
// Threads: call with the GIL held.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>

#include "base/options.h"
#include "base/result.h"

namespace lodestep::python {

namespace nb = nanobind;

// An expected failure on its way to Python, where it becomes the exception of its code (lodestep.errors).
struct Raised {
  Error error;
};

[[noreturn]] void raise(const Error& error);
inline void check(const Status& status) {
  if (!status) raise(status.error());
}
template <typename T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}

// The bytes of a str (as UTF-8) or of a bytes object; TypeError for anything else.
std::string bytes_of(nb::handle text);
// A str of UTF-8 bytes; malformed ones become U+FFFD.
nb::str text_of(std::string_view utf8);
// The Python value of a JSON text.
nb::object json_value(const std::string& json);
// Keyword arguments as settings: True and False become true and false, other values their str().
Settings settings_of(const nb::dict& keywords);

// One function per binding file.
void bind_environments(nb::module_& module);
void bind_batches(nb::module_& module);
void bind_recordings(nb::module_& module);
void bind_credit(nb::module_& module);
void bind_matchers(nb::module_& module);
void bind_prompts(nb::module_& module);
void bind_sokoban(nb::module_& module);

}  // namespace lodestep::python
