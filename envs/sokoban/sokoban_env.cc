// The environment: one level in play, by the rules of the factory.

#include <algorithm>
#include <array>

#include "base/text.h"
#include "envs/image.h"
#include "envs/sokoban/board.h"
#include "envs/sokoban/shared.h"

namespace lodestep::sokoban {
namespace {

// What an action can ask for.
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
    if (last_.box) stage_.clear();
    const bool valid = command.kind != Kind::kUnknown;
    passed_over_ = skipped && board_->solved();
    StepResult result = observe();
    result.action_valid = valid;
    result.counted = !skipped;
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
    if (rules().pictures != Pictures::kNone) result.observation.image = picture();
    result.outcome = board_->solved() && !passed_over_ ? Outcome::kSuccess : Outcome::kRunning;
    return result;
  }

  std::vector<std::string> admissible_actions() const override {
    std::vector<std::string> actions;
    if (!board_ || (rules().after_done == AfterDone::kStop && board_->solved())) return actions;
    actions.reserve(std::size(kDirections));
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
    const std::optional<Direction> first = facts_->outlook(board_->cells()).first;
    if (!first) return std::nullopt;
    return action_name(Kind::kPush, *first, rules().actions);
  }

  StateKeys state_keys() const override {
    if (!board_) return {};
    const auto cols = static_cast<std::size_t>(board_->level().cols);
    const auto player = static_cast<std::size_t>(board_->player());
    const bool on_target = board_->level().fixed[player] == kTarget;
    constexpr std::string_view kHead = "sokoban/1:";
    StateKeys keys;
    keys.relevant.assign(kHead.size() + board_->cells().size() + board_->cells().size() / cols - 1, '/');
    char* at = std::copy(kHead.begin(), kHead.end(), keys.relevant.data());
    for (std::size_t cell = 0; cell < board_->cells().size(); ++cell) {
      if (cell != 0 && cell % cols == 0) ++at;  // the slash is there
      *at++ = "#-.*$-"[board_->cells()[cell]];
    }
    const std::size_t place = kHead.size() + player + player / cols;
    if (on_target) keys.relevant[place] = '.';
    keys.exact = keys.relevant;  // the same with the player
    keys.exact[place] = on_target ? '+' : '@';
    if (stage_.empty()) stage_ = stage();
    keys.stage = stage_;
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
    Details details = facts_->origin();
    details["boxes_on_target"] = std::to_string(board_->on_target());
    details["moved_player"] = last_.player ? "true" : "false";
    details["moved_box"] = last_.box ? "true" : "false";
    if (rules().distance) {
      const Outlook outlook = facts_->outlook(board_->cells());
      details["distance_to_goal"] = outlook.distance ? std::to_string(*outlook.distance)
                                    : outlook.verdict == Verdict::kImpossible ? "null"
                                                                              : "\"unknown\"";
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
    copy->stage_ = stage_;
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
    board_ = board;  // nothing has asked for the stage yet
    counted_ = static_cast<int>(*counted);
    last_ = {(*flags & 1) != 0, (*flags & 2) != 0};
    passed_over_ = (*flags & 4) != 0;
    return {};
  }

 private:
  const Rules& rules() const { return shared_->rules; }

  Image picture() const {
    const Image image = rules().pictures == Pictures::kTiny
                            ? tiny_image(board_->level(), board_->cells(), rules().tiny_scale)
                            : tile_image(board_->level(), board_->cells(), shared_->tiles);
    return rules().enlarge ? enlarge(image) : image;
  }

  void begin(const Task& task, std::shared_ptr<const LevelFacts> facts) {
    task_ = task;
    facts_ = std::move(facts);
    board_.emplace(&facts_->level());
    counted_ = 0;  // the original does not look: boxes that start on targets pay at the first step
    last_ = {};
    passed_over_ = false;
    stage_.clear();
  }

  std::string stage() const {
    const std::vector<int> boxes = facts_->map().boxes_in(board_->cells());
    const std::optional<int> left =
        facts_->map().frozen(boxes) ? std::nullopt : facts_->map().assignment(boxes);
    return left ? "sokoban/1:pushes=" + std::to_string(*left) : "sokoban/1:dead";
  }

  std::shared_ptr<const Shared> shared_;
  Task task_;
  std::shared_ptr<const LevelFacts> facts_;
  std::optional<Board> board_;
  int counted_ = 0;            // boxes on targets at the last counted step
  Moved last_;                 // what the last action moved
  mutable std::string stage_;  // of the boxes as they stand; empty: to be found when it is asked for
  bool passed_over_ = false;   // the last action was verl-agent's 0 in a solved room, answered "not done"
};

}  // namespace

std::unique_ptr<Environment> make_environment(std::shared_ptr<const Shared> shared) {
  return std::make_unique<SokobanEnv>(std::move(shared));
}

}  // namespace lodestep::sokoban
