#include "envs/alfworld_bridge/bridge/python_worker.h"

#include <fcntl.h>
#include <rapidjson/document.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/text.h"

extern char** environ;

namespace lodestep::alfworld {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kMostLine = 16U << 20;

// One JSON line in, one out. The watcher ends a worker whose parent is gone, however busy it is.
const char* const kScript = R"PY(
import json, os, sys, threading, time

out = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
parent = os.getppid()

def watch():
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)

threading.Thread(target=watch, daemon=True).start()

def say(**answer):
    out.write(json.dumps(answer) + "\n")
    out.flush()

try:
    import importlib.metadata as metadata
    import textworld
    from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredInfos
    def version(name):
        try:
            return name + " " + metadata.version(name)
        except metadata.PackageNotFoundError:
            return name + " of unknown version"
    versions = version("textworld") + ", " + version("alfworld")
except Exception as error:
    say(ok=False, missing=True, error=repr(error))
    os._exit(0)
say(ok=True, versions=versions)

env = None
for line in sys.stdin:
    request = json.loads(line)
    try:
        if "reset" in request:
            if env is not None:
                env.close()
            infos = textworld.EnvInfos(won=True, admissible_commands=True)
            env = textworld.start(request["reset"], infos, wrappers=[AlfredDemangler(), AlfredInfos])
            state = env.reset()
        else:
            state, score, done = env.step(request["step"])
        say(ok=True, observation=state.feedback, admissible=list(state["admissible_commands"]), won=bool(state["won"]))
    except Exception as error:
        say(ok=False, error=repr(error))
)PY";

// A dead worker is an error of the call, not the end of this process: while this lives, a broken pipe raises
// no signal in this thread.
class BrokenPipesAreQuiet {
 public:
  BrokenPipesAreQuiet() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~BrokenPipesAreQuiet() {
    const timespec at_once{0, 0};
    while (sigtimedwait(&pipe_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BrokenPipesAreQuiet(const BrokenPipesAreQuiet&) = delete;
  BrokenPipesAreQuiet& operator=(const BrokenPipesAreQuiet&) = delete;

 private:
  sigset_t pipe_{}, before_{};
};

const rapidjson::Value* member(const rapidjson::Value& object, const char* name) {
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

std::string text_of(const rapidjson::Value* value) {
  return value != nullptr && value->IsString() ? std::string(value->GetString(), value->GetStringLength())
                                               : std::string();
}

}  // namespace

// Our ends of the two pipes.
struct PythonWorker::Pipes {
  asio::io_context context;
  asio::posix::stream_descriptor to{context}, from{context};
  std::string read;  // received and not used yet

  // Runs what `start` sets going until it is done or the time is up. Null: it was in time and went well.
  template <typename Start>
  const char* within(double seconds, Start start) {
    boost::system::error_code result = asio::error::would_block;
    start([&result](const boost::system::error_code& error, std::size_t) { result = error; });
    context.restart();
    context.run_for(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds)));
    if (!context.stopped()) {
      to.close();
      from.close();
      context.run();
      return "did not answer in time";
    }
    if (result == asio::error::not_found) return "answered too much";
    return result ? "died" : nullptr;
  }
};

PythonWorker::PythonWorker() : pipes_(std::make_unique<Pipes>()) {}

Result<std::unique_ptr<PythonWorker>> PythonWorker::start(const std::string& python, double timeout) {
  int to_child[2];
  int from_child[2];
  if (pipe2(to_child, O_CLOEXEC) != 0) return Error{ErrorCode::kUnavailable, "cannot make a pipe", "", ""};
  if (pipe2(from_child, O_CLOEXEC) != 0) {
    close(to_child[0]);
    close(to_child[1]);
    return Error{ErrorCode::kUnavailable, "cannot make a pipe", "", ""};
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_child[0], 0);
  posix_spawn_file_actions_adddup2(&actions, from_child[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::string program = python, flag = "-c", script = kScript;
  char* arguments[] = {program.data(), flag.data(), script.data(), nullptr};
  std::unique_ptr<PythonWorker> worker(new PythonWorker());
  pid_t child = -1;
  const int failed = posix_spawnp(&child, python.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(to_child[0]);
  close(from_child[1]);
  worker->pipes_->to.assign(to_child[1]);
  worker->pipes_->from.assign(from_child[0]);
  worker->timeout_ = std::max(timeout, 60.0);  // loading the packages takes its time
  if (failed != 0) {
    return Error{ErrorCode::kUnavailable, std::string("cannot start Python: ") + std::strerror(failed),
                 python, "--set python=PATH names another interpreter"};
  }
  worker->process_ = child;
  const Result<std::string> hello = worker->read_line();
  if (!hello) return hello.error();
  rapidjson::Document json;
  json.Parse(hello->data(), hello->size());
  if (json.HasParseError() || !json.IsObject()) return worker->failed("did not introduce itself");
  if (const rapidjson::Value* ok = member(json, "ok"); ok == nullptr || !ok->IsTrue()) {
    return Error{ErrorCode::kUnavailable,
                 "the original's Python packages are not installed: " + text_of(member(json, "error")),
                 python,
                 "pip install 'textworld[pddl]==1.7.0' && pip install --no-deps alfworld==0.4.2; --set "
                 "python=PATH names the interpreter that has them"};
  }
  worker->versions_ = text_of(member(json, "versions"));
  worker->timeout_ = timeout;
  return worker;
}

PythonWorker::~PythonWorker() {
  pipes_.reset();
  if (process_ < 0) return;
  for (int i = 0; i < 50; ++i) {  // it sees the end of its input; half a second is plenty
    if (waitpid(process_, nullptr, WNOHANG) != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

Error PythonWorker::failed(const std::string& what) {
  if (process_ >= 0) kill(process_, SIGKILL);  // reaped by the destructor
  return {ErrorCode::kUnavailable, "the Python worker " + what, "process " + std::to_string(process_), ""};
}

Result<std::string> PythonWorker::read_line() {
  Pipes& pipes = *pipes_;
  const char* wrong = pipes.within(timeout_, [&](auto done) {
    asio::async_read_until(pipes.from, asio::dynamic_buffer(pipes.read, kMostLine), '\n', done);
  });
  if (wrong != nullptr) return failed(wrong);
  const std::size_t end = pipes.read.find('\n');
  std::string line = pipes.read.substr(0, end);
  pipes.read.erase(0, end + 1);
  return line;
}

Result<PythonReply> PythonWorker::call(const std::string& request) {
  const std::string line = request + "\n";
  const BrokenPipesAreQuiet quiet;
  const char* wrong =
      pipes_->within(timeout_, [&](auto done) { asio::async_write(pipes_->to, asio::buffer(line), done); });
  if (wrong != nullptr) return failed(wrong);
  const Result<std::string> answer = read_line();
  if (!answer) return answer.error();
  rapidjson::Document json;
  json.Parse(answer->data(), answer->size());
  if (json.HasParseError() || !json.IsObject()) return failed("answered with something else than JSON");
  if (const rapidjson::Value* ok = member(json, "ok"); ok == nullptr || !ok->IsTrue())
    return failed("raised " + text_of(member(json, "error")));
  PythonReply reply;
  reply.observation = text_of(member(json, "observation"));
  if (const rapidjson::Value* won = member(json, "won")) reply.won = won->IsTrue();
  if (const rapidjson::Value* list = member(json, "admissible"); list != nullptr && list->IsArray()) {
    for (const auto& item : list->GetArray()) reply.admissible.push_back(text_of(&item));
  }
  return reply;
}

Result<PythonReply> PythonWorker::reset(const std::string& game_file) {
  return call("{\"reset\":" + json_quote(game_file) + "}");
}

Result<PythonReply> PythonWorker::step(std::string_view command) {
  return call("{\"step\":" + json_quote(command) + "}");
}

}  // namespace lodestep::alfworld
