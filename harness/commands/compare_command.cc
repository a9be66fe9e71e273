// `lodestep compare`: the estimates of a recording side by side, and against the truth where it can be had.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "base/text.h"
#include "envs/factory.h"
#include "harness/fidelity.h"
#include "harness/internal/args.h"
#include "harness/internal/commands.h"
#include "harness/internal/settings.h"
#include "harness/recorder.h"

namespace lodestep::harness {
namespace {

std::string info_text(const Recording& recording, const char* key) {
  const auto found = recording.info.find(key);
  return found == recording.info.end() ? std::string() : found->second;
}

double cosine(const std::vector<double>& a, const std::vector<double>& b) { return fidelity_of(a, b).cosine; }

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
  }
  return out +
         "cosine with the true advantage over all steps; share of equal signs where both are non-zero\n";
}

std::string fidelity_json(const std::vector<Table>& tables, std::size_t states) {
  std::string out = "{\"states\":" + std::to_string(states) + ",\"tables\":[";
  for (std::size_t i = 0; i < tables.size(); ++i) {
    out += fmt::format("{}{{\"group_size\":{},\"steps\":{},\"estimators\":[", i > 0 ? "," : "",
                       tables[i].group_size, tables[i].steps);
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
  for (const std::string_view line : split(info_text(recording, "settings"), '\n')) {
    const Result<std::pair<std::string, std::string>> setting = parse_setting(line);
    if (!setting) continue;
    const bool known = std::any_of(type->options.begin(), type->options.end(),
                                   [&](const OptionSpec& option) { return option.name == setting->first; });
    if (known) config.settings.push_back(*setting);
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

}  // namespace

Result<int> run_compare(const std::vector<std::string>& words, Io& io) {
  Args args("compare",
            "Puts the estimates of a recording side by side, or measures estimators against the truth.");
  std::string run, policy, group_sizes;
  bool fidelity = false, json = false;
  args.positional("RUN", run, "recording").required();
  args.flag("--fidelity", fidelity,
            "against the true advantages, where the environment's states can be enumerated");
  args.option("--policy", policy,
              "the policy that played, when the recording does not say: random, gold, mixed:E");
  args.option("--group-sizes", group_sizes,
              "with --fidelity: also for the first so many members of each group, as 2,4,8");
  args.flag("--json", json, "one JSON document");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  for (const char* flag : {"--policy", "--group-sizes"}) {
    if (args.given(flag) && !fidelity) {
      return Error{ErrorCode::kInvalidArgument, std::string(flag) + " goes with --fidelity",
                   "lodestep compare", ""};
    }
  }
  const Result<Recording> recording = read_recording(run);
  if (!recording) return recording.error();
  if (!fidelity) {
    io.out << (json ? estimates_json(*recording) : estimates_text(*recording));
    return 0;
  }
  const Result<std::shared_ptr<const EnvFactory>> factory = reopen(*recording);
  if (!factory) return factory.error();
  const std::size_t max_steps =
      static_cast<std::size_t>(parse_int(info_text(*recording, "max_steps")).value_or(0));
  const Result<Truth> truth = true_advantages(
      *recording, **factory, policy.empty() ? info_text(*recording, "policy") : policy, max_steps);
  if (!truth) return truth.error();
  std::size_t largest = 0;
  for (const EpisodeRecord& episode : recording->episodes) largest = std::max(largest, episode.member + 1);
  const Result<std::vector<std::size_t>> sizes = parse_sizes(group_sizes, largest);
  if (!sizes) return sizes.error();
  std::vector<Table> tables;
  for (const std::size_t size : *sizes) {
    Truth own = *truth;
    const Recording part = first_members(*recording, size, own);
    Result<std::vector<FidelityRow>> rows = fidelity_table(part, own);
    if (!rows) return rows.error();
    tables.push_back({size, part.steps(), std::move(*rows)});
  }
  io.out << (json ? fidelity_json(tables, truth->states) : fidelity_text(tables));
  return 0;
}

}  // namespace lodestep::harness
