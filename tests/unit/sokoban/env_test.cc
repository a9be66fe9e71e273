// What a user of the environment notices: actions, schemes, ends, keys, snapshots, task lists, errors.
#include "envs/sokoban/board.h"
#include "tests/unit/sokoban/support.h"

namespace lodestep::sokoban {
namespace {

Level rows(const std::vector<std::string>& text) {
  Result<Level> level = level_from_rows(text);
  INFO((level.ok() ? "" : level.error().message));
  REQUIRE(level.ok());
  return *level;
}

std::string error_of(const std::vector<std::string>& text) { return level_from_rows(text).error().message; }

TEST_CASE("the text is verl-agent's, tabs and all") {
  auto env = open_level(rows({"#####", "#@$.#", "# *_#", "#####"}), {});
  CHECK(env->observe().observation.text ==
        " # \t # \t # \t # \t # \t\n # \t P \t X \t O \t # \t\n # \t _ \t \xe2\x88\x9a \t _ \t # \t\n # \t # "
        "\t # \t # \t # \t");
}

TEST_CASE("words in any case; the player on a target is S; the end comes once") {
  auto env = open_level(rows({"######", "#+$ .#", "# $  #", "#    #", "######"}), {});
  CHECK(env->observe().observation.text.find(" S \t") != std::string::npos);
  StepResult result = env->step(" RIGHT ");
  CHECK(result.reward == -0.1);
  CHECK(result.action_valid);
  CHECK(env->step("Right").reward == 0.9);
  CHECK(env->details().at("boxes_on_target") == "1");
  CHECK(env->details().at("moved_box") == "true");
  for (const char* word : {"down", "left", "left", "up"}) CHECK_FALSE(env->step(word).done());
}

TEST_CASE("a step limit pays nothing: only steps cost (walking to and fro)") {
  auto env = open_level(rows({"######", "#@ $.#", "######"}), {});
  double sum = 0;
  for (int t = 0; t < 200; ++t) {
    const StepResult result = env->step(t % 2 == 0 ? "left" : "still");
    sum += result.reward;
    CHECK_FALSE(result.done());
  }
  CHECK(sum == Approx(-20.0));
}

TEST_CASE("schemes: gym pays per step, sparse pays the end and invalid replies") {
  const Level level = rows({"######", "#@ $.#", "######"});
  auto gym = open_level(level, {});
  CHECK(gym->step("right").reward == -0.1);
  CHECK(gym->step("jump").reward == -0.1);
  CHECK(gym->step("up").reward == -0.1);
  const StepResult win = gym->step("right");
  CHECK(win.reward == 10.9);
  CHECK(win.outcome == Outcome::kSuccess);
  CHECK(gym->step("left").reward == 0.0);
  auto sparse = open_level(level, {{"rewards", "sparse"}});
  CHECK(sparse->step("right").reward == 0.0);
  const StepResult odd = sparse->step("jump");
  CHECK(odd.reward == -0.1);
  CHECK_FALSE(odd.action_valid);
  CHECK(sparse->step("up").reward == 0.0);  // understood, though a wall is in the way
  CHECK(sparse->step("right").reward == 10.0);
}

TEST_CASE("numbers of both originals, and words beside them") {
  const Level level = rows({"#######", "#@ $ .#", "#######"});
  auto verl = open_level(level, {{"actions", "verl"}});
  CHECK(verl->step("4").action_valid);
  CHECK(verl->step("0").action_valid);
  CHECK_FALSE(verl->step("5").action_valid);
  CHECK(verl->step("right").action_valid);
  CHECK(verl->details().at("moved_box") == "true");
  CHECK(verl->admissible_actions() == std::vector<std::string>{"3", "4"});
  auto gym = open_level(level, {{"actions", "gym"}});
  CHECK(gym->admissible_actions() == std::vector<std::string>{"4", "8"});
  gym->step("8");
  CHECK(gym->step("8").action_valid);  // a pure move does not push
  CHECK(gym->details().at("moved_player") == "false");
  CHECK(gym->step("push right").action_valid);
  CHECK(gym->details().at("moved_box") == "true");
  CHECK_FALSE(gym->step("9").action_valid);
}

TEST_CASE("boxes that start on targets pay at the first counted step, as the original does") {
  const Level level = rows({"######", "#@* $#", "#   .#", "######"});
  auto env = open_level(level, {});
  CHECK(env->step("still").reward == -0.1);
  CHECK(env->step("down").reward == 0.9);
  CHECK(env->step("up").reward == -0.1);
}

TEST_CASE("keys: board, box places, pushes that are left") {
  auto env = open_level(rows({"######", "#@ $.#", "#    #", "######"}), {});
  const StateKeys keys = env->state_keys();
  CHECK(keys.exact == "sokoban/1:######/#@-$.#/#----#/######");
  CHECK(keys.relevant == "sokoban/1:######/#--$.#/#----#/######");
  CHECK(keys.stage == "sokoban/1:pushes=1");
  env->step("down");
  CHECK(env->state_keys().relevant == keys.relevant);
  CHECK(env->state_keys().exact != keys.exact);
}

TEST_CASE("dead states say so") {
  auto env = open_level(rows({"######", "#  @ #", "#  $.#", "#    #", "######"}), {{"distance", "true"}});
  CHECK(env->details().at("distance_to_goal") == "3");
  CHECK(env->gold_action() == "left");
  env->step("down");
  CHECK(env->details().at("distance_to_goal") == "null");
  CHECK(env->state_keys().stage == "sokoban/1:dead");
  CHECK(env->gold_action() == std::nullopt);
}

TEST_CASE("the gold policy wins every embedded level in the least number of moves") {
  auto factory = *open_environment("sokoban", {"", {{"distance", "true"}}});
  auto env = factory->make();
  int levels = 0;
  for (int n = 0; env->reset({"sokoban", "small.xsb#" + std::to_string(n), 0}).ok(); ++n, ++levels) {
    INFO("level " << n);
    const std::string distance = env->details().at("distance_to_goal");
    REQUIRE(distance != "null");
    for (int left = std::stoi(distance); left > 0; --left) {
      CHECK(env->details().at("distance_to_goal") == std::to_string(left));
      env->step(*env->gold_action());
    }
    CHECK(env->observe().outcome == Outcome::kSuccess);
  }
  CHECK(levels == 30);
}

TEST_CASE("errors of levels name what and where") {
  CHECK(error_of({"#####", "# $.#", "#####"}) == "no player");
  CHECK(error_of({"#####", "#@@$.#", "#####"}) == "more than one player: the second is at row 2, column 3");
  CHECK(error_of({"######", "#@$$.#", "######"}) == "2 boxes but 1 target");
  CHECK(error_of({"#####", "#@$. ", "#####"}) ==
        "open border: the player can leave the level at row 2, column 5");
  CHECK(error_of({"#####", "#@x.#", "#####"}) == "unknown character 'x' at row 2, column 3");
  CHECK(error_of({"###", "#@#", "###"}) == "no box and no target");
}

TEST_CASE("outside cells become wall, ragged rows are padded, decoration outside is dropped") {
  const Level level = rows({"  ####", " ##  #   *", "## @$.#", "#    ##", "######"});
  CHECK(level.boxes == 1);
  CHECK(to_xsb(level.rows, level.cols, level.start) ==
        "##########\n###  #####\n## @$.####\n#    #####\n##########\n");
}

TEST_CASE("a bad level in a file: file, line and level; a bad option: the known ones") {
  const TempFolder folder("sokoban-errors");
  const std::string file = folder.write("two.txt", "; 0\n#####\n#@$.#\n#####\n\n; 1\n#####\n# $.#\n#####\n");
  const Error error = open_environment("sokoban", {file, {}}).error();
  CHECK(to_string(error) == "level 1: no player (two.txt, line 7)");
  CHECK(open_environment("sokoban", {folder.path() + "/none.txt", {}}).error().code == ErrorCode::kNotFound);
  const TempFolder empty("sokoban-empty");
  CHECK(open_environment("sokoban", {empty.path(), {}}).error().message == "no level files in this folder");
  const std::string done = folder.write("done.xsb", "#####\n#@* #\n#####\n");
  CHECK(to_string(open_environment("sokoban", {done, {}}).error()) ==
        "level 0: already solved (done.xsb, line 1)");
  CHECK(
      open_environment("sokoban", {"", {{"reward", "gym"}}}).error().message.find("did you mean 'rewards'") !=
      std::string::npos);
}

TEST_CASE("a folder: sorted files, splits by folder name that share no content") {
  const TempFolder folder("sokoban-splits");
  const std::string a = "; 0\n#####\n#@$.#\n#####\n\n";
  const std::string b = "; 1\n######\n#@ $.#\n######\n\n";
  folder.write("train/001.txt", a);
  folder.write("train/000.txt", b + a);
  folder.write("test/000.txt", b);
  folder.write("README.md", "not a level");
  auto factory = *open_environment("sokoban", {folder.path(), {}});
  CHECK(factory->splits() == std::vector<std::string>{"train", "test"});
  CHECK(*factory->task_count("train") == 2);
  CHECK(*factory->task_id("train", 0) == "train/000.txt#1");
  CHECK(*factory->task_id("train", 1) == "train/001.txt#0");
  CHECK(*factory->task_id("test", 0) == "test/000.txt#0");
  auto env = factory->make();
  CHECK(env->reset({"sokoban", "train/000.txt#0", 0}).ok());  // still there by its id
  CHECK_FALSE(env->reset({"sokoban", "train/000.txt#00", 0}).ok());
}

}  // namespace
}  // namespace lodestep::sokoban
