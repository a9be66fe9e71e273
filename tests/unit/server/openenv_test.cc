// The OpenEnv dialect without sockets: routes, messages, error codes, tools, tasks.
#include <catch2/catch.hpp>

#include <string>

#include "base/text.h"
#include "tests/unit/server/support.h"

namespace lodestep::harness {
namespace {

std::string ask(SocketHandler& socket, const std::string& message) { return socket.on_message(message).text; }

std::string code_of(SocketHandler& socket, const std::string& message) {
  const std::string reply = ask(socket, message);
  REQUIRE(at(reply, "type") == "error");
  return at(reply, "data.code");
}

TEST_CASE("health, metadata, schema and openapi have what validators read") {
  TestServer server;
  REQUIRE(server.get("/health").body == R"({"status":"healthy"})");
  REQUIRE(at(server.get("/openenv/sokoban/metadata").body, "name") == "sokoban");
  REQUIRE(at(server.get("/metadata").body, "readme_content") == "null");
  const std::string schema = server.get("/openenv/sokoban/schema").body;
  REQUIRE(at(schema, "action") ==
          R"({"title":"SokobanAction","type":"object","additionalProperties":false,"required":["command"],)"
          R"("properties":{"command":{"type":"string"},"metadata":{"type":"object"}}})");
  const rapidjson::Document openapi = json(server.get("/openapi.json").body);
  REQUIRE(openapi["info"]["version"].IsString());
  for (const char* path : {"/reset", "/step", "/state"}) REQUIRE(openapi["paths"].HasMember(path));
}

TEST_CASE("unknown paths are 404 and wrong methods 405, both with a JSON object") {
  TestServer server;
  for (const char* path : {"/nothing", "/openenv/none/health", "/openenv", "/..%2f..%2fetc/passwd",
                           "/a/../health", "/%5chealth", "/%00"}) {
    const HttpResponse response = server.get(path);
    REQUIRE(response.status == 404);
    REQUIRE(json(response.body).IsObject());
  }
  const HttpResponse wrong = server.application.handle({"DELETE", "/reset", ""});
  REQUIRE(wrong.status == 405);
  REQUIRE(json(wrong.body).IsObject());
  REQUIRE(wrong.headers.at(0).second == "POST");
}

TEST_CASE("reset and step over HTTP answer a result") {
  TestServer server;
  const HttpResponse reset = server.post("/reset", "");
  REQUIRE(reset.status == 200);
  const rapidjson::Document result = json(reset.body);
  REQUIRE(result["observation"]["text"].IsString());
  REQUIRE(result["reward"].IsNumber());
  REQUIRE(result["done"].IsBool());
  REQUIRE(server.post("/reset", R"({"seed":3,"episode_id":"e","prompt":[1,null,{"a":2}]})").status == 200);
  REQUIRE(server.post("/step", R"({"action":{"command":"right"},"timeout_s":1.5,"request_id":"r","more":1})")
              .status == 200);
  REQUIRE(at(server.get("/state").body, "step_count") == "0");
}

TEST_CASE("bad bodies over HTTP are 422 in the words of the reference") {
  TestServer server;
  const HttpResponse missing = server.post("/step", "{}");
  REQUIRE(missing.status == 422);
  REQUIRE(missing.body ==
          R"({"detail":[{"type":"missing","loc":["body","action"],"msg":"Field required","input":{}}]})");
  for (const char* body :
       {R"({"action":{}})", R"({"action":{"command":3}})", R"({"action":{"command":"x","extra":1}})",
        R"({"action":"x"})", R"({"action":{"command":"x"},"timeout_s":0})",
        R"({"action":{"command":"x"},"timeout_s":"1"})", R"({"action":{"command":"x","metadata":3}})", "",
        "[]", "{", "\"x\"", "{\"action\":NaN}"}) {
    CAPTURE(body);
    const HttpResponse response = server.post("/step", body);
    REQUIRE(response.status == 422);
    REQUIRE(json(response.body)["detail"].IsArray());
  }
  for (const char* body : {R"({"seed":-1})", R"({"seed":1.5})", R"({"seed":"1"})", R"({"seed":true})",
                           R"({"seed":NaN})", R"({"seed":1e400})", R"({"episode_id":7})"}) {
    CAPTURE(body);
    REQUIRE(server.post("/reset", body).status == 422);
  }
  REQUIRE(server.post("/reset", "{\"episode_id\":\"" + std::string(256, 'x') + "\"}").status == 422);
  REQUIRE(server.post("/reset", "{\"a\":\"\xed\xa0\x80\"}").status == 422);  // a surrogate
  REQUIRE(server.post("/reset", "{\"a\":\"\xc0\xaf\"}").status == 422);      // overlong
  REQUIRE(server.post("/reset", std::string(100000, '[')).status == 422);    // deep nesting
  REQUIRE(server.post("/reset", "{\"a\":" + std::string(100000, '[')).status == 422);
}

TEST_CASE("a WebSocket plays an episode to its end") {
  TestServer server;
  auto socket = server.socket("/ws");
  REQUIRE(socket);
  const std::string first =
      ask(*socket, R"({"type":"reset","data":{"seed":7,"episode_id":"\u00e9\u4e2d\ud83d\ude00","index":2}})");
  REQUIRE(at(first, "type") == "observation");
  REQUIRE(at(first, "data.observation.text") ==
          "You stand in cell 3. The goal is cell 6, the trap is cell 0.");
  REQUIRE(at(first, "data.observation.available_actions") == R"(["left","right"])");
  REQUIRE(at(first, "data.done") == "false");
  REQUIRE(at(first, "data.reward") == "0.0");
  REQUIRE(at(ask(*socket, R"({"type":"state"})"), "data.episode_id") ==
          "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80");
  ask(*socket, R"({"type":"step","data":{"command":"right"}})");
  REQUIRE(at(ask(*socket, R"({"type":"state"})"), "data.step_count") == "1");
  // Text that means nothing to the environment is an ordinary step.
  const std::string odd = ask(*socket, R"({"type":"step","data":{"command":"dance"}})");
  REQUIRE(at(odd, "type") == "observation");
  REQUIRE(at(odd, "data.metadata.action_valid") == "false");
  ask(*socket, R"({"type":"step","data":{"command":"right"}})");
  const std::string last = ask(*socket, R"({"type":"step","data":{"command":"right","metadata":{}}})");
  REQUIRE(at(last, "data.done") == "true");
  REQUIRE(at(last, "data.reward") == "1.0");
  REQUIRE(at(last, "data.metadata.terminated") == "true");
  REQUIRE(at(last, "data.metadata.truncated") == "false");
  const std::string after = ask(*socket, R"({"type":"step","data":{"command":"right"}})");
  REQUIRE(at(after, "data.observation.text") == at(last, "data.observation.text"));
  REQUIRE(at(after, "data.reward") == "0.0");
  REQUIRE(at(after, "data.done") == "true");
  const SocketReply bye = socket->on_message(R"({"type":"close"})");
  REQUIRE(bye.close);
  REQUIRE(bye.text.empty());
}

TEST_CASE("a truncated episode is done but neither terminated nor a success") {
  TestServer server;
  auto socket = server.socket("/ws");
  ask(*socket, R"({"type":"reset","data":{"index":3}})");
  std::string reply;
  for (int i = 0; i < 10; ++i) {
    ask(*socket, R"({"type":"step","data":{"command":"right"}})");
    reply = ask(*socket, R"({"type":"step","data":{"command":"left"}})");
  }
  REQUIRE(at(reply, "data.done") == "true");
  REQUIRE(at(reply, "data.reward") == "0.0");
  REQUIRE(at(reply, "data.observation.terminated") == "false");
  REQUIRE(at(reply, "data.observation.truncated") == "true");
  REQUIRE(at(reply, "data.metadata.truncated") == "true");
}

TEST_CASE("WebSocket errors carry their codes and leave the episode alone") {
  TestServer server;
  auto socket = server.socket("/openenv/dummy/ws");
  REQUIRE(code_of(*socket, R"({"type":"step","data":{"command":"right"}})") == "EXECUTION_ERROR");
  ask(*socket, R"({"type":"reset","data":{"index":3}})");
  for (const char* text : {"", "{", "nothing", "{\"type\":\"step\"} x", "{\"a\":NaN}", "{\"a\":1e999}"}) {
    CAPTURE(text);
    REQUIRE(code_of(*socket, text) == "INVALID_JSON");
  }
  for (const char* text : {"{}", R"({"type":"fly"})", R"({"type":3})", R"({"type":null})"}) {
    CAPTURE(text);
    REQUIRE(code_of(*socket, text) == "UNKNOWN_TYPE");
  }
  for (const char* text :
       {R"({"type":"reset","x":1})", R"({"type":"step"})", R"({"type":"step","data":"right"})",
        R"({"type":"step","data":null})", R"({"type":"state","data":{}})", R"({"type":"step","data":{}})",
        R"({"type":"step","data":{"command":1}})", R"({"type":"step","data":{"command":"right","x":1}})",
        R"({"type":"reset","data":{"seed":-1}})", R"({"type":"reset","data":{"seed":0.5}})",
        R"({"type":"reset","data":{"seed":"7"}})", R"({"type":"reset","data":[]})",
        R"({"type":"close","data":{}})", R"({"type":"mcp"})"}) {
    CAPTURE(text);
    const std::string reply = ask(*socket, text);
    REQUIRE(at(reply, "data.code") == "VALIDATION_ERROR");
    REQUIRE(json(reply)["data"]["errors"].IsArray());
  }
  REQUIRE(code_of(*socket, R"({"type":"reset","data":{"split":"no such split"}})") == "EXECUTION_ERROR");
  REQUIRE(code_of(*socket, R"({"type":"reset","data":{"index":99}})") == "EXECUTION_ERROR");
  REQUIRE(at(ask(*socket, R"({"type":"state"})"), "data.step_count") == "0");
  REQUIRE(at(ask(*socket, R"({"type":"step","data":{"command":"right"}})"), "data.observation.text") ==
          "You stand in cell 3. The goal is cell 6, the trap is cell 0.");
  const SocketReply list = socket->on_message("[1]");
  REQUIRE(at(list.text, "data.code") == "SESSION_ERROR");
  REQUIRE(list.close);
}

TEST_CASE("a full server refuses in answer to the first message, then closes") {
  Limits limits;
  limits.max_sessions = 1;
  TestServer server(limits);
  auto first = server.socket("/ws");
  auto second = server.socket("/ws");
  const SocketReply refused = second->on_message(R"({"type":"reset"})");
  REQUIRE(at(refused.text, "data.code") == "CAPACITY_REACHED");
  REQUIRE(at(refused.text, "data.active_sessions") == "1");
  REQUIRE(at(refused.text, "data.max_sessions") == "1");
  REQUIRE(at(refused.text, "data.message").find("max_sessions = 1") != std::string::npos);
  REQUIRE(refused.close);
  REQUIRE(at(ask(*first, R"({"type":"reset"})"), "type") == "observation");
  first.reset();
  auto third = server.socket("/ws");
  REQUIRE(at(ask(*third, R"({"type":"reset"})"), "type") == "observation");
}

TEST_CASE("the same seed is the same episode, and rows of any shape may ride along") {
  TestServer server;
  auto a = server.socket("/openenv/sokoban/ws");
  auto b = server.socket("/openenv/sokoban/ws");
  const std::string row =
      R"({"type":"reset","data":{"seed":41,"prompt":[{"role":"user","content":"x"}],"answer":null,"score":1e10}})";
  const std::string from_a = ask(*a, row);
  REQUIRE(at(from_a, "type") == "observation");
  REQUIRE(at(from_a, "data.observation") ==
          at(ask(*b, R"({"type":"reset","data":{"seed":41}})"), "data.observation"));
  REQUIRE(at(from_a, "data.observation") !=
          at(ask(*b, R"({"type":"reset","data":{"seed":42}})"), "data.observation"));
}

TEST_CASE("two sessions share nothing") {
  TestServer server;
  auto a = server.socket("/ws");
  auto b = server.socket("/ws");
  ask(*a, R"({"type":"reset","data":{"index":0}})");
  const std::string before = ask(*b, R"({"type":"reset","data":{"index":3}})");
  REQUIRE(at(ask(*a, R"({"type":"step","data":{"command":"right"}})"), "data.done") == "true");
  const std::string junk = ask(*b, R"({"type":"step","data":{"command":"junk"}})");
  REQUIRE(at(junk, "data.done") == "false");
  REQUIRE(at(junk, "data.reward") == "0.0");
  REQUIRE(at(junk, "data.observation.text") == at(before, "data.observation.text"));
}

TEST_CASE("JSON-RPC answers with the right codes, always 200") {
  TestServer server;
  const auto code = [&](const std::string& body) {
    const HttpResponse response = server.post("/mcp", body);
    REQUIRE(response.status == 200);
    return at(response.body, "error.code");
  };
  REQUIRE(code("{}") == "-32600");
  REQUIRE(code("{") == "-32700");
  REQUIRE(at(server.post("/mcp", "{").body, "id") == "null");
  REQUIRE(code(R"({"jsonrpc":"2.0","method":"no/such","id":5})") == "-32601");
  REQUIRE(at(server.post("/mcp", R"({"jsonrpc":"2.0","method":"no/such","id":"x"})").body, "id") == "x");
  REQUIRE(code(R"({"jsonrpc":"2.0","method":"tools/call","id":1,"params":{"name":"fly"}})") == "-32602");
  REQUIRE(
      code(
          R"({"jsonrpc":"2.0","method":"tools/call","id":1,"params":{"name":"act","arguments":{"command":"x"},"session_id":"none"}})") ==
      "-32602");
  const std::string tools = server.post("/mcp", R"({"jsonrpc":"2.0","method":"tools/list","id":1})").body;
  REQUIRE(at(tools, "result.tools.1.name") == "act");
  REQUIRE(at(tools, "result.tools.1.inputSchema.type") == "object");
}

TEST_CASE("a tool session and its socket drive the same environment") {
  TestServer server;
  const std::string id =
      at(server.post("/mcp", R"({"jsonrpc":"2.0","method":"openenv/session/create","id":1})").body,
         "result.session_id");
  REQUIRE(id.size() == 32);
  auto socket = server.socket("/ws?session_id=" + id);
  REQUIRE(at(ask(*socket, R"({"type":"reset","data":{"index":3}})"), "type") == "observation");
  const auto call = [&](const std::string& tool, const std::string& arguments) {
    return server
        .post("/mcp", R"({"jsonrpc":"2.0","method":"tools/call","id":1,"params":{"name":")" + tool +
                          R"(","arguments":)" + arguments + R"(,"session_id":")" + id + "\"}}")
        .body;
  };
  REQUIRE(at(call("act", R"({"command":"right"})"), "result.text") ==
          "You stand in cell 3. The goal is cell 6, the trap is cell 0.");
  REQUIRE(at(ask(*socket, R"({"type":"state"})"), "data.step_count") == "1");
  const std::string listed = ask(*socket, R"({"type":"step","data":{"type":"list_tools"}})");
  REQUIRE(at(listed, "data.observation.tools.0.input_schema.type") == "object");
  const std::string called =
      ask(*socket,
          R"({"type":"step","data":{"type":"call_tool","tool_name":"act","arguments":{"command":"right"}}})");
  REQUIRE(at(called, "data.observation.result.text") ==
          "You stand in cell 4. The goal is cell 6, the trap is cell 0.");
  REQUIRE(at(called, "data.observation.error") == "null");
  REQUIRE(at(ask(*socket, R"({"type":"step","data":{"type":"call_tool","tool_name":"fly"}})"),
             "data.observation.error.error_type") == "tool_not_found");

  auto second = server.socket("/ws?session_id=" + id);
  const SocketReply taken = second->on_message("{}");
  REQUIRE(at(taken.text, "data.code") == "SESSION_ERROR");
  REQUIRE(taken.close);
  second.reset();
  const std::string close =
      R"({"jsonrpc":"2.0","method":"openenv/session/close","id":9,"params":{"session_id":")" + id + "\"}}";
  REQUIRE(at(server.post("/mcp", close).body, "result") ==
          R"({"session_id":")" + id + R"(","closed":false,"closing":true})");
  REQUIRE(server.service.pool().size() == 1);
  socket.reset();
  REQUIRE(server.service.pool().size() == 0);
  REQUIRE(at(server.post("/mcp", close).body, "error.code") == "-32602");
}

TEST_CASE("task routes list what reset accepts") {
  TestServer server;
  REQUIRE(server.get("/list_environments").body == R"(["dummy"])");
  REQUIRE(server.get("/dummy/splits").body == R"([{"name":"train","type":"train"}])");
  REQUIRE(server.get("/other/splits").status == 404);
  REQUIRE(server.post("/dummy/num_tasks", R"({"split":"train"})").body == R"({"num_tasks":10})");
  REQUIRE(server.post("/dummy/num_tasks", "{}").status == 422);
  const std::string all = server.post("/dummy/tasks", R"({"split":"train"})").body;
  REQUIRE(json(all)["tasks"].Size() == 10);
  REQUIRE(at(all, "env_name") == "dummy");
  const std::string one = at(server.post("/dummy/task", R"({"split":"train","index":3})").body, "task");
  REQUIRE(one == R"({"task_id":"3","split":"train","index":3})");
  REQUIRE(server.post("/dummy/task", R"({"split":"train","index":10})").status == 400);
  REQUIRE(server.post("/dummy/task", R"({"split":"train","index":-1})").status == 400);
  REQUIRE(server.post("/dummy/task", R"({"split":"train"})").status == 422);
  REQUIRE(json(server.post("/dummy/task_range", R"({"split":"train","start":2,"stop":5})").body)["tasks"]
              .Size() == 3);
  REQUIRE(at(server.post("/dummy/task_range", R"({"split":"train","start":20,"stop":30})").body, "tasks") ==
          "[]");
  auto socket = server.socket("/ws");
  REQUIRE(at(ask(*socket, R"({"type":"reset","data":)" + one + "}"), "data.metadata.task_id") == "3");
}

}  // namespace
}  // namespace lodestep::harness
