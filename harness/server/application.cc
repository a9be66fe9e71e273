#include "harness/server/application.h"

#include <exception>
#include <fstream>

#include "base/text.h"
#include "harness/server/internal/dialects.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/log.h"

namespace lodestep::harness {
namespace {

HttpResponse not_found() { return native_error(404, "NOT_FOUND", "Not Found"); }

// Where a target leads: which dialect, which environment, the path below the mount.
struct Mount {
  enum class Kind { kNone, kOpenEnv, kAgentGym, kNative, kReady, kMetrics } kind = Kind::kNone;
  const HostedEnvironment* environment = nullptr;
  std::vector<std::string> path;
};

Mount find_mount(const Service& service, const Target& target) {
  const std::vector<std::string>& path = target.path;
  const std::string first = path.empty() ? "" : path[0];
  if (first == "openenv" || first == "agentgym") {
    const HostedEnvironment* environment = path.size() < 2 ? nullptr : service.find_environment(path[1]);
    if (environment == nullptr) return {};
    return {first == "openenv" ? Mount::Kind::kOpenEnv : Mount::Kind::kAgentGym,
            environment,
            {path.begin() + 2, path.end()}};
  }
  const HostedEnvironment* usual = &service.default_environment();
  if (first == "v1") return {Mount::Kind::kNative, usual, {path.begin() + 1, path.end()}};
  if (first == "ready" && path.size() == 1) return {Mount::Kind::kReady, usual, {}};
  if (first == "metrics" && path.size() == 1) return {Mount::Kind::kMetrics, usual, {}};
  return {Mount::Kind::kOpenEnv, usual, path};
}

// What a load balancer or a container's health check may ask without a token.
bool is_open_to_all(const Target& target) {
  return target.path.size() == 1 && (target.path[0] == "health" || target.path[0] == "ready");
}

HttpResponse unauthorized() {
  HttpResponse response = native_error(
      401, "UNAUTHORIZED", "this server wants 'Authorization: Bearer TOKEN' with a token of its token file");
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace

Result<std::vector<std::string>> read_tokens(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    return Error{ErrorCode::kNotFound, "cannot read the token file", path, "it holds one token a line"};
  std::vector<std::string> tokens;
  std::string line;
  while (std::getline(file, line)) {
    const std::string_view token = trim(line);
    if (!token.empty() && token.front() != '#') tokens.emplace_back(token);
  }
  if (tokens.empty())
    return Error{ErrorCode::kBadData, "the token file holds no token", path, "it holds one token a line"};
  return tokens;
}

bool token_allows(const std::vector<std::string>& tokens, const std::string& authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() < kScheme.size() ||
      ascii_lower(authorization.substr(0, kScheme.size())) != kScheme)
    return false;
  const std::string_view given = trim(std::string_view(authorization).substr(kScheme.size()));
  bool allowed = false;
  for (const std::string& token : tokens) {
    unsigned difference = given.size() == token.size() ? 0 : 1;
    for (std::size_t i = 0; i < token.size(); ++i) {
      const char c = given.empty() ? '\0' : given[i % given.size()];
      difference |=
          static_cast<unsigned>(static_cast<unsigned char>(c) ^ static_cast<unsigned char>(token[i]));
    }
    allowed |= difference == 0;
  }
  return allowed;
}

HttpResponse Application::ready() {
  const std::string reason = service_.draining() ? "the server is stopping" : service_.unready_reason();
  if (reason.empty()) return json_response(200, R"({"status":"ready"})");
  return native_error(503, "NOT_READY", reason);
}

HttpResponse Application::route(const HttpRequest& request, const Target& target, std::string& dialect) {
  const Mount mount = find_mount(service_, target);
  switch (mount.kind) {
    case Mount::Kind::kNone: break;
    case Mount::Kind::kOpenEnv:
      dialect = "openenv";
      return openenv_http({service_, *mount.environment, request, target}, mount.path);
    case Mount::Kind::kAgentGym:
      dialect = "agentgym";
      return agentgym_http({service_, *mount.environment, request, target}, mount.path);
    case Mount::Kind::kNative:
      dialect = "v1";
      return native_http({service_, *mount.environment, request, target}, mount.path);
    case Mount::Kind::kReady:
    case Mount::Kind::kMetrics:
      dialect = "operation";
      if (request.method != "GET" && request.method != "HEAD") {
        HttpResponse response = native_error(405, "METHOD_NOT_ALLOWED", "Method Not Allowed");
        response.headers.emplace_back("Allow", "GET");
        return response;
      }
      if (mount.kind == Mount::Kind::kReady) return ready();
      return {200, service_.metrics().text(), "text/plain; version=0.0.4; charset=utf-8"};
  }
  return not_found();
}

HttpResponse Application::handle(const HttpRequest& request) {
  std::string dialect = "none";
  HttpResponse response;
  const std::optional<Target> target = parse_target(request.target);
  try {
    if (!target) {
      response = not_found();
    } else if (!tokens_.empty() && !is_open_to_all(*target) &&
               !token_allows(tokens_, request.authorization)) {
      service_.metrics().count_refusal("unauthorized");
      response = unauthorized();
    } else {
      response = route(request, *target, dialect);
    }
  } catch (
      const std::exception& error) {  // our own mistake, or no memory: this request fails, the server lives
    log_event(LogLevel::kError, "internal_error",
              {{"target", request.target.substr(0, 256)}, {"what", error.what()}});
    response = native_error(500, "INTERNAL", error.what());
  }
  service_.metrics().count_request(dialect, response.status);
  return response;
}

HttpResponse Application::late(const HttpRequest& request, double seconds, bool by_client) {
  service_.metrics().count_refusal("late");
  log_event(LogLevel::kWarning, "late_answer",
            {{"target", request.target.substr(0, 256)},
             {"client", request.client},
             {"seconds", json_number(seconds)}});
  const std::string message = "no answer within " + json_number(seconds) + " s (" +
                              (by_client ? "timeout_s of the request" : "limit step_time") + ")";
  const std::optional<Target> target = parse_target(request.target);
  const Mount mount = target ? find_mount(service_, *target) : Mount{};
  if (mount.kind == Mount::Kind::kOpenEnv) return openenv_late(message, by_client);
  if (mount.kind == Mount::Kind::kAgentGym) return agentgym_late(message);
  return native_late(message);
}

std::unique_ptr<SocketHandler> Application::open_socket(const HttpRequest& request, HttpResponse& refusal) {
  const std::optional<Target> target = parse_target(request.target);
  if (!target) {
    refusal = not_found();
    return nullptr;
  }
  if (!tokens_.empty() && !token_allows(tokens_, request.authorization)) {
    service_.metrics().count_refusal("unauthorized");
    refusal = unauthorized();
    return nullptr;
  }
  const Mount mount = find_mount(service_, *target);
  if (mount.path.size() == 1) {
    if (mount.kind == Mount::Kind::kOpenEnv && mount.path[0] == "ws") {
      return openenv_socket(service_, *mount.environment, request.client,
                            target->parameter("session_id").value_or(""));
    }
    if (mount.kind == Mount::Kind::kOpenEnv && mount.path[0] == "mcp")
      return mcp_socket(service_, *mount.environment, request.client);
    if (mount.kind == Mount::Kind::kNative && mount.path[0] == "stream")
      return native_socket(service_, request.client);
  }
  refusal = not_found();
  return nullptr;
}

bool Application::is_quick(const HttpRequest& request) const {
  if (request.method == "GET" || request.method == "HEAD") {
    const std::string_view path = std::string_view(request.target).substr(0, request.target.find('?'));
    return path.ends_with("/health") || path == "/ready" || path == "/metrics";
  }
  return native_is_quick(service_, request.target, request.body);
}

}  // namespace lodestep::harness
