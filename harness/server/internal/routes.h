// A dialect's table of routes, and how a request finds its line.
//   const std::vector<Route> kRoutes{{"POST", "/sessions/{id}/step", &step}};
//   HttpResponse response = dispatch(kRoutes, call, path, &native_error);
// Threads: pure.
#pragma once

#include <rapidjson/fwd.h>

#include <string>
#include <string_view>
#include <vector>

#include "harness/server/message.h"
#include "harness/server/service.h"

namespace lodestep::harness {

struct Call {
  Service& service;
  const HostedEnvironment& environment;  // of the mount
  const HttpRequest& request;
  const Target& target;
  std::vector<std::string> captured = {};  // what stood for {...} in the pattern, in order
  const rapidjson::Value* json = nullptr;  // the body, where it came as part of a message and not as text
};

struct Route {
  std::string_view method;
  std::string_view pattern;  // "/a/{x}/b"; {x} takes one segment
  HttpResponse (*handle)(const Call& call);
};

// How a dialect words a refusal.
using ErrorReply = HttpResponse (*)(int status, std::string_view code, std::string_view message);

// Runs the line that fits method and path; else 404, or 405 with Allow. HEAD is GET without a body.
HttpResponse dispatch(const std::vector<Route>& routes, const Call& call,
                      const std::vector<std::string>& path, ErrorReply error);

HttpResponse json_response(int status, std::string body);

std::string error_reason(const Error& error);  // message, place and hint

// The status for a session that could not be opened: 503 the server is full, 429 this client has its share.
int capacity_status(const Error& error);
// Every session of the server is in use: one may become free.
bool server_is_full(const Error& error);
// The numbers of the limit that refused: {"active_sessions","max_sessions"}.
std::string capacity_json(Service& service, const Error& error);

}  // namespace lodestep::harness
