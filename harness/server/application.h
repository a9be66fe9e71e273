// All routes of the server below one door: authorization, mounts, and what belongs to no dialect.
//   Application application(service, tokens);
//   HttpResponse response = application.handle(request);
//   std::unique_ptr<SocketHandler> socket = application.open_socket(request, refusal);
// Threads: safe. Knows no sockets: the layer below it does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/server/message.h"
#include "harness/server/service.h"

namespace lodestep::harness {

// One token a line; blank lines and lines that begin with # are skipped. Fails when the file has none.
Result<std::vector<std::string>> read_tokens(const std::string& path);
// Compares with every token in time that does not depend on where they differ.
bool token_allows(const std::vector<std::string>& tokens, const std::string& authorization);

class Application {
 public:
  Application(Service& service, std::vector<std::string> tokens)
      : service_(service), tokens_(std::move(tokens)) {}

  HttpResponse handle(const HttpRequest& request);
  // The answer to a request whose own is not there after `seconds`; by_client: it asked for that limit
  // itself.
  HttpResponse late(const HttpRequest& request, double seconds, bool by_client);
  // The handler of a WebSocket that asks for this target; nullptr: answer `refusal` instead.
  std::unique_ptr<SocketHandler> open_socket(const HttpRequest& request, HttpResponse& refusal);
  // Whether the answer comes fast enough for a thread that serves other connections.
  bool is_quick(const HttpRequest& request) const;
  Service& service() { return service_; }

 private:
  HttpResponse route(const HttpRequest& request, const Target& target, std::string& dialect);
  HttpResponse ready();
  Service& service_;
  const std::vector<std::string> tokens_;  // empty: everybody may
};

}  // namespace lodestep::harness
