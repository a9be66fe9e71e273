// Requests and replies of every dialect as plain structs: no sockets, so that tests and fuzzers call handlers directly.
//   HttpResponse response = application.handle({"POST", "/v1/sessions", {}, "{\"env\":\"dummy\"}"});
// Threads: values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lodestep::harness {

struct HttpRequest {
  std::string method;
  std::string target;              // as on the request line, query included
  std::string body;
  std::string client = "local";    // the peer's address
  std::string authorization = {};  // value of that header
  std::string content_type = {};
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// A target split up: segments and query decoded, empty segments dropped ("//create" is "/create").
struct Target {
  std::vector<std::string> path;
  std::vector<std::pair<std::string, std::string>> query;
  std::optional<std::string> parameter(std::string_view name) const;  // the first of that name
};
// nullopt: malformed escapes, invalid UTF-8, NUL, a backslash or ".." in the decoded path.
std::optional<Target> parse_target(std::string_view target);

// What one WebSocket message is answered.
struct SocketReply {
  std::string text;    // empty: nothing is sent
  bool close = false;  // then Close 1000
};

// One WebSocket. Destroying it ends what it owns.
class SocketHandler {
 public:
  SocketHandler() = default;
  SocketHandler(const SocketHandler&) = delete;
  SocketHandler& operator=(const SocketHandler&) = delete;
  virtual ~SocketHandler() = default;
  virtual SocketReply on_message(std::string_view text) = 0;  // one call at a time
  // Answers fast enough for a thread that serves other sockets too.
  virtual bool is_quick(std::string_view text) const = 0;
};

}  // namespace lodestep::harness
