// JSON-RPC 2.0 as OpenEnv's tool clients speak it: tools/list, tools/call, openenv/session/create and close.
//   std::string reply = answer_rpc_text(body, scope);
// Threads: pure but for the sessions it plays.
#pragma once

#include <rapidjson/document.h>

#include <string>
#include <string_view>

#include "harness/server/service.h"

namespace lodestep::harness {

// Whose episode the tools play.
struct RpcScope {
  Service& service;
  const HostedEnvironment& environment;
  std::string client;
  std::string session_id;  // the socket's own session; empty over HTTP
};

std::string answer_rpc_text(std::string_view body, const RpcScope& scope);  // of an HTTP body
std::string answer_rpc(const rapidjson::Value& request, const RpcScope& scope);

// The tools as a JSON list; `schema_name` is inputSchema (JSON-RPC) or input_schema (observations).
std::string tools_json(std::string_view schema_name);
// Plays one tool. The value is JSON; an error's code kNotFound means no such tool, kInvalidArgument bad
// arguments.
Result<std::string> call_tool(const std::string& name, const rapidjson::Value& arguments, Service& service,
                              Session& session);

}  // namespace lodestep::harness
