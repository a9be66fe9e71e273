// The main job: same bytes with any number of threads, after a kill, in any order of groups.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <thread>

#include "base/text.h"
#include "harness/recorder.h"
#include "harness/runner.h"
#include "harness/summary.h"
#include "program.h"

namespace lodestep::harness::test {
namespace {

const std::vector<std::string> kJob{"rollout",      "sokoban", "--groups",    "6",
                                    "--group-size", "4",       "--max-steps", "12"};

std::vector<std::string> job(const std::vector<std::string>& more) {
  std::vector<std::string> words = kJob;
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string exported(const std::string& path) {
  const Ran ran = run({"export", path});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  return ran.out;
}

TEST_CASE("the same bytes with 1 and 4 threads and on a second run") {
  TemporaryFolder folder;
  REQUIRE(run(job({"--threads", "1", "--out", folder / "1.db"})).status == 0);
  REQUIRE(run(job({"--threads", "4", "--out", folder / "4.db"})).status == 0);
  REQUIRE(run(job({"--threads", "4", "--out", folder / "again.db"})).status == 0);
  const std::string expected = exported(folder / "1.db");
  CHECK(expected.find("\"graphgpo\":{\"step_return\":") != std::string::npos);
  CHECK(expected == exported(folder / "4.db"));
  CHECK(expected == exported(folder / "again.db"));
  REQUIRE(run(job({"--seed", "1", "--out", folder / "seed.db"})).status == 0);
  CHECK(expected != exported(folder / "seed.db"));
}

// Episodes by (task, member), as text.
std::map<std::string, std::string> episodes_of(const std::string& path) {
  std::map<std::string, std::string> out;
  const Result<Recording> recording = read_recording(path);
  REQUIRE(recording.ok());
  for (const EpisodeRecord& episode : recording->episodes) {
    std::string& text = out[episode.task.id + "/" + std::to_string(episode.member)];
    for (const StepRecord& step : episode.steps) text += step.action + ":" + json_number(step.reward) + ";";
  }
  return out;
}

TEST_CASE("another order of groups changes no episode") {
  TemporaryFolder folder;
  write_file(folder / "a.txt", "small.xsb#1\nsmall.xsb#2\nsmall.xsb#3\n");
  write_file(folder / "b.txt", "small.xsb#3\nsmall.xsb#1\nsmall.xsb#2\n");
  const std::string tasks = run({"tasks", "sokoban"}).out;
  if (tasks.find("small.xsb#1\n") == std::string::npos) {
    // Any three tasks serve.
    std::vector<std::string> ids;
    for (const std::string_view id : split(tasks, '\n')) {
      if (ids.size() < 3) ids.emplace_back(id);
    }
    write_file(folder / "a.txt", ids[0] + "\n" + ids[1] + "\n" + ids[2] + "\n");
    write_file(folder / "b.txt", ids[2] + "\n" + ids[0] + "\n" + ids[1] + "\n");
  }
  REQUIRE(run({"rollout", "sokoban", "--tasks", folder / "a.txt", "--out", folder / "a.db"}).status == 0);
  REQUIRE(run({"rollout", "sokoban", "--tasks", folder / "b.txt", "--out", folder / "b.db"}).status == 0);
  CHECK(episodes_of(folder / "a.db") == episodes_of(folder / "b.db"));
}

TEST_CASE("neighbouring seeds share no episode streams") {
  CHECK(member_key(5, "t", 0, 0) != member_key(6, "t", 0, 0));
  for (std::size_t member = 0; member < 16; ++member) {
    for (std::size_t other = 0; other < 16; ++other)
      CHECK(member_key(5, "t", 0, member) != member_key(6, "t", 0, other));
  }
}

pid_t start_program(const std::vector<std::string>& words) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::vector<char*> argv{const_cast<char*>(LODESTEP_PROGRAM)};
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    if (::freopen("/dev/null", "w", stdout) == nullptr || ::freopen("/dev/null", "w", stderr) == nullptr)
      ::_exit(99);
    ::execv(LODESTEP_PROGRAM, argv.data());
    ::_exit(98);
  }
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

TEST_CASE("kill -9 at any moment: the recording opens, holds whole episodes, and --resume completes it") {
  TemporaryFolder folder;
  const std::vector<std::string> long_job{"rollout",  "sokoban", "--groups",    "40", "--group-size", "8",
                                          "--policy", "random",  "--max-steps", "60", "--threads",    "2"};
  const auto with_out = [&](const std::string& out) {
    std::vector<std::string> words = long_job;
    words.insert(words.end(), {"--out", out});
    return words;
  };
  REQUIRE(run(with_out(folder / "whole.db")).status == 0);
  const std::string expected = exported(folder / "whole.db");
  for (const int milliseconds : {3, 12, 25, 40, 60, 90}) {
    const std::string path = folder / ("killed" + std::to_string(milliseconds) + ".db");
    const pid_t child = start_program(with_out(path));
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    ::kill(child, SIGKILL);
    wait_for(child);
    Result<Recording> partial = read_recording(path);
    if (!partial.ok()) {  // killed before the file was made: nothing is there to resume
      CHECK((partial.error().code == ErrorCode::kNotFound || partial.error().code == ErrorCode::kBadData));
      continue;
    }
    for (const EpisodeRecord& episode : partial->episodes) {
      CHECK((episode.outcome != Outcome::kRunning || episode.truncated));
      CHECK_FALSE(episode.steps.empty());
    }
    const Ran resumed = run({"rollout", "sokoban", "--resume", path});
    INFO(milliseconds << " ms: " << resumed.err);
    REQUIRE(resumed.status == 0);
    CHECK(exported(path) == expected);
  }
}

TEST_CASE("SIGTERM closes the recording cleanly and says how to go on") {
  TemporaryFolder folder;
  const pid_t child = start_program({"rollout", "sokoban", "--groups", "2000", "--policy", "random",
                                     "--max-steps", "500", "--out", folder / "run.db"});
  while (!std::filesystem::exists(folder / "run.db"))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ::kill(child, SIGTERM);
  const int status = wait_for(child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 143);
  const Result<Recording> kept = read_recording(folder / "run.db");
  CHECK((kept.ok() ||
         kept.error().code == ErrorCode::kBadData));  // bad data: ended before its first transaction
}

TEST_CASE("a disk that fills up: exit 1, and what was finished is kept") {
  TemporaryFolder folder;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{150000, 150000};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) ::_exit(99);
    const Ran ran =
        run({"rollout", "sokoban", "--groups", "300", "--policy", "random", "--out", folder / "run.db"});
    ::_exit(ran.err.starts_with("lodestep: error: ") ? ran.status : 97);
  }
  const int status = wait_for(child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  CHECK(read_recording(folder / "run.db").ok());
}

TEST_CASE("what cannot be resumed is refused") {
  TemporaryFolder folder;
  REQUIRE(run(job({"--out", folder / "run.db"})).status == 0);
  CHECK(run({"rollout", "dummy", "--resume", folder / "run.db"}).status == 2);
  CHECK(run({"rollout", "sokoban", "--resume", folder / "run.db", "--seed", "3"}).status == 2);
  CHECK(run(job({"--out", folder / "run.db"})).status == 2);                      // never overwrites
  CHECK(run({"rollout", "sokoban", "--resume", folder / "run.db"}).status == 0);  // nothing left to do
}

// A policy whose endpoint fails for one member.
class Flaky final : public Policy {
 public:
  Result<std::optional<Decision>> act(const Turn& turn) const override {
    if (turn.task.id == "3" && turn.history.size() == 1)
      return Error{ErrorCode::kUnavailable, "endpoint down", "", ""};
    return std::optional<Decision>("right");
  }
};

TEST_CASE("a failed episode is kept apart from the failures of the agent") {
  RunPlan plan;
  plan.factory = *open_environment("dummy", {});
  plan.tasks = {"0", "3"};
  plan.group_size = 3;
  plan.max_steps = 20;
  MemoryRecorder recorder(RunInfo{{"env", "dummy"}});
  const Result<RunTimes> times = run_groups(plan, Flaky(), recorder, {});
  REQUIRE(times.ok());
  const Recording recording = recorder.take();
  const Summary summary = summarize(recording);
  CHECK(summary.episodes == 3);
  CHECK(summary.failed == 3);
  CHECK(summary.successes == 3);
  CHECK(recording.episodes.back().failure == "endpoint down");
}

TEST_CASE("a worker process that dies fails its episode by infrastructure; the others go on") {
  if (std::system("python3 -c 'import sys' > /dev/null 2>&1") != 0) {
    WARN("skipped: no python3");
    return;
  }
  TemporaryFolder folder;
  write_file(folder / "worker", R"PY(#!/usr/bin/env python3
import json, os, sys
flag = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "crashed")
print(json.dumps({"ok": True, "versions": "stand-in"}), flush=True)
for line in sys.stdin:
    if "step" in json.loads(line):
        try:
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
            os._exit(9)  # the first of all workers that is asked to step
        except FileExistsError:
            pass
    print(json.dumps({"ok": True, "observation": "a room", "admissible": ["look"], "won": False}), flush=True)
)PY");
  std::filesystem::permissions(folder / "worker", std::filesystem::perms::owner_all);
  const Ran ran = run({"rollout", "alfworld", "--groups", "2", "--group-size", "2", "--max-steps", "3",
                       "--policy", "random", "--set", "backend=python", "--set",
                       "python=" + (folder / "worker"), "--threads", "1", "--out", folder / "run.db"});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  const Recording recording = *read_recording(folder / "run.db");
  REQUIRE(recording.episodes.size() == 4);
  CHECK(recording.episodes[0].status == EpisodeStatus::kFailed);
  CHECK(recording.episodes[0].failure.find("the Python worker died") == 0);
  CHECK(summarize(recording).failed == 1);
  CHECK(summarize(recording).episodes == 3);
}

TEST_CASE("dynamic sampling: groups without signal are sampled again, and resuming gives the same") {
  TemporaryFolder folder;
  const std::vector<std::string> words{
      "rollout",     "dummy", "--groups", "4", "--policy", "mixed:0.6", "--filter-equal-groups",
      "--max-tries", "3"};
  const auto with_out = [&](const std::string& out, const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--out", out});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const Ran ran = run(with_out(folder / "run.db"));
  REQUIRE(ran.status == 0);
  const Recording recording = *read_recording(folder / "run.db");
  const Summary summary = summarize(recording);
  CHECK(summary.filtered > 0);
  CHECK(summary.groups >= 4);
  for (const EpisodeRecord& episode : recording.episodes) {
    if (episode.status == EpisodeStatus::kFiltered) CHECK(episode.group < 8);  // the last try is kept whole
  }
  const std::string text = exported(folder / "run.db");
  CHECK(text.find("\"status\":\"filtered\"") != std::string::npos);
  REQUIRE(run(with_out(folder / "again.db", {"--threads", "3"})).status == 0);
  CHECK(text == exported(folder / "again.db"));
  CHECK(run({"rollout", "dummy", "--tasks", folder / "x", "--filter-equal-groups"}).status == 2);
}

TEST_CASE("tasks are drawn without repetition while the split lasts") {
  const auto factory = *open_environment("dummy", {});
  const std::vector<std::string> ten = *draw_tasks(*factory, "train", 10, 7);
  CHECK(std::set<std::string>(ten.begin(), ten.end()).size() == 10);
  CHECK(draw_tasks(*factory, "train", 25, 7)->size() == 25);
  CHECK(ten == *draw_tasks(*factory, "train", 10, 7));
  CHECK_FALSE(draw_tasks(*factory, "test", 1, 7).ok());
}

}  // namespace
}  // namespace lodestep::harness::test
