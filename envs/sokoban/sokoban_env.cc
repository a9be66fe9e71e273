#include "envs/sokoban/sokoban_env.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "envs/sokoban/board.h"
#include "envs/sokoban/level_facts.h"
#include "envs/sokoban/level_pack.h"

namespace lodestep::sokoban {
namespace {

constexpr std::uint32_t kVersion = 1;  // raise it when any output byte can change

// 1. Settings, parsed once.
enum class Rewards { kGym, kSparse };
enum class Actions { kWords, kGym, kVerl };
enum class AfterDone { kStop, kContinue };

struct Rules {
  Rewards rewards = Rewards::kGym;
  Actions actions = Actions::kWords;
  AfterDone after_done = AfterDone::kStop;
  bool distance = false;
};

const std::vector<OptionSpec>& option_specs() {
  static const std::vector<OptionSpec> specs{
      {"rewards",
       "gym",
       "gym: -0.1 a step, +1/-1 a box, +10 at the end; sparse: 10 or 0, -0.1 for an invalid reply",
       {"gym", "sparse"}},
      {"actions",
       "words",
       "words; or the numbers of gym-sokoban (0 to 8) or verl-agent (0 to 4), words still accepted",
       {"words", "gym", "verl"}},
      {"after_done",
       "stop",
       "stop: nothing happens after the end; continue: play on as the original does",
       {"stop", "continue"}},
      {"distance", "false", "put distance_to_goal (least number of moves, null: dead) into the details", {}},
      {"solved",
       "refuse",
       "levels of --data that start solved: refuse them, or keep them as tasks won at once",
       {"refuse", "keep"}},
  };
  return specs;
}

// 2. What an action can ask for.
enum class Kind { kUnknown, kNothing, kPush, kWalk };
struct Command {
  Kind kind = Kind::kUnknown;
  Direction direction = Direction::kUp;
};

Command parse_command(std::string_view action, Actions mode) {
  const std::string text = ascii_lower(trim(action));
  for (const Direction direction : kDirections) {
    const std::string word = direction_word(direction);
    if (text == word) return {Kind::kPush, direction};
    if (mode == Actions::kGym && text == "push " + word) return {Kind::kPush, direction};
    if (mode == Actions::kGym && text == "move " + word) return {Kind::kWalk, direction};
  }
  if (text == "still") return {Kind::kNothing, {}};
  if (mode == Actions::kWords || text.size() != 1) return {};
  const int number = text[0] - '0';
  if (number == 0) return {Kind::kNothing, {}};
  if (number >= 1 && number <= 4) return {Kind::kPush, kDirections[number - 1]};
  if (mode == Actions::kGym && number >= 5 && number <= 8) return {Kind::kWalk, kDirections[number - 5]};
  return {};
}

std::string action_name(Kind kind, Direction direction, Actions mode) {
  if (mode == Actions::kWords) return kind == Kind::kNothing ? "still" : direction_word(direction);
  const int number = static_cast<int>(direction) + 1;
  return std::to_string(kind == Kind::kNothing ? 0 : kind == Kind::kWalk ? number + 4 : number);
}

// 3. What the episodes of one factory share.
struct Shared {
  Rules rules;
  std::optional<LevelPack> data;  // of --data
  LevelPack small = LevelPack::small();
  mutable LevelCache cache;

  Result<std::shared_ptr<const LevelFacts>> facts(const std::string& id) const {
    return cache.get(id, [this](const std::string& name) -> Result<Level> {
      if (const LevelRecord* record = data ? data->find(name) : nullptr) return record->level;
      if (const LevelRecord* record = small.find(name)) return record->level;
      return Error{ErrorCode::kNotFound, "sokoban has no task '" + name + "'", "",
                   "task ids are FILE#N (N-th level from 0); `lodestep tasks sokoban` lists them"};
    });
  }
};

// 4. The environment.
class SokobanEnv final : public Environment {
 public:
  explicit SokobanEnv(std::shared_ptr<const Shared> shared) : shared_(std::move(shared)) {}

  Status reset(const Task& task) override {
    if (task.env != "sokoban")
      return Error{ErrorCode::kInvalidArgument, "not a sokoban task: '" + task.env + "'", "", ""};
    Result<std::shared_ptr<const LevelFacts>> facts = shared_->facts(task.id);
    if (!facts) return facts.error();
    begin(task, *facts);
    return {};
  }

  StepResult step(std::string_view action) override {
    if (!board_ || (rules().after_done == AfterDone::kStop && board_->solved())) return observe();
    const Command command = parse_command(action, rules().actions);
    // verl-agent returns before it looks at the room: no step counted, not done even in a solved room. An
    // unreadable reply is its action 0. gym-sokoban's action 0 is a step that moves nothing.
    const bool skipped = command.kind == Kind::kUnknown ||
                         (command.kind == Kind::kNothing && rules().actions != Actions::kGym);
    last_ = command.kind == Kind::kPush   ? board_->push(command.direction)
            : command.kind == Kind::kWalk ? board_->walk(command.direction)
                                          : Moved{};
    const bool valid = command.kind != Kind::kUnknown;
    passed_over_ = skipped && board_->solved();
    StepResult result = observe();
    result.action_valid = valid;
    if (rules().rewards == Rewards::kSparse) {
      result.reward = !valid ? -0.1 : result.outcome == Outcome::kSuccess ? 10.0 : 0.0;
    } else if (skipped) {
      result.reward = -0.1;
    } else {
      result.reward = gym_reward(counted_, board_->on_target(), board_->level().boxes);
    }
    if (!skipped) counted_ = board_->on_target();
    return result;
  }

  StepResult observe() const override {
    StepResult result;
    if (!board_) return result;
    result.observation.text = board_text(*board_);
    result.outcome = board_->solved() && !passed_over_ ? Outcome::kSuccess : Outcome::kRunning;
    return result;
  }

  std::vector<std::string> admissible_actions() const override {
    std::vector<std::string> actions;
    if (!board_ || (rules().after_done == AfterDone::kStop && board_->solved())) return actions;
    // Moves that change the room; `still` only where the player is shut in.
    for (const Direction direction : kDirections) {
      if (board_->can_push(direction))
        actions.push_back(action_name(Kind::kPush, direction, rules().actions));
      if (rules().actions == Actions::kGym && board_->can_walk(direction)) {
        actions.push_back(action_name(Kind::kWalk, direction, rules().actions));
      }
    }
    if (actions.empty()) actions.push_back(action_name(Kind::kNothing, {}, rules().actions));
    std::sort(actions.begin(), actions.end());
    return actions;
  }

  std::optional<std::string> gold_action() const override {
    if (!board_ || board_->solved()) return std::nullopt;
    const std::optional<int> distance = distance_to_goal();
    if (!distance) return std::nullopt;
    for (const Direction direction : kDirections) {
      Board next = *board_;
      if (!next.push(direction).player) continue;
      if (facts_->table()->distance(facts_->map(), next.cells()) == *distance - 1) {
        return action_name(Kind::kPush, direction, rules().actions);
      }
    }
    return std::nullopt;
  }

  StateKeys state_keys() const override {
    if (!board_) return {};
    const Level& level = board_->level();
    StateKeys keys;
    keys.exact = "sokoban/1:" + to_xsb(level.rows, level.cols, view(level.fixed, board_->cells()), '-');
    keys.exact.pop_back();
    std::replace(keys.exact.begin() + 10, keys.exact.end(), '\n', '/');
    keys.relevant = keys.exact;  // the same without the player
    std::replace(keys.relevant.begin(), keys.relevant.end(), '@', '-');
    std::replace(keys.relevant.begin(), keys.relevant.end(), '+', '.');
    const std::optional<int> left = facts_->map().assignment(facts_->map().boxes_in(board_->cells()));
    keys.stage = left ? "sokoban/1:pushes=" + std::to_string(*left) : "sokoban/1:dead";
    return keys;
  }

  Hash128 true_state_hash() const override {
    if (!board_) return {};
    Hasher hasher;
    hasher.add("sokoban").add_u64(facts_->digest().high).add_u64(facts_->digest().low);
    // The number of boxes that the reward has counted matters only until the first counted step.
    return hasher.add(board_->digits()).add_u64(static_cast<std::uint64_t>(counted_)).finish();
  }

  Details details() const override {
    if (!board_) return {};
    Details details{{"boxes_on_target", std::to_string(board_->on_target())},
                    {"moved_player", last_.player ? "true" : "false"},
                    {"moved_box", last_.box ? "true" : "false"}};
    if (rules().distance) {
      const std::optional<int> distance = distance_to_goal();
      details["distance_to_goal"] = distance ? std::to_string(*distance) : "null";
    }
    return details;
  }

  std::unique_ptr<Environment> clone() const override {
    auto copy = std::make_unique<SokobanEnv>(shared_);
    copy->task_ = task_;
    copy->facts_ = facts_;
    copy->board_ = board_;
    copy->counted_ = counted_;
    copy->last_ = last_;
    copy->passed_over_ = passed_over_;
    return copy;
  }

  // "LEVEL DIGEST:CELLS:COUNTED:FLAGS"
  Snapshot snapshot() const override {
    if (!board_) return {task_, kVersion, ""};
    const int flags = (last_.player ? 1 : 0) + (last_.box ? 2 : 0) + (passed_over_ ? 4 : 0);
    return {task_, kVersion,
            to_hex(facts_->digest()) + ":" + board_->digits() + ":" + std::to_string(counted_) + ":" +
                std::to_string(flags)};
  }

  Status restore(const Snapshot& snapshot) override {
    const auto refuse = [](const std::string& why) { return Error{ErrorCode::kBadData, why, "", ""}; };
    if (snapshot.task.env != "sokoban" || snapshot.version != kVersion) {
      return refuse("not a snapshot of sokoban version " + std::to_string(kVersion));
    }
    Result<std::shared_ptr<const LevelFacts>> facts = shared_->facts(snapshot.task.id);
    if (!facts) return facts.error();
    const std::vector<std::string_view> parts = split(snapshot.bytes, ':');
    if (parts.size() != 4) return refuse("damaged snapshot");
    if (parts[0] != to_hex((*facts)->digest()))
      return refuse("snapshot of another level under the same task id");
    Board board(&(*facts)->level());
    const std::optional<std::uint64_t> counted = parse_uint(parts[2]);
    const std::optional<std::uint64_t> flags = parse_uint(parts[3]);
    if (!board.place(parts[1]) || !counted || !flags || *flags > 7 ||
        *counted > static_cast<std::uint64_t>(board.level().boxes) || std::to_string(*counted) != parts[2] ||
        std::to_string(*flags) != parts[3]) {
      return refuse("damaged snapshot");
    }
    begin(snapshot.task, *facts);
    board_ = board;
    counted_ = static_cast<int>(*counted);
    last_ = {(*flags & 1) != 0, (*flags & 2) != 0};
    passed_over_ = (*flags & 4) != 0;
    return {};
  }

 private:
  const Rules& rules() const { return shared_->rules; }

  void begin(const Task& task, std::shared_ptr<const LevelFacts> facts) {
    task_ = task;
    facts_ = std::move(facts);
    board_.emplace(&facts_->level());
    counted_ = 0;  // the original does not look: boxes that start on targets pay at the first step
    last_ = {};
    passed_over_ = false;
  }

  std::optional<int> distance_to_goal() const {
    const DistanceTable* table = facts_->table();
    return table != nullptr ? table->distance(facts_->map(), board_->cells()) : std::nullopt;
  }

  std::shared_ptr<const Shared> shared_;
  Task task_;
  std::shared_ptr<const LevelFacts> facts_;
  std::optional<Board> board_;
  int counted_ = 0;           // boxes on targets at the last counted step
  Moved last_;                // what the last action moved
  bool passed_over_ = false;  // the last action was verl-agent's 0 in a solved room, answered "not done"
};

// 5. The factory.
class SokobanFactory final : public EnvFactory {
 public:
  SokobanFactory(std::shared_ptr<const Shared> shared, Hash128 settings)
      : shared_(std::move(shared)), settings_(settings) {}
  std::string name() const override { return "sokoban"; }
  std::uint32_t version() const override { return kVersion; }
  Hash128 data_digest() const override {
    return Hasher()
        .add("sokoban")
        .add_u64(settings_.low)
        .add_u64(pack().digest().high)
        .add_u64(pack().digest().low)
        .finish();
  }
  std::vector<std::string> splits() const override { return pack().splits(); }
  Result<std::size_t> task_count(std::string_view split) const override {
    const std::optional<std::size_t> at = find_split(split);
    if (!at) return unknown_split(*this, split);
    return pack().size(*at);
  }
  Result<std::string> task_id(std::string_view split, std::size_t index) const override {
    const std::optional<std::size_t> at = find_split(split);
    if (!at) return unknown_split(*this, split);
    if (index >= pack().size(*at)) return index_past_end(*this, split, index, pack().size(*at));
    return pack().id(*at, index);
  }
  std::unique_ptr<Environment> make() const override { return std::make_unique<SokobanEnv>(shared_); }

 private:
  const LevelPack& pack() const { return shared_->data ? *shared_->data : shared_->small; }
  std::optional<std::size_t> find_split(std::string_view split) const {
    const std::vector<std::string>& names = pack().splits();
    const auto found = std::find(names.begin(), names.end(), split);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
  }
  std::shared_ptr<const Shared> shared_;
  Hash128 settings_;
};

Result<std::shared_ptr<const EnvFactory>> open(const EnvConfig& config) {
  Result<Options> options = Options::parse("sokoban", option_specs(), config.settings);
  if (!options) return options.error();
  Result<bool> distance = options->flag("distance");
  if (!distance) return distance.error();
  auto shared = std::make_shared<Shared>();
  Rules& rules = shared->rules;
  rules.rewards = options->text("rewards") == "sparse" ? Rewards::kSparse : Rewards::kGym;
  const std::string& actions = options->text("actions");
  rules.actions = actions == "gym" ? Actions::kGym : actions == "verl" ? Actions::kVerl : Actions::kWords;
  rules.after_done = options->text("after_done") == "continue" ? AfterDone::kContinue : AfterDone::kStop;
  rules.distance = *distance;
  if (!config.data.empty()) {
    const KeepSolved keep = options->text("solved") == "keep" ? KeepSolved::kYes : KeepSolved::kNo;
    Result<LevelPack> data = LevelPack::open(config.data, keep);
    if (!data) return data.error();
    shared->data = std::move(*data);
  }
  Hasher settings;
  for (const OptionSpec& spec : option_specs()) settings.add(spec.name).add(options->text(spec.name));
  return std::shared_ptr<const EnvFactory>(
      std::make_shared<SokobanFactory>(std::move(shared), settings.finish()));
}

}  // namespace

EnvType env_type() {
  return {"sokoban",
          "push every box onto a target; the player cannot pull",
          "a level file (Boxoban, XSB, .sok) or a folder of them",
          15,
          option_specs(),
          &open};
}

}  // namespace lodestep::sokoban
