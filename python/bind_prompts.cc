// Prompts for language models and their answers, as the policies of `lodestep rollout` use them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "harness/answer.h"
#include "harness/prompt.h"
#include "python/convert.h"

namespace lodestep::python {
namespace {

// One environment's words and rules.
class Prompter {
 public:
  Prompter(const std::string& environment, const std::optional<std::string>& words, const std::string& where,
           std::optional<std::size_t> history_length)
      : profile_(harness::prompt_profile(environment)) {
    if (words) profile_.words = value_or_raise(harness::parse_prompt_template(*words, where));
    if (history_length) profile_.style.history_length = *history_length;
  }

  std::string prompt(const std::string& task, const std::string& observation,
                     std::vector<std::string> actions,
                     const std::vector<std::pair<std::string, std::string>>& history) const {
    std::erase_if(actions, [this](const std::string& action) {
      const auto& hidden = profile_.style.hidden_actions;
      return std::find(hidden.begin(), hidden.end(), action) != hidden.end();
    });
    return harness::format_prompt(profile_.words, profile_.style,
                                  {task, observation, std::move(actions), history});
  }

  std::pair<std::string, bool> answer(const std::string& reply) const {
    harness::Answer answer = harness::parse_answer(reply, profile_.answer);
    return {std::move(answer.action), answer.valid};
  }

  std::size_t history_length() const { return profile_.style.history_length; }

 private:
  harness::PromptProfile profile_;
};

}  // namespace

void bind_prompts(nb::module_& module) {
  nb::class_<Prompter>(module, "Prompter")
      .def(nb::init<const std::string&, const std::optional<std::string>&, const std::string&,
                    std::optional<std::size_t>>(),
           nb::arg("environment"), nb::arg("words"), nb::arg("where"), nb::arg("history_length"))
      .def("prompt", &Prompter::prompt, nb::arg("task"), nb::arg("observation"), nb::arg("actions"),
           nb::arg("history"))
      .def(
          "answer", [](const Prompter& self, nb::handle reply) { return self.answer(bytes_of(reply)); },
          nb::arg("reply"), nb::sig("def answer(self, reply: str | bytes) -> tuple[str, bool]"))
      .def_prop_ro("history_length", &Prompter::history_length);
}

}  // namespace lodestep::python
