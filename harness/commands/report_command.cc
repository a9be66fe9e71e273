// `lodestep report` and `lodestep export`: a recording read again.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "harness/credit.h"
#include "harness/hints.h"
#include "harness/internal/args.h"
#include "harness/internal/commands.h"
#include "harness/internal/step_export.h"
#include "harness/internal/whole_file.h"
#include "harness/recorder.h"
#include "harness/summary.h"
#include "harness/view/view_document.h"

namespace lodestep::harness {
namespace {

constexpr std::size_t kGroupsShown = 20;

std::string bar(double share) {
  const auto full = static_cast<std::size_t>(share * 20 + 0.5);
  std::string out;
  for (std::size_t i = 0; i < 20; ++i) out += i < full ? "█" : "·";
  return out;
}

std::string groups_text(Summary summary) {
  auto& groups = summary.per_group;
  std::stable_sort(groups.begin(), groups.end(), [](const GroupSummary& a, const GroupSummary& b) {
    return a.successes * b.episodes < b.successes * a.episodes;
  });
  std::string out = "\nworst tasks first (success, mean return)\n";
  for (std::size_t i = 0; i < std::min(groups.size(), kGroupsShown); ++i) {
    const GroupSummary& g = groups[i];
    const double share =
        g.episodes == 0 ? 0 : static_cast<double>(g.successes) / static_cast<double>(g.episodes);
    out += fmt::format("  {} {:>3}/{:<3} {:>8.3f}{}  {}\n", bar(share), g.successes, g.episodes,
                       g.mean_return, g.no_signal ? " no signal" : "          ", g.task);
  }
  if (groups.size() > kGroupsShown) out += fmt::format("  and {} more\n", groups.size() - kGroupsShown);
  return out;
}

}  // namespace

Result<int> run_report(const std::vector<std::string>& words, Io& io) {
  Args args(
      "report",
      "Shows a recording: the summary again, groups, worst tasks, what the graph is worth, calibration.");
  std::string path;
  std::string html;
  bool json = false, hints = false;
  args.positional("RUN", path, "recording").required();
  args.flag("--json", json, "one JSON document");
  args.flag("--hints", hints,
            "instead: the shortest known way to success of each task, in words, for a prompt");
  args.option("--html", html, "also write the viewer with this recording in it, as one file");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  const Result<Recording> recording = read_recording(path);
  if (!recording) return recording.error();
  if (!html.empty()) {
    const Result<std::string> page = view_recording(path, *recording);
    if (!page) return page.error();
    if (Status status = write_output(html, *page, io); !status) return status.error();
    if (html == "-") return 0;
  }
  if (hints) {
    io.out << hints_text(*recording);
    return 0;
  }
  const Summary summary = summarize(*recording);
  const Result<graph::Diagnostics> diagnostics = diagnose_recording(*recording);
  if (!diagnostics) return diagnostics.error();
  if (json) {
    std::string document = to_json(summary);
    document.pop_back();
    io.out << document << ",\"diagnostics\":" << graph::to_json(*diagnostics) << "}\n";
    return 0;
  }
  const auto info = [&](const char* key) {
    const auto found = recording->info.find(key);
    return found == recording->info.end() ? std::string("?") : found->second;
  };
  io.out << fmt::format("{}: {} (version {}, data {}), policy {}, seed {}\n", path, info("env"),
                        info("env_version"), info("data_digest").substr(0, 12), info("policy"), info("seed"))
         << to_text(summary);
  std::vector<std::string> names;
  for (const Estimate& estimate : recording->estimates) names.push_back(estimate.name);
  io.out << fmt::format("  {:<28}{}\n", "estimates", names.empty() ? "none" : join(names, ", "))
         << groups_text(summary) << '\n'
         << graph::to_text(*diagnostics);
  return 0;
}

Result<int> run_export(const std::vector<std::string>& words, Io& io) {
  Args args("export", "Writes every recorded step with its keys and advantages.");
  std::string path;
  std::string format = "jsonl";
  std::string out = "-";
  args.positional("RUN", path, "recording").required();
  args.option("--format", format, "jsonl or csv");
  args.option("--out", out, "file to write, - = standard output");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  if (format != "jsonl" && format != "csv") {
    return Error{ErrorCode::kInvalidArgument, "unknown format '" + format + "'", "--format",
                 "known formats: jsonl, csv"};
  }
  const Result<Recording> recording = read_recording(path);
  if (!recording) return recording.error();
  const Result<std::string> rows = export_steps(*recording, format == "csv", path);
  if (!rows) return rows.error();
  if (Status status = write_output(out, *rows, io); !status) return status.error();
  return 0;
}

}  // namespace lodestep::harness
