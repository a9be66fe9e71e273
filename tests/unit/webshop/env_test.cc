// What a user of the environment notices: tasks, splits, quirks, rewards, noise, import errors.
#include <zlib.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "base/rng.h"
#include "base/text.h"
#include "envs/webshop/advertisement.h"
#include "envs/webshop/analyzer.h"
#include "envs/webshop/catalogue_file.h"
#include "envs/webshop/goals.h"
#include "envs/webshop/import.h"
#include "envs/webshop/planner.h"
#include "envs/webshop/sample_shop.h"
#include "envs/webshop/webshop_env.h"
#include "tests/support/fuzz.h"
#include "tests/support/shared_data.h"
#include "tests/unit/webshop/shop.h"

namespace lodestep::webshop {
namespace {

std::shared_ptr<const EnvFactory> open_shop(const Settings& settings, const std::string& data = "") {
  Result<std::shared_ptr<const EnvFactory>> factory = env_type().open({data, settings});
  INFO((factory ? "" : to_string(factory.error())));
  REQUIRE(factory);
  return *factory;
}

std::string product_json(const std::string& asin, const std::string& name, const std::string& more) {
  return "{\"asin\":\"" + asin + "\",\"name\":\"" + name +
         "\",\"full_description\":\"Keeps drinks hot.\\nDishwasher safe.\",\"small_description\":[\"Leak "
         "proof lid\",\"\",\"BPA free\"],"
         "\"category\":\"garden\",\"query\":\" Mug \",\"product_category\":\"Home & Kitchen \\u203a "
         "Mugs\",\"images\":[\"x\"]" +
         more + "}";
}

// The worked example of the pages: one mug with awkward options.
std::string mug_shop(const Files& files) {
  const std::string options =
      ",\"pricing\":\"$12.99 - $19.99\",\"customization_options\":{\"Color\":[{\"value\":\"Sky "
      "Blue/White\"},{\"value\":\"Red\"}],"
      "\"Size\":[{\"value\":\"12\\\" Tall\"},{\"value\":\"Small \"}],\"Style\":null}";
  const std::string products = files.write(
      "products.json",
      "[" + product_json("B00EXAMPL1", "Acme Travel Mug 16oz, Leak-Proof", options) + "," +
          product_json("B00EXAMP05", "Mug number 5", ",\"pricing\":\"$5\",\"customization_options\":\"\"") +
          "]");
  const std::string attributes = files.write("attributes.json",
                                             "{\"B00EXAMPL1\":{\"attributes\":[\"leak proof\",\"bpa "
                                             "free\"],\"instruction\":\"Find me leak proof mugs\","
                                             "\"instruction_attributes\":[\"leak proof\"]}}");
  const Result<ImportReport> report =
      import_catalogue({products, attributes, "", "", 0, files.path("shop.db")}, {});
  INFO((report ? "" : to_string(report.error())));
  REQUIRE(report);
  CHECK(report->products == 2);
  return files.path("shop.db");
}

std::string play(Environment& env, const std::vector<std::string>& actions) {
  std::string text;
  for (const std::string& action : actions) {
    const StepResult result = env.step(action);
    INFO(action);
    CHECK(result.action_valid);
    text = result.observation.text;
  }
  return text;
}

TEST_CASE("the worked example: item page with marks, sub-pages and the done page") {
  const Files files;
  const auto factory = open_shop({}, mug_shop(files));
  const auto env = factory->make();
  REQUIRE(env->reset({"webshop", "session/0", 0}).ok());
  const std::string item = play(*env, {"search[travel mug]", "click[b00exampl1]", "click[sky blue | white]",
                                       "click[12\" tall]", "click[small]"});
  CHECK(item.starts_with("You have clicked small.\nYou have clicked sky blue | white.\nInstruction:\n"));
  CHECK(item.find("size\n  [button] 12\" tall [button_]\n  [clicked button] small [clicked button_]\n") !=
        std::string::npos);
  CHECK(item.find("Price: $12.99 to $19.99\nRating: N.A.\n") != std::string::npos);
  CHECK(play(*env, {"click[features]"})
            .ends_with("[button] < Prev [button_]\n Leak proof lid\n \n BPA free\n"));
  CHECK(
      play(*env, {"click[< prev]", "click[description]"}).ends_with("Keeps drinks hot.\nDishwasher safe.\n"));
  // The page has no Buy Now: buying there is invalid, and the way back is listed.
  CHECK(env->details().at("available_actions") ==
        "{\"has_search_bar\":false,\"clickables\":[\"back to search\",\"< prev\"]}");
  CHECK_FALSE(env->step("click[buy now]").action_valid);
  play(*env, {"click[< prev]"});
  const StepResult bought = env->step("click[buy now]");
  CHECK(bought.done());
  CHECK(bought.observation.text.find("{\"color\": \"sky blue | white\", \"size\": \"small\"}") !=
        std::string::npos);
  CHECK(env->step("search[mug]").observation.text == bought.observation.text);
  CHECK(env->admissible_actions().empty());
}

TEST_CASE("marks and < Prev go by the URL, or by the state on request") {
  const Files files;
  const std::string shop = mug_shop(files);
  const std::vector<std::string> walk{"search[mug \"red\" search_results]", "click[b00exampl1]"};
  const auto original = open_shop({}, shop)->make();
  REQUIRE(original->reset({"webshop", "session/0", 0}).ok());
  CHECK(play(*original, walk).starts_with("You have clicked red.\n"));
  CHECK(play(*original, {"click[< prev]"}).find("Page 0 (Total results: 2)") != std::string::npos);
  const auto fixed = open_shop({{"quirks", "fixed"}}, shop)->make();
  REQUIRE(fixed->reset({"webshop", "session/0", 0}).ok());
  CHECK(play(*fixed, walk).starts_with("Instruction:\n"));
  CHECK(play(*fixed, {"click[< prev]"}).find("Page 1 (Total results: 2)") != std::string::npos);
}

TEST_CASE("actions: what parses, what is refused") {
  const auto env = open_shop({})->make();
  REQUIRE(env->reset({"webshop", "goal/3", 0}).ok());
  for (const char* good : {"search[mug] please", "search[b]]", "search[ ]", "search[MUG]",
                           "search[\u6c34 caf\u00e9\u200b]", "search[<q> nothing]", "search[<c> ]"}) {
    INFO(good);
    CHECK(env->step(good).action_valid);
  }
  const std::string before = env->state_keys().exact;
  for (const char* bad : {"search[]", "search[x", " search[x]", "Search[x]", "search [x]", "", "\n",
                          "search[a\nb]", "click[search]", "click[buy now]", "click[x[1]]", "search[<c>]",
                          "search[<a> red]", "\xff[x]", "search[\xff]", "buy"}) {
    INFO(bad);
    const StepResult result = env->step(bad);
    CHECK_FALSE(result.action_valid);
    CHECK(result.reward == 0);
    CHECK(env->state_keys().exact == before);
  }
  std::string many = "search[";
  for (int i = 0; i < 1024; ++i) many += "w" + std::to_string(i) + "x ";
  CHECK(env->step(many + "]").action_valid);
  CHECK_FALSE(env->step(many + "one more]").action_valid);
}

TEST_CASE("special queries: all of a class in file order, a draw of 50 where there are 50") {
  const Files files;
  const auto two = open_shop({}, mug_shop(files))->make();
  REQUIRE(two->reset({"webshop", "session/0", 0}).ok());
  CHECK_FALSE(two->step("search[<r>]").action_valid);
  CHECK(two->step("search[<q> mug]").observation.text.find("(Total results: 2)") != std::string::npos);
  CHECK(two->step("search[<c> garden]").observation.text.find("B00EXAMPL1") != std::string::npos);
  CHECK(two->step("search[<c> home garden]").observation.text.find("(Total results: 0)") !=
        std::string::npos);
  const auto shop = open_shop({})->make();
  REQUIRE(shop->reset({"webshop", "goal/0", 4}).ok());
  const std::string first = shop->step("search[<R>]").observation.text;
  CHECK(first.find("(Total results: 50)") != std::string::npos);
  shop->step("click[next >]");
  CHECK(shop->step("click[< prev]").observation.text != first);  // drawn anew
}

TEST_CASE("tasks are named alike in every worker; unknown ones say what there is") {
  const auto a = open_shop({});
  const auto b = open_shop({});
  CHECK(a->data_digest() == b->data_digest());
  CHECK_FALSE(a->data_digest() == open_shop({{"mode", "text"}})->data_digest());
  const auto one = a->make();
  const auto two = b->make();
  for (const char* id :
       {"goal/0", "goal/12", "session/0", "session/12", "session/-1", "session/random", "session/name:bob"}) {
    REQUIRE(one->reset({"webshop", id, 5}).ok());
    REQUIRE(two->reset({"webshop", id, 5}).ok());
    CHECK(one->observe().observation.text == two->observe().observation.text);
    CHECK(one->details().at("goal_index") == two->details().at("goal_index"));
  }
  REQUIRE(one->reset({"webshop", "goal/12", 0}).ok());
  CHECK(one->details().at("goal_index") == "12");
  CHECK(one->details().at("goal_id") == "\"goal/12\"");
  for (const char* id : {"goal/99999999", "goal/-1", "goal/", "session/x", "session/99999999", "12", ""}) {
    const Status status = one->reset({"webshop", id, 0});
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code == ErrorCode::kNotFound);
    CHECK_FALSE(status.error().hint.empty());
  }
}

TEST_CASE("splits share neither product nor instruction") {
  for (const char* human : {"false", "true"}) {
    GoalSettings settings;
    settings.human = std::string_view(human) == "true";
    const auto goals = *GoalTable::make(sample_shop(), settings);
    std::map<std::string, std::string> split_of;
    std::size_t count = 0;
    for (const std::string split : {"train", "valid", "test"}) {
      for (std::size_t i = 0; i < goals->split_size(split); ++i) {
        const Goal goal = goals->goal(goals->in_split(split, i));
        for (const std::string_view content :
             {std::string_view(goal.instruction), sample_shop()->products()[goal.product].asin()}) {
          CHECK(split_of.emplace(std::string(content), split).first->second == split);
        }
        ++count;
      }
      CHECK(goals->split_size(split) > 0);
    }
    CHECK(count == goals->size());
  }
}

TEST_CASE("the generated shop: size, variety, and every goal is won by the gold policy in the step budget") {
  CHECK(sample_shop()->products().size() == 1000);
  std::set<std::string> queries;
  for (const Product product : sample_shop()->products()) queries.emplace(product.query());
  CHECK(queries.size() >= 12);
  for (const char* human : {"false", "true"}) {
    const auto factory = open_shop({{"human_goals", human}});
    const auto env = factory->make();
    for (const std::string& split : factory->splits()) {
      for (std::size_t i = 0; i < *factory->task_count(split); i += 3) {
        const std::string id = *factory->task_id(split, i);
        REQUIRE(env->reset({"webshop", id, 0}).ok());
        std::size_t steps = 0;
        for (; steps < env_type().default_max_steps && !env->observe().done(); ++steps)
          env->step(*env->gold_action());
        INFO(id);
        CHECK(env->observe().outcome == Outcome::kSuccess);
      }
    }
  }
}

TEST_CASE("reward parts add up, in both schemes, and unwinnable goals are known") {
  const auto raw = open_shop({})->make();
  const auto verl = open_shop({{"scheme", "verl"}})->make();
  const auto goals = *GoalTable::make(sample_shop(), {});
  PythonRandom dice(3);
  for (std::uint32_t position = 0; position < 60; ++position) {
    Goal goal = goals->goal(position);
    bool approximate = false;
    goal.wanted.nouns = goals->nouns(goal.wanted.name, approximate);
    const auto product = static_cast<std::uint32_t>(dice.below(goals->products()));
    const ItemFacts facts =
        study_item(*goals, goal, position % 2 == 0 ? goal.product : product, Fuzzy::kDifflib);
    const Product item = sample_shop()->products()[facts.product];
    const std::vector<std::string> nouns = item.nouns()->copy();
    Purchase purchase{as_bought(item, nouns), &goal.wanted, goals->price(facts.product), {}, Fuzzy::kDifflib};
    for (const auto& [name, value] : facts.best_choice) purchase.options.push_back(value);
    const RewardInfo info = score_purchase(purchase);
    CHECK(info.reward == facts.best_reward);
    CHECK(info.reward == facts.reward(facts.best_choice));
    const double sum = info.r_att * info.w_att + info.r_option.value_or(0) * info.w_option.value_or(0) +
                       (info.r_price ? info.w_price : 0);
    CHECK(std::abs(sum * info.r_type - info.reward) < 1e-12);
    CHECK(std::abs(info.w_att + info.w_option.value_or(0) + info.w_price - 1) < 1e-12);
  }
  for (const auto& [env, perfect] : {std::pair(raw.get(), 1.0), std::pair(verl.get(), 10.0)}) {
    REQUIRE(env->reset({"webshop", "goal/1", 0}).ok());
    StepResult last;
    while (!last.done()) last = env->step(*env->gold_action());
    CHECK(last.reward == perfect);
    CHECK(env->details().at("task_score") == "1.0");
    CHECK(env->details().at("won") == "true");
    CHECK(env->details().at("reward_info").starts_with("{\"r_type\":1.0"));
  }
}

TEST_CASE("noise is off by default, the same for the same view, and no part of any state") {
  CHECK(advertisement_count() >= 60);
  const auto quiet = open_shop({})->make();
  for (const char* kind :
       {"ads", "typos", "counter", "reorder", "timestamp", "banner", "mixed", "unique", "hard"}) {
    for (const char* mode : {"text", "text_rich"}) {
      INFO(kind << " " << mode);
      const auto factory = open_shop({{"noise", kind}, {"ads", "1"}, {"max_ads", "3"}, {"mode", mode}});
      const auto plain = open_shop({{"mode", mode}})->make();
      const auto noisy = factory->make();
      const auto again = factory->make();
      for (Environment* env : {plain.get(), noisy.get(), again.get()})
        REQUIRE(env->reset({"webshop", "goal/4", 9}).ok());
      std::size_t changed = 0;
      while (!plain->observe().done()) {
        const std::string action = *plain->gold_action();
        const std::string clean = plain->step(action).observation.text;
        const std::string shown = noisy->step(action).observation.text;
        CHECK(shown == again->step(action).observation.text);
        changed += shown != clean ? 1 : 0;
        CHECK(noisy->state_keys().exact == plain->state_keys().exact);
        CHECK(noisy->true_state_hash() == plain->true_state_hash());
        CHECK(noisy->details().at("available_actions") == plain->details().at("available_actions"));
      }
      CHECK(changed > 0);
    }
  }
}

TEST_CASE("a snapshot belongs to its catalogue and settings") {
  const auto env = open_shop({})->make();
  REQUIRE(env->reset({"webshop", "goal/2", 0}).ok());
  env->step(*env->gold_action());
  Snapshot snapshot = env->snapshot();
  CHECK(open_shop({})->make()->restore(snapshot).ok());
  CHECK_FALSE(open_shop({{"variant", "verl"}})->make()->restore(snapshot).ok());
  snapshot.bytes[snapshot.bytes.size() / 2] ^= 1;
  CHECK_FALSE(env->restore(snapshot).ok());
}

TEST_CASE("import: inputs may be packed, and bad ones are named with the place") {
  const Files files;
  const std::string attributes = files.write("attributes.json", "{}");
  const auto import = [&](const std::string& products, std::uint64_t limit = 0) {
    return import_catalogue({products, attributes, "", "", limit, files.path("out.db")}, {});
  };
  const std::string two = "[" + product_json("B1", "One", "") + ",\n" + product_json("B2", "Two", "") + "]";
  REQUIRE(import(files.write("two.json", two)));
  const gzFile packed = gzopen(files.path("two.json.gz").c_str(), "wb");
  gzwrite(packed, two.data(), static_cast<unsigned>(two.size()));
  gzclose(packed);
  CHECK(import(files.path("two.json.gz"))->digest == import(files.path("two.json"))->digest);
  CHECK(import(files.path("two.json"), 1)->products == 1);
  std::filesystem::remove(files.path("out.db"));

  const std::vector<std::pair<std::string, std::string>> bad{
      {"[", "byte 1"},
      {"[{\"asin\":\"B1\"", "byte 13"},
      {"{}", "not a JSON array"},
      {"[]", "no products"},
      {"[" + product_json("nan", "x", "") + "]", "no products"},
      {"[7]", "must be an object"},
      {"[{\"asin\":\"B1\"}]", "product B1"},
      {"[" + product_json("B1", "x", ",\"pricing\":\"free\"") + "]", "pricing"},
      {"[" + product_json("B1", "\\ud800", "") + "]", "surrogate"},
      {"[" + product_json("B1", "x", "") + "] x", "malformed JSON"},
  };
  for (const auto& [text, expected] : bad) {
    const Result<ImportReport> report = import(files.write("bad.json", text));
    INFO(text);
    REQUIRE_FALSE(report);
    CHECK(to_string(report.error()).find(expected) != std::string::npos);
    CHECK_FALSE(files.has("out.db"));
    CHECK_FALSE(files.has("out.db.partial"));
  }
  CHECK_FALSE(import(files.path("missing.json")));
  const auto nouns = import_catalogue(
      {files.path("two.json"), attributes, "",
       files.write("nouns.jsonl", "{\"asin\":\"B1\",\"tokens\":[]}\n{\n"), 0, files.path("out.db")},
      {});
  REQUIRE_FALSE(nouns);
  CHECK(to_string(nouns.error()).find("line 2") != std::string::npos);
}

TEST_CASE("loading rules: prices, options and duplicates") {
  const auto price = [](const std::string& text) {
    return parse_product(product_json("B1", "x", ",\"pricing\":" + text))->price_text;
  };
  CHECK(price("\"$12.99\"") == "$12.99");
  CHECK(price("\"$1,299.00\"") == "$1299.0");
  CHECK(price("\"$10 - $20\"") == "$10.0 to $20.0");
  CHECK(price("\"$9 ($1 / Ounce)\"") == "$9.0 to $1.0");
  CHECK(price("\"\"") == "$100.0");
  CHECK(price("null") == "$100.0");
  const ProductRecord product =
      *parse_product(product_json("B1", "x",
                                  ",\"customization_options\":{\"Color\":[{\"value\":\" Red/ "
                                  "\"}],\"Size\":[{\"value\":\"a\"}],\"COLOR\":[{\"value\":\"B\"},{\"value\":"
                                  "\"B\"}],\"None\":null,\"Empty\":[]}"));
  REQUIRE(product.options.size() == 3);
  CHECK(product.options[0].name == "color");
  CHECK(product.options[0].values == std::vector<std::string>{"b", "b"});
  CHECK(product.options[2].values.empty());
  CHECK(parse_product(product_json("B1", "x", ",\"customization_options\":{\"C\":[{\"value\":\"Red/ \"}]}"))
            ->options[0]
            .values[0] == "red | ");
}

TEST_CASE("fuzz: products, queries and actions of any bytes", "[fuzz]") {
  PythonRandom dice(7);
  const std::string whole = product_json(
      "B1", "Mug", ",\"pricing\":\"$1 - $2\",\"customization_options\":{\"Color\":[{\"value\":\"Red\"}]}");
  for (int round = 0; round < test::fuzz_rounds(3000); ++round) {
    std::string text = whole;
    for (std::uint64_t i = 0, n = 1 + dice.below(4); i < n; ++i) {
      const std::size_t at = dice.below(text.size());
      if (dice.below(2) == 0) {
        text[at] = static_cast<char>(dice.below(256));
      } else {
        text.erase(at, 1 + dice.below(6));
      }
    }
    const Result<ProductRecord> product = parse_product(text);
    if (product) CHECK(is_valid_utf8(search_text(Product(pack(*product).data()))));
  }
  const auto factory = open_shop({{"after_done", "continue"}});
  const auto env = factory->make();
  REQUIRE(env->reset({"webshop", "goal/0", 0}).ok());
  for (int round = 0; round < test::fuzz_rounds(1500); ++round) {
    std::string action = dice.below(2) == 0 ? "search[" : "click[";
    for (std::uint64_t i = 0, n = dice.below(12); i < n; ++i) {
      static constexpr char32_t kLast[] = {0x7f, 0x7ff, 0xd7ff, 0x1ffff, 0x10ffff};
      append_utf8(action, static_cast<char32_t>(dice.below(kLast[dice.below(5)])));
    }
    const std::vector<std::string> listed = env->admissible_actions();
    if (dice.below(3) == 0 && !listed.empty()) action = listed[dice.below(listed.size())] + action;
    const StepResult result = env->step(action + "]");
    REQUIRE(is_valid_utf8(result.observation.text));
    REQUIRE_FALSE(env->state_keys().exact.empty());
  }
}

}  // namespace
}  // namespace lodestep::webshop
