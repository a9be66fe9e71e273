// The AgentGym dialect without sockets: the id-based games. The other two need their environments' data.
#include <catch2/catch.hpp>

#include <string>

#include "tests/unit/server/support.h"

namespace lodestep::harness {
namespace {

TEST_CASE("an id-based game is created, played, scored and closed") {
  TestServer server;
  const HttpResponse created = server.post("/agentgym/dummy/create", "");
  REQUIRE(created.status == 200);
  const std::string id = at(created.body, "id");
  REQUIRE(server.post("/agentgym/dummy//create", R"({"ignored":1})").status == 200);
  const auto body = [&](const std::string& rest) { return "{\"id\":" + id + rest + "}"; };
  REQUIRE(at(server.post("/agentgym/dummy/step", body(R"(,"action":"right")")).body, "error") == "step before reset");
  const std::string first = server.post("/agentgym/dummy/reset", body(R"(,"data_idx":1)")).body;
  REQUIRE(first == R"({"observation":"You stand in cell 4. The goal is cell 6, the trap is cell 0.","reward":0.0,"score":0.0,"done":false})");
  REQUIRE(server.get("/agentgym/dummy/observation?id=" + id).body == "\"You stand in cell 4. The goal is cell 6, the trap is cell 0.\"");
  server.post("/agentgym/dummy/step", body(R"(,"action":"right")"));
  const std::string last = server.post("/agentgym/dummy/step", body(R"(,"action":"right")")).body;
  REQUIRE(at(last, "done") == "true");
  REQUIRE(at(last, "score") == "1.0");
  REQUIRE(server.post("/agentgym/dummy/step", body(R"(,"action":"right")")).status == 200);
  REQUIRE(at(server.post("/agentgym/dummy/step", body(R"(,"action":"right")")).body, "error") != "");
  REQUIRE(at(server.post("/agentgym/dummy/reset", body(R"(,"data_idx":0)")).body, "done") == "false");
  REQUIRE(at(server.post("/agentgym/dummy/reset", body(R"(,"data_idx":10)")).body, "error") != "");
  REQUIRE(server.post("/agentgym/dummy/close", body("")).body == "true");
  REQUIRE(server.post("/agentgym/dummy/close", body("")).body == "false");
  REQUIRE(at(server.post("/agentgym/dummy/step", body(R"(,"action":"right")")).body, "error") != "");
}

TEST_CASE("bodies that cannot be read are 422 with a JSON object") {
  TestServer server;
  for (const char* body : {"", "x", "[]", "{}", R"({"id":"1"})", R"({"id":1.5,"data_idx":0})"}) {
    CAPTURE(body);
    const HttpResponse response = server.post("/agentgym/dummy/reset", body);
    REQUIRE(response.status == 422);
    REQUIRE(json(response.body).IsObject());
  }
  REQUIRE(server.get("/agentgym/dummy/observation").status == 422);
  REQUIRE(server.get("/agentgym/dummy/observation?id=x").status == 422);
}

TEST_CASE("abandoned games are swept") {
  Limits limits;
  limits.session_idle_seconds = 60;
  TestServer server(limits);
  const std::string id = at(server.post("/agentgym/dummy/create", "").body, "id");
  server.clock.advance(61000);
  REQUIRE(server.service.pool().sweep() == 1);
  REQUIRE(at(server.post("/agentgym/dummy/reset", "{\"id\":" + id + ",\"data_idx\":0}").body, "error") != "");
}

TEST_CASE("numbers are below 2^31 and hard to guess") {
  TestServer server;
  std::int64_t before = -1;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t id = json(server.post("/agentgym/dummy/create", "").body)["id"].GetInt64();
    REQUIRE(id >= 0);
    REQUIRE(id < (std::int64_t{1} << 31));
    REQUIRE(id != before + 1);
    before = id;
  }
}

}  // namespace
}  // namespace lodestep::harness
