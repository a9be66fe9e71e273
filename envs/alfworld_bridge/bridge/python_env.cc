#include "envs/alfworld_bridge/bridge/python_env.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "envs/alfworld_bridge/bridge/python_worker.h"

namespace lodestep::alfworld {
namespace {

// The game as a file of its own, which the original needs; gone with the object.
class GameOnDisk {
 public:
  static Result<std::shared_ptr<GameOnDisk>> write(const std::string& bytes) {
    std::string folder = (std::filesystem::temp_directory_path() / "lodestep-game-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr)
      return Error{ErrorCode::kUnavailable, "cannot make a temporary folder", folder, ""};
    auto game = std::make_shared<GameOnDisk>(folder);
    std::ofstream out(game->path(), std::ios::binary);
    out << bytes;
    if (!out.flush()) return Error{ErrorCode::kUnavailable, "cannot write the game", game->path(), ""};
    return game;
  }
  explicit GameOnDisk(std::string folder) : folder_(std::move(folder)) {}
  ~GameOnDisk() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  GameOnDisk(const GameOnDisk&) = delete;
  GameOnDisk& operator=(const GameOnDisk&) = delete;
  std::string path() const { return folder_ + "/game.tw-pddl"; }

 private:
  std::string folder_;
};

class PythonEnv final : public Environment {
 public:
  PythonEnv(std::shared_ptr<const GameStore> store, PythonSettings settings,
            std::unique_ptr<Environment> native, bool plays_on)
      : store_(std::move(store)),
        settings_(std::move(settings)),
        native_(std::move(native)),
        plays_on_(plays_on) {}

  Status reset(const Task& task) override {
    const GameStore::Entry* entry = store_->find(task.id);
    auto next = native_->clone();
    if (Status status = next->reset(task); !status) return status;
    const Result<std::string> bytes = store_->read(*entry);
    if (!bytes) return bytes.error();
    Result<std::shared_ptr<GameOnDisk>> file = GameOnDisk::write(*bytes);
    if (!file) return file.error();
    const Result<PythonReply> reply = replayed(**file, {});
    if (!reply) return reply.error();
    native_ = std::move(next);
    file_ = std::move(*file);
    commands_.clear();
    reply_ = *reply;
    return {};
  }

  StepResult step(std::string_view action) override {
    if (!file_ || (reply_.won && !plays_on_)) return observe();
    if (!worker_) {  // a copy, or a failure before
      const Result<PythonReply> caught_up = replayed(*file_, commands_);
      if (!caught_up) throw EnvironmentFailure(to_string(caught_up.error()));
    }
    const Result<PythonReply> reply = worker_->step(action);
    if (!reply) {
      worker_.reset();  // the next reset starts another
      throw EnvironmentFailure(to_string(reply.error()));
    }
    commands_.emplace_back(action);
    const bool valid = native_->step(action).action_valid;
    reply_ = *reply;
    StepResult result = observe();
    result.action_valid = valid;
    result.reward = reply_.won ? 1.0 : 0.0;
    return result;
  }

  StepResult observe() const override {
    StepResult result;
    result.observation.text = reply_.observation;
    result.outcome = reply_.won ? Outcome::kSuccess : Outcome::kRunning;
    return result;
  }

  std::vector<std::string> admissible_actions() const override { return reply_.admissible; }
  std::optional<std::string> gold_action() const override { return native_->gold_action(); }
  StateKeys state_keys() const override { return native_->state_keys(); }
  Hash128 true_state_hash() const override { return native_->true_state_hash(); }

  Details details() const override {
    Details details = native_->details();
    details["backend"] = json_quote("python");
    if (worker_) details["backend_versions"] = json_quote(worker_->versions());
    return details;
  }

  // A process cannot be copied: the twin replays the commands in one of its own when it is first stepped.
  std::unique_ptr<Environment> clone() const override {
    auto copy = std::make_unique<PythonEnv>(store_, settings_, native_->clone(), plays_on_);
    copy->file_ = file_;
    copy->commands_ = commands_;
    copy->reply_ = reply_;
    return copy;
  }

  Snapshot snapshot() const override {
    Snapshot snapshot = native_->snapshot();
    std::string lines;
    for (const std::string& command : commands_) lines += base64_encode(command) + "\n";
    snapshot.bytes = lines + "\n" + snapshot.bytes;
    return snapshot;
  }

  Status restore(const Snapshot& snapshot) override {
    const Error damaged{ErrorCode::kBadData, "not a snapshot of alfworld's Python backend", "", ""};
    std::vector<std::string> commands;
    std::string_view rest = snapshot.bytes;
    while (true) {
      const std::size_t end = rest.find('\n');
      if (end == std::string_view::npos) return damaged;
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      if (line.empty()) break;
      const std::optional<std::string> command = base64_decode(line);
      if (!command) return damaged;
      commands.push_back(*command);
    }
    auto next = native_->clone();
    if (Status status = next->restore({snapshot.task, snapshot.version, std::string(rest)}); !status)
      return status;
    const GameStore::Entry* entry = store_->find(snapshot.task.id);
    const Result<std::string> bytes = store_->read(*entry);
    if (!bytes) return bytes.error();
    Result<std::shared_ptr<GameOnDisk>> file = GameOnDisk::write(*bytes);
    if (!file) return file.error();
    const Result<PythonReply> reply = replayed(**file, commands);
    if (!reply) return reply.error();
    native_ = std::move(next);
    file_ = std::move(*file);
    commands_ = std::move(commands);
    reply_ = *reply;
    return {};
  }

 private:
  // Brings the worker to the state after these commands. Starts one when there is none, or when the old one
  // proves dead: it has no state to lose here.
  Result<PythonReply> replayed(const GameOnDisk& file, const std::vector<std::string>& commands) {
    Result<PythonReply> reply = Error{};
    for (int attempt = worker_ ? 0 : 1; attempt < 2; ++attempt) {
      if (!worker_) {
        Result<std::unique_ptr<PythonWorker>> started =
            PythonWorker::start(settings_.python, settings_.timeout);
        if (!started) return started.error();
        worker_ = std::move(*started);
      }
      reply = worker_->reset(file.path());
      for (std::size_t i = 0; i < commands.size() && reply; ++i) reply = worker_->step(commands[i]);
      if (reply) return reply;
      worker_.reset();
    }
    return reply;
  }

  std::shared_ptr<const GameStore> store_;
  PythonSettings settings_;
  std::unique_ptr<Environment> native_;
  bool plays_on_;
  std::unique_ptr<PythonWorker> worker_;
  std::shared_ptr<GameOnDisk> file_;
  std::vector<std::string> commands_;
  PythonReply reply_;
};

}  // namespace

std::unique_ptr<Environment> make_python_env(std::shared_ptr<const GameStore> store,
                                             const PythonSettings& settings,
                                             std::unique_ptr<Environment> native, bool plays_on) {
  return std::make_unique<PythonEnv>(std::move(store), settings, std::move(native), plays_on);
}

}  // namespace lodestep::alfworld
