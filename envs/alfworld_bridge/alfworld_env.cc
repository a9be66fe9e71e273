#include "envs/alfworld_bridge/alfworld_env.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "envs/alfworld_bridge/bridge/python_env.h"
#include "envs/alfworld_bridge/game_store.h"
#include "envs/alfworld_bridge/planner.h"
#include "envs/alfworld_bridge/tracker.h"
#include "envs/alfworld_bridge/world.h"

namespace lodestep::alfworld {
namespace {

constexpr std::uint32_t kVersion = 1;         // raise it when any output byte can change
constexpr std::size_t kPlannerNodes = 60000;  // states looked at for one gold action
constexpr std::string_view kRefused = "Nothing happens.";

struct Rules {
  bool located = false;   // observations with place, hands and moves, as GraphGPO trained with
  bool plays_on = false;  // after a win the game goes on, as the bare original does
  bool alias = false;     // the other put form is understood
};

const std::vector<OptionSpec>& option_specs() {
  static const std::vector<OptionSpec> specs{
      {"observation",
       "plain",
       "plain: the game's text; located: with place, hands and moves, as in GraphGPO",
       {"plain", "located"}},
      {"after_done",
       "hold",
       "hold: nothing changes after a win; continue: the game plays on, as the original does",
       {"hold", "continue"}},
      {"verb_alias", "false", "also understand 'put X in/on Y' for 'move X to Y' and the reverse", {}},
      {"task_types", "", "only these task types, separated by commas; empty: all six", {}},
      {"refused",
       "error",
       "games of unsupported types or not solvable: error, or skip them",
       {"error", "skip"}},
      {"backend",
       "native",
       "the native engine, or the original in Python worker processes",
       {"native", "python"}},
      {"python", "python3", "interpreter with textworld and alfworld, for backend=python", {}},
      {"bridge_timeout", "120", "seconds for one call of a Python worker", {}},
  };
  return specs;
}

// Writes and reads the fields of a snapshot: lengths in decimal, then bytes.
class Writer {
 public:
  void add(std::string_view field) { bytes_ += std::to_string(field.size()) + ":" + std::string(field); }
  std::string finish() && {
    const std::string sum = to_hex(hash128(bytes_));
    return sum + std::move(bytes_);
  }

 private:
  std::string bytes_;
};

std::optional<std::vector<std::string>> read_fields(std::string_view bytes) {
  if (bytes.size() < 32 || to_hex(hash128(bytes.substr(32))) != bytes.substr(0, 32)) return std::nullopt;
  bytes.remove_prefix(32);
  std::vector<std::string> fields;
  while (!bytes.empty()) {
    const std::size_t colon = bytes.find(':');
    const auto size = colon == std::string_view::npos ? std::nullopt : parse_uint(bytes.substr(0, colon));
    if (!size || *size > bytes.size() - colon - 1) return std::nullopt;
    fields.emplace_back(bytes.substr(colon + 1, *size));
    bytes.remove_prefix(colon + 1 + *size);
  }
  return fields;
}

class AlfworldEnv final : public Environment {
 public:
  AlfworldEnv(std::shared_ptr<const GameStore> store, const Rules& rules)
      : store_(std::move(store)), rules_(rules) {}

  Status reset(const Task& task) override {
    Result<std::shared_ptr<const Playable>> playable = store_->load(task.id);
    if (!playable) return playable.error();
    begin(task, std::move(*playable));
    return {};
  }

  StepResult step(std::string_view action) override {
    if (!world_ || ended()) return observe();
    reply_.clear();
    const std::string_view command = python_strip(action);
    bool valid = world_->step(command, reply_);
    if (!valid && rules_.alias) valid = world_->step(other_form(command), reply_);
    if (!valid) reply_ = kRefused;
    if (valid) ++moves_;
    if (rules_.located) {
      tracker_.follow(action, reply_);
      reply_ = tracker_.turn_text(reply_);
    }
    StepResult result = observe();
    result.action_valid = valid;
    result.reward = world_->won() ? 1.0 : 0.0;
    return result;
  }

  StepResult observe() const override {
    StepResult result;
    result.observation.text = reply_;
    result.outcome = world_ && world_->won() ? Outcome::kSuccess : Outcome::kRunning;
    return result;
  }

  std::vector<std::string> admissible_actions() const override {
    std::vector<std::string> texts;
    if (!world_) return texts;
    std::vector<Id> ids;
    world_->commands(ids);
    texts.reserve(ids.size());
    for (const Id id : ids) texts.push_back(world_->game().command(id).text());
    return texts;
  }

  // The stored walkthrough while the state is one it passes through, else a plan of our own.
  std::optional<std::string> gold_action() const override {
    if (!world_ || world_->won()) return std::nullopt;
    const std::vector<Hash128>& path = playable_->walkthrough_states;
    const auto known = std::find(path.rbegin(), path.rend(), state_hash(*world_));
    if (known != path.rend())
      return world_->game().walkthrough[static_cast<std::size_t>(path.rend() - known) - 1];
    const std::optional<std::vector<Id>> plan = find_plan(playable_->view, *world_, kPlannerNodes);
    if (!plan || plan->empty()) return std::nullopt;
    return world_->game().command(plan->front()).text();
  }

  StateKeys state_keys() const override { return world_ ? playable_->view.keys(*world_) : StateKeys(); }

  Hash128 true_state_hash() const override {
    Hasher hasher;
    hasher.add("alfworld");
    if (!world_) return hasher.finish();
    const Hash128 digest = world_->game().digest;
    const Hash128 facts = state_hash(*world_);
    hasher.add_u64(digest.high).add_u64(digest.low).add_u64(facts.high).add_u64(facts.low);
    if (rules_.located) {  // later texts depend on what was moved
      for (const std::string& field : tracker_.save()) hasher.add(field);
    }
    return hasher.finish();
  }

  Details details() const override {
    Details out;
    if (!world_) return out;
    const Game& game = world_->game();
    const TaskView& view = playable_->view;
    const auto name = [&](Id constant) { return std::string(trim(game.names[constant])); };
    std::vector<std::string> places;
    for (const Id receptacle : view.receptacles_at(view.location(*world_)))
      places.push_back(name(receptacle));
    std::sort(places.begin(), places.end());
    const Id held = view.held(*world_);
    const std::string& form = view.put_form();
    out["goal"] = json_quote(game.goal_text);
    out["task_type"] = json_quote(playable_->task_type);
    out["gamefile"] = json_quote(playable_->id + "/game.tw-pddl");
    out["game_digest"] = json_quote(to_hex(game.digest));
    out["won"] = world_->won() ? "true" : "false";
    out["score"] = world_->won() ? "1" : "0";
    out["moves"] = std::to_string(moves_);
    out["location"] = json_array(places);
    out["holding"] = held == kNone ? "null" : json_quote(name(held));
    out["verb"] = json_quote(form.substr(0, form.find(' ')));
    out["put_form"] = json_quote(form);
    if (rules_.located) {
      out["anchor"] = json_quote(reply_ + " " + join(admissible_actions(), ","));
      for (auto& [fact, value] : tracker_.facts()) out[fact] = value;
    }
    return out;
  }

  std::unique_ptr<Environment> clone() const override {
    auto copy = std::make_unique<AlfworldEnv>(store_, rules_);
    copy->task_ = task_;
    copy->playable_ = playable_;
    copy->world_ = world_;
    copy->reply_ = reply_;
    copy->moves_ = moves_;
    copy->tracker_ = tracker_;
    return copy;
  }

  Snapshot snapshot() const override {
    Writer out;
    if (world_) {
      out.add(to_hex(world_->game().digest));
      out.add(std::to_string(moves_));
      out.add(reply_);
      const std::vector<std::uint64_t>& bits = world_->bits();
      out.add({reinterpret_cast<const char*>(bits.data()), bits.size() * sizeof(bits[0])});
      for (const std::string& field : tracker_.save()) out.add(field);
    }
    return {task_, kVersion, std::move(out).finish()};
  }

  Status restore(const Snapshot& snapshot) override {
    const Error damaged{ErrorCode::kBadData, "not a snapshot of alfworld version 1", "", ""};
    if (snapshot.task.env != "alfworld" || snapshot.version != kVersion) return damaged;
    const std::optional<std::vector<std::string>> fields = read_fields(snapshot.bytes);
    if (!fields || fields->size() < 4) return damaged;
    Result<std::shared_ptr<const Playable>> playable = store_->load(snapshot.task.id);
    if (!playable) return playable.error();
    const Game& game = *(*playable)->game;
    if ((*fields)[0] != to_hex(game.digest)) {
      return Error{ErrorCode::kBadData, "the snapshot is of another version of this game", snapshot.task.id,
                   ""};
    }
    const std::optional<std::uint64_t> moves = parse_uint((*fields)[1]);
    std::vector<std::uint64_t> bits(game.start_bits.size());
    if (!moves || (*fields)[3].size() != bits.size() * sizeof(bits[0])) return damaged;
    std::memcpy(bits.data(), (*fields)[3].data(), (*fields)[3].size());
    Tracker tracker;
    if (Status status = tracker.load({fields->begin() + 4, fields->end()}); !status) return status;
    begin(snapshot.task, std::move(*playable));
    world_->set_bits(bits);
    moves_ = *moves;
    reply_ = (*fields)[2];
    tracker_ = std::move(tracker);
    return {};
  }

 private:
  bool ended() const { return !rules_.plays_on && world_->won(); }

  void begin(const Task& task, std::shared_ptr<const Playable> playable) {
    task_ = task;
    if (playable_ == playable) {
      world_->restart();
    } else {
      playable_ = std::move(playable);
      world_.emplace(playable_->game);
    }
    moves_ = 0;
    tracker_ = Tracker();
    reply_ = rules_.located ? tracker_.turn_text(playable_->game->start_text) : playable_->game->start_text;
  }

  // "put X in/on Y" for "move X to Y" and the reverse; empty when it is neither.
  static std::string other_form(std::string_view command) {
    const auto swap = [&](std::string_view verb, std::string_view between, std::string_view other,
                          std::string_view other_between) {
      if (command.substr(0, verb.size()) != verb) return std::string();
      const std::size_t at = command.find(between);
      if (at == std::string_view::npos || at < verb.size()) return std::string();
      return std::string(other) + std::string(command.substr(verb.size(), at - verb.size())) +
             std::string(other_between) + std::string(command.substr(at + between.size()));
    };
    for (const std::string_view between : {" in/on ", " into ", " onto ", " in ", " on "}) {
      std::string moved = swap("put ", between, "move ", " to ");
      if (!moved.empty()) return moved;
    }
    return swap("move ", " to ", "put ", " in/on ");
  }

  std::shared_ptr<const GameStore> store_;
  Rules rules_;
  Task task_;
  std::shared_ptr<const Playable> playable_;
  std::optional<World> world_;
  std::string reply_;  // the present observation
  std::uint64_t moves_ = 0;
  Tracker tracker_;
};

class AlfworldFactory final : public EnvFactory {
 public:
  AlfworldFactory(std::shared_ptr<const GameStore> store, const Rules& rules,
                  std::optional<PythonSettings> python)
      : store_(std::move(store)), rules_(rules), python_(std::move(python)) {}
  std::string name() const override { return "alfworld"; }
  std::uint32_t version() const override { return kVersion; }
  Hash128 data_digest() const override {
    const Hash128 data = store_->digest();
    return Hasher()
        .add("alfworld")
        .add_u64(data.high)
        .add_u64(data.low)
        .add_u64((rules_.located ? 1U : 0U) + (rules_.plays_on ? 2U : 0U) + (rules_.alias ? 4U : 0U))
        .finish();
  }
  std::vector<std::string> splits() const override { return store_->splits(); }
  Result<std::size_t> task_count(std::string_view split) const override {
    const std::vector<std::size_t>* tasks = store_->split(split);
    if (tasks == nullptr) return unknown_split(*this, split);
    return tasks->size();
  }
  Result<std::string> task_id(std::string_view split, std::size_t index) const override {
    const std::vector<std::size_t>* tasks = store_->split(split);
    if (tasks == nullptr) return unknown_split(*this, split);
    if (index >= tasks->size()) return index_past_end(*this, split, index, tasks->size());
    return store_->entries()[(*tasks)[index]].id;
  }
  std::unique_ptr<Environment> make() const override {
    auto native = std::make_unique<AlfworldEnv>(store_, rules_);
    if (!python_) return native;
    return make_python_env(store_, *python_, std::move(native), rules_.plays_on);
  }

 private:
  std::shared_ptr<const GameStore> store_;
  Rules rules_;
  std::optional<PythonSettings> python_;  // set: the original answers
};

Result<std::shared_ptr<const EnvFactory>> open(const EnvConfig& config) {
  const Result<Options> options = Options::parse("alfworld", option_specs(), config.settings);
  if (!options) return options.error();
  const Result<bool> alias = options->flag("verb_alias");
  if (!alias) return alias.error();
  GameStore::Source source{config.data, {}, options->text("refused") == "skip"};
  for (const std::string_view type : split(options->text("task_types"), ',')) {
    if (trim(type).empty()) continue;
    const std::string name(trim(type));
    if (std::find(task_types().begin(), task_types().end(), name) == task_types().end()) {
      return Error{ErrorCode::kInvalidArgument, "unknown task type '" + name + "'", "--set task_types",
                   "known: " + join(task_types(), ", ")};
    }
    source.task_types.push_back(name);
  }
  Result<std::unique_ptr<GameStore>> store = GameStore::open(source);
  if (!store) return store.error();
  const Rules rules{options->text("observation") == "located", options->text("after_done") == "continue",
                    *alias};
  std::optional<PythonSettings> python;
  if (options->text("backend") == "python") {
    const Result<double> timeout = options->number("bridge_timeout", 0.01, 86400);
    if (!timeout) return timeout.error();
    if (rules.located || rules.alias) {
      return Error{ErrorCode::kInvalidArgument,
                   "backend=python answers as the original does: no observation=located, no verb_alias",
                   "--set backend", ""};
    }
    python = PythonSettings{options->text("python"), *timeout};
  }
  return std::shared_ptr<const EnvFactory>(
      std::make_shared<AlfworldFactory>(std::move(*store), rules, std::move(python)));
}

}  // namespace

EnvType env_type() {
  return {"alfworld",
          "household tasks in text: find, carry, clean, heat, cool, look",
          "the json_2.1.1 folder of ALFWorld, a .tar.zst/.tar.gz/.zip of it, or one game.tw-pddl",
          50,
          option_specs(),
          &open};
}

}  // namespace lodestep::alfworld
