// The /v1 dialect without sockets.
#include <catch2/catch.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/server/support.h"

namespace lodestep::harness {
namespace {

std::string open(TestServer& server, const std::string& body = R"({"env":"dummy","index":3})") {
  const HttpResponse response = server.post("/v1/sessions", body);
  REQUIRE(response.status == 201);
  return at(response.body, "session_id");
}

TEST_CASE("a session is opened, played, looked at and closed") {
  TestServer server;
  const std::string id = open(server);
  REQUIRE(id.size() == 32);
  REQUIRE(server.post("/v1/sessions/" + id + "/step", R"({"action":"right"})").status == 409);
  const std::string first = server.post("/v1/sessions/" + id + "/reset", R"({"seed":1})").body;
  REQUIRE(at(first, "step_count") == "0");
  REQUIRE(at(first, "state_key") == "dummy/1:cell=2");
  REQUIRE(at(first, "session_id") == id);
  const std::string step =
      server.post("/v1/sessions/" + id + "/step", R"({"action":"right","step_id":1})").body;
  for (const char* member : {"observation", "reward", "done", "step_count", "terminated", "truncated",
                             "state_key", "action_valid", "episode_id"}) {
    CAPTURE(member);
    REQUIRE(json(step).HasMember(member));
  }
  server.clock.advance(5000);
  const std::string shown = server.get("/v1/sessions/" + id).body;
  REQUIRE(at(shown, "env") == "dummy");
  REQUIRE(at(shown, "step_count") == "1");
  REQUIRE(json(shown)["idle_seconds"].GetDouble() == 5.0);
  REQUIRE(server.application.handle({"DELETE", "/v1/sessions/" + id, ""}).body == R"({"closed":true})");
  REQUIRE(server.application.handle({"DELETE", "/v1/sessions/" + id, ""}).status == 200);
  REQUIRE(server.post("/v1/sessions/" + id + "/reset", "{}").status == 410);
  for (const std::string& unknown : {random_id(), std::string("x"), std::string("agentgym%2Fdummy%2F1")}) {
    const HttpResponse response = server.post("/v1/sessions/" + unknown + "/step", R"({"action":"right"})");
    REQUIRE(response.status == 404);
    REQUIRE(at(response.body, "error.code") == "NO_SESSION");
  }
}

TEST_CASE("a repeated step_id gets the stored reply and does not step; a gap or an older one is refused") {
  TestServer server;
  const std::string path = "/v1/sessions/" + open(server);
  server.post(path + "/reset", "");
  const std::string one = server.post(path + "/step", R"({"action":"right","step_id":1})").body;
  REQUIRE(server.post(path + "/step", R"({"action":"left","step_id":1})").body == one);
  REQUIRE(at(server.get(path).body, "step_count") == "1");
  const HttpResponse gap = server.post(path + "/step", R"({"action":"right","step_id":3})");
  REQUIRE(gap.status == 409);
  REQUIRE(at(gap.body, "error.code") == "STEP_ID_CONFLICT");
  REQUIRE(server.post(path + "/step", R"({"action":"right","step_id":2})").status == 200);
  REQUIRE(server.post(path + "/step", R"({"action":"right","step_id":1})").status == 409);
  REQUIRE(server.post(path + "/step", R"({"action":"right","step_id":0})").status == 400);
  server.post(path + "/reset", "");
  REQUIRE(server.post(path + "/step", R"({"action":"right","step_id":1})").status == 200);
}

TEST_CASE("bad requests are refused with what is known") {
  TestServer server;
  const HttpResponse typo = server.post("/v1/sessions", R"({"env":"dummy","max_step":3})");
  REQUIRE(typo.status == 400);
  REQUIRE(at(typo.body, "error.message").find("did you mean 'max_steps'?") != std::string::npos);
  REQUIRE(server.post("/v1/sessions", R"({"env":"none"})").status == 404);
  REQUIRE(server.post("/v1/sessions", "{").status == 400);
  REQUIRE(server.post("/v1/sessions", "[]").status == 400);
  REQUIRE(server.post("/v1/sessions", R"({"env":"dummy","seed":-1})").status == 400);
  REQUIRE(server.post("/v1/sessions", R"({"env":"dummy","index":10})").status == 400);
  REQUIRE(server.get("/v1/nothing").status == 404);
  REQUIRE(server.get("/v1/sessions").status == 405);
  REQUIRE(server.service.pool().size() == 0);
}

TEST_CASE("batches answer in order, and one failure does not fail the others") {
  TestServer server;
  const std::string a = open(server);
  const std::string b = open(server);
  const std::string ghost = random_id();
  const std::string sessions = R"("sessions":[")" + a + "\",\"" + ghost + "\",\"" + b + "\"]";
  const std::string reset =
      server
          .post("/v1/batch/reset", "{" + sessions + R"(,"groups":[{"seed":5,"size":2},{"seed":6,"size":1}]})")
          .body;
  REQUIRE(at(reset, "results.0.metadata.seed") == "5");
  REQUIRE(at(reset, "results.1.error.code") == "NO_SESSION");
  REQUIRE(at(reset, "results.1.status") == "404");
  REQUIRE(at(reset, "results.2.metadata.seed") == "6");
  const std::string step =
      server
          .post("/v1/batch/step",
                "{" + sessions + R"(,"actions":["right","right","left"],"step_ids":[1,1,1]})")
          .body;
  REQUIRE(at(step, "results.0.state_key") == "dummy/1:cell=3");
  REQUIRE(at(step, "results.1.error.code") == "NO_SESSION");
  REQUIRE(at(step, "results.2.state_key") == "dummy/1:cell=1");
  REQUIRE(server.post("/v1/batch/step", "{" + sessions + R"(,"actions":["right"]})").status == 400);
  REQUIRE(server.post("/v1/batch/reset", "{" + sessions + R"(,"groups":[{"seed":5,"size":2}]})").status ==
          400);
}

TEST_CASE("snapshots and forks stand where the session stood") {
  TestServer server;
  const std::string id = open(server);
  server.post("/v1/sessions/" + id + "/reset", "");
  server.post("/v1/sessions/" + id + "/step", R"({"action":"right","step_id":1})");
  const std::string snapshot = at(server.post("/v1/sessions/" + id + "/snapshot", "").body, "snapshot");
  const HttpResponse forked = server.post("/v1/sessions/" + id + "/fork", R"({"count":2})");
  REQUIRE(forked.status == 201);
  const std::string copy = at(forked.body, "sessions.1");
  REQUIRE(copy.size() == 32);
  const std::string there =
      server.post("/v1/sessions/" + copy + "/step", R"({"action":"left","step_id":2})").body;
  REQUIRE(at(there, "state_key") == "dummy/1:cell=2");
  REQUIRE(at(there, "step_count") == "2");
  const std::string here =
      server.post("/v1/sessions/" + id + "/step", R"({"action":"right","step_id":2})").body;
  REQUIRE(at(here, "state_key") == "dummy/1:cell=4");
  const std::string back =
      server.post("/v1/sessions/" + id + "/restore", "{\"snapshot\":\"" + snapshot + "\"}").body;
  REQUIRE(at(back, "state_key") == "dummy/1:cell=3");
  REQUIRE(server.post("/v1/sessions/" + id + "/restore", R"({"snapshot":"bm8="})").status == 400);
}

std::string make_group(TestServer& server, const std::string& body) {
  const HttpResponse response = server.post("/v1/groups", body);
  CAPTURE(response.body);
  REQUIRE(response.status == 201);
  return response.body;
}

TEST_CASE("groups are made, stepped and credited in one call each") {
  TestServer server;
  const std::string made = make_group(server, R"({"env":"dummy","tasks":["1","3"],"group_size":2})");
  REQUIRE(at(made, "groups.1.task") == "3");
  REQUIRE(json(made)["groups"][1]["sessions"].Size() == 2);
  REQUIRE(json(made)["observations"].Size() == 4);
  REQUIRE(at(made, "observations.0") == at(made, "observations.1"));
  const std::string path = "/v1/groups/" + at(made, "group_set_id");
  const std::string one =
      server.post(path + "/step", R"({"actions":["right","left","left","right"],"step_id":1})").body;
  REQUIRE(at(one, "state_keys") ==
          R"(["dummy/1:cell=5","dummy/1:cell=3","dummy/1:cell=1","dummy/1:cell=3"])");
  REQUIRE(server.post(path + "/step", R"({"actions":["left","left","left","left"],"step_id":1})").body ==
          one);
  REQUIRE(server.post(path + "/step", R"({"actions":["left","left","left","left"],"step_id":3})").status ==
          409);
  REQUIRE(server.post(path + "/step", R"({"actions":["left"],"step_id":2})").status == 400);
  const std::string two =
      server.post(path + "/step", R"({"actions":["right","left","left","right"],"step_id":2})").body;
  REQUIRE(at(two, "dones") == "[true,false,true,false]");
  REQUIRE(at(two, "rewards") == "[1.0,0.0,0.0,0.0]");
  // Members that are done keep their last result with reward 0.
  const std::string three =
      server.post(path + "/step", R"({"actions":["right","left","left","right"],"step_id":3})").body;
  REQUIRE(at(three, "rewards.0") == "0.0");
  REQUIRE(at(three, "observations.0") == at(two, "observations.0"));
  REQUIRE(at(three, "step_counts") == "[2,3,2,3]");

  const HttpResponse credit = server.get(path + "/advantages?estimator=grpo");
  CAPTURE(credit.body);
  REQUIRE(credit.status == 200);
  const rapidjson::Document rows = json(credit.body);
  REQUIRE(rows["advantages"].Size() == 10);  // 2 + 3 + 2 + 3 recorded steps
  REQUIRE(rows["advantages"][0]["advantage"].GetDouble() > 0);
  REQUIRE(rows["advantages"][2]["advantage"].GetDouble() < 0);
  REQUIRE(at(credit.body, "diagnostics.tasks") == "2");
  REQUIRE(server.get(path + "/advantages?estimator=graphgpo&matcher=exact").status == 200);
  REQUIRE(server.get(path + "/advantages?estimator=none").status == 400);
  REQUIRE(server.get(path + "/advantages?estimator=grpo&nothing=1").status == 400);

  REQUIRE(server.service.pool().size() == 4);
  REQUIRE(server.application.handle({"DELETE", path, ""}).status == 200);
  REQUIRE(server.service.pool().size() == 0);
  REQUIRE(server.get(path).status == 404);
}

TEST_CASE("a large group keeps its order") {
  TestServer server;
  const std::string made = make_group(server, R"({"env":"dummy","tasks":["3"],"group_size":129})");
  std::string actions;
  for (int i = 0; i < 129; ++i)
    actions += std::string(i == 0 ? "" : ",") + (i % 3 == 0 ? "\"right\"" : "\"left\"");
  const std::string reply =
      server.post("/v1/groups/" + at(made, "group_set_id") + "/step", "{\"actions\":[" + actions + "]}").body;
  REQUIRE(json(reply)["rewards"].Size() == 129);
  for (int i = 0; i < 129; ++i) {
    REQUIRE(at(reply, "state_keys." + std::to_string(i)) ==
            (i % 3 == 0 ? "dummy/1:cell=3" : "dummy/1:cell=1"));
  }
}

TEST_CASE("a group by split, count and seed is the same every time") {
  TestServer server;
  const std::string body = R"({"env":"dummy","split":"train","count":3,"seed":9,"group_size":1})";
  const std::string a = make_group(server, body);
  const std::string b = make_group(server, body);
  for (const char* path : {"groups.0.task", "groups.1.task", "groups.2.task", "observations"})
    REQUIRE(at(a, path) == at(b, path));
}

TEST_CASE("groups are made whole or not at all") {
  Limits limits;
  limits.max_sessions = 5;
  TestServer server(limits);
  const HttpResponse refused = server.post("/v1/groups", R"({"env":"dummy","tasks":["0"],"group_size":8})");
  REQUIRE(refused.status == 503);
  REQUIRE(at(refused.body, "error.code") == "CAPACITY_REACHED");
  REQUIRE(server.post("/v1/groups", R"({"env":"dummy","tasks":["0","no task"]})").status == 404);
  REQUIRE(server.service.pool().size() == 0);
  REQUIRE(server.post("/v1/groups", R"({"env":"dummy"})").status == 400);
}

TEST_CASE("sessions that name a group are credited together") {
  TestServer server;
  for (const char* action : {"right", "left"}) {
    const std::string id = open(server, R"({"env":"dummy","index":0,"seed":1,"group":"g7"})");
    server.post("/v1/sessions/" + id + "/reset", "");
    server.post("/v1/sessions/" + id + "/step", std::string(R"({"action":")") + action + "\"}");
  }
  const HttpResponse credit = server.get("/v1/groups/g7/advantages?estimator=grpo");
  REQUIRE(credit.status == 200);
  REQUIRE(json(credit.body)["advantages"].Size() == 2);
}

TEST_CASE("a group is credited by its environment and by the turns that were left") {
  TestServer server;
  const std::string room =
      make_group(server, R"({"env":"sokoban","tasks":["gen/6x6/b1/s17"],"group_size":2,"max_steps":9})");
  const std::string rooms = "/v1/groups/" + at(room, "group_set_id");
  server.post(rooms + "/step", R"({"actions":["up","down"]})");
  // Nothing was won: one step from success, at Sokoban's own discount of 0.8.
  REQUIRE(at(server.get(rooms + "/advantages?estimator=graphgpo").body, "advantages.0.step_return") == "8");
  REQUIRE(at(server.get(rooms + "/advantages?estimator=graphgpo&gamma=0.5").body,
             "advantages.0.step_return") == "5");
  const HttpResponse censored =
      server.get(rooms + "/advantages?estimator=graphgpo&unreached=censored&diagnostics=true");
  REQUIRE(at(censored.body, "advantages.0.weight") == "0");

  std::vector<std::string> credited;
  for (const char* turns : {"6", "9"}) {
    const std::string made = make_group(
        server, std::string(R"({"env":"dummy","tasks":["1"],"group_size":2,"max_steps":)") + turns + "}");
    const std::string path = "/v1/groups/" + at(made, "group_set_id");
    for (const char* second : {"left", "right", "right", "right"})
      server.post(path + "/step", std::string(R"({"actions":["right",")") + second + "\"]}");
    credited.push_back(at(server.get(path + "/advantages?estimator=evih").body, "advantages.0.advantage"));
  }
  REQUIRE(credited[0] != credited[1]);
}

TEST_CASE("a graph store remembers from request to request, where the server has one and a POST asks") {
  const std::string store =
      (std::filesystem::temp_directory_path() / ("lodestep_graphs_" + random_id() + ".db")).string();
  const auto step = [](const std::string& state, const std::string& next, bool success) {
    return R"({"task":"u","episode":"a","t":0,"state":")" + state + R"(","next_state":")" + next +
           R"(","success":)" + (success ? "true" : "false") + "}\n";
  };
  {
    TestServer server({}, nullptr, {}, store);
    const std::string path = "/v1/advantages?estimator=graphgpo&gamma=0.5&memory=true";
    REQUIRE(server.post(path, step("kitchen", "x", true)).status == 200);
    const HttpResponse later = server.post(path, step("hall", "kitchen", false));
    CAPTURE(later.body);
    REQUIRE(at(later.body, "step_return") == "5");  // one step from success, by the request before
    REQUIRE(at(server.post("/v1/advantages?estimator=graphgpo&gamma=0.5", step("hall", "y", false)).body,
               "node") == "0");
    REQUIRE(server.post("/v1/advantages?estimator=grpo&memory=true", step("hall", "y", false)).status == 400);

    const std::string made = make_group(server, R"({"env":"dummy","tasks":["1"],"group_size":2})");
    const std::string group = "/v1/groups/" + at(made, "group_set_id");
    server.post(group + "/step", R"({"actions":["right","left"]})");
    REQUIRE(server.get(group + "/advantages?estimator=graphgpo&memory=true").status == 400);
    REQUIRE(server.post(group + "/advantages?estimator=graphgpo&memory=true", "").status == 200);
    const std::string again = server.post(group + "/advantages?estimator=graphgpo&memory=true", "").body;
    REQUIRE(again.find("2 edges recalled") != std::string::npos);
    REQUIRE(server.post(group + "/advantages?estimator=evihb&memory=true", "").status == 400);
  }
  std::filesystem::remove(store);
  TestServer server;
  REQUIRE(server.post("/v1/advantages?estimator=graphgpo&memory=true", step("hall", "y", false)).status ==
          400);
}

TEST_CASE("advantages of steps recorded elsewhere, in three forms") {
  TestServer server;
  const std::string a = R"({"task":"u","episode":"a","t":0,"state":"s","reward":1})";
  const std::string b = R"({"task":"u","episode":"b","t":0,"state":"s","reward":0})";
  const HttpResponse lines = server.post("/v1/advantages?estimator=grpo", a + "\n" + b + "\n");
  CAPTURE(lines.body);
  REQUIRE(lines.status == 200);
  REQUIRE(lines.content_type == "application/x-ndjson");
  const std::string first = lines.body.substr(0, lines.body.find('\n'));
  REQUIRE(json(first)["advantage"].GetDouble() > 0);
  const std::string list = server.post("/v1/advantages?estimator=grpo", "[" + a + "," + b + "]").body;
  REQUIRE(at(list, "advantages.0") == first);
  for (const char* name : {"records", "steps"}) {
    const std::string object =
        server
            .post("/v1/advantages", std::string("{\"") + name + "\":[" + a + "," + b +
                                        R"(],"estimator":"grpo","options":{"norm_by_std":false}})")
            .body;
    REQUIRE(json(object)["advantages"][0]["advantage"].GetDouble() == 0.5);
    REQUIRE(at(object, "diagnostics.episodes") == "2");
  }
  for (const char* bad :
       {"", "[]x", "{}", R"({"records":3})", R"([{"task":"u"}])", R"({"records":[],"estimator":"none"})"}) {
    CAPTURE(bad);
    REQUIRE(server.post("/v1/advantages", bad).status == 400);
  }
}

TEST_CASE("lists, limits and the OpenAPI document") {
  TestServer server;
  REQUIRE(at(server.get("/v1/envs").body, "envs.0.name") == "dummy");
  REQUIRE(at(server.get("/v1/envs").body, "envs.0.data_digest").size() == 32);
  REQUIRE(at(server.get("/v1/tasks?env=dummy&offset=8&limit=5").body, "tasks") == R"(["8","9"])");
  REQUIRE(server.get("/v1/tasks?env=dummy&split=none").status == 404);
  REQUIRE(server.get("/v1/tasks?limit=x").status == 400);
  REQUIRE(at(server.get("/v1/limits").body, "body.unit") == "bytes");
  const rapidjson::Document document = json(server.get("/v1/openapi.json").body);
  REQUIRE(std::string(document["openapi"].GetString()) == "3.1.0");
  for (const char* path :
       {"/v1/sessions", "/v1/sessions/{id}/step", "/v1/groups/{id}/advantages", "/v1/advantages"}) {
    REQUIRE(document["paths"].HasMember(path));
  }
}

TEST_CASE("a group that sessions join by name has a limit, until it is closed") {
  Limits limits;
  limits.batch_sessions = 2;
  TestServer server(limits);
  const std::string body = R"({"env":"dummy","group":"g"})";
  const std::string first = at(server.post("/v1/sessions", body).body, "session_id");
  server.post("/v1/sessions", body);
  server.application.handle({"DELETE", "/v1/sessions/" + first, ""});
  const HttpResponse full = server.post("/v1/sessions", body);
  REQUIRE(full.status == 409);
  REQUIRE(at(full.body, "error.code") == "GROUP_FULL");
  REQUIRE(server.service.pool().size() == 1);
  REQUIRE(server.application.handle({"DELETE", "/v1/groups/g", ""}).status == 200);
  REQUIRE(server.service.pool().size() == 0);
  REQUIRE(server.post("/v1/sessions", body).status == 201);
}

TEST_CASE("of an endless episode no more steps are kept than the limit says") {
  Limits limits;
  limits.kept_steps = 3;
  TestServer server(limits);
  const std::string group =
      "/v1/groups/" +
      at(server.post("/v1/groups", R"({"env":"dummy","tasks":["1"],"max_steps":0})").body, "group_set_id");
  const std::string credit = group + "/advantages?estimator=grpo";
  for (int i = 0; i < 3; ++i) server.post(group + "/step", R"({"actions":["dance"]})");
  REQUIRE(server.get(credit).status == 200);
  REQUIRE(at(server.post(group + "/step", R"({"actions":["dance"]})").body, "step_counts.0") == "4");
  const HttpResponse refused = server.get(credit);
  REQUIRE(refused.status == 422);
  REQUIRE(at(refused.body, "error.message").find("kept_steps") != std::string::npos);
  server.post("/v1/sessions/" + at(server.get(group).body, "sessions.0") + "/reset", "");
  server.post(group + "/step", R"({"actions":["dance"]})");
  REQUIRE(server.get(credit).status == 200);
}

TEST_CASE("no dialect reaches another one's sessions by name") {
  TestServer server;
  const std::string gym = at(server.post("/agentgym/dummy/create", "").body, "id");
  const std::string id = "agentgym/dummy/" + gym;
  REQUIRE(server.service.pool().peek(id));
  const std::string called =
      server
          .post(
              "/mcp",
              R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"new_episode","session_id":")" +
                  id + "\"}}")
          .body;
  REQUIRE(at(called, "error.message").find("Unknown session_id") != std::string::npos);
  const std::string closed =
      server
          .post("/mcp",
                R"({"jsonrpc":"2.0","id":1,"method":"openenv/session/close","params":{"session_id":")" + id +
                    "\"}}")
          .body;
  REQUIRE(at(closed, "error.message").find("Unknown session_id") != std::string::npos);
  REQUIRE(at(server.socket("/ws?session_id=agentgym%2Fdummy%2F" + gym)->greeting().text, "data.code") ==
          "SESSION_ERROR");
  REQUIRE(server.application.handle({"GET", "/v1/sessions/agentgym%2Fdummy%2F" + gym, ""}).status == 404);
}

TEST_CASE("messages of the stream to one session or group keep their order, others none") {
  TestServer server;
  const auto stream = server.socket("/v1/stream");
  const auto lane = [&](const std::string& path) {
    return stream->lane("{\"id\":{\"path\":\"/v1/groups/no\"},\"body\":[[\"path\"]],\"path\":\"" + path +
                        "\"}");
  };
  REQUIRE(lane("/v1/sessions/a/step") == lane("/v1//sessions/%61/reset?x=1"));
  REQUIRE(lane("/v1/sessions/a/step") != lane("/v1/sessions/b/step"));
  REQUIRE(lane("/v1/groups/a/step") == lane("/v1/groups/a/advantages?estimator=grpo"));
  REQUIRE(lane("/v1/groups/a/step") != lane("/v1/sessions/a/step"));
  REQUIRE(lane("/v1/batch/step") == lane("/v1/batch/reset"));
  for (const char* alone : {"/v1/groups", "/v1/advantages", "/v1/limits", "/v1/envs", "/", "", "x"})
    REQUIRE_FALSE(lane(alone).has_value());
  for (const std::string& broken :
       {std::string("{"), std::string(100000, '['), std::string("{\"path\":5}"), std::string()})
    REQUIRE_FALSE(stream->lane(broken).has_value());
  REQUIRE(stream->most_at_once() == server.service.limits().stream_requests);
}

TEST_CASE("the stream answers any route with the client's id") {
  TestServer server;
  auto stream = server.socket("/v1/stream");
  REQUIRE(stream);
  const std::string opened =
      stream->on_message(R"({"id":"a1","path":"/v1/sessions","body":{"env":"dummy","index":0}})").text;
  REQUIRE(at(opened, "id") == "a1");
  REQUIRE(at(opened, "status") == "201");
  const std::string id = at(opened, "body.session_id");
  stream->on_message(R"({"id":2,"path":"/v1/sessions/)" + id + R"(/reset"})");
  const std::string step =
      stream
          ->on_message(R"({"id":{"n":3},"path":"/v1/sessions/)" + id + R"(/step","body":{"action":"right"}})")
          .text;
  REQUIRE(at(step, "id.n") == "3");
  REQUIRE(at(step, "body.done") == "true");
  REQUIRE(at(stream->on_message(R"({"id":4,"method":"GET","path":"/v1/envs"})").text, "status") == "200");
  REQUIRE(at(stream->on_message(R"({"id":5,"path":"/metrics"})").text, "status") == "404");
  REQUIRE(at(stream->on_message("{").text, "status") == "400");
  REQUIRE(at(stream->on_message(R"({"id":6,"path":"/v1/sessions","body":[]})").text, "status") == "400");
  // What is not JSON comes as text.
  const std::string rows =
      stream
          ->on_message(
              R"({"id":7,"path":"/v1/advantages?estimator=grpo","body":{"task":"u","episode":"a","t":0,"state":"s"}})")
          .text;
  REQUIRE(json(at(rows, "body"))["episode"] == "a");
  // The session lives on without the socket.
  stream.reset();
  REQUIRE(server.get("/v1/sessions/" + id).status == 200);
}

TEST_CASE("tokens are wanted everywhere but at the health checks") {
  TestServer server({}, nullptr, {"first-token", "second-token"});
  REQUIRE(server.get("/health").status == 200);
  REQUIRE(server.get("/v1/envs").status == 401);
  REQUIRE(server.socket("/ws") == nullptr);
  const auto with = [&](const std::string& authorization) {
    return server.application.handle({"GET", "/v1/envs", "", "local", authorization}).status;
  };
  REQUIRE(with("Bearer second-token") == 200);
  REQUIRE(with("bearer first-token") == 200);
  for (const char* wrong : {"Bearer", "Bearer ", "Bearer first-toke", "Bearer first-token2",
                            "Basic first-token", "first-token"}) {
    CAPTURE(wrong);
    REQUIRE(with(wrong) == 401);
  }
}

TEST_CASE("readiness follows the self-test; a stopping server takes no new sessions") {
  TestServer server;
  REQUIRE(server.get("/ready").status == 503);
  const Status test = server.service.self_test();
  REQUIRE(test.ok());
  server.service.set_ready("");
  REQUIRE(server.get("/ready").status == 200);
  const std::string id = open(server);
  server.service.drain();
  REQUIRE(server.get("/ready").status == 503);
  REQUIRE(server.post("/v1/sessions", R"({"env":"dummy"})").status == 503);
  REQUIRE(server.post("/v1/sessions/" + id + "/reset", "").status == 200);
}

TEST_CASE("every session is recorded, with its true end") {
  MemoryRecorder recorder(RunInfo{{"env", "dummy"}});
  {
    TestServer server({}, &recorder);
    const std::string id = open(server);
    server.post("/v1/sessions/" + id + "/reset", R"({"seed":4})");
    for (int i = 0; i < 4; ++i) server.post("/v1/sessions/" + id + "/step", R"({"action":"right"})");
    server.post("/v1/sessions/" + id + "/reset", R"({"seed":4})");
    server.post("/v1/sessions/" + id + "/step", R"({"action":"left"})");
    server.application.handle({"DELETE", "/v1/sessions/" + id, ""});
  }
  const Recording recording = recorder.take();
  REQUIRE(recording.episodes.size() == 2);
  REQUIRE(recording.episodes[0].status == EpisodeStatus::kFinished);
  REQUIRE(recording.episodes[0].outcome == Outcome::kSuccess);
  REQUIRE(recording.episodes[0].steps.size() == 4);
  REQUIRE(recording.episodes[1].status == EpisodeStatus::kAbandoned);
  REQUIRE(recording.episodes[1].steps.size() == 1);
  REQUIRE(recording.episodes[0].group == recording.episodes[1].group);
  REQUIRE(recording.episodes[1].member == 1);
}

TEST_CASE("metrics count steps by environment") {
  TestServer server;
  const std::string id = open(server);
  server.post("/v1/sessions/" + id + "/reset", "");
  server.post("/v1/sessions/" + id + "/step", R"({"action":"right"})");
  const HttpResponse page = server.get("/metrics");
  REQUIRE(page.content_type.starts_with("text/plain"));
  REQUIRE(page.body.find("lodestep_steps_total{env=\"dummy\"} 1") != std::string::npos);
  REQUIRE(page.body.find("lodestep_sessions 1") != std::string::npos);
}

}  // namespace
}  // namespace lodestep::harness
