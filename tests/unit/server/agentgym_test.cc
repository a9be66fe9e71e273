// The AgentGym dialect without sockets: its three families of clients.
#include <catch2/catch.hpp>

#include <string>

#include "base/text.h"
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
  REQUIRE(at(server.post("/agentgym/dummy/step", body(R"(,"action":"right")")).body, "error") ==
          "step before reset");
  const std::string first = server.post("/agentgym/dummy/reset", body(R"(,"data_idx":1)")).body;
  REQUIRE(
      first ==
      R"({"observation":"You stand in cell 4. The goal is cell 6, the trap is cell 0.","reward":0.0,"score":0.0,"done":false})");
  REQUIRE(server.get("/agentgym/dummy/observation?id=" + id).body ==
          "\"You stand in cell 4. The goal is cell 6, the trap is cell 0.\"");
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

TEST_CASE("a shop is opened at once, and the same session number is the same goal everywhere") {
  TestServer server;
  TestServer other;
  const auto opened = [](TestServer& s) { return s.post("/agentgym/webshop/create", "").body; };
  const std::string a = opened(server);
  const std::string b = opened(server);
  const std::string c = opened(other);
  REQUIRE(json(a).IsInt());
  const auto reset = [](TestServer& s, const std::string& id, const std::string& number) {
    return s.post("/agentgym/webshop/reset", "{\"env_idx\":" + id + ",\"session_id\":" + number + "}").body;
  };
  const std::string page = reset(server, a, "3");
  REQUIRE(at(page, "0").starts_with("WebShop [SEP] Instruction: [SEP] "));
  REQUIRE(at(page, "0").ends_with(" [SEP] Search"));
  REQUIRE(at(page, "1") == "null");
  REQUIRE(reset(server, b, "3") == page);
  REQUIRE(reset(other, c, "3") == page);
  REQUIRE(json(server.get("/agentgym/webshop/observation?env_idx=" + a).body).GetString() == at(page, "0"));
  const std::string actions = server.get("/agentgym/webshop/available_actions?env_idx=" + a).body;
  REQUIRE(actions == R"({"has_search_bar":true,"clickables":["search"]})");
  const std::string step =
      server.post("/agentgym/webshop/step", "{\"env_idx\":" + a + R"(,"action":"search[red]"})").body;
  for (const char* member : {"state", "reward", "done", "info"}) REQUIRE(json(step).HasMember(member));
  const std::string state = server.get("/agentgym/webshop/state?env_idx=" + a).body;
  REQUIRE(at(state, "url").find("http") == 0);
  REQUIRE(at(state, "html").find("<") != std::string::npos);
  REQUIRE(at(state, "instruction_text") != "");
  REQUIRE(at(server.post("/agentgym/webshop/step", "{\"env_idx\":" + a + R"(,"action":"nonsense"})").body,
             "state") == at(step, "state"));
  REQUIRE(server.get("/agentgym/webshop/").body == "\"ok\"");
  REQUIRE(json(server.get("/agentgym/webshop/list_envs").body).Size() == 2);
  REQUIRE(server.post("/agentgym/webshop/close", "{\"env_idx\":" + a + "}").body == "true");
  REQUIRE(server.post("/agentgym/webshop/step", "{\"env_idx\":" + a + R"(,"action":"x"})").status == 404);
}

TEST_CASE("a household game shows its texts as these clients know them") {
  TestServer server;
  const std::string id = at(server.post("/agentgym/alfworld/create", "").body, "id");
  const auto body = [&](const std::string& rest) { return "{\"id\":" + id + rest + "}"; };
  REQUIRE(at(server.post("/agentgym/alfworld/step", body(R"(,"action":"look")")).body, "error") != "");
  REQUIRE(at(server.post("/agentgym/alfworld/reset", body(R"(,"game":0,"world_type":"Other")")).body,
             "error") != "");
  REQUIRE(at(server.post("/agentgym/alfworld/reset", body(R"(,"game":100000,"world_type":"Text")")).body,
             "error") != "");
  const std::string first =
      server.post("/agentgym/alfworld/reset", body(R"(,"game":0,"world_type":"Text")")).body;
  const std::string text = at(first, "observation");
  REQUIRE(text.find("Welcome") == std::string::npos);
  REQUIRE(text.find("\n\n") == std::string::npos);
  REQUIRE(text.substr(text.rfind('\n') + 1).starts_with("Your task is to: "));
  REQUIRE(at(first, "task_type").find('/') != std::string::npos);
  REQUIRE(at(first, "id") == id);
  REQUIRE(json(first)["available_actions"].Size() > 0);
  const std::string nothing = server.post("/agentgym/alfworld/step", body(R"(,"action":"dance")")).body;
  REQUIRE(at(nothing, "observation") == "Nothing happens.");
  REQUIRE(at(nothing, "reward") == "0.0");
  const rapidjson::Document began = json(first);
  for (const rapidjson::Value& action : began["available_actions"].GetArray()) {
    const std::string word = action.GetString();
    if (!word.starts_with("go to ")) continue;
    const std::string step =
        server.post("/agentgym/alfworld/step", body(",\"action\":\"" + word + "\"")).body;
    REQUIRE_FALSE(at(step, "observation").starts_with("You arrive at loc "));
    break;
  }
  const std::string detail = server.get("/agentgym/alfworld/detail?id=" + id).body;
  for (const char* member :
       {"world_type", "game", "observation", "available_actions", "done", "reward", "deleted"})
    REQUIRE(json(detail).HasMember(member));
  REQUIRE(server.post("/agentgym/alfworld/reset", body(R"(,"game":0)")).status == 422);
  REQUIRE(server.post("/agentgym/alfworld/close", body("")).body == "true");
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
