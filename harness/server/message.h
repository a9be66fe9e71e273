// Requests and replies of every dialect as plain structs: no sockets, so that tests and fuzzers call handlers
// directly.
//   HttpResponse response = application.handle({"POST", "/v1/sessions", {}, "{\"env\":\"dummy\"}"});
// Threads: values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lodestep::harness {

struct HttpRequest {
  std::string method;
  std::string target;  // as on the request line, query included
  std::string body;
  std::string client = "local";    // the peer's address
  std::string authorization = {};  // value of that header
  std::string content_type = {};
  // The client wants its answer within so many seconds: told to the connection as soon as the body is read.
  std::function<void(double seconds)> answer_within = {};
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
  bool full = false;  // no session is free: the same request may succeed later
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
  std::string text = {};    // empty: nothing is sent
  std::uint16_t close = 0;  // then Close with this code; 0: stay
  bool full = false;        // no session is free: the same message may succeed later
};

// One WebSocket. Destroying it ends what it owns.
class SocketHandler {
 public:
  SocketHandler() = default;
  SocketHandler(const SocketHandler&) = delete;
  SocketHandler& operator=(const SocketHandler&) = delete;
  virtual ~SocketHandler() = default;
  virtual SocketReply on_message(std::string_view text) = 0;  // one call at a time for each lane
  // Messages of one lane are played one after the other and answered in order; those of different lanes are
  // played at once, up to so many, and answered as they finish. nullopt: a lane of its own.
  virtual std::optional<std::string> lane(std::string_view) const { return std::string(); }
  virtual std::size_t most_at_once() const { return 1; }
  // Answers fast enough for a thread that serves other sockets too.
  virtual bool is_quick(std::string_view text) const = 0;
  // Said before any message.
  virtual SocketReply greeting() { return {}; }
  // What a message is answered whose own answer passes the time limit, and what those behind it in its lane
  // are answered until it has come. Called while on_message runs elsewhere.
  virtual SocketReply late(std::string_view text) const = 0;
  // The answer that passed the limit has come; its sender never saw it.
  virtual void on_dropped() {}
};

}  // namespace lodestep::harness
