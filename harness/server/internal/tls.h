// TLS behind one door, so that only one file compiles it.
//   Result<std::unique_ptr<Tls>> tls = Tls::load("cert.pem", "key.pem");
//   (*tls)->start(std::move(socket), address, loop, shared);
// Threads: start on the loop's thread.
#pragma once

#include <boost/asio/ip/tcp.hpp>

#include <memory>
#include <string>

#include "base/result.h"
#include "harness/server/internal/io_loop.h"

namespace lodestep::harness {

class Tls {
 public:
  static Result<std::unique_ptr<Tls>> load(const std::string& cert, const std::string& key);
  ~Tls();
  void start(boost::asio::ip::tcp::socket socket, std::string client, IoLoop& loop, Shared& shared);

 private:
  Tls();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lodestep::harness
