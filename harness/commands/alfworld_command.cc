// `lodestep alfworld check`: can every game of a data set be played, and does its walkthrough win?
#include <map>
#include <ostream>

#include "base/text.h"
#include "envs/alfworld_bridge/check.h"
#include "harness/internal/args.h"
#include "harness/internal/commands.h"

namespace lodestep::harness {
namespace {

Result<int> run_check(const std::vector<std::string>& words, Io& io) {
  Args args("alfworld check",
            "Loads every game, says what is unsupported and why, and replays walkthroughs.");
  std::string path;
  bool json = false;
  args.positional("PATH", path,
                  "json_2.1.1 folder, archive of it, or one game.tw-pddl; left out: the embedded games");
  args.flag("--json", json, "one JSON document");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  const Result<std::vector<alfworld::GameReport>> reports = alfworld::check_games(path);
  if (!reports) return reports.error();
  std::map<std::string, std::size_t> by_split, by_type;
  std::size_t playable = 0;
  std::size_t won = 0;
  std::string problems;
  std::string items;
  for (const alfworld::GameReport& report : *reports) {
    if (report.problem.empty()) {
      ++playable;
      ++by_split[report.split];
      ++by_type[report.task_type];
      if (report.walkthrough_steps > 0) ++won;
    } else {
      problems += report.id + ": " + report.problem + "\n";
      items += (items.empty() ? "" : ",") + std::string("{\"task\":") + json_quote(report.id) +
               ",\"problem\":" + json_quote(report.problem) + "}";
    }
  }
  const std::size_t bad = reports->size() - playable;
  const auto counts = [&](const std::map<std::string, std::size_t>& table, const char* border) {
    std::string out;
    for (const auto& [name, count] : table)
      out += (out.empty() ? "" : border) + json_quote(name) + ":" + std::to_string(count);
    return out;
  };
  if (json) {
    io.out << "{\"games\":" << reports->size() << ",\"playable\":" << playable
           << ",\"walkthroughs_won\":" << won << ",\"splits\":{" << counts(by_split, ",")
           << "},\"task_types\":{" << counts(by_type, ",") << "},\"problems\":[" << items << "]}\n";
  } else {
    io.out << problems << reports->size() << " games, " << playable << " playable, " << won
           << " walkthroughs win at their last command, " << bad << " with problems\n";
    for (const auto& [name, count] : by_split) io.out << "  " << name << ": " << count << "\n";
    for (const auto& [name, count] : by_type) io.out << "  " << name << ": " << count << "\n";
  }
  return bad == 0 ? 0 : 1;
}

}  // namespace

Result<int> run_alfworld(const std::vector<std::string>& words, Io& io) {
  if (!words.empty() && words[0] == "check") return run_check({words.begin() + 1, words.end()}, io);
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h")) {
    io.out << "usage: lodestep alfworld check [PATH] [--json]\n\nLoads every game, says what is unsupported "
              "and why, and replays walkthroughs.\n";
    return 0;
  }
  return Error{ErrorCode::kInvalidArgument,
               words.empty() ? "which one?" : "unknown subcommand '" + words[0] + "'", "lodestep alfworld",
               "known: check PATH"};
}

}  // namespace lodestep::harness
