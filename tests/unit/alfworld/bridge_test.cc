// The worker process: answers, crashes, hangs, missing packages, orphans. The packages are played by two
// small modules of our own, so that the test needs Python alone; tests/differential uses the real ones.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "envs/alfworld_bridge/alfworld_env.h"
#include "envs/alfworld_bridge/bridge/python_worker.h"

namespace lodestep::alfworld {
namespace {

namespace fs = std::filesystem;

// PYTHONPATH with stand-ins for textworld and alfworld.
class Packages {
 public:
  Packages() : path_(fs::temp_directory_path() / ("lodestep_packages_" + std::to_string(getpid()))) {
    write("textworld/__init__.py", R"PY(
import os, time
class State(dict):
    feedback = ""
class EnvInfos:
    def __init__(self, **kw): pass
class Game:
    def __init__(self, path): self.said = []
    def state(self, text):
        s = State(won=len(self.said) >= 3, admissible_commands=["look", "win"])
        s.feedback = text
        return s
    def reset(self):
        self.said = []
        return self.state("started")
    def step(self, command):
        flag = os.environ.get("STAND_IN_FLAG", "")
        if command == "crash" and not os.path.exists(flag):
            open(flag, "w").close()
            os._exit(3)
        if command == "hang": time.sleep(60)
        if command == "raise": raise ValueError("odd")
        self.said.append(command)
        return self.state("said " + " ".join(self.said)), 0, False
    def close(self): pass
def start(path, infos, wrappers): return Game(path)
)PY");
    write("alfworld/__init__.py", "");
    write("alfworld/agents/__init__.py", "");
    write("alfworld/agents/environment/__init__.py", "");
    write("alfworld/agents/environment/alfred_tw_env.py",
          "def AlfredDemangler(): return None\nAlfredInfos = None\n");
    setenv("PYTHONPATH", path_.c_str(), 1);
    setenv("STAND_IN_FLAG", (path_ / "crashed").c_str(), 1);
  }
  ~Packages() {
    unsetenv("PYTHONPATH");
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

 private:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  fs::path path_;
};

bool has_python() { return std::system("python3 -c 'import sys' > /dev/null 2>&1") == 0; }

// Gone, or dead and only waiting to be reaped.
bool is_over(int process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  return !std::getline(stat, line) || line.find(") Z ") != std::string::npos;
}

bool over_within_seconds(int process, int seconds) {
  for (int i = 0; i < seconds * 20 && !is_over(process); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return is_over(process);
}

std::unique_ptr<Environment> made(const Settings& more = {}) {
  Settings settings{{"backend", "python"}};
  settings.insert(settings.end(), more.begin(), more.end());
  Result<std::shared_ptr<const EnvFactory>> factory = env_type().open({"", settings});
  if (!factory) FAIL(to_string(factory.error()));
  return (*factory)->make();
}

Task first_task() {
  const auto factory = env_type().open({});
  return {"alfworld", *(*factory)->task_id("train", 0), 0};
}

TEST_CASE(
    "the Python backend answers; a worker's death fails the episode and the next one gets another worker") {
  if (!has_python()) {
    WARN("skipped: no python3");
    return;
  }
  const Packages packages;
  auto env = made({{"bridge_timeout", "20"}});
  REQUIRE(env->reset(first_task()).ok());
  CHECK(env->observe().observation.text == "started");
  CHECK(env->details().at("backend") == "\"python\"");
  CHECK(env->step("one").observation.text == "said one");
  CHECK_THROWS_AS(env->step("crash"), EnvironmentFailure);  // its process is gone
  REQUIRE(env->reset(first_task()).ok());
  CHECK(env->step("crash").observation.text == "said crash");  // it crashes once only
  CHECK(env->step("two").observation.text == "said crash two");
  CHECK(env->clone()->step("look").observation.text == "said crash two look");  // in a process of its own
  const Snapshot snapshot = env->snapshot();
  CHECK(env->step("three").outcome == Outcome::kSuccess);
  CHECK(env->step("four").reward == 0);
  auto other = made();
  REQUIRE(other->restore(snapshot).ok());
  CHECK(other->step("again").observation.text == "said crash two again");
  REQUIRE(other->reset(first_task()).ok());
  CHECK_THROWS_AS(other->step("raise"), EnvironmentFailure);
  auto slow = made({{"bridge_timeout", "2"}});
  REQUIRE(slow->reset(first_task()).ok());
  CHECK_THROWS_AS(slow->step("hang"), EnvironmentFailure);
  REQUIRE(slow->reset(first_task()).ok());
  CHECK(slow->step("one").observation.text == "said one");
}

TEST_CASE("workers start on demand, one for each environment; commands of any size and bytes reach them") {
  if (!has_python()) {
    WARN("skipped: no python3");
    return;
  }
  const Packages packages;
  const auto worker = PythonWorker::start("python3", 2);
  REQUIRE(worker.ok());
  CHECK_FALSE((*worker)->step("too early").ok());  // nothing was started: the worker says so
  const auto first = PythonWorker::start("python3", 20), second = PythonWorker::start("python3", 20);
  REQUIRE((first.ok() && second.ok()));
  CHECK((*first)->process() != (*second)->process());
  REQUIRE(((*first)->reset("a").ok() && (*second)->reset("b").ok()));
  const std::string odd = "\"\\\n\x01\xC3\xA9 " + std::string(1 << 20, 'x');  // more than a pipe holds
  CHECK((*first)->step(odd)->observation == "said " + odd);
  CHECK((*second)->step("mine")->observation == "said mine");
  // A worker that does not read: the time limit holds for writing too.
  const auto deaf = PythonWorker::start("python3", 2);
  REQUIRE(deaf.ok());
  REQUIRE((*deaf)->reset("c").ok());
  kill((*deaf)->process(), SIGSTOP);
  const auto late = (*deaf)->step(odd);
  REQUIRE_FALSE(late.ok());
  CHECK(late.error().message == "the Python worker did not answer in time");
}

TEST_CASE("missing packages and interpreters are said, with what to install") {
  auto env = made({{"python", "/no/such/python"}});
  const Status status = env->reset(first_task());
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message.find("cannot start Python") == 0);
  if (!has_python() || std::system("python3 -c 'import textworld' > /dev/null 2>&1") == 0) return;
  const auto worker = PythonWorker::start("python3", 20);
  REQUIRE_FALSE(worker.ok());
  CHECK(worker.error().message.find("Python packages are not installed") != std::string::npos);
  CHECK(worker.error().hint.find("pip install") == 0);
}

TEST_CASE("no worker outlives its owner, not even one killed with SIGKILL") {
  if (!has_python()) {
    WARN("skipped: no python3");
    return;
  }
  const Packages packages;
  int process = -1;
  {
    const auto worker = PythonWorker::start("python3", 20);
    REQUIRE(worker.ok());
    process = (*worker)->process();
    CHECK_FALSE(is_over(process));
  }
  CHECK(over_within_seconds(process, 5));

  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  const pid_t owner = fork();
  REQUIRE(owner >= 0);
  if (owner == 0) {  // nothing of Catch here: start a worker, tell its number, wait for the end
    auto worker = PythonWorker::start("python3", 20);
    const int number = worker ? (*worker)->process() : -1;
    if (write(pipe_ends[1], &number, sizeof(number)) != sizeof(number)) _exit(1);
    pause();
    _exit(0);
  }
  int orphan = -1;
  REQUIRE(read(pipe_ends[0], &orphan, sizeof(orphan)) == sizeof(orphan));
  REQUIRE(orphan > 0);
  CHECK_FALSE(is_over(orphan));
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  CHECK(over_within_seconds(orphan, 5));
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

}  // namespace
}  // namespace lodestep::alfworld
