// Prompts and answers: the original's, from golden data, and what a user may write themselves.
#include <openssl/sha.h>
#include <rapidjson/document.h>
#include <catch2/catch.hpp>

#include "base/text.h"
#include "harness/prompt.h"
#include "tests/support/shared_data.h"

namespace lodestep::harness {
namespace {

std::string sha256(const std::string& bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : digest) hex += {kDigits[byte >> 4], kDigits[byte & 15]};
  return hex;
}

std::string text(const rapidjson::Value& value) { return {value.GetString(), value.GetStringLength()}; }

void replace_once(std::string& where, const std::string& what, const std::string& by) {
  const std::size_t at = where.find(what);
  INFO(what);
  REQUIRE(at != std::string::npos);
  where.replace(at, what.size(), by);
}

TEST_CASE("answers are read as verl-agent's projection reads them") {
  const auto golden = test::read_shared("golden/alfworld/projection.jsonl");
  if (!golden) return test::skip("golden/alfworld/projection.jsonl");
  for (const std::string_view line : test::lines(*golden)) {
    rapidjson::Document row;
    row.Parse(line.data(), line.size());
    INFO(line);
    const Answer answer = parse_answer(text(row["reply"]), prompt_profile("alfworld").answer);
    CHECK(answer.action == text(row["action"]));
    CHECK(answer.valid == (row["valid"].GetInt() == 1));
  }
}

TEST_CASE("answers for WebShop: golden replies") {
  const auto golden = test::read_shared("golden/webshop/prompts.jsonl.zst");
  if (!golden) return test::skip("golden/webshop/prompts.jsonl.zst");
  std::size_t seen = 0;
  for (const std::string_view line : test::lines(*golden)) {
    rapidjson::Document lane;
    lane.Parse(line.data(), line.size());
    for (const auto& turn : lane["turns"].GetArray()) {
      const Answer answer = parse_answer(text(turn["response"]), prompt_profile("webshop").answer);
      CHECK(answer.action == text(turn["action"]));
      CHECK(answer.valid == (turn["valid"].GetInt() == 1));
      ++seen;
    }
  }
  CHECK(seen > 20);
}

TEST_CASE("answers for Sokoban: the first word in a fixed order, still when there is none") {
  const AnswerStyle& style = prompt_profile("sokoban").answer;
  const auto read = [&](const std::string& reply) {
    const Answer answer = parse_answer(reply, style);
    return answer.action + (answer.valid ? " valid" : " invalid");
  };
  CHECK(read("<think>a</think><action>Left</action>") == "left valid");
  CHECK(read("<think>a</think><action>go down then up</action>") == "up valid");
  CHECK(read("<think>a</think><action>still</action>") == "still valid");
  CHECK(read("<think>a</think><action>jump</action>") == "still invalid");
  CHECK(read("<action>right</action>") == "right invalid");
  CHECK(read("right") == "still invalid");
}

TEST_CASE("the original's prompts come out of its own template") {
  const auto golden = test::read_shared("golden/alfworld/graphgpo.jsonl.zst");
  if (!golden) return test::skip("golden/alfworld/graphgpo.jsonl.zst");
  const PromptStyle& style = prompt_profile("alfworld").style;
  PromptTemplate words;
  std::size_t compared = 0;
  for (const std::string_view line : test::lines(*golden)) {
    rapidjson::Document episode;
    episode.Parse(line.data(), line.size());
    const auto steps = episode["steps"].GetArray();
    if (!steps[0].HasMember("prompt")) continue;
    PromptMaterial material;
    const std::string first_text = text(steps[0]["text"]);
    const std::size_t task = first_text.find("Your task is to: ") + 17;
    material.task = first_text.substr(task, first_text.find(" Location: ", task) - task);
    for (const auto& step : steps) {
      if (!step["command"].IsNull())
        material.history.emplace_back(material.observation, text(step["command"]));
      material.observation = text(step["text"]);
      if (!step.HasMember("prompt")) continue;  // the list of actions is only in the whole prompts
      std::string prompt = text(step["prompt"]);
      const std::string border = "current situation are: [";
      const std::size_t begin = prompt.find(border) + border.size();
      const std::string list = prompt.substr(begin, prompt.find("].", begin) - begin);
      material.actions.clear();
      for (const std::string_view action : split(list, '\n')) {
        const std::string_view word = trim(action);
        material.actions.emplace_back(word.substr(1, word.size() - 2));
      }
      const std::size_t turns = material.history.size();
      if (words.first.empty() && turns == 0) {
        words.first = prompt;
        replace_once(words.first, list, "{admissible_actions}");
        replace_once(words.first, material.observation, "{current_observation}");
      }
      if (words.later.empty() && turns == 3) {
        words.later = prompt;
        replace_once(words.later, list, "{admissible_actions}");
        const std::size_t from = words.later.find("[Observation 2: '");
        const std::size_t to = words.later.find("\nYou are now");
        words.later.replace(from, to - from, "{action_history}");
        replace_once(words.later, material.observation, "{current_observation}");
        replace_once(words.later, material.task, "{task_description}");
        replace_once(words.later, "taken 3 step", "taken {step_count} step");
        replace_once(words.later, "most recent 2 ", "most recent {history_length} ");
        replace_once(words.later, "at step 4 ", "at step {current_step} ");
      }
      if (words.later.empty() && turns > 0) continue;
      CHECK(format_prompt(words, style, material) == prompt);
      CHECK(sha256(format_prompt(words, style, material)) == text(step["prompt_sha256"]));
      ++compared;
    }
  }
  CHECK(compared > 100);
}

TEST_CASE("a template of one's own: two parts, braces, and unknown places refused with line and list") {
  const auto words = parse_prompt_template(
      "See {current_observation} {{x}}\n=== later turns ===\nAgain {step_count}/{current_step}: "
      "{action_history}\n",
      "mine.txt");
  REQUIRE(words.ok());
  PromptMaterial material{"t", "a room", {"look"}, {}};
  CHECK(format_prompt(*words, {}, material) == "See a room {x}");
  material.history = {{"o1", "a1"}, {"o2", "a2"}, {"o3", "a3"}};
  CHECK(format_prompt(*words, {}, material) ==
        "Again 3/4: [Observation 2: 'o2', Action 2: 'a2']\n[Observation 3: 'o3', Action 3: 'a3']\n");
  const auto wrong = parse_prompt_template("one\n=== later turns ===\ntwo {observatoin}\n", "mine.txt");
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().message == "unknown place '{observatoin}' in the template");
  CHECK(wrong.error().where == "mine.txt, line 3");
  CHECK(wrong.error().hint.find("current_observation") != std::string::npos);
  CHECK_FALSE(parse_prompt_template("a } b", "mine.txt").ok());
}

TEST_CASE("a prompt that grows too long falls back to the first form") {
  PromptStyle style;
  style.most_code_points = 30;
  const PromptTemplate words{"first {current_observation}", "later {action_history} {current_observation}"};
  const PromptMaterial material{"", "now", {}, {{std::string(100, 'x'), "a"}}};
  CHECK(format_prompt(words, style, material) == "first now");
}

TEST_CASE("our own words use every place of an environment and never show hidden actions") {
  for (const char* name : {"alfworld", "webshop", "sokoban", "anything"}) {
    const PromptTemplate& words = prompt_profile(name).words;
    INFO(name);
    CHECK(parse_prompt_template(words.first + "\n=== later turns ===\n" + words.later, "own").ok());
    for (const char* place : {"{current_observation}", "{step_count}", "{action_history}"})
      CHECK(words.later.find(place) != std::string::npos);
    CHECK(words.first.find("<action>") != std::string::npos);
  }
}

}  // namespace
}  // namespace lodestep::harness
