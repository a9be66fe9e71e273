// `lodestep envs` and `lodestep tasks`: what can be played.
#include <ostream>

#include "base/text.h"
#include "envs/factory.h"
#include "harness/internal/args.h"
#include "harness/internal/commands.h"
#include "harness/internal/environment_args.h"

namespace lodestep::harness {
namespace {

std::string option_json(const OptionSpec& option) {
  return "{\"name\":" + json_quote(option.name) + ",\"default\":" + json_quote(option.default_value) +
         ",\"help\":" + json_quote(option.help) + ",\"choices\":" + json_array(option.choices) + "}";
}

std::string type_json(const EnvType& type) {
  std::string out = "{\"name\":" + json_quote(type.name) + ",\"summary\":" + json_quote(type.summary) +
                    ",\"data\":" + json_quote(type.data) +
                    ",\"default_max_steps\":" + std::to_string(type.default_max_steps) + ",\"options\":[";
  for (std::size_t i = 0; i < type.options.size(); ++i) {
    if (i > 0) out += ',';
    out += option_json(type.options[i]);
  }
  return out + "]}";
}

// Selects tasks by the length of their shortest solution, as environments with `--set distance=true` tell it.
struct MovesFilter {
  std::int64_t least = 0;
  std::int64_t most = INT32_MAX;

  Result<bool> keeps(Environment& env, const Task& task) const {
    if (Status status = env.reset(task); !status) return status.error();
    const Details details = env.details();
    const auto found = details.find("distance_to_goal");
    // Not a number: the task cannot be won, or nobody knows how.
    const std::optional<std::int64_t> moves =
        found == details.end() ? std::nullopt : parse_int(found->second);
    return moves && *moves >= least && *moves <= most;
  }
};

}  // namespace

Result<int> run_envs(const std::vector<std::string>& words, Io& io) {
  Args args("envs", "Lists the environments, what --data they take and their --set options.");
  bool json = false;
  args.flag("--json", json, "one JSON document");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  if (json) {
    io.out << "[";
    const char* separator = "";
    for (const EnvType& type : environment_types()) {
      io.out << separator << type_json(type);
      separator = ",";
    }
    io.out << "]\n";
    return 0;
  }
  for (const EnvType& type : environment_types()) {
    io.out << type.name << ": " << type.summary << "\n  --data: " << type.data
           << "\n  step budget: " << type.default_max_steps << '\n';
    for (const OptionSpec& option : type.options) {
      io.out << "  --set " << option.name << "=" << option.default_value << "  " << option.help << '\n';
    }
  }
  return 0;
}

Result<int> run_tasks(const std::vector<std::string>& words, Io& io) {
  Args args("tasks", "Prints task ids, one a line, in an order that is the same everywhere.");
  EnvironmentArgs environment;
  environment.declare(args);
  std::string split;
  std::int64_t limit = -1;
  MovesFilter moves;
  args.option("--split", split, "task list; the default one when left out");
  args.option("--limit", limit, "at most so many").range(0, INT64_MAX);
  args.option("--min-moves", moves.least, "only tasks whose shortest solution has at least so many moves")
      .range(0, INT32_MAX);
  args.option("--max-moves", moves.most, "only tasks whose shortest solution has at most so many moves")
      .range(0, INT32_MAX);
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  const bool by_moves = args.given("--min-moves") || args.given("--max-moves");
  if (by_moves) environment.settings.emplace_back("distance", "true");
  Result<std::shared_ptr<const EnvFactory>> factory = environment.open();
  if (!factory) return factory.error();
  if (split.empty()) split = (*factory)->splits().front();
  Result<std::size_t> count = (*factory)->task_count(split);
  if (!count) return count.error();
  const std::size_t wanted = limit < 0 ? *count : static_cast<std::size_t>(limit);
  const std::unique_ptr<Environment> env = (*factory)->make();
  std::size_t shown = 0;
  for (std::size_t i = 0; i < *count && shown < wanted && io.out; ++i) {
    Result<std::string> id = (*factory)->task_id(split, i);
    if (!id) return id.error();
    if (by_moves) {
      const Result<bool> keep = moves.keeps(*env, {environment.name, *id, 0});
      if (!keep) return keep.error();
      if (!*keep) continue;
    }
    io.out << *id << '\n';
    ++shown;
  }
  return 0;
}

}  // namespace lodestep::harness
