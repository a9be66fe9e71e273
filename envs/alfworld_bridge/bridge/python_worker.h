// The original engine in a process of its own: Python with textworld and alfworld, driven over pipes.
//   Result<std::unique_ptr<PythonWorker>> worker = PythonWorker::start("python3", 120);
//   Result<PythonReply> reply = (*worker)->reset("game.tw-pddl");
// The process ends when this object does, and by itself when our process dies, even by SIGKILL.
// Threads: one at a time for each worker; workers are independent.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lodestep::alfworld {

struct PythonReply {
  std::string observation;
  std::vector<std::string> admissible;  // as the original lists them
  bool won = false;
};

class PythonWorker {
 public:
  // Starts the process and waits until its packages are loaded. Fails with what to install when they are
  // missing. `timeout` in seconds holds for every call from here on (a minute at least for the start).
  static Result<std::unique_ptr<PythonWorker>> start(const std::string& python, double timeout);
  ~PythonWorker();
  PythonWorker(const PythonWorker&) = delete;
  PythonWorker& operator=(const PythonWorker&) = delete;

  // kUnavailable: the process died or did not answer in time; it is of no use afterwards.
  Result<PythonReply> reset(const std::string& game_file);
  Result<PythonReply> step(std::string_view command);
  int process() const { return process_; }
  const std::string& versions() const { return versions_; }  // of the packages, for fingerprints

 private:
  PythonWorker();
  Result<std::string> read_line();
  Result<PythonReply> call(const std::string& request);
  Error failed(const std::string& what);

  int process_ = -1;
  struct Pipes;
  std::unique_ptr<Pipes> pipes_;
  double timeout_ = 0;
  std::string versions_;
};

}  // namespace lodestep::alfworld
