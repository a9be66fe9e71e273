// Damaged requests of every dialect: whatever arrives, the answer is valid JSON and never a server error.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "base/rng.h"
#include "base/text.h"
#include "tests/support/fuzz.h"
#include "tests/unit/server/support.h"

namespace lodestep::harness {
namespace {

const std::vector<std::string> kBodies{
    "",
    "{}",
    "[]",
    "null",
    R"({"seed":7,"episode_id":"e1","split":"train"})",
    R"({"action":{"command":"right"},"timeout_s":2})",
    R"({"type":"reset","data":{"seed":7,"index":3}})",
    R"({"type":"step","data":{"command":"right"}})",
    R"({"type":"state"})",
    R"({"type":"step","data":{"type":"call_tool","tool_name":"act","arguments":{"command":"left"}}})",
    R"({"type":"mcp","data":{"jsonrpc":"2.0","method":"tools/call","params":{"name":"act","arguments":{"command":"x"}},"id":1}})",
    R"({"jsonrpc":"2.0","method":"openenv/session/create","id":1})",
    R"({"id":17,"data_idx":4})",
    R"({"id":17,"action":"up"})",
    R"({"env":"dummy","seed":1,"split":"train","index":5,"max_steps":15,"group":"g"})",
    R"({"action":"right","step_id":1})",
    R"({"sessions":["00000000000000000000000000000000"],"actions":["right"],"step_ids":[1]})",
    R"({"env":"dummy","tasks":["1"],"group_size":2})",
    R"({"split":"train","start":1,"stop":4})",
    R"({"id":1,"method":"POST","path":"/v1/sessions","body":{"env":"dummy"}})",
    R"({"snapshot":"bG9kZXN0ZXA="})",
    R"({"count":2})"};

const std::vector<std::string> kTargets{"/reset",
                                        "/step",
                                        "/state",
                                        "/schema",
                                        "/mcp",
                                        "/openenv/sokoban/reset",
                                        "/dummy/tasks",
                                        "/dummy/task_range",
                                        "/agentgym/dummy/create",
                                        "/agentgym/dummy/reset",
                                        "/agentgym/dummy/step",
                                        "/agentgym/dummy/close",
                                        "/agentgym/dummy/observation?id=3",
                                        "/v1/sessions",
                                        "/v1/sessions/00000000000000000000000000000000/step",
                                        "/v1/batch/reset",
                                        "/v1/batch/step",
                                        "/v1/groups",
                                        "/v1/groups/g/step",
                                        "/v1/groups/g/advantages?estimator=grpo&gamma=0.5",
                                        "/v1/advantages",
                                        "/v1/tasks?env=dummy&limit=3",
                                        "/v1/limits"};

const std::vector<std::string> kPieces{"\"",
                                       "\\",
                                       "{",
                                       "}",
                                       "[",
                                       "]",
                                       ",",
                                       ":",
                                       "null",
                                       "-1",
                                       "1e999",
                                       "NaN",
                                       "\xff",
                                       "\xed\xa0\x80",
                                       std::string(1, '\0'),
                                       "%",
                                       "%00",
                                       "%2e%2e",
                                       "/",
                                       "?",
                                       "&",
                                       "=",
                                       "\\ud800",
                                       "18446744073709551616",
                                       "0.5",
                                       "true",
                                       std::string(70, '[')};

std::string damaged(std::string text, Stream& dice) {
  for (std::uint64_t n = dice.below(4); n > 0; --n) {
    const std::size_t place = dice.below(text.size() + 1);
    switch (dice.below(4)) {
      case 0: text.insert(place, kPieces[dice.below(kPieces.size())]); break;
      case 1: text.erase(place, dice.below(8)); break;
      case 2:
        if (place < text.size()) text[place] = static_cast<char>(dice.below(256));
        break;
      default: text.insert(place, text.substr(dice.below(text.size() + 1), dice.below(20)));
    }
  }
  return text;
}

void check(const std::string& body) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseValidateEncodingFlag>(body.c_str(), body.size());
  REQUIRE_FALSE(document.HasParseError());
}

TEST_CASE("fuzz: damaged HTTP requests", "[fuzz]") {
  Limits limits;
  limits.max_sessions = 50;
  TestServer server(limits);
  Stream dice(Hasher().add("fuzz http").finish());
  const std::vector<std::string> methods{"GET", "POST", "POST", "POST", "DELETE", "HEAD", "BREW"};
  for (int i = 0; i < test::fuzz_rounds(20000); ++i) {
    const HttpRequest request{methods[dice.below(methods.size())],
                              damaged(kTargets[dice.below(kTargets.size())], dice),
                              damaged(kBodies[dice.below(kBodies.size())], dice)};
    CAPTURE(request.method, request.target, request.body);
    const HttpResponse response = server.application.handle(request);
    REQUIRE((response.status < 500 || response.status == 503 || response.status == 501));
    if (response.content_type == "application/json") check(response.body);
  }
}

TEST_CASE("fuzz: damaged WebSocket messages", "[fuzz]") {
  TestServer server;
  Stream dice(Hasher().add("fuzz sockets").finish());
  for (const char* target : {"/ws", "/openenv/sokoban/ws", "/mcp", "/v1/stream"}) {
    auto socket = server.socket(target);
    REQUIRE(socket);
    for (int i = 0; i < test::fuzz_rounds(5000); ++i) {
      const std::string text = damaged(kBodies[dice.below(kBodies.size())], dice);
      CAPTURE(target, text);
      const SocketReply reply = socket->on_message(text);
      if (!reply.text.empty()) check(reply.text);
      REQUIRE((reply.close || !reply.text.empty()));
      if (reply.close) {
        socket.reset();
        socket = server.socket(target);
      }
    }
  }
}

TEST_CASE("targets come apart without surprises") {
  REQUIRE(parse_target("/a//b/")->path == std::vector<std::string>{"a", "b"});
  REQUIRE(parse_target("/a%20b?x=1+2&y")->path == std::vector<std::string>{"a b"});
  REQUIRE(parse_target("/?x=1+2&y")->parameter("x") == "1 2");
  REQUIRE(parse_target("http://host:1/a?b=c")->path == std::vector<std::string>{"a"});
  for (const char* bad :
       {"/%", "/%2", "/%zz", "/..", "/a/%2e%2e/b", "/%5c", "/\\", "/%ff", "/%00", "*", "a/b"}) {
    CAPTURE(bad);
    REQUIRE_FALSE(parse_target(bad));
  }
}

}  // namespace
}  // namespace lodestep::harness
