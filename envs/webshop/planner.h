// What a goal can earn: the best options to choose on one product, and the best product of the shop.
//   ItemFacts facts = study_item(table, goal, product, fuzzy);
//   double now = facts.reward({"red", "small"});   double best = facts.best_reward;
// Threads: pure functions of immutable tables. Rewards are those of score_purchase, to the bit.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "envs/webshop/goals.h"
#include "envs/webshop/unicode.h"

namespace lodestep::webshop {

// One product under one goal. Which goal options a value satisfies is worked out once.
struct ItemFacts {
  std::uint32_t product = 0;
  double r_type = 0;
  std::size_t attributes = 0;  // matched
  bool price_ok = false;
  std::size_t wanted_attributes = 0, wanted_options = 0;
  std::unordered_map<std::string, std::vector<bool>, ContainerHash, std::equal_to<>>
      matches;  // value -> goal options

  double best_reward = 0;
  Items best_choice;  // (name, value) to click for it, few as possible, in page order

  std::vector<bool> satisfied(const Items& chosen) const;
  double reward(const Items& chosen) const;
};

// Only values that a click can choose count: clicking a value that two options share sets the last one,
// and some values cannot be written as an action.
ItemFacts study_item(const GoalTable& table, const Goal& goal, std::uint32_t product, Fuzzy fuzzy);

struct BestPurchase {
  std::uint32_t product = 0;
  double reward = 0;
  Items choice;
};

// The goal's own product where it earns 1, else the best of all products, the goal's own on a tie and then
// the first. Cost: small where the own product earns 1, else the products that share a noun with it; `goal`
// has its nouns.
BestPurchase best_purchase(const GoalTable& table, const Goal& goal, Fuzzy fuzzy);

// Whether `click[value]` reaches this value as an action.
bool can_click(std::string_view value);

}  // namespace lodestep::webshop
