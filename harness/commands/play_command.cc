// `lodestep play`: a person at a terminal, or one JSON request a line.
#include <istream>
#include <ostream>

#include "base/text.h"
#include "envs/factory.h"
#include "envs/image.h"
#include "harness/episode.h"
#include "harness/internal/args.h"
#include "harness/internal/commands.h"
#include "harness/internal/environment_args.h"
#include "harness/internal/json.h"

namespace lodestep::harness {
namespace {

std::string json_bool(bool value) { return value ? "true" : "false"; }

std::string image_json(const Image& image);

// The reply to reset, step and restore.
std::string reply(const Episode& episode, const StepResult& result, bool has_budget) {
  const Environment& environment = episode.environment();
  const StateKeys keys = environment.state_keys();
  std::string out = "{\"ok\":true,\"observation\":" + json_quote(result.observation.text) +
                    ",\"admissible\":" + json_array(environment.admissible_actions()) +
                    ",\"reward\":" + json_number(result.reward) +
                    ",\"done\":" + json_bool(result.done() || episode.truncated()) + ",\"outcome\":\"" +
                    outcome_name(result.outcome) + "\",\"valid\":" + json_bool(result.action_valid);
  if (has_budget) out += ",\"truncated\":" + json_bool(episode.truncated());
  out += ",\"key\":" + json_quote(keys.exact) + ",\"keys\":{\"exact\":" + json_quote(keys.exact) +
         ",\"relevant\":" + json_quote(keys.relevant) + ",\"stage\":" + json_quote(keys.stage) +
         "},\"state_hash\":\"" + to_hex(environment.true_state_hash()) + "\"";
  if (result.observation.image) out += ",\"image\":" + image_json(*result.observation.image);
  out += ",\"info\":{";
  bool first = true;
  for (const auto& [name, value] : environment.details()) {
    if (!first) out += ',';
    first = false;
    out += json_quote(name) + ":" + value;
  }
  return out + "}}";
}

std::string image_json(const Image& image) {
  return "{\"width\":" + std::to_string(image.width) + ",\"height\":" + std::to_string(image.height) +
         ",\"png\":\"" + base64_encode(encode_png(image)) + "\"}";
}

std::string refusal(const Error& error) {
  const std::string message = to_string(error) + (error.hint.empty() ? "" : "; " + error.hint);
  return std::string("{\"ok\":false,\"error\":{\"code\":\"") + error_code_name(error.code) +
         "\",\"message\":" + json_quote(message) + "}}";
}

struct PlaySetup {
  std::shared_ptr<const EnvFactory> factory;
  std::size_t max_steps = 0;
  bool plays_on = false;
  Task task;  // id may be empty: the first task of the default split
};

Result<std::string> default_task(const EnvFactory& factory) {
  return factory.task_id(factory.splits().front(), 0);
}

class JsonPlayer {
 public:
  explicit JsonPlayer(const PlaySetup& setup)
      : setup_(setup), episode_(setup.factory->make(), setup.max_steps, setup.plays_on) {}

  bool closed() const { return closed_; }

  Result<std::string> answer(std::string_view line) {
    Result<rapidjson::Document> request = parse_json_object(line, "");
    if (!request) return request.error();
    const std::optional<std::string> op = text_member(*request, "op");
    if (!op) return bad("the request has no text member 'op'");
    if (*op == "reset") return reset(*request);
    if (*op == "step") return step(*request);
    if (*op == "snapshot") return snapshot();
    if (*op == "restore") return restore(*request);
    if (*op == "close") {
      closed_ = true;
      return std::string("{\"ok\":true}");
    }
    return Error{ErrorCode::kInvalidArgument, "unknown op '" + *op + "'", "",
                 "known ops: reset, step, snapshot, restore, close"};
  }

 private:
  static Error bad(const std::string& message) { return {ErrorCode::kInvalidArgument, message, "", ""}; }

  Result<std::string> reset(const rapidjson::Value& request) {
    Task task = setup_.task;
    if (request.HasMember("task")) {
      const std::optional<std::string> id = text_member(request, "task");
      if (!id) return bad("'task' must be text");
      task.id = *id;
    }
    if (const auto seed = request.FindMember("seed"); seed != request.MemberEnd() && !seed->value.IsNull()) {
      if (!seed->value.IsUint64()) return bad("'seed' must be a whole number of at least 0");
      task.seed = seed->value.GetUint64();
    }
    if (task.id.empty()) {
      Result<std::string> id = default_task(*setup_.factory);
      if (!id) return id.error();
      task.id = *id;
    }
    if (Status status = episode_.reset(task); !status) return status.error();
    return reply(episode_, episode_.environment().observe(), setup_.max_steps != 0);
  }

  Result<std::string> step(const rapidjson::Value& request) {
    if (!episode_.started()) return bad("step before reset");
    const std::optional<std::string> action = text_member(request, "action");
    if (!action) return bad("step needs the text member 'action'");
    try {
      return reply(episode_, episode_.step(*action), setup_.max_steps != 0);
    } catch (const EnvironmentFailure& failure) {  // the episode is lost; a reset starts the next one
      return Error{ErrorCode::kUnavailable, failure.what(), "", ""};
    }
  }

  Result<std::string> snapshot() const {
    if (!episode_.started()) return bad("snapshot before reset");
    return "{\"ok\":true,\"snapshot\":\"" + base64_encode(episode_.save()) + "\"}";
  }

  Result<std::string> restore(const rapidjson::Value& request) {
    const std::optional<std::string> text = text_member(request, "snapshot");
    if (!text) return bad("restore needs the text member 'snapshot'");
    const std::optional<std::string> saved = base64_decode(*text);
    if (!saved) return Error{ErrorCode::kBadData, "the snapshot is not base64", "", ""};
    if (Status status = episode_.load(*saved); !status) return status.error();
    return reply(episode_, episode_.environment().observe(), setup_.max_steps != 0);
  }

  const PlaySetup& setup_;
  Episode episode_;
  bool closed_ = false;
};

Result<int> play_json(const PlaySetup& setup, Io& io) {
  JsonPlayer player(setup);
  std::string line;
  while (!player.closed() && std::getline(io.in, line)) {
    if (trim(line).empty()) continue;
    const Result<std::string> answer = player.answer(line);
    io.out << (answer ? *answer : refusal(answer.error())) << '\n' << std::flush;
    if (!io.out) return Error{ErrorCode::kUnavailable, "cannot write the reply", "standard output", ""};
  }
  return 0;
}

void show(const Episode& episode, const StepResult& result, std::ostream& out) {
  out << '\n' << result.observation.text << '\n';
  if (episode.ended()) {
    out << (episode.truncated() ? "The step budget is used up."
                                : std::string("The episode ended: ") + outcome_name(result.outcome) + ".")
        << " u takes a step back, q leaves.\n";
    return;
  }
  const std::vector<std::string> actions = episode.environment().admissible_actions();
  for (std::size_t i = 0; i < actions.size(); ++i) out << "  " << i + 1 << ") " << actions[i] << '\n';
}

Result<int> play_terminal(const PlaySetup& setup, Io& io) {
  Task task = setup.task;
  if (task.id.empty()) {
    Result<std::string> id = default_task(*setup.factory);
    if (!id) return id.error();
    task.id = *id;
  }
  std::vector<Episode> history;  // the last one is played; the others are for undo
  history.emplace_back(setup.factory->make(), setup.max_steps, setup.plays_on);
  if (Status status = history.back().reset(task); !status) return status.error();
  io.out << "Task " << task.id << ". Type a number or the action itself; u = undo, h = hint, q = quit.\n";
  show(history.back(), history.back().environment().observe(), io.out);
  double total = 0;
  std::vector<double> totals{0};
  std::string line;
  while (io.out << "> " << std::flush, std::getline(io.in, line)) {
    const std::string word(trim(line));
    if (word.empty()) continue;
    if (word == "q" || word == "quit") break;
    Episode& episode = history.back();
    if (word == "u" || word == "undo") {
      if (history.size() == 1) {
        io.out << "Nothing to undo.\n";
        continue;
      }
      history.pop_back();
      totals.pop_back();
      show(history.back(), history.back().environment().observe(), io.out);
      continue;
    }
    if (word == "h" || word == "hint") {
      const std::optional<std::string> hint = episode.environment().gold_action();
      io.out << (hint ? "Hint: " + *hint : "No way to success is known from here.") << '\n';
      continue;
    }
    std::string action = word;
    const std::vector<std::string> actions = episode.environment().admissible_actions();
    if (const auto number = parse_uint(word); number && *number >= 1 && *number <= actions.size()) {
      action = actions[*number - 1];
    }
    Episode next = episode.fork();
    const StepResult result = next.step(action);
    if (!result.action_valid) io.out << "(not a valid action here)\n";
    history.push_back(std::move(next));
    total = totals.back() + result.reward;
    totals.push_back(total);
    show(history.back(), result, io.out);
    io.out << "reward " << json_number(result.reward) << ", total " << json_number(total) << '\n';
  }
  io.out << '\n';
  return 0;
}

}  // namespace

Result<int> run_play(const std::vector<std::string>& words, Io& io) {
  Args args("play", "Plays one environment: a person at the terminal, or JSON lines with --jsonl.");
  EnvironmentArgs environment;
  environment.declare(args);
  std::string task;
  std::int64_t seed = 0;
  std::int64_t max_steps = 0;
  bool jsonl = false;
  args.option("--task", task, "task id; the first of the default split when left out");
  args.option("--seed", seed, "seed of the task's chance").range(0, INT64_MAX);
  args.option("--max-steps", max_steps, "step budget, 0 = none").range(0, 1000000000);
  args.flag("--jsonl", jsonl, "one JSON request a line in, one JSON reply a line out");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  Result<std::shared_ptr<const EnvFactory>> factory = environment.open();
  if (!factory) return factory.error();
  PlaySetup setup;
  setup.factory = *factory;
  setup.max_steps = static_cast<std::size_t>(max_steps);
  setup.plays_on = environment.plays_on();
  setup.task = {environment.name, task, static_cast<std::uint64_t>(seed)};
  return jsonl ? play_json(setup, io) : play_terminal(setup, io);
}

}  // namespace lodestep::harness
