// A lean load generator for WebSocket servers that speak OpenEnv: one thread, one request in flight per
// session.
//   Result<LoadResult> load = run_load({.port = 8000, .sessions = 128, .seconds = 3});
// Threads: one. Only for 127.0.0.1. A real client process makes far fewer steps a second than this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace lodestep::harness {

struct LoadPlan {
  std::uint16_t port = 0;
  std::string path = "/ws";
  std::size_t sessions = 1;
  double seconds = 3;  // after half a second of warming up
  int server_pid = 0;  // whose processor time is read; 0: nobody's
  std::string reset = R"({"type":"reset","data":{"seed":1}})";
  std::vector<std::string> messages;  // sent in turn; empty: steps "up" and "down"
};

struct LoadResult {
  std::size_t steps = 0;
  double seconds = 0;
  double server_cpu_seconds = 0;                      // user and system
  double p50_milliseconds = 0, p99_milliseconds = 0;  // from request to whole reply
};

Result<LoadResult> run_load(const LoadPlan& plan);

// A group of that many members of the default environment over /v1; its id.
Result<std::string> open_group(std::uint16_t port, std::size_t members);

// `lodestep serve` in a process of its own, on a free port; ended by the destructor.
class ServerProcess {
 public:
  static Result<ServerProcess> start(const std::vector<std::string>& options);
  ServerProcess(ServerProcess&& other) noexcept;
  ServerProcess& operator=(ServerProcess&&) = delete;
  ~ServerProcess();
  int pid() const { return pid_; }
  std::uint16_t port() const { return port_; }
  double memory_bytes() const;  // resident
 private:
  ServerProcess() = default;
  int pid_ = 0;
  std::uint16_t port_ = 0;
};

// Opens that many WebSockets, plays a reset in each, keeps them for as long as the object lives.
class IdleSessions {
 public:
  static Result<IdleSessions> open(std::uint16_t port, std::size_t count);
  IdleSessions(IdleSessions&& other) noexcept : sockets_(std::move(other.sockets_)) {}
  IdleSessions& operator=(IdleSessions&&) = delete;
  ~IdleSessions();

 private:
  IdleSessions() = default;
  std::vector<int> sockets_;
};

double processor_seconds(int pid);

}  // namespace lodestep::harness
