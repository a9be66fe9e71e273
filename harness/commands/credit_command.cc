// `lodestep credit`: advantages for steps that anyone recorded, as JSON lines or in a recording.
#include <algorithm>
#include <ostream>
#include <thread>

#include "base/text.h"
#include "graph/estimator.h"
#include "harness/credit.h"
#include "harness/internal/args.h"
#include "harness/internal/commands.h"
#include "harness/internal/whole_file.h"
#include "harness/recorder.h"
#include "harness/step_credit.h"
#include "harness/steps_jsonl.h"

namespace lodestep::harness {
namespace {

struct CreditArgs {
  std::string estimator, preset, matcher = "exact";
  std::string in = "-", out = "-", graph, run;
  Settings settings;
  std::int64_t threads = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  bool ignore_unknown = false, diagnostics = false;
  std::string graph_store;
  double half_life = 0;

  StepCreditRequest request() const {
    return {.estimator = estimator,
            .preset = preset,
            .matcher = matcher,
            .settings = settings,
            .threads = static_cast<int>(threads),
            .graph_store = graph_store,
            .half_life = half_life,
            .diagnostics = diagnostics};
  }
};

std::string estimator_help() {
  std::string out = "Estimators:\n";
  for (const graph::EstimatorInfo& info : graph::estimators()) {
    out += "  " + info.name + ": " + info.summary + "\n    --set";
    for (const OptionSpec& option : info.options) out += " " + option.name;
    out += "\n";
  }
  return out;
}

void print_summary(const graph::Summary& summary, std::ostream& err) {
  for (const std::string& warning : summary.warnings) err << "warning: " << warning << '\n';
  err << "credit: " << summary.rows << " steps of " << summary.episodes << " episodes of " << summary.tasks
      << " tasks; " << summary.truncated_episodes << " episodes truncated, " << summary.no_signal_tasks
      << " tasks without signal, " << summary.singleton_rows << " steps alone in their group";
  if (!summary.statistics.empty()) err << "; episode statistics count " << summary.statistics;
  if (summary.left_out_rows > 0) err << "; " << summary.left_out_rows << " steps left out";
  err << '\n';
}

// The library counts rows; a user counts lines.
Error at_line(Error error, const StepFile& steps) {
  if (!error.where.starts_with("row ")) return error;
  const std::optional<std::int64_t> row = parse_int(std::string_view(error.where).substr(4));
  if (row && static_cast<std::size_t>(*row) < steps.where.size())
    error.where = steps.where[static_cast<std::size_t>(*row)];
  return error;
}

Result<int> credit_lines_file(const CreditArgs& args, Io& io) {
  // Names and options are refused before a long input is read.
  const Result<graph::EstimatorInfo> info = check_request(args.request());
  if (!info) return info.error();
  if (!args.graph.empty() && !info->has_graph) {
    return Error{ErrorCode::kInvalidArgument, "estimator '" + args.estimator + "' builds no graph", "--graph",
                 ""};
  }
  if (args.out == "-" && args.graph == "-") {
    return Error{ErrorCode::kInvalidArgument, "--out and --graph cannot both be standard output", "--graph -",
                 ""};
  }
  Result<StepFile> steps =
      read_steps(args.in, args.ignore_unknown ? UnknownFields::kIgnore : UnknownFields::kRefuse, io);
  if (!steps) return steps.error();
  const Result<StepCredit> credited = credit_steps(args.request(), *steps);
  if (!credited) return at_line(credited.error(), *steps);
  // The graph first: standard output must stay empty when a file cannot be written.
  if (!args.graph.empty()) {
    if (Status s = write_output(args.graph, graphs_json(*steps, credited->credit), io); !s) return s.error();
  }
  if (Status s = write_output(args.out, credit_lines(*steps, credited->credit), io); !s) return s.error();
  for (const std::string& note : credited->notes) io.err << "note: " << note << '\n';
  print_summary(credited->credit.summary, io.err);
  if (credited->diagnostics) io.err << graph::to_text(*credited->diagnostics);
  return 0;
}

Result<int> credit_run(const CreditArgs& args, Io& io) {
  const Result<Recording> recording = read_recording(args.run);
  if (!recording) return recording.error();
  CreditRequest request;
  request.estimator = args.estimator;
  request.preset = args.preset;
  for (const auto& [key, value] : args.settings) {
    if (key.starts_with("matcher.")) {
      request.matcher_settings.emplace_back(key.substr(8), value);
    } else {
      request.settings.emplace_back(key.starts_with("estimator.") ? key.substr(10) : key, value);
    }
  }
  request.matcher = args.matcher;
  request.threads = static_cast<int>(args.threads);
  request.graph_store = args.graph_store;
  request.half_life = args.half_life;
  if (const Result<graph::EstimatorInfo> known = check_request(args.request()); !known) return known.error();
  const Result<Credited> credited = credit_recording(*recording, request);
  if (!credited) return credited.error();
  for (const std::string& note : credited->notes) io.err << "note: " << note << '\n';
  const Result<std::unique_ptr<Recorder>> recorder = open_recording(args.run);
  if (!recorder) return recorder.error();
  if (Status s = (*recorder)->add_estimate(credited->estimate); !s) return s.error();
  if (Status s = (*recorder)->flush(); !s) return s.error();
  print_summary(credited->credit.summary, io.err);
  if (args.diagnostics) {
    const Result<graph::Diagnostics> measured =
        diagnose_recording(*recording, request.matcher, request.matcher_settings, request.threads);
    if (!measured) return measured.error();
    io.err << graph::to_text(*measured);
  }
  io.err << "stored as '" << credited->estimate.name << "' in " << args.run << '\n';
  return 0;
}

}  // namespace

Result<int> run_credit(const std::vector<std::string>& words, Io& io) {
  Args args("credit", "Gives every recorded step its advantage.");
  CreditArgs credit;
  args.option("--estimator", credit.estimator, "credit estimator, listed below").required();
  args.option("--preset", credit.preset, "released or paper, for the estimators that have them");
  args.option(
      "--matcher", credit.matcher,
      "which states are one: exact, difflib, difflib-no-autojunk, indel, state_hash, or a state matcher");
  args.option("--in", credit.in, "steps, one JSON object a line; - is standard input");
  args.option("--out", credit.out, "advantages, one line a step; - is standard output");
  args.option("--graph", credit.graph, "the graph of each task, as one JSON document");
  args.option("--run", credit.run, "a recording instead of --in: the result is stored beside the others");
  args.option("--threads", credit.threads, "threads; no byte of the result depends on it").range(1, 4096);
  args.flag("--diagnostics", credit.diagnostics, "what the graph is worth as a signal, on standard error");
  args.option("--graph-store", credit.graph_store,
              "file that remembers each task's graph from batch to batch");
  args.option("--half-life", credit.half_life, "batches after which a stored edge counts half; 0 = for ever");
  args.flag("--ignore-unknown", credit.ignore_unknown, "skip unknown fields instead of refusing them");
  args.settings(credit.settings, "option of the estimator; matcher.KEY of the matcher");
  args.footer(estimator_help());
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  if (credit.run.empty()) return credit_lines_file(credit, io);
  for (const char* flag : {"--in", "--out", "--graph", "--ignore-unknown"}) {
    if (args.given(flag)) {
      return Error{ErrorCode::kInvalidArgument, std::string(flag) + " cannot go with --run",
                   "lodestep credit",
                   "the result is stored in the recording; 'lodestep export' writes it out"};
    }
  }
  return credit_run(credit, io);
}

}  // namespace lodestep::harness
