// What users and scripts rely on: words, exit statuses, one-line errors, whole outputs.
#include <catch2/catch.hpp>

#include "program.h"

namespace lodestep::harness::test {
namespace {

bool is_one_error(const std::string& err) {
  return err.starts_with("lodestep: error: ") && err.find("error:", 10 + 6) == std::string::npos;
}

TEST_CASE("wrong words: one error line, exit 2, the nearest known word") {
  const std::vector<std::vector<std::string>> wrong{{"plya"},
                                                    {"play"},
                                                    {"play", "sokobna"},
                                                    {"play", "dummy", "--tsk", "1"},
                                                    {"tasks", "dummy", "--limit", "x"},
                                                    {"tasks", "dummy", "--split", "tset"},
                                                    {"tasks", "dummy", "extra"},
                                                    {"tasks", "dummy", "--set", "lenght=7"},
                                                    {"tasks", "dummy", "--set", "length"},
                                                    {"tasks", "dummy", "--set", "length=many"},
                                                    {"rollout", "dummy", "--group", "3"},
                                                    {"rollout", "dummy", "--policy", "mixed:2"},
                                                    {"rollout", "dummy", "--policy", "best"},
                                                    {"rollout", "dummy", "--estimator", "grop"},
                                                    {"rollout", "dummy", "--matcher", "exactly"},
                                                    {"rollout", "dummy", "--groups", "0"},
                                                    {"export", "missing.db"},
                                                    {"report", "missing.db"},
                                                    {"rollout", "dummy", "--resume", "missing.db"},
                                                    {"tasks", "dummy", "--data", "somewhere"}};
  for (const auto& words : wrong) {
    const Ran ran = run(words);
    INFO(words.back() << ": " << ran.err);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK(is_one_error(ran.err));
  }
  CHECK(run({"plya"}).err.find("did you mean 'play'?") != std::string::npos);
  CHECK(run({"play", "dumy"}).err.find("did you mean 'dummy'?") != std::string::npos);
  CHECK(run({"rollout", "dummy", "--grops", "3"}).err.find("did you mean '--groups'?") != std::string::npos);
  CHECK(run({"tasks", "dummy", "--set", "lenght=7"}).err.find("known options: length") != std::string::npos);
}

TEST_CASE("every command explains itself") {
  const Ran help = run({"--help"});
  CHECK(help.status == 0);
  for (const std::string command : {"envs", "tasks", "play", "rollout", "report", "export"}) {
    CHECK(help.out.find("  " + command) != std::string::npos);
    const Ran own = run({command, "--help"});
    CHECK(own.status == 0);
    CHECK(own.out.find("lodestep " + command) != std::string::npos);
  }
  CHECK(run({"--version"}).out.starts_with("lodestep "));
}

TEST_CASE("play --jsonl: every line gets one reply, and mistakes do not end it") {
  const Ran ran = run({"play", "dummy", "--jsonl"},
                      "{\"op\":\"step\",\"action\":\"right\"}\n"
                      "not json\n"
                      "{\"op\":\"dance\"}\n"
                      "{\"op\":\"reset\",\"task\":\"11\"}\n"
                      "{\"op\":\"reset\",\"task\":\"0\",\"seed\":-1}\n"
                      "{\"op\":\"reset\",\"task\":\"1\",\"seed\":3}\n"
                      "{\"op\":\"step\"}\n"
                      "{\"op\":\"step\",\"action\":\"fly\"}\n"
                      "{\"op\":\"step\",\"action\":\"right\"}\n"
                      "{\"op\":\"step\",\"action\":\"right\"}\n"
                      "{\"op\":\"step\",\"action\":\"right\"}\n"
                      "{\"op\":\"restore\",\"snapshot\":\"AAAA\"}\n"
                      "{\"op\":\"close\"}\n"
                      "{\"op\":\"reset\"}\n");
  std::vector<std::string> replies;
  std::string line;
  for (const char c : ran.out) {
    if (c == '\n') {
      replies.push_back(line);
      line.clear();
    } else {
      line += c;
    }
  }
  REQUIRE(replies.size() == 13);
  for (const std::size_t refused : {0U, 1U, 2U, 3U, 4U, 6U, 11U})
    CHECK(replies[refused].starts_with("{\"ok\":false"));
  CHECK(replies[5].find("\"observation\":\"You stand in cell 4.") != std::string::npos);
  CHECK(replies[7].find("\"valid\":false") != std::string::npos);
  CHECK(replies[9].find("\"reward\":1,\"done\":true,\"outcome\":\"success\"") != std::string::npos);
  CHECK(replies[10].find("\"reward\":0,\"done\":true") != std::string::npos);
  CHECK(ran.status == 0);
}

TEST_CASE("play --jsonl: the step limit truncates and is no success") {
  const Ran ran = run({"play", "dummy", "--jsonl", "--max-steps", "2"},
                      "{\"op\":\"reset\",\"task\":\"3\"}\n{\"op\":\"step\",\"action\":\"left\"}\n"
                      "{\"op\":\"step\",\"action\":\"right\"}\n{\"op\":\"step\",\"action\":\"right\"}\n");
  CHECK(
      ran.out.find("\"reward\":0,\"done\":true,\"outcome\":\"running\",\"valid\":true,\"truncated\":true") !=
      std::string::npos);
}

TEST_CASE("play --jsonl: a snapshot brings the episode back, step count included") {
  const Ran first = run(
      {"play", "dummy", "--jsonl", "--max-steps", "3"},
      "{\"op\":\"reset\",\"task\":\"3\"}\n{\"op\":\"step\",\"action\":\"right\"}\n{\"op\":\"snapshot\"}\n");
  const std::size_t at = first.out.rfind("\"snapshot\":\"") + 12;
  const std::string snapshot = first.out.substr(at, first.out.rfind('"') - at);
  const Ran second =
      run({"play", "dummy", "--jsonl", "--max-steps", "3"}, "{\"op\":\"restore\",\"snapshot\":\"" + snapshot +
                                                                "\"}\n{\"op\":\"step\",\"action\":\"left\"}\n"
                                                                "{\"op\":\"step\",\"action\":\"left\"}\n");
  CHECK(second.out.find("You stand in cell 3.") != std::string::npos);
  CHECK(second.out.find("\"truncated\":true") != std::string::npos);
}

TEST_CASE("a person can play, ask for a hint, undo and quit") {
  const Ran ran = run({"play", "dummy", "--task", "1"}, "h\n2\nu\nright\nright\nq\n");
  CHECK(ran.status == 0);
  CHECK(ran.out.find("Hint: right") != std::string::npos);
  CHECK(ran.out.find("The episode ended: success") != std::string::npos);
}

TEST_CASE("a full output is an error, not a silence") {
  TemporaryFolder folder;
  REQUIRE(run({"rollout", "dummy", "--groups", "2", "--out", folder / "run.db"}).status == 0);
  const Ran full = run({"export", folder / "run.db", "--out", "/dev/full"});
  CHECK(full.status == 1);
  CHECK(is_one_error(full.err));
  CHECK(run({"export", folder / "run.db", "--out", folder / "no/such/folder.jsonl"}).status == 1);
  CHECK(run({"export", folder / "run.db", "--format", "xml"}).status == 2);
}

}  // namespace
}  // namespace lodestep::harness::test
