// Data roots, options, observation variants, threads and memory, through the interface users have.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/rng.h"
#include "envs/alfworld_bridge/alfworld_env.h"
#include "envs/alfworld_bridge/check.h"
#include "envs/alfworld_bridge/household.h"
#include "tests/unit/alfworld/small_game.h"

namespace lodestep::alfworld {
namespace {

namespace fs = std::filesystem;
using test::SmallGame;

// A folder of its own for one test, removed at the end.
class Folder {
 public:
  Folder()
      : path_(fs::temp_directory_path() /
              ("lodestep_alfworld_" + to_hex(hash128(std::to_string(reinterpret_cast<std::uintptr_t>(this)) +
                                                     Catch::getResultCapture().getCurrentTestName())))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string path() const { return path_.string(); }
  void add(const std::string& id, const std::string& file) const {
    fs::create_directories(path_ / id);
    std::ofstream(path_ / id / "game.tw-pddl") << file;
  }

 private:
  fs::path path_;
};

std::shared_ptr<const EnvFactory> opened(const std::string& data, const Settings& settings = {}) {
  Result<std::shared_ptr<const EnvFactory>> factory = env_type().open({data, settings});
  if (!factory) FAIL(to_string(factory.error()));
  return *factory;
}

std::string refusal(const std::string& data, const Settings& settings = {}) {
  const Result<std::shared_ptr<const EnvFactory>> factory = env_type().open({data, settings});
  return factory ? "opened" : to_string(factory.error());
}

std::vector<std::string> tasks(const EnvFactory& factory, const std::string& split) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < *factory.task_count(split); ++i) ids.push_back(*factory.task_id(split, i));
  return ids;
}

const std::string kOne = "valid_seen/pick_and_place_simple-Cup-None-Box-1/trial_1";
const std::string kTwo = "valid_seen/pick_and_place_simple-Cup-None-Box-2/trial_1";

TEST_CASE("task lists do not depend on the order in which files were written") {
  Folder forward, backward;
  const std::string train = "train/pick_and_place_simple-Cup-None-Box-3/trial_9";
  for (const std::string& id : {kOne, kTwo, train}) forward.add(id, SmallGame().file());
  for (const std::string& id : {train, kTwo, kOne}) backward.add(id, SmallGame().file());
  const auto a = opened(forward.path());
  const auto b = opened(backward.path());
  CHECK(a->splits() == std::vector<std::string>{"train", "valid_seen"});
  CHECK(tasks(*a, "valid_seen") == std::vector<std::string>{kOne, kTwo});
  CHECK(tasks(*a, "valid_seen") == tasks(*b, "valid_seen"));
  CHECK(a->data_digest() == b->data_digest());
  backward.add(
      kTwo, SmallGame().with(&SmallGame::grammar, "put the cup in the box", "put a cup in the box").file());
  CHECK(opened(backward.path())->data_digest() != a->data_digest());  // the visible text is part of the data
}

TEST_CASE("a split's folder, a single file and an archive keep the ids of the whole data root") {
  Folder root;
  root.add(kOne, SmallGame().file());
  CHECK(tasks(*opened(root.path() + "/valid_seen"), "valid_seen") == std::vector<std::string>{kOne});
  CHECK(tasks(*opened(root.path() + "/" + kOne + "/game.tw-pddl"), "valid_seen") ==
        std::vector<std::string>{kOne});
  for (const char* how :
       {"tar -C '%' -czf '%/g.tar.gz' valid_seen", "tar -C '%' --zstd -cf '%/g.tar.zst' valid_seen"}) {
    std::string command = how;
    for (std::size_t at = command.find('%'); at != std::string::npos; at = command.find('%'))
      command.replace(at, 1, root.path());
    REQUIRE(std::system(command.c_str()) == 0);
    const std::string archive =
        root.path() + (command.find("zst") != std::string::npos ? "/g.tar.zst" : "/g.tar.gz");
    CHECK(tasks(*opened(archive), "valid_seen") == std::vector<std::string>{kOne});
    CHECK(opened(archive)->data_digest() ==
          opened(root.path() + "/" + kOne + "/game.tw-pddl")->data_digest());
    fs::resize_file(archive, fs::file_size(archive) / 2);
    CHECK(refusal(archive) != "opened");
    fs::remove(archive);
  }
  auto env = opened(root.path())->make();
  CHECK(env->reset({"alfworld", kOne + "/game.tw-pddl", 0}).ok());
  CHECK(env->reset({"alfworld", kOne.substr(11), 0}).ok());  // without the split: still only one game fits
  CHECK_FALSE(env->reset({"alfworld", "valid_seen/elsewhere", 0}).ok());
}

TEST_CASE("an empty or wrong path is an immediate error that names it") {
  Folder empty;
  CHECK(refusal(empty.path()) == "no game.tw-pddl in there (" + empty.path() + ")");
  CHECK(refusal(empty.path() + "/nowhere") == "no such file or folder (" + empty.path() + "/nowhere)");
  std::ofstream(empty.path() + "/text") << "hello";
  CHECK(refusal(empty.path() + "/text").find("not a readable archive") == 0);
}

TEST_CASE("games that cannot be offered are named and counted, or left out on request") {
  Folder root;
  root.add(kOne, SmallGame().file());
  SmallGame silent;
  silent.solvable = "";
  root.add(kTwo, silent.file());
  CHECK(refusal(root.path()) == "1 of 2 games cannot be offered: " + kTwo +
                                    ": it does not say whether it is solvable (" + root.path() + ")");
  const auto skipping = opened(root.path(), {{"refused", "skip"}});
  CHECK(*skipping->task_count("valid_seen") == 1);
  CHECK_FALSE(skipping->make()->reset({"alfworld", kTwo, 0}).ok());

  const std::string movable = "valid_seen/pick_and_place_with_movable_recep-Fork-Bowl-Shelf-1/trial_1";
  root.add(movable, SmallGame().file());
  CHECK(refusal(root.path()).find("2 of 3 games cannot be offered") == 0);
  CHECK(refusal(root.path()).find("movable container") != std::string::npos);
  CHECK(refusal(root.path() + "/" + movable + "/game.tw-pddl").find("movable container") !=
        std::string::npos);
  const auto reports = check_games(root.path());
  REQUIRE(reports.ok());
  REQUIRE(reports->size() == 3);
  CHECK(std::count_if(reports->begin(), reports->end(),
                      [](const GameReport& report) { return report.problem.empty(); }) == 1);
}

TEST_CASE("options are checked") {
  CHECK(refusal("", {{"observation", "loud"}}) != "opened");
  CHECK(refusal("", {{"colour", "red"}}).find("colour") != std::string::npos);
  CHECK(refusal("", {{"task_types", "pick_two"}}).find("unknown task type 'pick_two'") == 0);
  const auto two = opened("", {{"task_types", "pick_two_obj_and_place"}});
  for (const std::string& id : tasks(*two, "train")) CHECK(id.find("train/pick_two_obj_and_place-") == 0);
}

TEST_CASE("the put form is the file's; the other one is an alias on request and never listed") {
  Folder root;
  root.add(kOne, SmallGame().file());
  root.add(kTwo, SmallGame().with(&SmallGame::grammar, "move {o} to {r}", "put {o} in/on {r}").file());
  const auto last_step = [&](const Settings& settings, const std::string& id, const std::string& put) {
    auto env = opened(root.path(), settings)->make();
    REQUIRE(env->reset({"alfworld", id, 0}).ok());
    for (const char* command : {"go to table 1", "take cup 1 from table 1", "go to box 1", "open box 1"})
      REQUIRE(env->step(command).action_valid);
    const std::vector<std::string> before = env->admissible_actions();
    CHECK(std::find(before.begin(), before.end(), put) ==
          (env->details().at("put_form").substr(1, 3) == put.substr(0, 3)
               ? std::find(before.begin(), before.end(), put)
               : before.end()));
    return env->step(put).observation.text;
  };
  CHECK(last_step({}, kOne, "move cup 1 to box 1") == "Put cup 1.");
  CHECK(last_step({}, kOne, "put cup 1 in/on box 1") == "Nothing happens.");
  CHECK(last_step({{"verb_alias", "true"}}, kOne, "put cup 1 in/on box 1") == "Put cup 1.");
  CHECK(last_step({{"verb_alias", "true"}}, kOne, "put cup 1 in box 1") == "Put cup 1.");
  CHECK(last_step({}, kTwo, "put cup 1 in/on box 1") == "Put cup 1.");
  CHECK(last_step({}, kTwo, "move cup 1 to box 1") == "Nothing happens.");
  CHECK(last_step({{"verb_alias", "true"}}, kTwo, "move cup 1 to box 1") == "Put cup 1.");
  auto env = opened(root.path())->make();
  REQUIRE(env->reset({"alfworld", kTwo, 0}).ok());
  CHECK(env->details().at("verb") == "\"put\"");
}

TEST_CASE("after a win nothing changes, or the game plays on as the original does") {
  Folder root;
  root.add(kOne, SmallGame().file());
  const std::vector<std::string> win{"go to table 1", "take cup 1 from table 1", "go to box 1", "open box 1",
                                     "move cup 1 to box 1"};
  for (const bool on : {false, true}) {
    auto env = opened(root.path(), on ? Settings{{"after_done", "continue"}} : Settings{})->make();
    REQUIRE(env->reset({"alfworld", kOne, 0}).ok());
    StepResult result;
    for (const std::string& command : win) result = env->step(command);
    CHECK(result.outcome == Outcome::kSuccess);
    CHECK(result.reward == 1.0);
    result = env->step("take cup 1 from box 1");
    CHECK(result.outcome == (on ? Outcome::kRunning : Outcome::kSuccess));
    CHECK(result.observation.text == (on ? "Taken cup 1." : "Put cup 1."));
    CHECK(result.reward == 0.0);
    result = env->step("move cup 1 to box 1");
    CHECK(result.outcome == Outcome::kSuccess);
    CHECK(result.reward == (on ? 1.0 : 0.0));
  }
}

TEST_CASE("commands are taken as Python strips them, and exactly otherwise") {
  auto env = opened("")->make();
  const std::string id = *opened("")->task_id("train", 0);
  REQUIRE(env->reset({"alfworld", id, 0}).ok());
  const std::string text = env->step("inventory").observation.text;
  for (const char* same : {" inventory ", "\t\ninventory\r\n", "\xC2\xA0inventory\xE3\x80\x80"})
    CHECK(env->step(same).observation.text == text);
  const Hash128 before = env->true_state_hash();
  for (const char* other : {"Inventory", "inventory.", "i", "", "inven tory", "\xE2\x80\x8Binventory"}) {
    const StepResult result = env->step(other);
    CHECK(result.observation.text == "Nothing happens.");
    CHECK_FALSE(result.action_valid);
  }
  CHECK(env->true_state_hash() == before);
  CHECK(env->details().at("moves") == "4");
}

TEST_CASE("located observations tell place, hands and moves; their snapshots carry them on") {
  Folder root;
  root.add(kOne, SmallGame().file());
  const auto factory = opened(root.path(), {{"observation", "located"}, {"after_done", "continue"}});
  auto env = factory->make();
  REQUIRE(env->reset({"alfworld", kOne, 0}).ok());
  CHECK(env->observe().observation.text.substr(env->observe().observation.text.find(" Location")) ==
        " Location: middle of a room. Items in hand (status): nothing. ");
  env->step("go to table 1");
  CHECK(env->step("take cup 1 from table 1").observation.text ==
        "Taken cup 1. Location: table 1. Items in hand (status): cup 1(unprocessed). ");
  env->step("go to box 1");
  env->step("open box 1");
  CHECK(env->step("move cup 1 to box 1").observation.text ==
        "Put cup 1. Location: box 1. Items in hand (status): nothing. History moving list by you: cup "
        "1(unprocessed) from table 1 move to box 1;");
  CHECK(env->details().at("anchor").find("move to box 1; go to table 1,") != std::string::npos);
  auto copy = factory->make();
  REQUIRE(copy->restore(env->snapshot()).ok());
  CHECK(copy->snapshot().bytes == env->snapshot().bytes);
  CHECK(copy->step("take cup 1 from box 1").observation.text ==
        env->step("take cup 1 from box 1").observation.text);
}

TEST_CASE("every embedded game can be won by the gold policy, also after going astray") {
  const auto factory = opened("");
  std::size_t games = 0;
  for (const std::string& split : factory->splits()) {
    for (const std::string& id : tasks(*factory, split)) {
      INFO(id);
      auto env = factory->make();
      REQUIRE(env->reset({"alfworld", id, 0}).ok());
      Stream dice(hash128(id));
      for (int i = 0; i < 12 && !env->observe().done(); ++i) {
        const auto actions = env->admissible_actions();
        env->step(actions[dice.below(actions.size())]);
      }
      for (int steps = 0; !env->observe().done(); ++steps) {
        REQUIRE(steps < 25);
        const auto action = env->gold_action();
        REQUIRE(action.has_value());
        REQUIRE(env->step(*action).action_valid);
      }
      CHECK(env->observe().outcome == Outcome::kSuccess);
      ++games;
    }
  }
  CHECK(games >= 60);
}

std::string transcript(const EnvFactory& factory, const std::string& id) {
  auto env = factory.make();
  if (!env->reset({"alfworld", id, 0}).ok()) return "no";
  std::string all = env->observe().observation.text;
  Stream dice(hash128(id));
  for (int i = 0; i < 200; ++i) {
    const auto actions = env->admissible_actions();
    all += env->step(actions[dice.below(actions.size())]).observation.text + env->state_keys().exact;
  }
  return all;
}

TEST_CASE("sixteen threads playing sixteen games give the transcripts of one thread") {
  const std::vector<std::string> ids = tasks(*opened("", {{"after_done", "continue"}}), "train");
  const auto alone = opened("", {{"after_done", "continue"}});
  const auto shared =
      opened("", {{"after_done", "continue"}});  // its games are not loaded yet: threads load them
  std::vector<std::string> expected(16), seen(16);
  for (std::size_t i = 0; i < 16; ++i) expected[i] = transcript(*alone, ids[i * 3]);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 16; ++i)
    threads.emplace_back([&, i] { seen[i] = transcript(*shared, ids[i * 3]); });
  for (std::thread& thread : threads) thread.join();
  CHECK(seen == expected);
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

TEST_CASE("memory is level after the first pass of resets") {
  const auto factory = opened("");
  const std::vector<std::string> ids = tasks(*factory, "train");
  const auto pass = [&](std::size_t resets) {
    for (std::size_t i = 0; i < resets; ++i) {
      auto env = factory->make();
      REQUIRE(env->reset({"alfworld", ids[i % ids.size()], 0}).ok());
      env->step(env->admissible_actions()[0]);
    }
  };
  pass(200);
  const std::size_t before = resident_bytes();
  pass(10000);
  const std::size_t after = resident_bytes();
  CHECK(after < before + (2U << 20));
}

}  // namespace
}  // namespace lodestep::alfworld
