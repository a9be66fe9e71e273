#include "harness/server/internal/routes.h"

#include <algorithm>

#include "base/text.h"
#include "harness/server/internal/json_text.h"

namespace lodestep::harness {
namespace {

bool fits(std::string_view pattern, const std::vector<std::string>& path,
          std::vector<std::string>& captured) {
  captured.clear();
  std::size_t at = 0;
  for (const std::string_view piece : split(pattern, '/')) {
    if (piece.empty()) continue;
    if (at >= path.size()) return false;
    if (piece.front() == '{') {
      captured.push_back(path[at]);
    } else if (piece != path[at]) {
      return false;
    }
    ++at;
  }
  return at == path.size();
}

}  // namespace

HttpResponse json_response(int status, std::string body) { return {status, std::move(body)}; }

std::string error_reason(const Error& error) {
  return to_string(error) + (error.hint.empty() ? "" : "; " + error.hint);
}

int capacity_status(const Error& error) {
  return error.where.starts_with(SessionPool::kClientLimit) ? 429 : 503;
}

bool server_is_full(const Error& error) { return error.where.starts_with(SessionPool::kServerLimit); }

std::string capacity_json(Service& service, const Error& error) {
  const std::size_t share = service.limits().max_sessions_per_client;
  const bool is_share = capacity_status(error) == 429;
  return JsonObject()
      .count("active_sessions", is_share ? share : service.pool().size())
      .count("max_sessions", is_share ? share : service.limits().max_sessions)
      .end();
}

HttpResponse dispatch(const std::vector<Route>& routes, const Call& call,
                      const std::vector<std::string>& path, ErrorReply error) {
  const std::string_view method =
      call.request.method == "HEAD" ? std::string_view("GET") : call.request.method;
  std::vector<std::string> allowed;
  std::vector<std::string> captured;
  for (const Route& route : routes) {
    if (!fits(route.pattern, path, captured)) continue;
    if (route.method == method) {
      Call found{call.service, call.environment, call.request, call.target, captured, call.json};
      return route.handle(found);
    }
    if (std::find(allowed.begin(), allowed.end(), route.method) == allowed.end())
      allowed.emplace_back(route.method);
  }
  if (allowed.empty()) return error(404, "NOT_FOUND", "Not Found");
  HttpResponse response = error(405, "METHOD_NOT_ALLOWED", "Method Not Allowed");
  response.headers.emplace_back("Allow", join(allowed, ", "));
  return response;
}

}  // namespace lodestep::harness
