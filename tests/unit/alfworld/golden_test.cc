// The original's transcripts, byte for byte.
#include <openssl/sha.h>
#include <rapidjson/document.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>

#include "base/text.h"
#include "envs/alfworld_bridge/alfworld_env.h"
#include "envs/alfworld_bridge/game_store.h"
#include "tests/support/shared_data.h"

namespace lodestep {
namespace {

constexpr const char* kData = "data/alfworld/json_2.1.1.tar.zst";

// The released games, opened once for all tests of this program; null when they are not there.
std::shared_ptr<const EnvFactory> games(const Settings& settings) {
  if (!test::read_shared("golden/alfworld/README.md")) return nullptr;
  Result<std::shared_ptr<const EnvFactory>> opened =
      alfworld::env_type().open({test::shared_path(kData), settings});
  if (!opened) FAIL(to_string(opened.error()));
  return *opened;
}

std::string sha256(const std::string& bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : digest) hex += {kDigits[byte >> 4], kDigits[byte & 15]};
  return hex;
}

std::string text(const rapidjson::Value& value) { return {value.GetString(), value.GetStringLength()}; }

std::string task_of(const rapidjson::Value& episode) {
  const std::string game = text(episode["game"]);
  return text(episode["split"]) + "/" + game.substr(0, game.rfind('/'));
}

std::string as_json(const rapidjson::Value& value) {
  if (value.IsNull()) return "null";
  if (value.IsString()) return json_quote(text(value));
  std::vector<std::string> items;
  for (const auto& item : value.GetArray()) items.push_back(text(item));
  std::sort(items.begin(), items.end());
  return json_array(items);
}

// Everything the golden step says, against everything we say; one comparison, so that a failure shows all.
struct Seen {
  std::string observation, list, location, holding;
  std::size_t count = 0;
  bool won = false, done = false;
  std::string score, moves;
  bool operator==(const Seen&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << seen.observation << "\n[" << seen.count << " " << seen.list << "] won=" << seen.won
             << " done=" << seen.done << " score=" << seen.score << " moves=" << seen.moves
             << " location=" << seen.location << " holding=" << seen.holding;
}

Seen wanted(const rapidjson::Value& step) {
  Seen seen{text(step["observation"]),
            "",
            as_json(step["location"]),
            as_json(step["holding"]),
            0,
            step["won"].GetBool(),
            step["done"].GetBool(),
            std::to_string(step["score"].GetInt()),
            std::to_string(step["moves"].GetInt())};
  if (step.HasMember("admissible")) {
    std::vector<std::string> list;
    for (const auto& item : step["admissible"].GetArray()) list.push_back(text(item));
    seen.list = sha256(join(list, "\n"));
    seen.count = list.size();
  } else {
    seen.list = text(step["admissible_sha256"]);
    seen.count = step["admissible_count"].GetUint();
  }
  return seen;
}

Seen answered(const Environment& env, const StepResult& result) {
  const Details info = env.details();
  const std::vector<std::string> list = env.admissible_actions();
  return {result.observation.text,
          sha256(join(list, "\n")),
          info.at("location"),
          info.at("holding"),
          list.size(),
          info.at("won") == "true",
          result.done(),
          info.at("score"),
          info.at("moves")};
}

void compare_file(const std::string& name) {
  const auto factory = games({{"after_done", "continue"}});
  const auto golden = test::read_shared("golden/alfworld/" + name);
  if (!factory || !golden) return test::skip(name);
  std::size_t steps = 0;
  for (const std::string_view line : test::lines(*golden)) {
    rapidjson::Document episode;
    episode.Parse(line.data(), line.size());
    auto env = factory->make();
    const std::string task = task_of(episode);
    INFO(task << " " << text(episode["episode"]));
    REQUIRE(env->reset({"alfworld", task, 0}).ok());
    CHECK(env->details().at("goal") == json_quote(text(episode["goal"])));
    CHECK(env->details().at("task_type") == json_quote(text(episode["task_type"])));
    for (const auto& step : episode["steps"].GetArray()) {
      const StepResult result = step["command"].IsNull() ? env->observe() : env->step(text(step["command"]));
      INFO("command " << as_json(step["command"]));
      REQUIRE(answered(*env, result) == wanted(step));
      ++steps;
    }
  }
  CHECK(steps > 4000);
}

TEST_CASE("golden transcripts: train games") { compare_file("train_200.jsonl.zst"); }
TEST_CASE("golden transcripts: valid_seen games") { compare_file("valid_seen.jsonl.zst"); }
TEST_CASE("golden transcripts: probes and traps") { compare_file("probes.jsonl.zst"); }

TEST_CASE("golden turn texts and anchors of the GraphGPO release") {
  const auto factory = games({{"observation", "located"}});
  const auto golden = test::read_shared("golden/alfworld/graphgpo.jsonl.zst");
  if (!factory || !golden) return test::skip("graphgpo.jsonl.zst");
  std::size_t anchors = 0;
  for (const std::string_view line : test::lines(*golden)) {
    rapidjson::Document episode;
    episode.Parse(line.data(), line.size());
    auto env = factory->make();
    INFO(task_of(episode) << " " << text(episode["episode"]));
    REQUIRE(env->reset({"alfworld", task_of(episode), 0}).ok());
    for (const auto& step : episode["steps"].GetArray()) {
      const StepResult result = step["command"].IsNull() ? env->observe() : env->step(text(step["command"]));
      REQUIRE(result.observation.text == text(step["text"]));
      if (!step.HasMember("anchor_sha256")) continue;
      ++anchors;
      rapidjson::Document anchor;
      anchor.Parse(env->details().at("anchor").c_str());
      REQUIRE(sha256(text(anchor)) == text(step["anchor_sha256"]));
    }
  }
  CHECK(anchors > 900);
}

TEST_CASE("every released walkthrough wins at its last command and never before") {
  if (!test::read_shared("golden/alfworld/README.md")) return test::skip(kData);
  const auto store = alfworld::GameStore::open({test::shared_path(kData), {}, false});
  REQUIRE(store.ok());
  std::size_t played = 0;
  std::string reply;
  for (const alfworld::GameStore::Entry& entry : (*store)->entries()) {
    INFO(entry.id);
    const auto game = alfworld::load_game(*(*store)->read(entry), entry.path);
    REQUIRE(game.ok());
    alfworld::World world(*game);
    for (const std::string& command : (*game)->walkthrough) {
      REQUIRE_FALSE(world.won());
      REQUIRE(world.step(command, reply));
    }
    REQUIRE(world.won());
    ++played;
  }
  CHECK(played == 3893);
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

TEST_CASE("memory is level after the first pass: 10,000 resets over 100 released games") {
  const auto factory = games({});
  if (!factory) return test::skip(kData);
  const auto pass = [&](std::size_t resets) {
    for (std::size_t i = 0; i < resets; ++i) {
      auto env = factory->make();
      REQUIRE(env->reset({"alfworld", *factory->task_id("train", i % 100 * 30), 0}).ok());
      for (const std::string& action : {std::string("look"), env->admissible_actions()[0]}) env->step(action);
    }
  };
  pass(100);
  const std::size_t before = resident_bytes();
  pass(10000);
  CHECK(resident_bytes() < before + (2U << 20));
}

}  // namespace
}  // namespace lodestep
