// The sockets below an Application: HTTP/1.1 and WebSocket on one port, limits, time limits, back-pressure.
//   Result<std::unique_ptr<SocketServer>> server = SocketServer::start({.port = 8000}, application);
//   ... (*server)->stop(std::chrono::seconds(10));
// Threads: start and stop from one thread. Each connection belongs to one I/O thread; what may take long runs
// on worker threads meanwhile, so that pings and other connections are answered. Borrows the application.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "harness/server/application.h"

namespace lodestep::harness {

struct SocketConfig {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  std::string tls_cert;    // PEM files; both or neither
  std::string tls_key;
  std::size_t io_threads = 0;      // 0: one per core
  std::size_t worker_threads = 0;  // 0: two per core, at least 4
};

class SocketServer {
 public:
  SocketServer() = default;
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;
  virtual ~SocketServer() = default;  // waits for running requests, however long they take

  // kInvalidArgument: the host is unknown, or a certificate is unusable. kUnavailable: the port is taken.
  static Result<std::unique_ptr<SocketServer>> start(const SocketConfig& config, Application& application);

  virtual std::uint16_t port() const = 0;
  virtual std::size_t connections() const = 0;
  // Accepts nothing more, lets running requests finish, closes WebSockets with 1001; gives up after `grace`.
  // How many requests still run then: only the end of the process can end those.
  virtual std::size_t stop(std::chrono::milliseconds grace) = 0;
};

// Whether a host name or address means this machine alone.
bool is_loopback(const std::string& host);

}  // namespace lodestep::harness
