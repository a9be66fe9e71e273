// What a purchase is worth: type, attributes, options and price, each part to the bit of the original.
//   RewardInfo info = score_purchase({bought, wanted, 12.99, {"red", "small"}});
//   double reward = info.reward;   // in [0, 1]
// Threads: pure functions. Source: Yao et al. 2022, "WebShop", section 3; string scores are those of
// thefuzz 0.19 over difflib (or, on request, of its versions over the indel distance).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "envs/webshop/catalogue.h"

namespace lodestep::webshop {

enum class Fuzzy { kDifflib, kIndel };

// What the goal asks for.
struct Wanted {
  std::string query, name, product_category;
  std::vector<std::string> attributes;
  std::vector<std::pair<std::string, std::string>> options;  // name and value; names empty when not named
  bool named_options = true;  // a synthetic goal's dict; false: a human goal's list
  double price_upper = 0;
  std::vector<std::string> nouns;  // of the name
};

// What was bought. Borrows.
struct Bought {
  std::string_view query, name, product_category, title, description;
  TextList bullets, attributes;
  const std::vector<std::string>* nouns = nullptr;  // of the name
};

struct Purchase {
  Bought bought;
  const Wanted* wanted = nullptr;
  double price = 0;
  std::vector<std::string> options;  // values chosen
  Fuzzy fuzzy = Fuzzy::kDifflib;
};

struct RewardInfo {
  double reward = 0;
  double r_type = 0, r_att = 0, w_att = 0;
  bool query_match = false, category_match = false;
  double title_score = 0;
  std::optional<double> r_option, w_option;  // absent when the goal has no options
  bool r_price = false;
  double w_price = 0;
  std::size_t attributes_matched = 0;
  bool approximate = false;  // nouns came from the built-in rule, not from a table
};

RewardInfo score_purchase(const Purchase& purchase);
// {"r_type":1.0,...}: the original's names; "approximate":true is added when it applies.
std::string to_json(const RewardInfo& info);

Bought as_bought(const Product& product, const std::vector<std::string>& nouns);

// The parts, for tests and for planning.
// r_type, given the share of the wanted name's nouns that the bought one has.
double type_reward(const Bought& bought, const Wanted& wanted, double title_score);
int token_set_ratio(std::u32string_view bought, std::u32string_view wanted, Fuzzy fuzzy = Fuzzy::kDifflib);
std::string normalize_color(std::string_view text);
// Which goal options a chosen value satisfies; bit i = option i.
std::vector<bool> matched_options(std::string_view chosen, const Wanted& wanted, Fuzzy fuzzy);

}  // namespace lodestep::webshop
