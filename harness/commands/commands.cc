// The one list of commands. A new one is a file in this folder, a declaration and a line.
#include <ostream>

#include "base/text.h"
#include "harness/internal/commands.h"

namespace lodestep::harness {

const std::vector<Command>& commands() {
  static const std::vector<Command> list{
      {"envs", "lists the environments and their options", &run_envs},
      {"tasks", "lists task ids", &run_tasks},
      {"play", "plays an environment at the terminal or over JSON lines", &run_play},
      {"rollout", "runs groups of episodes, recorded and credited", &run_rollout},
      {"report", "shows a recording", &run_report},
      {"compare", "puts estimates side by side, or against the truth", &run_compare},
      {"export", "writes the steps of a recording", &run_export},
      {"view", "shows a recording in a browser", &run_view},
      {"plot", "draws a figure of recordings as SVG, PNG or PDF", &run_plot},
      {"credit", "gives recorded steps their advantages", &run_credit},
      {"match", "gives observations the keys of their states, and measures matchers", &run_match},
      {"ratio", "similarity of texts, equal to difflib", &run_ratio},
      {"sokoban", "generates, solves, draws and converts Sokoban levels", &run_sokoban},
      {"alfworld", "checks ALFWorld game files", &run_alfworld},
      {"webshop", "imports shops, ranks products, scores purchases, lists goals", &run_webshop},
      {"serve", "serves environments over HTTP and WebSocket", &run_serve},
      {"bench", "measures our own speed", &run_bench},
  };
  return list;
}

int exit_status(const Error& error) { return error.code == ErrorCode::kUnavailable ? 1 : 2; }

namespace {

void print_help(std::ostream& out) {
  out << "lodestep " LODESTEP_VERSION
         ": text-agent environments that know which step helped\n\n"
         "usage: lodestep COMMAND [ARG...] [--option value]\n\n";
  for (const Command& command : commands()) {
    out << "  " << command.name << std::string(12 - std::min<std::size_t>(11, command.name.size()), ' ')
        << command.summary << '\n';
  }
  out << "\n'lodestep COMMAND --help' explains a command; the manual is in docs/.\n";
}

int report(const Error& error, std::ostream& err) {
  err << "lodestep: error: " << to_string(error) << '\n';
  if (!error.hint.empty()) err << "  hint: " << error.hint << '\n';
  return exit_status(error);
}

}  // namespace

int run_program(const std::vector<std::string>& words, Io& io) {
  try {
    if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
      print_help(words.empty() ? io.err : io.out);
      return words.empty() ? 2 : 0;
    }
    if (words[0] == "--version") {
      io.out << "lodestep " LODESTEP_VERSION "\n";
      return 0;
    }
    std::vector<std::string> names;
    for (const Command& command : commands()) {
      if (command.name == words[0]) {
        const Result<int> status = command.run({words.begin() + 1, words.end()}, io);
        io.out.flush();
        if (status && !io.out) {
          return report({ErrorCode::kUnavailable, "cannot write the results", "standard output", ""}, io.err);
        }
        return status ? *status : report(status.error(), io.err);
      }
      names.push_back(command.name);
    }
    const std::string near = nearest_word(words[0], names);
    return report(
        {ErrorCode::kInvalidArgument,
         "unknown command '" + words[0] + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"), "",
         "known commands: " + join(names, ", ")},
        io.err);
  } catch (const std::exception& error) {
    return report({ErrorCode::kUnavailable, std::string("internal error: ") + error.what(), "", ""}, io.err);
  }
}

}  // namespace lodestep::harness
