// The Python module lodestep._core: a thin skin over the public headers. The package in python/lodestep
// gives it its shape for users.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <iostream>

#include "base/check.h"
#include "base/text.h"
#include "harness/command.h"
#include "python/convert.h"

namespace lodestep::python {

void raise(const Error& error) { throw Raised{error}; }

std::string bytes_of(nb::handle text) {
  if (nb::isinstance<nb::bytes>(text)) {
    const nb::bytes bytes = nb::borrow<nb::bytes>(text);
    return {static_cast<const char*>(bytes.data()), bytes.size()};
  }
  if (!nb::isinstance<nb::str>(text)) {
    throw nb::type_error("an action is text (str) or UTF-8 bytes");
  }
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (data == nullptr) throw nb::python_error();
  return {data, static_cast<std::size_t>(size)};
}

nb::str text_of(std::string_view utf8) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), "replace"));
}

nb::object json_value(const std::string& json) {
  return nb::module_::import_("json").attr("loads")(text_of(json));
}

Settings settings_of(const nb::dict& keywords) {
  Settings settings;
  for (const auto& [key, value] : keywords) {
    const std::string text = nb::isinstance<bool>(value) ? (nb::cast<bool>(value) ? "true" : "false")
                                                         : nb::cast<std::string>(nb::str(value));
    settings.emplace_back(nb::cast<std::string>(key), text);
  }
  return settings;
}

namespace {

// Raises lodestep.errors.from_core(code, message, where, hint).
void set_python_error(const Error& error) {
  const nb::object exception = nb::module_::import_("lodestep.errors")
                                   .attr("from_core")(error_code_name(error.code), text_of(error.message),
                                                      text_of(error.where), text_of(error.hint));
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Raised& raised) {
    set_python_error(raised.error);
  } catch (const InternalError& error) {
    const nb::object type = nb::module_::import_("lodestep.errors").attr("InternalError");
    PyErr_SetObject(type.ptr(), text_of(error.what()).ptr());
  }
}

int run_program(const std::vector<std::string>& words) {
  const nb::gil_scoped_release release;
  harness::Io io{std::cin, std::cout, std::cerr};
  const int status = harness::run_program(words, io);
  std::cout.flush();
  return status;
}

}  // namespace

NB_MODULE(_core, module) {
  module.doc() = "Lodestep's native core. Use the package `lodestep`, not this module.";
  nb::register_exception_translator(translate);
  bind_environments(module);
  bind_batches(module);
  bind_recordings(module);
  bind_credit(module);
  bind_matchers(module);
  bind_prompts(module);
  bind_sokoban(module);
  module.def("run_program", run_program, nb::arg("words"),
             "Runs the command line program with these words in this process; returns its exit status.");
}

}  // namespace lodestep::python
