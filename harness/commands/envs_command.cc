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
  args.option("--split", split, "task list; the default one when left out");
  args.option("--limit", limit, "at most so many").range(0, INT64_MAX);
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  Result<std::shared_ptr<const EnvFactory>> factory = environment.open();
  if (!factory) return factory.error();
  if (split.empty()) split = (*factory)->splits().front();
  Result<std::size_t> count = (*factory)->task_count(split);
  if (!count) return count.error();
  const std::size_t shown = limit < 0 ? *count : std::min(*count, static_cast<std::size_t>(limit));
  for (std::size_t i = 0; i < shown; ++i) {
    Result<std::string> id = (*factory)->task_id(split, i);
    if (!id) return id.error();
    io.out << *id << '\n';
    if (!io.out) break;
  }
  return 0;
}

}  // namespace lodestep::harness
