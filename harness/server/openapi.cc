// The OpenAPI documents: 3.1 for /v1, and the small one that OpenEnv's validators read.
#include <string>
#include <string_view>
#include <vector>

#include "harness/server/internal/dialects.h"
#include "harness/server/internal/json_text.h"

namespace lodestep::harness {
namespace {

struct Operation {
  std::string_view method;
  std::string_view path;
  std::string_view summary;
  std::string_view request;  // schema of the body; empty: none
  std::string_view status;   // of success
};

constexpr std::string_view kTaskFields =
    R"("seed":{"type":"integer","minimum":0},"split":{"type":"string"},"index":{"type":"integer","minimum":0},"task_id":{"type":"string"})";

std::string object_schema(const std::string& properties, std::string_view required = "[]") {
  return R"({"type":"object","additionalProperties":false,"properties":{)" + properties + R"(},"required":)" +
         std::string(required) + "}";
}

std::vector<std::string> parameters_of(std::string_view path) {
  std::vector<std::string> out;
  for (const std::string_view piece : split(path, '/')) {
    if (piece.size() < 3 || piece.front() != '{') continue;
    out.push_back(JsonObject()
                      .text("name", piece.substr(1, piece.size() - 2))
                      .text("in", "path")
                      .boolean("required", true)
                      .raw("schema", R"({"type":"string"})")
                      .end());
  }
  return out;
}

std::string query_parameter(std::string_view name, std::string_view type) {
  return JsonObject()
      .text("name", name)
      .text("in", "query")
      .boolean("required", false)
      .raw("schema", JsonObject().text("type", type).end())
      .end();
}

std::string operation_json(const Operation& operation, std::vector<std::string> parameters) {
  JsonObject out;
  std::string id = ascii_lower(operation.method);
  for (const char c : operation.path) id += (c >= 'a' && c <= 'z') ? c : '_';
  out.text("operationId", id).text("summary", operation.summary);
  if (!parameters.empty()) out.raw("parameters", json_list(parameters));
  if (!operation.request.empty()) {
    out.raw("requestBody", R"({"required":false,"content":{"application/json":{"schema":)" +
                               std::string(operation.request) + "}}}");
  }
  const std::string body =
      R"({"description":"done","content":{"application/json":{"schema":{"type":"object"}}}})";
  const std::string refused =
      R"({"description":"refused","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Error"}}}})";
  out.raw("responses", JsonObject().raw(operation.status, body).raw("default", refused).end());
  return out.end();
}

// "paths" of the document: operations of one path stand next to each other in the list.
std::string paths_json(const std::vector<Operation>& operations) {
  std::string out = "{";
  for (std::size_t i = 0; i < operations.size();) {
    const std::string_view path = operations[i].path;
    JsonObject methods;
    for (; i < operations.size() && operations[i].path == path; ++i) {
      std::vector<std::string> parameters = parameters_of(path);
      if (path == "/v1/tasks") {
        parameters = {query_parameter("env", "string"), query_parameter("split", "string"),
                      query_parameter("offset", "integer"), query_parameter("limit", "integer")};
      }
      if (path == "/v1/groups/{id}/advantages") {
        for (const char* name : {"estimator", "matcher", "preset"})
          parameters.push_back(query_parameter(name, "string"));
      }
      methods.raw(ascii_lower(operations[i].method), operation_json(operations[i], parameters));
    }
    if (out.size() > 1) out += ',';
    out += json_quote(path) + ":" + methods.end();
  }
  return out + "}";
}

}  // namespace

std::string native_openapi(const std::string& version) {
  const std::string fields(kTaskFields);
  const std::string create = object_schema(
      R"("env":{"type":"string"},"max_steps":{"type":"integer","minimum":0},"group":{"type":"string"},)" +
      fields);
  const std::string reset = object_schema(R"("episode_id":{"type":"string"},)" + fields);
  const std::string step = object_schema(
      R"("action":{"type":"string"},"step_id":{"type":"integer","minimum":1})", R"(["action"])");
  const std::string texts = R"({"type":"array","items":{"type":"string"}})";
  const std::string batch_reset = object_schema(
      R"("sessions":)" + texts + R"(,"seeds":{"type":"array"},"indexes":{"type":"array"},"task_ids":)" +
          texts + R"(,"groups":{"type":"array"},)" + fields,
      R"(["sessions"])");
  const std::string batch_step =
      object_schema(R"("sessions":)" + texts + R"(,"actions":)" + texts + R"(,"step_ids":{"type":"array"})",
                    R"(["sessions","actions"])");
  const std::string groups = object_schema(
      R"("env":{"type":"string"},"tasks":)" + texts +
      R"(,"split":{"type":"string"},"count":{"type":"integer","minimum":1},"seed":{"type":"integer","minimum":0},"group_size":{"type":"integer","minimum":1},"max_steps":{"type":"integer","minimum":0})");
  const std::string group_step = object_schema(
      R"("actions":)" + texts + R"(,"step_id":{"type":"integer","minimum":1})", R"(["actions"])");
  const std::string snapshot = object_schema(R"("snapshot":{"type":"string"})", R"(["snapshot"])");
  const std::string fork = object_schema(R"("count":{"type":"integer","minimum":1})");
  const std::string credit = object_schema(
      R"("records":{"type":"array"},"estimator":{"type":"string"},"matcher":{"type":"string"},"preset":{"type":"string"},"options":{"type":"object"},"diagnostics":{"type":"boolean"},"memory":{"type":"boolean"})",
      R"(["records"])");
  const std::vector<Operation> operations{
      {"POST", "/v1/sessions", "Open a session", create, "201"},
      {"GET", "/v1/sessions/{id}", "Look at a session without renewing its lease", "", "200"},
      {"DELETE", "/v1/sessions/{id}", "Close a session; closing twice is no mistake", "", "200"},
      {"POST", "/v1/sessions/{id}/reset", "Start an episode", reset, "200"},
      {"POST", "/v1/sessions/{id}/step", "Play one action; a repeated step_id gets the stored reply", step,
       "200"},
      {"POST", "/v1/sessions/{id}/snapshot", "The running episode as text", "", "200"},
      {"POST", "/v1/sessions/{id}/restore", "Put the session where a snapshot stood", snapshot, "200"},
      {"POST", "/v1/sessions/{id}/fork", "New sessions that stand where this one stands", fork, "201"},
      {"POST", "/v1/batch/reset", "Start episodes in many sessions", batch_reset, "200"},
      {"POST", "/v1/batch/step", "Play one action in each of many sessions", batch_step, "200"},
      {"POST", "/v1/groups", "Open G tasks x n members", groups, "201"},
      {"GET", "/v1/groups/{id}", "Tasks and sessions of a group", "", "200"},
      {"DELETE", "/v1/groups/{id}", "Close a group and its sessions", "", "200"},
      {"POST", "/v1/groups/{id}/step", "Play one action per member, task-major", group_step, "200"},
      {"GET", "/v1/groups/{id}/advantages", "Credit of the group's recorded steps", "", "200"},
      {"POST", "/v1/groups/{id}/advantages", "The same; memory=true uses the server's graph store", "",
       "200"},
      {"POST", "/v1/advantages", "Credit of steps recorded elsewhere; stateless unless memory is true",
       credit, "200"},
      {"GET", "/v1/recordings", "Recordings that this server writes", "", "200"},
      {"GET", "/v1/recordings/{id}", "Summary of a recording", "", "200"},
      {"GET", "/v1/recordings/{id}/episodes", "Its episodes", "", "200"},
      {"GET", "/v1/recordings/{id}/rows", "Its steps, as lodestep export writes them", "", "200"},
      {"GET", "/v1/envs", "Environments with versions and data digests", "", "200"},
      {"GET", "/v1/tasks", "Task ids of a split", "", "200"},
      {"GET", "/v1/limits", "Every limit in force, with its unit", "", "200"},
      {"GET", "/v1/openapi.json", "This document", "", "200"},
      {"GET", "/health", "Alive", "", "200"},
      {"GET", "/ready", "Start-up self-test passed", "", "200"},
  };
  return JsonObject()
      .text("openapi", "3.1.0")
      .raw("info", JsonObject().text("title", "Lodestep native API").text("version", version).end())
      .raw("paths", paths_json(operations))
      .raw(
          "components",
          R"({"schemas":{"Error":{"type":"object","required":["error"],"properties":{"error":{"type":"object",)"
          R"("required":["code","message"],"properties":{"code":{"type":"string"},"message":{"type":"string"}}}}}},)"
          R"("securitySchemes":{"token":{"type":"http","scheme":"bearer"}}})")
      .end();
}

std::string openenv_openapi(const std::string& version, const std::string& environment) {
  const std::string reset =
      R"({"type":"object","properties":{"seed":{"type":"integer","minimum":0},"episode_id":{"type":"string"}},"additionalProperties":true})";
  const std::string step =
      R"({"type":"object","properties":{"action":{"type":"object"},"timeout_s":{"type":"number"},"request_id":{"type":"string"}},"required":["action"],"additionalProperties":true})";
  const std::vector<Operation> operations{
      {"GET", "/health", "Health check", "", "200"},
      {"GET", "/metadata", "What this environment is", "", "200"},
      {"GET", "/schema", "JSON schemas of action, observation and state", "", "200"},
      {"POST", "/reset", "Reset an environment of its own", reset, "200"},
      {"POST", "/step", "Step an environment of its own", step, "200"},
      {"GET", "/state", "State of an environment of its own", "", "200"},
      {"POST", "/mcp", "JSON-RPC 2.0 tool calls", R"({"type":"object"})", "200"},
      {"GET", "/list_environments", "Name of the environment", "", "200"},
  };
  return JsonObject()
      .text("openapi", "3.1.0")
      .raw("info", JsonObject()
                       .text("title", "Lodestep: " + environment + " (OpenEnv)")
                       .text("version", version)
                       .end())
      .raw("paths", paths_json(operations))
      .raw("components", R"({"schemas":{"Error":{"type":"object"}}})")
      .end();
}

}  // namespace lodestep::harness
