// verl-agent's prompts, whole conversations: two lanes that step together and share one generator, so that a
// lane that is done takes its next session from where the other left the stream.
#include <catch2/catch.hpp>

#include <map>

#include "base/text.h"
#include "harness/prompt.h"
#include "tests/unit/webshop/golden.h"
#include "tests/unit/webshop/shop.h"

#include "envs/webshop/webshop_env.h"

namespace lodestep::webshop {
namespace {

using harness::PromptMaterial;
using harness::PromptTemplate;

// The original's own words, read off its prompts: everything but what the material fills in.
PromptTemplate words_of(const std::string& first, const std::string& later) {
  const auto cut = [](std::string text, const std::string& before, const std::string& after,
                      const std::string& place) {
    const std::size_t begin = text.find(before) + before.size();
    const std::size_t end = text.find(after, begin);
    LODESTEP_CHECK(end != std::string::npos, text);
    return text.replace(begin, end - begin, place);
  };
  const std::string list = "situation are: \n[\n";
  PromptTemplate words;
  words.first = cut(first, "Your task is to: ", ".\nYour current observation is: ", "{task_description}");
  words.first =
      cut(words.first, "current observation is: ", ".\nYour admissible actions of", "{current_observation}");
  words.first = cut(words.first, list, "\n].\n", "{available_actions}");
  words.later = cut(later, "Your task is to: ", ".\nPrior to this step", "{task_description}");
  words.later = cut(words.later, "already taken ", " step(s)", "{step_count}");
  words.later = cut(words.later, "are the most recent ", " observations", "{history_length}");
  words.later = cut(words.later, "actions you took: ", "\nYou are now at step ", "{action_history}");
  words.later = cut(words.later, "now at step ", " and your", "{current_step}");
  words.later =
      cut(words.later, "current observation is: ", ".\nYour admissible actions of", "{current_observation}");
  words.later = cut(words.later, list, "\n].\n", "{available_actions}");
  return words;
}

std::shared_ptr<const EnvFactory> factory_at(const rapidjson::Value& lane, std::uint64_t gone) {
  const Settings settings{{"variant", "verl"},
                          {"seed", std::to_string(lane["seed"].GetInt64())},
                          {"mode", text_of(lane["mode"])},
                          {"rng_seed", std::to_string(lane["rng_seed"].GetInt64())},
                          {"rng_skip", std::to_string(gone)},
                          {"after_done", "continue"}};
  Result<std::shared_ptr<const EnvFactory>> factory = env_type().open({golden_file(), settings});
  REQUIRE(factory);
  return *factory;
}

std::vector<std::string> offered(const Environment& env) {
  const std::string page = env.details().at("available_actions");
  rapidjson::Document document;
  document.Parse(page.c_str(), page.size());
  std::vector<std::string> actions;
  if (document["has_search_bar"].GetBool()) actions.emplace_back("search[<your query>]");
  for (const auto& text : document["clickables"].GetArray())
    actions.push_back("click[" + text_of(text) + "]");
  return actions;
}

// One lane of the manager: the environment that plays on, and what the prompt remembers.
struct Lane {
  const rapidjson::Document& golden;
  std::unique_ptr<Environment> env;
  harness::PromptStyle style;
  PromptMaterial material;

  explicit Lane(const rapidjson::Document& lane) : golden(lane), env(factory_at(lane, 0)->make()) {
    const std::string task = "session/" + std::to_string(lane["session"].GetInt64());
    REQUIRE(env->reset({"webshop", task, 0}).ok());
    style = harness::prompt_profile("webshop").style;
    style.history_length = lane["history_length"].GetUint();
    material.task = text_of(lane["task"]);
    observe(env->observe().observation.text);
    CHECK(env->details().at("instruction_text") == json_quote(material.task));
    CHECK(material.observation == text_of(lane["anchor"]));
  }
  void observe(const std::string& text) {
    material.observation = harness::shown_observation(text, material.task);
    material.actions = offered(*env);
  }
  // Plays a turn; the words that the shared generator has given grow when a session follows.
  void play(const rapidjson::Value& turn, std::uint64_t& gone) {
    const harness::Answer answer =
        harness::parse_answer(text_of(turn["response"]), harness::prompt_profile("webshop").answer);
    CHECK(answer.action == text_of(turn["action"]));
    CHECK(answer.valid == (turn["valid"].GetInt() == 1));
    const StepResult result = env->step(answer.action);
    const bool won = result.done() && result.reward == 1.0;
    CHECK(result.done() == turn["done"].GetBool());
    CHECK((won ? 10.0 : 0.0) == turn["reward"].GetDouble());
    CHECK(won == turn["won"].GetBool());
    CHECK((result.done() ? result.reward : 0.0) == turn["task_score"].GetDouble());
    material.history.emplace_back(material.observation, answer.action);
    if (result.done()) {
      env = factory_at(golden, gone)->make();
      REQUIRE(env->reset({"webshop", "session/random", 0}).ok());
      gone = *parse_uint(env->details().at("rng_words"));
    }
    observe(result.observation.text);
    CHECK(material.observation == text_of(turn["anchor"]));
  }
};

TEST_CASE("golden prompts: both managers, both lanes, and the turns after done") {
  if (golden_file().empty()) return;
  std::map<std::string, std::vector<rapidjson::Document>> conversations;  // lanes by common name
  each_line("golden/webshop/prompts.jsonl.zst", [&](const rapidjson::Document& line) {
    const std::string id = text_of(line["id"]);
    rapidjson::Document& lane = conversations[id.substr(0, id.rfind('-'))].emplace_back();
    lane.CopyFrom(line, lane.GetAllocator());
  });
  // Any two of them give the words: a first turn, and a later one that was not too long for its own form.
  std::string first, later;
  for (const auto& [name, lanes] : conversations) {
    first = text_of(lanes.front()["prompt"]);
    for (const auto& turn : lanes.front()["turns"].GetArray()) {
      if (text_of(turn["prompt"]).find("\nPrior to this step") != std::string::npos)
        later = text_of(turn["prompt"]);
    }
  }
  const PromptTemplate words = words_of(first, later);
  std::size_t compared = 0;
  for (const auto& [name, goldens] : conversations) {
    std::uint64_t gone = 0;
    std::vector<Lane> lanes;
    for (const rapidjson::Document& golden : goldens) {
      INFO(text_of(golden["id"]));
      lanes.emplace_back(golden);
      CHECK(harness::format_prompt(words, lanes.back().style, lanes.back().material) ==
            text_of(golden["prompt"]));
    }
    bool known = true;  // where the stream is: not once a lane is done whose partner is not recorded
    for (rapidjson::SizeType t = 0; known; ++t) {
      bool played = false;
      for (Lane& lane : lanes) {
        if (t >= lane.golden["turns"].Size()) continue;
        const auto& turn = lane.golden["turns"][t];
        INFO(text_of(lane.golden["id"]) << " turn " << t);
        lane.play(turn, gone);
        CHECK(harness::format_prompt(words, lane.style, lane.material) == text_of(turn["prompt"]));
        played = true;
        ++compared;
        known = known && (lanes.size() == 2 || !turn["done"].GetBool());
      }
      if (!played) break;
    }
  }
  CHECK(compared > 100);
}

}  // namespace
}  // namespace lodestep::webshop
