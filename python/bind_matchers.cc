// State matchers on pages: keys, and how well they agree with the pages' labels.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <sstream>

#include "base/text.h"
#include "harness/labelled_pages.h"
#include "harness/match_measures.h"
#include "harness/matchers.h"
#include "python/convert.h"

namespace lodestep::python {
namespace {

using canonicalizer::Matching;
using harness::LabelAgreement;

struct Answer {
  std::vector<std::optional<std::string>> keys;  // none where the group has failed
  Matching matching;
  std::optional<std::string> agreement;  // JSON
  std::string model;
};

std::string agreement_json(const LabelAgreement& labels) {
  return "{" +
         harness::report_json(labels.pairs, labels.groups, labels.graph ? &*labels.graph : nullptr,
                              labels.group_names) +
         (labels.order ? ",\"cross_batch\":" + harness::cross_batch_json(*labels.order) : "") + "}";
}

Result<Answer> match(const std::string& lines, const std::string& name, const Settings& settings,
                     const std::optional<std::string>& model) {
  std::istringstream in(lines);
  std::ostringstream unused;
  harness::Io io{in, unused, unused};
  const Result<harness::LabelledPages> pages = harness::read_pages("-", io);
  if (!pages) return pages.error();
  for (const auto& [field, count] : pages->unknown_fields) {
    return Error{ErrorCode::kInvalidArgument, "unknown field \"" + field + "\"", "pages",
                 "known: " + join(harness::kPageFields, ", ")};
  }
  const bool given = name == "given";
  Result<std::unique_ptr<canonicalizer::Matcher>> matcher =
      harness::matchers().make(given ? "exact" : name, settings);
  if (!matcher) return matcher.error();
  if (model) {
    if (Status loaded = (*matcher)->load(*model); !loaded) return loaded.error();
  }
  Result<Matching> matching = given ? harness::given_keys(*pages) : (*matcher)->match(pages->views());
  if (!matching) return matching.error();
  const Result<std::optional<LabelAgreement>> labels = harness::compare_with_labels(*pages, *matching);
  if (!labels) return labels.error();
  Answer answer;
  for (std::size_t i = 0; i < matching->keys.size(); ++i) {
    const bool failed =
        std::any_of(matching->failed.begin(), matching->failed.end(),
                    [&](const auto& failure) { return failure.group == pages->pages[i].group; });
    answer.keys.push_back(failed ? std::nullopt : std::optional(to_hex(matching->keys[i])));
  }
  if (*labels) answer.agreement = agreement_json(**labels);
  answer.model = (*matcher)->save();
  answer.matching = *std::move(matching);
  return answer;
}

nb::dict match_pages(const std::string& lines, const std::string& name, const nb::dict& settings,
                     const std::optional<nb::bytes>& model) {
  const Settings named = settings_of(settings);
  std::optional<std::string> learnt;
  if (model) learnt = bytes_of(*model);
  Result<Answer> result = [&] {
    const nb::gil_scoped_release release;
    return match(lines, name, named, learnt);
  }();
  const Answer answer = value_or_raise(std::move(result));
  nb::dict out;
  out["keys"] = answer.keys;
  out["notes"] = answer.matching.notes;
  nb::dict failed;
  for (const canonicalizer::GroupFailure& failure : answer.matching.failed) {
    failed[text_of(failure.group)] = to_string(failure.error);
  }
  out["failed"] = failed;
  nb::dict cost;
  cost["comparisons"] = answer.matching.cost.comparisons;
  cost["avoided"] = answer.matching.cost.avoided;
  out["cost"] = cost;
  out["agreement"] = answer.agreement ? json_value(*answer.agreement) : nb::none();
  out["model"] = nb::bytes(answer.model.data(), answer.model.size());
  return out;
}

nb::list matchers() {
  nb::list out;
  for (const canonicalizer::MatcherKind& kind : harness::matchers().kinds()) {
    nb::dict entry;
    entry["name"] = kind.name;
    entry["summary"] = kind.help;
    nb::list options;
    for (const OptionSpec& option : kind.options) {
      nb::dict one;
      one["name"] = option.name;
      one["default"] = option.default_value;
      one["help"] = option.help;
      one["choices"] = option.choices;
      options.append(one);
    }
    entry["options"] = options;
    out.append(entry);
  }
  return out;
}

}  // namespace

void bind_matchers(nb::module_& module) {
  module.def(
      "match_pages", match_pages, nb::arg("lines"), nb::arg("matcher"), nb::arg("settings"),
      nb::arg("model").none(),
      nb::sig(
          "def match_pages(lines: str, matcher: str, settings: dict[str, typing.Any], model: bytes | None) "
          "-> dict[str, typing.Any]"),
      "Keys of pages (JSON lines as `lodestep match` reads them), notes, failures, cost, agreement, model.");
  module.def("matchers", matchers, nb::sig("def matchers() -> list[dict[str, typing.Any]]"),
             "The matchers: name, summary, options.");
}

}  // namespace lodestep::python
