// Loading, index, rankings, rewards and goals against what the original gave.
#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/text.h"
#include "envs/webshop/analyzer.h"
#include "envs/webshop/catalogue_file.h"
#include "envs/webshop/goals.h"
#include "envs/webshop/import.h"
#include "envs/webshop/nouns.h"
#include "envs/webshop/sample_shop.h"
#include "envs/webshop/unicode.h"
#include "tests/support/sha256.h"
#include "tests/unit/webshop/golden.h"
#include "tests/unit/webshop/shop.h"

namespace lodestep::webshop {
namespace {

TEST_CASE("golden documents: what is indexed, and its tokens") {
  const auto shop = golden_shop();
  if (!shop) return;
  std::size_t position = 0;
  each_line("golden/webshop/documents.jsonl.zst", [&](const rapidjson::Document& line) {
    REQUIRE(position < shop->products().size());
    const Product product = shop->products()[position++];
    INFO(product.asin());
    CHECK(product.asin() == text_of(line["asin"]));
    const std::string text = search_text(product);
    CHECK(test::sha256(text) == text_of(line["contents_sha256"]));
    const std::vector<std::string> tokens = analyze(text);
    CHECK(tokens.size() == line["tokens"].GetUint());
    CHECK(test::sha256(join(tokens, "\n")) == text_of(line["tokens_sha256"]));
  });
  CHECK(position == shop->products().size());
}

TEST_CASE("golden rankings: order and float bits") {
  const auto shop = golden_shop();
  if (!shop) return;
  each_line("golden/webshop/rankings.jsonl.zst", [&](const rapidjson::Document& line) {
    INFO(text_of(line["id"]) << ": " << text_of(line["query"]));
    const auto hits = shop->index().search({analyze(text_of(line["query"])), 50, shop->products().size()},
                                           shop->asin_ranks());
    if (line.HasMember("error")) {
      CHECK_FALSE(hits);
      return;
    }
    REQUIRE(hits);
    REQUIRE(hits->size() == line["asins"].Size());
    for (rapidjson::SizeType i = 0; i < line["asins"].Size(); ++i) {
      CHECK(shop->products()[(*hits)[i].product].asin() == text_of(line["asins"][i]));
      float score = 0;
      const std::string raw = text_of(line["raw"][i]);
      std::from_chars(raw.data(), raw.data() + raw.size(), score);
      CHECK(std::bit_cast<std::uint32_t>((*hits)[i].score) == std::bit_cast<std::uint32_t>(score));
    }
  });
}

TEST_CASE("the best hits of a large shop are the first of all hits, ties too") {
  std::vector<ProductRecord> products = make_products(4000, 8);
  for (std::size_t i = 0; i < 1500; ++i) {  // many equal scores
    const std::string asin = products[i + 2000].asin;
    products[i + 2000] = products[i % 3];
    products[i + 2000].asin = asin;
  }
  const auto shop = make_catalogue(products, hash128("large"));
  for (const std::string& words :
       {std::string("soft mug"), products[0].title, products[1].title, products[700].title,
        std::string("for with a steel bottle red"), std::string("nothing zzz")}) {
    const auto search = [&](std::size_t most) {
      return *shop->index().search({analyze(words), most, products.size()}, shop->asin_ranks());
    };
    const std::vector<Hit> all = search(products.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      REQUIRE(all[i].score > 0);
      if (i == 0) continue;
      REQUIRE(all[i - 1].score >= all[i].score);
      if (all[i - 1].score == all[i].score)
        REQUIRE(products[all[i - 1].product].asin < products[all[i].product].asin);
    }
    for (const std::size_t most : {std::size_t{1}, std::size_t{50}, std::size_t{700}}) {
      INFO(words << " " << most);
      CHECK(search(most) == std::vector<Hit>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(
                                                                            std::min(most, all.size()))));
    }
  }
}

TEST_CASE("document lengths are stored in one byte") {
  const std::map<std::uint32_t, std::uint32_t> stored{
      {0, 0}, {23, 23}, {40, 40}, {41, 40}, {59, 56}, {100, 96}, {255, 248}, {1000, 984}, {5000, 4632}};
  for (const auto& [length, expected] : stored) CHECK(decode_length(encode_length(length)) == expected);
}

TEST_CASE("golden units: string scores and colours") {
  each_line("golden/webshop/units.jsonl.zst", [](const rapidjson::Document& line) {
    if (text_of(line["kind"]) == "normalize_color") {
      CHECK(normalize_color(text_of(line["text"])) == text_of(line["out"]));
      return;
    }
    const std::u32string a = to_points(text_of(line["a"]));
    const std::u32string b =
        line["pair"].GetBool() ? repr_pair(to_points(text_of(line["b"][0])), to_points(text_of(line["b"][1])))
                               : to_points(text_of(line["b"]));
    INFO(encode_utf8(a) << " / " << encode_utf8(b));
    CHECK(token_set_ratio(a, b) == line["score"].GetInt());
  });
}

TEST_CASE("match above 85: both sides of the threshold, and the other measure on request") {
  CHECK(token_set_ratio(U"mses large", U"mens large") == 80);
  CHECK(token_set_ratio(U"mses large", U"mens large", Fuzzy::kIndel) == 90);
  CHECK(token_set_ratio(U"queen eszie", U"queen size") == 67);
  CHECK(token_set_ratio(U"queen eszie", U"queen size", Fuzzy::kIndel) == 86);
  CHECK(token_set_ratio(U"Caf\u00e9_ d\u2019Or No.5", U"caf_ d or no 5") == 100);
  CHECK(token_set_ratio(U"\u00e9", U"\u00e9") == 0);
}

std::vector<std::string> texts(const rapidjson::Value& list) {
  std::vector<std::string> out;
  for (const auto& item : list.GetArray()) out.push_back(text_of(item));
  return out;
}

TEST_CASE("golden rewards: every part") {
  const auto shop = golden_shop();
  if (!shop) return;
  each_line("golden/webshop/rewards.jsonl.zst", [&](const rapidjson::Document& line) {
    INFO(text_of(line["id"]));
    const auto& goal = line["goal"];
    Wanted wanted{text_of(goal["query"]),
                  text_of(goal["name"]),
                  text_of(goal["product_category"]),
                  texts(goal["attributes"]),
                  {},
                  goal["goal_options"].IsObject(),
                  goal["price_upper"].GetDouble(),
                  texts(line["nouns_goal"])};
    if (wanted.named_options) {
      for (const auto& option : goal["goal_options"].GetObject())
        wanted.options.emplace_back(text_of(option.name), text_of(option.value));
    } else {
      for (const auto& option : goal["goal_options"].GetArray())
        wanted.options.emplace_back("", text_of(option));
    }
    const std::vector<std::string> nouns = texts(line["nouns_bought"]);
    ProductRecord own;
    if (line.HasMember("bought")) {
      const auto& fields = line["bought"];
      own.query = text_of(fields["query"]);
      own.product_category = text_of(fields["product_category"]);
      own.title = text_of(fields["Title"]);
      own.description = text_of(fields["Description"]);
      own.bullets = texts(fields["BulletPoints"]);
      own.attributes = texts(fields["Attributes"]);
    }
    const std::string packed = pack(own);
    const Product bought = line.HasMember("bought") ? Product(packed.data())
                                                    : shop->products()[*shop->find(text_of(line["asin"]))];
    Purchase purchase{as_bought(bought, nouns), &wanted, line["price"].GetDouble(), {}, Fuzzy::kDifflib};
    for (const auto& option : line["options"].GetArray()) purchase.options.push_back(text_of(option[1]));
    const RewardInfo info = score_purchase(purchase);
    const auto& expected = line["info"];
    CHECK(info.reward == line["reward"].GetDouble());
    CHECK(info.r_type == expected["r_type"].GetDouble());
    CHECK(info.r_att == expected["r_att"].GetDouble());
    CHECK(info.w_att == expected["w_att"].GetDouble());
    CHECK(info.query_match == expected["query_match"].GetBool());
    CHECK(info.category_match == expected["category_match"].GetBool());
    CHECK(info.title_score == expected["title_score"].GetDouble());
    CHECK(info.r_option.has_value() == expected.HasMember("r_option"));
    if (info.r_option) CHECK(*info.r_option == expected["r_option"].GetDouble());
    if (info.w_option) CHECK(*info.w_option == expected["w_option"].GetDouble());
    CHECK(info.r_price == expected["r_price"].GetBool());
    CHECK(info.w_price == expected["w_price"].GetDouble());
  });
}

TEST_CASE("golden goals: both streams, weights, prices and random sessions") {
  const auto shop = golden_shop();
  if (!shop) return;
  std::map<std::string, std::shared_ptr<const GoalTable>> tables;
  each_line("golden/webshop/goals.jsonl.zst", [&](const rapidjson::Document& line) {
    if (text_of(line["type"]) == "config") {
      INFO(text_of(line["id"]));
      const auto table = GoalTable::make(shop, golden_settings(line));
      REQUIRE(table);
      tables[text_of(line["id"])] = *table;
      const GoalTable& goals = **table;
      CHECK(goals.products() == line["n_products"].GetUint());
      CHECK(goals.size() == line["n_goals"].GetUint());
      CHECK(goals.total_weight() == line["cum_weight_last"].GetDouble());
      for (const auto& price : line["range_prices"].GetObject()) {
        CHECK(goals.price(*shop->find(text_of(price.name))) == price.value.GetDouble());
      }
      PythonRandom random = goals.after_load();
      for (const auto& reset : line["random_resets"].GetArray()) {
        std::string name;
        for (const std::size_t letter : random.choices(26, 10)) name += static_cast<char>('a' + letter);
        CHECK(name == text_of(reset[0]));
        CHECK(goals.draw(random) == reset[1].GetUint());
      }
      return;
    }
    INFO(text_of(line["config"]) << " " << line["i"].GetUint());
    const GoalTable& goals = *tables.at(text_of(line["config"]));
    const Goal goal = goals.goal(goals.in_session(line["i"].GetUint()));
    CHECK(shop->products()[goal.product].asin() == text_of(line["asin"]));
    CHECK(goal.instruction == text_of(line["instruction_text"]));
    CHECK(goal.wanted.attributes == texts(line["attributes"]));
    CHECK(goal.wanted.price_upper == line["price_upper"].GetDouble());
    CHECK(goal.weight == line["weight"].GetDouble());
    std::vector<std::pair<std::string, std::string>> options;
    if (line["goal_options"].IsObject()) {
      for (const auto& option : line["goal_options"].GetObject())
        options.emplace_back(text_of(option.name), text_of(option.value));
    } else {
      for (const auto& option : line["goal_options"].GetArray()) options.emplace_back("", text_of(option));
    }
    CHECK(goal.wanted.options == options);
  });
}

}  // namespace
}  // namespace lodestep::webshop
