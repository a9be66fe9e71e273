// `lodestep compare`: the estimates of a recording side by side, and against the truth where it can be had.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <thread>

#include "base/text.h"
#include "envs/factory.h"
#include "harness/credit.h"
#include "harness/fidelity.h"
#include "harness/forked_truth.h"
#include "harness/internal/args.h"
#include "harness/internal/commands.h"
#include "harness/internal/settings.h"
#include "harness/recorder.h"
#include "harness/summary.h"

namespace lodestep::harness {
namespace {

std::string info_text(const Recording& recording, const char* key) {
  const auto found = recording.info.find(key);
  return found == recording.info.end() ? std::string() : found->second;
}

double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  return fidelity_of(a, {.advantage = b, .variance = {}, .states = 0}).cosine;
}

// Stored estimates: how many steps each credits, and the cosine of every pair.
std::string estimates_text(const Recording& recording) {
  std::string out = fmt::format("{:<34}{:>9}", "estimate", "non-zero");
  for (std::size_t i = 0; i < recording.estimates.size(); ++i)
    out += fmt::format("{:>8}", fmt::format("[{}]", i + 1));
  out += '\n';
  for (std::size_t i = 0; i < recording.estimates.size(); ++i) {
    const Estimate& own = recording.estimates[i];
    const auto zeros = std::count(own.advantage.begin(), own.advantage.end(), 0.0);
    const double share = own.advantage.empty()
                             ? 0
                             : 1 - static_cast<double>(zeros) / static_cast<double>(own.advantage.size());
    out += fmt::format("{:<34}{:>8.1f}%", fmt::format("[{}] {}", i + 1, own.name), 100 * share);
    for (const Estimate& other : recording.estimates)
      out += fmt::format("{:>8.3f}", cosine(own.advantage, other.advantage));
    out += '\n';
  }
  return out + "columns: cosine of the advantages of two estimates over all steps\n";
}

std::string estimates_json(const Recording& recording) {
  std::string out = "[";
  for (std::size_t i = 0; i < recording.estimates.size(); ++i) {
    const Estimate& own = recording.estimates[i];
    out += (i > 0 ? "," : "") + ("{\"estimate\":" + json_quote(own.name)) + ",\"cosine\":{";
    for (std::size_t j = 0; j < recording.estimates.size(); ++j) {
      const Estimate& other = recording.estimates[j];
      out += (j > 0 ? "," : "") + json_quote(other.name) + ":" +
             json_number(cosine(own.advantage, other.advantage));
    }
    out += "}}";
  }
  return out + "]\n";
}

struct Table {
  std::size_t group_size = 0, steps = 0;
  double outcome_cosine = 0;
  std::vector<FidelityRow> rows;
};

std::string fidelity_text(const std::vector<Table>& tables) {
  std::string out;
  for (const Table& table : tables) {
    out += fmt::format("groups of {}, {} steps\n  {:<30}{:>8}{:>8}{:>10}\n", table.group_size, table.steps,
                       "estimator", "cosine", "signs", "non-zero");
    for (const FidelityRow& row : table.rows) {
      out += fmt::format("  {:<30}{:>8.3f}{:>8.3f}{:>9.1f}%\n", row.label, row.fidelity.cosine,
                         row.fidelity.sign_agreement, 100 * row.fidelity.non_zero);
    }
    out += fmt::format("  {:<30}{:>8.3f}\n", "expected of outcomes alone", table.outcome_cosine);
  }
  return out +
         "cosine with the true advantage over all steps; share of equal signs where both are non-zero\n";
}

std::string fidelity_json(const std::vector<Table>& tables, std::size_t states) {
  std::string out = "{\"states\":" + std::to_string(states) + ",\"tables\":[";
  for (std::size_t i = 0; i < tables.size(); ++i) {
    out += fmt::format("{}{{\"group_size\":{},\"steps\":{},\"outcome_cosine\":{},\"estimators\":[",
                       i > 0 ? "," : "", tables[i].group_size, tables[i].steps,
                       json_number(tables[i].outcome_cosine));
    for (std::size_t j = 0; j < tables[i].rows.size(); ++j) {
      const FidelityRow& row = tables[i].rows[j];
      out += fmt::format("{}{{\"name\":{},\"cosine\":{},\"sign_agreement\":{},\"non_zero\":{}}}",
                         j > 0 ? "," : "", json_quote(row.label), json_number(row.fidelity.cosine),
                         json_number(row.fidelity.sign_agreement), json_number(row.fidelity.non_zero));
    }
    out += "]}";
  }
  return out + "]}\n";
}

Result<std::shared_ptr<const EnvFactory>> reopen(const Recording& recording) {
  const std::string name = info_text(recording, "env");
  const EnvType* type = find_environment_type(name);
  if (type == nullptr) return open_environment(name, {}).error();
  EnvConfig config{info_text(recording, "data"), {}};
  const std::string settings = info_text(recording, "settings");
  for (const std::string_view line : split(settings, '\n')) {
    const Result<std::pair<std::string, std::string>> setting = parse_setting(line);
    if (!setting) continue;
    const bool known = std::any_of(type->options.begin(), type->options.end(),
                                   [&](const OptionSpec& option) { return option.name == setting->first; });
    // Texts decide nothing: without places and moves in them more states are one.
    const bool text_only = name == "alfworld" && setting->first == "observation";
    if (known && !text_only) config.settings.push_back(*setting);
  }
  return open_environment(name, config);
}

Result<std::vector<std::size_t>> parse_sizes(const std::string& text, std::size_t largest) {
  std::vector<std::size_t> sizes;
  if (text.empty()) return std::vector<std::size_t>{largest};
  for (const std::string_view word : split(text, ',')) {
    const std::optional<std::int64_t> size = parse_int(trim(word));
    if (!size || *size < 1 || static_cast<std::size_t>(*size) > largest) {
      return Error{ErrorCode::kInvalidArgument,
                   "'" + std::string(word) + "' is no group size of this recording", "--group-sizes",
                   "numbers from 1 to " + std::to_string(largest) + ", separated by commas"};
    }
    sizes.push_back(static_cast<std::size_t>(*size));
  }
  return sizes;
}

// What the graphs of smaller groups are worth, over the same steps.
Result<int> compare_sizes(const Recording& recording, const std::string& wanted, bool json, Io& io) {
  std::size_t largest = 0;
  for (const EpisodeRecord& episode : recording.episodes) largest = std::max(largest, episode.member + 1);
  const Result<std::vector<std::size_t>> sizes = parse_sizes(wanted, largest);
  if (!sizes) return sizes.error();
  std::string text = fmt::format("{:>10}{:>8}{:>9}{:>12}{:>10}{:>10}{:>12}\n", "group size", "groups",
                                 "steps", "no signal", "reuse", "coverage", "comparable");
  std::string document = "[";
  for (const std::size_t size : *sizes) {
    Truth none;
    const Recording part = regrouped(recording, size, none);
    const Summary summary = summarize(part);
    const Result<graph::Diagnostics> measured = diagnose_recording(part);
    if (!measured) return measured.error();
    text += fmt::format(
        "{:>10}{:>8}{:>9}{:>11.1f}%{:>9.1f}%{:>9.1f}%{:>11.1f}%\n", size, summary.groups, measured->steps,
        summary.groups == 0
            ? 0
            : 100.0 * static_cast<double>(summary.no_signal_groups) / static_cast<double>(summary.groups),
        100 * measured->node_reuse, 100 * measured->coverage, 100 * measured->comparable);
    document +=
        fmt::format("{}{{\"group_size\":{},\"groups\":{},\"no_signal_groups\":{},\"diagnostics\":{}}}",
                    document.size() > 1 ? "," : "", size, summary.groups, summary.no_signal_groups,
                    graph::to_json(*measured));
  }
  io.out << (json ? document + "]\n" : text);
  return 0;
}

struct CompareArgs {
  std::vector<std::string> runs;
  std::string policy, group_sizes;
  std::int64_t continuations = 300;
  std::int64_t threads = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  bool fidelity = false, json = false;
};

// Exactly where all states can be enumerated, by playing on where they cannot.
Result<Truth> truth_of(const Recording& recording, const CompareArgs& args) {
  const Result<std::shared_ptr<const EnvFactory>> factory = reopen(recording);
  if (!factory) return factory.error();
  const std::string policy = args.policy.empty() ? info_text(recording, "policy") : args.policy;
  const auto max_steps = static_cast<std::size_t>(parse_int(info_text(recording, "max_steps")).value_or(0));
  const std::string env = info_text(recording, "env");
  if (env == "sokoban" || env == "dummy") return true_advantages(recording, **factory, policy, max_steps);
  return forked_advantages(recording, **factory, policy, max_steps,
                           {.continuations = static_cast<std::size_t>(args.continuations),
                            .seed = 0,
                            .threads = static_cast<int>(args.threads)});
}

Result<int> compare_with_truth(const CompareArgs& args, const std::vector<Recording>& recordings, Io& io) {
  std::vector<Truth> truths;
  std::size_t largest = 0, states = 0;
  for (const Recording& recording : recordings) {
    Result<Truth> truth = truth_of(recording, args);
    if (!truth) return truth.error();
    states += truth->states;
    truths.push_back(std::move(*truth));
    for (const EpisodeRecord& episode : recording.episodes) largest = std::max(largest, episode.member + 1);
  }
  const Result<std::vector<std::size_t>> sizes = parse_sizes(args.group_sizes, largest);
  if (!sizes) return sizes.error();
  std::vector<Table> tables;
  for (const std::size_t size : *sizes) {
    std::vector<Truth> own = truths;
    std::vector<Recording> parts;
    Table table{size, 0, 0, {}};
    for (std::size_t i = 0; i < recordings.size(); ++i) {
      parts.push_back(regrouped(recordings[i], size, own[i]));
      table.steps += parts.back().steps();
    }
    Result<std::vector<FidelityRow>> rows = fidelity_table(parts, own);
    if (!rows) return rows.error();
    table.rows = std::move(*rows);
    table.outcome_cosine = outcome_cosine(parts);
    tables.push_back(std::move(table));
  }
  io.out << (args.json ? fidelity_json(tables, states) : fidelity_text(tables));
  return 0;
}

}  // namespace

Result<int> run_compare(const std::vector<std::string>& words, Io& io) {
  Args args("compare",
            "Puts the estimates of a recording side by side, or measures estimators against the truth.");
  CompareArgs compare;
  args.positionals("RUN", compare.runs, "recording; several with --fidelity: batches whose steps are pooled")
      .required();
  args.flag(
      "--fidelity", compare.fidelity,
      "against the true advantages: exact where states can be enumerated, else by playing on from them");
  args.option("--policy", compare.policy,
              "the policy that played, when the recording does not say: random, gold, mixed:E, confused:P");
  args.option(
      "--group-sizes", compare.group_sizes,
      "the same steps cut into smaller groups, as 2,4,8; without --fidelity: what their graphs are worth");
  args.option("--continuations", compare.continuations,
              "with --fidelity, where states are too many: how often the policy plays on from each state")
      .range(2, 1000000);
  args.option("--threads", compare.threads, "threads; no byte of the result depends on it").range(1, 4096);
  args.flag("--json", compare.json, "one JSON document");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  for (const char* flag : {"--policy", "--continuations", "--threads"}) {
    if (args.given(flag) && !compare.fidelity) {
      return Error{ErrorCode::kInvalidArgument, std::string(flag) + " goes with --fidelity",
                   "lodestep compare", ""};
    }
  }
  if (compare.runs.size() > 1 && !compare.fidelity) {
    return Error{ErrorCode::kInvalidArgument, "several recordings are pooled with --fidelity only",
                 "lodestep compare", "name one recording"};
  }
  std::vector<Recording> recordings;
  for (const std::string& run : compare.runs) {
    Result<Recording> recording = read_recording(run);
    if (!recording) return recording.error();
    recordings.push_back(std::move(*recording));
  }
  if (compare.fidelity) return compare_with_truth(compare, recordings, io);
  if (args.given("--group-sizes"))
    return compare_sizes(recordings.front(), compare.group_sizes, compare.json, io);
  io.out << (compare.json ? estimates_json(recordings.front()) : estimates_text(recordings.front()));
  return 0;
}

}  // namespace lodestep::harness
