// Whole episodes against the original's transcripts, both text modes, URLs and available actions.
#include <catch2/catch.hpp>

#include <map>

#include "base/text.h"
#include "envs/webshop/webshop_env.h"
#include "tests/unit/webshop/golden.h"
#include "tests/unit/webshop/shop.h"

namespace lodestep::webshop {
namespace {

constexpr const char* kModes[] = {"text", "text_rich", "url"};
constexpr const char* kFields[] = {"text", "rich", "url"};

// Factories are shared between episodes of one configuration.
std::shared_ptr<const EnvFactory> factory_for(const rapidjson::Value& config, const std::string& mode,
                                              const std::string& rng_seed) {
  Settings settings{
      {"variant", text_of(config["variant"])},
      {"seed", std::to_string(config["seed"].GetInt64())},
      {"human_goals", config["human_goals"].GetBool() ? "true" : "false"},
      {"show_attrs", config["show_attrs"].GetBool() ? "true" : "false"},
      {"num_products",
       config["num_products"].IsNull() ? "all" : std::to_string(config["num_products"].GetUint64())},
      {"mode", mode},
      {"rng_seed", rng_seed},
      {"after_done", "continue"}};
  Result<std::shared_ptr<const EnvFactory>> factory = env_type().open({golden_file(), settings});
  REQUIRE(factory);
  return *factory;
}

std::string available(const rapidjson::Value& page) {
  std::vector<std::string> clickables;
  for (const auto& text : page["click"].GetArray()) clickables.push_back(text_of(text));
  return std::string("{\"has_search_bar\":") + (page["bar"].GetBool() ? "true" : "false") +
         ",\"clickables\":" + json_array(clickables) + "}";
}

TEST_CASE("golden episodes: text, text_rich, URL, available actions, rewards, and what follows done") {
  if (golden_file().empty()) return;
  // Configurations that only episodes have are described by their names.
  std::map<std::string, rapidjson::Document> configs;
  each_line("golden/webshop/goals.jsonl.zst", [&](const rapidjson::Document& line) {
    if (text_of(line["type"]) == "config")
      configs[text_of(line["id"])].CopyFrom(line, configs[text_of(line["id"])].GetAllocator());
  });
  const auto described = [&](const std::string& id) -> const rapidjson::Document& {
    rapidjson::Document& config = configs[id];
    if (config.IsObject()) return config;
    const bool human = id.ends_with("-human");
    const std::string variant = id.starts_with("up-") ? "upstream" : "verl";
    const std::size_t seed = id.find("-s") + 2;
    config.Parse(("{\"variant\":\"" + variant + "\",\"seed\":" + id.substr(seed, id.find('-', seed) - seed) +
                  ",\"human_goals\":" + (human ? "true" : "false") +
                  ",\"show_attrs\":" + (id == "up-s5-human" ? "true" : "false") +
                  ",\"num_products\":" + (id.starts_with("up-") ? "1000" : "null") + "}")
                     .c_str());
    return config;
  };
  each_line("golden/webshop/episodes.jsonl.zst", [&](const rapidjson::Document& line) {
    for (std::size_t m = 0; m < 3; ++m) {
      const auto factory = factory_for(described(text_of(line["config"])), kModes[m],
                                       std::to_string(line["rng_seed"].GetInt64()));
      const auto env = factory->make();
      const auto& session = line["session"];
      const std::string task = session.IsNull()     ? "session/random"
                               : session.IsString() ? "session/name:" + text_of(session)
                                                    : "session/" + std::to_string(session.GetInt64());
      INFO(text_of(line["id"]) << " mode " << kModes[m]);
      REQUIRE(env->reset({"webshop", task, 0}).ok());
      CHECK(env->observe().observation.text == text_of(line["start"][kFields[m]]));
      CHECK(env->details().at("available_actions") == available(line["start"]));
      std::size_t t = 0;
      for (const auto& step : line["steps"].GetArray()) {
        INFO("step " << t++ << ": " << text_of(step["a"]));
        const StepResult result = env->step(text_of(step["a"]));
        CHECK(result.observation.text == text_of(step[kFields[m]]));
        CHECK(result.reward == step["r"].GetDouble());
        CHECK(result.done() == step["done"].GetBool());
        CHECK(result.action_valid == step["r"].IsDouble());
        CHECK(env->details().at("available_actions") == available(step));
        if (step.HasMember("after_reset"))
          CHECK(env->details().at("after_reset") == json_quote(text_of(step["after_reset"][kFields[m]])));
      }
    }
  });
}

}  // namespace
}  // namespace lodestep::webshop
