// The dialects that the server speaks. One file each, one table of routes each; all of them pure.
//   HttpResponse response = openenv_http(call, {"reset"});
// Threads: safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/server/internal/routes.h"

namespace lodestep::harness {

// OpenEnv: routes below a mount, such as {"reset"} or {"sokoban", "splits"}.
HttpResponse openenv_http(const Call& call, const std::vector<std::string>& path);
// The WebSocket /ws. `session_id`: attach to that session instead of making one.
std::unique_ptr<SocketHandler> openenv_socket(Service& service, const HostedEnvironment& environment,
                                              const std::string& client, const std::string& session_id);
// The WebSocket /mcp: JSON-RPC alone.
std::unique_ptr<SocketHandler> mcp_socket(Service& service, const HostedEnvironment& environment,
                                          const std::string& client);

// What each dialect answers in place of an answer that does not come in time.
HttpResponse openenv_late(std::string_view message, bool by_client);
HttpResponse agentgym_late(std::string_view message);
HttpResponse native_late(std::string_view message);

// AgentGym: the routes that the clients of this environment know.
HttpResponse agentgym_http(const Call& call, const std::vector<std::string>& path);

// /v1, without its prefix.
HttpResponse native_http(const Call& call, const std::vector<std::string>& path);
// Whether /v1 answers fast enough for a thread that serves sockets; `body` may be the message around it.
bool native_is_quick(Service& service, std::string_view target, std::string_view body);
HttpResponse native_error(int status, std::string_view code, std::string_view message);
std::unique_ptr<SocketHandler> native_socket(Service& service, const std::string& client);
// The OpenAPI documents, as JSON.
std::string native_openapi(const std::string& version);
std::string openenv_openapi(const std::string& version, const std::string& environment);

}  // namespace lodestep::harness
