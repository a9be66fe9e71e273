#include "harness/step_credit.h"

#include "harness/graph_store.h"
#include "harness/step_matching.h"
#include "harness/text_stage.h"

namespace lodestep::harness {
namespace {

struct Asked {
  graph::Request request;
  graph::EstimatorInfo info;
  Options options;
  Settings of_matcher;
};

Result<Asked> read_request(const StepCreditRequest& given) {
  Asked asked{{.estimator = given.estimator, .preset = given.preset}, {}, {}, {}};
  asked.request.threads = given.threads;
  for (const auto& [key, value] : given.settings) {
    if (key.starts_with("matcher.")) {
      asked.of_matcher.emplace_back(key.substr(8), value);
    } else {
      asked.request.settings.emplace_back(key.starts_with("estimator.") ? key.substr(10) : key, value);
    }
  }
  asked.request.settings =
      with_groups_by_matcher(given.estimator, given.preset, given.matcher, std::move(asked.request.settings));
  Result<Options> options = graph::resolve_options(asked.request);
  if (!options) return options.error();
  asked.info = *graph::find_estimator(given.estimator);
  if (!given.graph_store.empty() && asked.info.name != "graphgpo") {
    return Error{ErrorCode::kInvalidArgument,
                 "estimator '" + given.estimator + "' uses no distances, so a store has no effect",
                 "--graph-store", "graphgpo does"};
  }
  asked.options = *std::move(options);
  return asked;
}

Result<graph::Diagnostics> diagnose_as_asked(const Asked& asked, const StepFile& steps) {
  graph::DiagnosticOptions how;
  how.matcher = asked.request.matcher;
  how.threads = asked.request.threads;
  if (asked.info.name == "graphgpo") {
    // The graph as it was asked for.
    how.settings = {{"success", asked.options.text("success")}, {"costs", asked.options.text("costs")}};
    const Result<double> gamma =
        asked.options.number(asked.options.text("omega").empty() ? "gamma" : "omega", 0, 1e100);
    if (!gamma) return gamma.error();
    how.gamma = *gamma;
  }
  return graph::diagnose(steps.batch, how);
}

}  // namespace

Result<graph::EstimatorInfo> check_request(const StepCreditRequest& request) {
  Result<Asked> asked = read_request(request);
  if (!asked) return asked.error();
  return std::move(asked->info);
}

Result<StepCredit> credit_steps(const StepCreditRequest& request, StepFile& steps) {
  Result<Asked> asked = read_request(request);
  if (!asked) return asked.error();
  StepCredit out;
  if (asked->info.name == "evihb" && !asked->options.given("levels") && add_text_keys(steps)) {
    asked->request.settings.emplace_back("levels", kTextLevels);
    out.notes.emplace_back(
        "the states are ALFWorld's texts: evihb backs off to a stage read from them (key 0; the state is key "
        "1); "
        "--set levels= says otherwise");
  }
  const Result<StepMatching> matching =
      match_steps(request.matcher, asked->of_matcher, asked->info, asked->options, steps);
  if (!matching) return matching.error();
  out.notes.insert(out.notes.end(), matching->notes.begin(), matching->notes.end());
  asked->request.matcher = matching->matcher;
  if (const std::optional<std::string> note = compare_hashes(steps)) out.notes.push_back(*note);
  std::optional<GraphStore> store;
  BatchNames names{{}, steps.states};
  for (graph::Id task = 0; task < static_cast<graph::Id>(steps.tasks.size()); ++task)
    names.tasks.push_back(steps.tasks.text(task));
  if (!request.graph_store.empty()) {
    Result<GraphStore> opened = GraphStore::open(request.graph_store);
    if (!opened) return opened.error();
    store.emplace(*std::move(opened));
    const Result<Remembered> old = store->recall(steps.batch, names, request.half_life);
    if (!old) return old.error();
    out.notes.push_back(to_text(*old));
  }
  Result<graph::Credit> credit = graph::estimate(asked->request, steps.batch);
  if (!credit) return credit.error();
  if (request.diagnostics) {
    Result<graph::Diagnostics> measured = diagnose_as_asked(*asked, steps);
    if (!measured) return measured.error();
    out.diagnostics = *std::move(measured);
  }
  if (store) {
    if (Status s = store->remember(names, *credit); !s) return s.error();
    out.notes.push_back(share_of_memory(*credit));
  }
  out.credit = *std::move(credit);
  return out;
}

}  // namespace lodestep::harness
