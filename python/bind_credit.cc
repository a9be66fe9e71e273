// Step credit: JSON lines, numpy columns or a recording in, columns out.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "graph/estimator.h"
#include "harness/credit.h"
#include "harness/recorder.h"
#include "harness/step_credit.h"
#include "harness/steps_jsonl.h"
#include "harness/summary.h"
#include "python/arrays.h"
#include "python/convert.h"

namespace lodestep::python {
namespace {

using graph::Credit;
using graph::Id;
using harness::StepFile;

// What to compute; the same names as on the command line.
struct CreditPlan {
  std::string estimator, preset, matcher;
  Settings settings, matcher_settings;
  int threads = 1;
};

nb::object ids(const std::vector<Id>& column) {
  if (column.empty()) return nb::none();
  return array(std::vector<std::int64_t>(column.begin(), column.end()));
}

nb::object numbers(std::vector<double> column) {
  return column.empty() ? nb::none() : array(std::move(column));
}

nb::dict summary_dict(const graph::Summary& summary) {
  nb::dict out;
  out["tasks"] = summary.tasks;
  out["episodes"] = summary.episodes;
  out["rows"] = summary.rows;
  out["left_out_rows"] = summary.left_out_rows;
  out["unscored_episodes"] = summary.unscored_episodes;
  out["successes"] = summary.successes;
  out["no_signal_tasks"] = summary.no_signal_tasks;
  out["one_member_tasks"] = summary.one_member_tasks;
  out["singleton_rows"] = summary.singleton_rows;
  out["statistics"] = summary.statistics;
  out["warnings"] = summary.warnings;
  return out;
}

nb::dict credit_dict(Credit credit, const std::vector<std::string>& notes) {
  nb::dict out;
  out["step_return"] = numbers(std::move(credit.step_return));
  out["step_advantage"] = numbers(std::move(credit.step_advantage));
  out["episode_advantage"] = numbers(std::move(credit.episode_advantage));
  out["advantage"] = array(std::move(credit.advantage));
  out["weight"] = numbers(std::move(credit.weight));
  out["group"] = ids(credit.group);
  out["node"] = ids(credit.node);
  out["next_node"] = ids(credit.next_node);
  out["summary"] = summary_dict(credit.summary);
  out["notes"] = notes;
  return out;
}

// The graphs of a credit, one per task. Python names their tasks and states.
struct Graphs {
  std::vector<graph::TransitionGraph> graphs;

  nb::list rows() const {
    nb::list out;
    for (const graph::TransitionGraph& graph : graphs) {
      if (graph.nodes() == 0) continue;
      nb::list nodes, edges;
      for (std::size_t v = 0; v < graph.nodes(); ++v) {
        nodes.append(
            nb::make_tuple(graph.state[v], graph.distance[v], graph.reached[v] != 0, graph.visits[v]));
      }
      for (const graph::Edge& edge : graph.edges) {
        edges.append(nb::make_tuple(edge.from, edge.to, edge.cost, edge.count));
      }
      out.append(nb::make_tuple(graph.task, nodes, edges, graph.goal));
    }
    return out;
  }
};

// The credit of a step file, and its graphs where the estimator builds any.
nb::tuple credit_steps(const CreditPlan& plan, StepFile& steps) {
  harness::StepCreditRequest request{.estimator = plan.estimator,
                                     .preset = plan.preset,
                                     .matcher = plan.matcher,
                                     .settings = plan.settings,
                                     .threads = plan.threads};
  for (const auto& [key, value] : plan.matcher_settings)
    request.settings.emplace_back("matcher." + key, value);
  Result<harness::StepCredit> result = [&] {
    const nb::gil_scoped_release release;
    return harness::credit_steps(request, steps);
  }();
  harness::StepCredit answer = value_or_raise(std::move(result));
  std::optional<Graphs> graphs;
  if (graph::find_estimator(plan.estimator)->has_graph) graphs = Graphs{std::move(answer.credit.graphs)};
  return nb::make_tuple(credit_dict(std::move(answer.credit), answer.notes), std::move(graphs));
}

nb::list names_of(const Interner& names) {
  nb::list out;
  for (std::size_t id = 0; id < names.size(); ++id) out.append(text_of(names.text(static_cast<Id>(id))));
  return out;
}

nb::tuple credit_json_lines(const CreditPlan& plan, const std::string& lines, bool ignore_unknown) {
  Result<StepFile> steps = [&] {
    const nb::gil_scoped_release release;
    std::istringstream in(lines);
    std::ostringstream unused;
    harness::Io io{in, unused, unused};
    return harness::read_steps(
        "-", ignore_unknown ? harness::UnknownFields::kIgnore : harness::UnknownFields::kRefuse, io);
  }();
  StepFile file = value_or_raise(std::move(steps));
  const nb::tuple credit = credit_steps(plan, file);
  return nb::make_tuple(credit[0], credit[1], names_of(file.tasks), names_of(file.states));
}

using IdColumn = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NumberColumn = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FlagColumn = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Columns of a batch by the names of graph/batch.h; `states` are the distinct states as JSON values, where a
// matcher or evihb's stages read them. `left_out`: rows without next state, rows without episode reward, to
// be filled in from the rest of their episode.
nb::tuple credit_columns(const CreditPlan& plan, const nb::dict& columns,
                         const std::vector<std::string>& states, Id goal_state,
                         const std::vector<IdColumn>& keys,
                         const std::optional<std::pair<FlagColumn, FlagColumn>>& left_out) {
  StepFile steps;
  graph::Batch& batch = steps.batch;
  batch.goal_state = goal_state;
  const auto fill = [&]<typename Column, typename Value>(const char* name, std::vector<Value>& target) {
    if (!columns.contains(name)) return;
    const Column column = nb::cast<Column>(columns[name]);
    target.assign(column.data(), column.data() + column.shape(0));
  };
  fill.operator()<IdColumn>("task", batch.task);
  fill.operator()<IdColumn>("episode", batch.episode);
  fill.operator()<IdColumn>("t", batch.t);
  fill.operator()<IdColumn>("state", batch.state);
  fill.operator()<IdColumn>("next_state", batch.next_state);
  fill.operator()<IdColumn>("action", batch.action);
  fill.operator()<IdColumn>("tokens", batch.tokens);
  fill.operator()<IdColumn>("turns_left", batch.turns_left);
  fill.operator()<IdColumn>("admissible_count", batch.admissible_count);
  fill.operator()<NumberColumn>("reward", batch.reward);
  fill.operator()<NumberColumn>("episode_reward", batch.episode_reward);
  fill.operator()<NumberColumn>("cost", batch.cost);
  fill.operator()<NumberColumn>("value", batch.value);
  fill.operator()<NumberColumn>("next_value", batch.next_value);
  fill.operator()<NumberColumn>("log_ratio", batch.log_ratio);
  fill.operator()<NumberColumn>("energy", batch.energy);
  fill.operator()<NumberColumn>("answer_logprob_before", batch.answer_logprob_before);
  fill.operator()<NumberColumn>("answer_logprob_after", batch.answer_logprob_after);
  fill.operator()<FlagColumn>("reward_known", batch.reward_known);
  fill.operator()<FlagColumn>("episode_reward_known", batch.episode_reward_known);
  fill.operator()<FlagColumn>("valid", batch.valid);
  fill.operator()<FlagColumn>("success", batch.success);
  fill.operator()<FlagColumn>("done", batch.done);
  fill.operator()<FlagColumn>("truncated", batch.truncated);
  fill.operator()<FlagColumn>("active", batch.active);
  fill.operator()<FlagColumn>("infrastructure_failure", batch.infrastructure_failure);
  for (const IdColumn& level : keys) batch.keys.emplace_back(level.data(), level.data() + level.shape(0));
  if (batch.next_state.empty()) batch.next_state.assign(batch.state.size(), graph::kNone);
  if (left_out) {
    const auto& [next_state, episode_reward] = *left_out;
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      steps.where.push_back("step " + std::to_string(row + 1));
    }
    check(harness::complete_steps(
        steps, {{next_state.data(), next_state.data() + next_state.shape(0)},
                {episode_reward.data(), episode_reward.data() + episode_reward.shape(0)}}));
  }
  check(graph::validate(batch));
  for (const std::string& state : states) steps.states.intern(state);
  LODESTEP_CHECK(steps.states.size() == states.size());  // distinct, or numbers and texts would part
  return credit_steps(plan, steps);
}

nb::dict credit_of_recording(const CreditPlan& plan, harness::Recording& recording,
                             const std::optional<std::string>& path, bool keep) {
  Result<harness::Credited> result = [&]() -> Result<harness::Credited> {
    const nb::gil_scoped_release release;
    harness::CreditRequest request{plan.estimator, plan.preset,           plan.settings,
                                   plan.matcher,   plan.matcher_settings, plan.threads};
    Result<harness::Credited> credited = harness::credit_recording(recording, request);
    if (!credited || !path) return credited;
    Result<std::unique_ptr<harness::Recorder>> recorder = harness::open_recording(*path);
    if (!recorder) return recorder.error();
    if (Status s = (*recorder)->add_estimate(credited->estimate); !s) return s.error();
    if (Status s = (*recorder)->flush(); !s) return s.error();
    return credited;
  }();
  harness::Credited credited = value_or_raise(std::move(result));
  if (keep) {
    const auto same = [&](const harness::Estimate& estimate) {
      return estimate.name == credited.estimate.name;
    };
    std::erase_if(recording.estimates, same);
    recording.estimates.push_back(credited.estimate);
  }
  return credit_dict(std::move(credited.credit), credited.notes);
}

nb::list estimator_list() {
  nb::list out;
  for (const graph::EstimatorInfo& info : graph::estimators()) {
    nb::list options;
    for (const OptionSpec& option : info.options) {
      nb::dict row;
      row["name"] = option.name;
      row["default"] = option.default_value;
      row["help"] = option.help;
      row["choices"] = option.choices;
      options.append(row);
    }
    nb::dict row;
    row["name"] = info.name;
    row["summary"] = info.summary;
    row["options"] = options;
    row["has_graph"] = info.has_graph;
    row["merges_states"] = info.merges_states;
    out.append(row);
  }
  return out;
}

nb::object estimate_column(const std::vector<std::optional<double>>& column) {
  if (column.empty()) return nb::none();
  std::vector<double> out;
  for (const auto& value : column) out.push_back(value.value_or(std::numeric_limits<double>::quiet_NaN()));
  return array(std::move(out));
}

nb::object estimate_column(const std::vector<std::optional<std::int64_t>>& column) {
  if (column.empty()) return nb::none();
  std::vector<std::int64_t> out;
  for (const auto& value : column) out.push_back(value.value_or(-1));
  return array(std::move(out));
}

nb::list estimate_columns(const harness::Recording& recording) {
  nb::list out;
  for (const harness::Estimate& estimate : recording.estimates) {
    nb::dict row;
    row["name"] = estimate.name;
    row["estimator"] = estimate.estimator;
    row["matcher"] = estimate.matcher;
    row["settings"] = json_value(estimate.settings);
    row["step_return"] = estimate_column(estimate.step_return);
    row["step_advantage"] = estimate_column(estimate.step_advantage);
    row["episode_advantage"] = estimate_column(estimate.episode_advantage);
    row["advantage"] = array(estimate.advantage);
    row["group"] = estimate_column(estimate.group);
    row["node"] = estimate_column(estimate.node);
    row["next_node"] = estimate_column(estimate.next_node);
    out.append(row);
  }
  return out;
}

}  // namespace

void bind_credit(nb::module_& module) {
  nb::class_<CreditPlan>(module, "CreditPlan")
      .def(
          "__init__",
          [](CreditPlan* self, std::string estimator, std::string preset, const nb::dict& settings,
             std::string matcher, const nb::dict& matcher_settings, int threads) {
            new (self) CreditPlan{std::move(estimator),
                                  std::move(preset),
                                  std::move(matcher),
                                  settings_of(settings),
                                  settings_of(matcher_settings),
                                  threads};
          },
          nb::arg("estimator"), nb::arg("preset"), nb::arg("settings"), nb::arg("matcher"),
          nb::arg("matcher_settings"), nb::arg("threads"),
          nb::sig("def __init__(self, estimator: str, preset: str, settings: dict[str, typing.Any], matcher: "
                  "str, "
                  "matcher_settings: dict[str, typing.Any], threads: int) -> None"));
  nb::class_<Graphs>(module, "Graphs")
      .def("rows", &Graphs::rows,
           nb::sig("def rows(self) -> list[tuple[int, list[tuple[int, float, bool, int]], "
                   "list[tuple[int, int, float, int]], int]]"),
           "Per task: its number, nodes (state, distance, reached, visits), edges (from, to, cost, count), "
           "goal.");
  module.def("credit_json_lines", credit_json_lines, nb::arg("plan"), nb::arg("lines"),
             nb::arg("ignore_unknown"),
             nb::sig("def credit_json_lines(plan: CreditPlan, lines: str, ignore_unknown: bool) -> "
                     "tuple[dict[str, typing.Any], Graphs | None, list[str], list[str]]"));
  module.def(
      "credit_columns", credit_columns, nb::arg("plan"), nb::arg("columns"), nb::arg("states"),
      nb::arg("goal_state") = graph::kNone, nb::arg("keys") = std::vector<IdColumn>(),
      nb::arg("left_out") = nb::none(),
      nb::sig("def credit_columns(plan: CreditPlan, columns: dict[str, numpy.typing.NDArray[typing.Any]], "
              "states: collections.abc.Sequence[str], "
              "goal_state: int = -1, keys: collections.abc.Sequence[numpy.typing.NDArray[typing.Any]] = [], "
              "left_out: tuple[numpy.typing.NDArray[typing.Any], numpy.typing.NDArray[typing.Any]] | None = "
              "None) -> "
              "tuple[dict[str, typing.Any], Graphs | None]"));
  module.def(
      "credit_of_recording", credit_of_recording, nb::arg("plan"), nb::arg("recording"), nb::arg("path"),
      nb::arg("keep"),
      nb::sig(
          "def credit_of_recording(plan: CreditPlan, recording: Recording, path: str | None, keep: bool) -> "
          "dict[str, typing.Any]"));
  module.def("estimators", estimator_list, nb::sig("def estimators() -> list[dict[str, typing.Any]]"));
  module.def("estimates", estimate_columns, nb::arg("recording"),
             nb::sig("def estimates(recording: Recording) -> list[dict[str, typing.Any]]"));
  module.def("summary_text", [](const harness::Recording& recording) {
    return text_of(to_text(harness::summarize(recording)));
  });
  module.def("summary", [](const harness::Recording& recording) {
    return json_value(to_json(harness::summarize(recording)));
  });
}

}  // namespace lodestep::python
