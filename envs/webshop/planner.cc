#include "envs/webshop/planner.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace lodestep::webshop {
namespace {

constexpr std::array<std::string_view, 9> kTaken{"search",   "buy now", "back to search",
                                                 "next >",   "< prev",  "description",
                                                 "features", "reviews", "attributes"};

double reward_of(const ItemFacts& facts, std::size_t options) {
  const auto whole = static_cast<double>(facts.wanted_attributes + facts.wanted_options + 1);
  return static_cast<double>(facts.attributes + options + (facts.price_ok ? 1 : 0)) / whole * facts.r_type;
}

std::size_t count(const std::vector<bool>& bits) {
  return static_cast<std::size_t>(std::count(bits.begin(), bits.end(), true));
}

std::vector<bool> united(std::vector<bool> a, const std::vector<bool>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] || b[i];
  return a;
}

// Of each product: the share of the goal name's nouns that its title has, as the reward counts it.
std::vector<double> title_scores(const GoalTable& table, const Goal& goal) {
  const std::vector<std::string>& nouns = goal.wanted.nouns;
  if (nouns.empty()) return std::vector<double>(table.products(), 0.2);
  std::vector<double> scores(table.products(), 0);
  for (const std::string_view noun : std::set<std::string_view>(nouns.begin(), nouns.end())) {
    for (const std::uint32_t product : table.with_noun(noun)) ++scores[product];
  }
  for (double& score : scores) score /= static_cast<double>(nouns.size());
  return scores;
}

// Chooses for one option after another; sets of satisfied goal options are few, so all of them are kept.
void choose(const Product& product, ItemFacts& facts) {
  std::map<std::vector<bool>, Items> reached{{std::vector<bool>(facts.wanted_options, false), {}}};
  for (std::size_t o = 0; o < product.options().size(); ++o) {
    const ProductOption option = product.options()[o];
    std::map<std::vector<bool>, std::string_view> ways;
    for (const std::string_view value : option.values) {
      const bool later = std::any_of(product.options().begin() + static_cast<std::ptrdiff_t>(o) + 1,
                                     product.options().end(), [&](const ProductOption& other) {
                                       return std::find(other.values.begin(), other.values.end(), value) !=
                                              other.values.end();
                                     });
      if (!later && can_click(value)) ways.emplace(facts.matches.find(value)->second, value);
    }
    std::map<std::vector<bool>, Items> next = reached;
    for (const auto& [have, items] : reached) {
      for (const auto& [gain, value] : ways) {
        std::vector<bool> both = united(have, gain);
        if (both == have) continue;
        Items longer = items;
        longer.emplace_back(option.name, value);
        const auto [at, fresh] = next.emplace(std::move(both), longer);
        if (!fresh && longer.size() < at->second.size()) at->second = std::move(longer);
      }
    }
    reached = std::move(next);
    if (reached.size() > 4096) break;  // no shop has that many wishes in one goal
  }
  std::size_t most = 0;
  for (const auto& [have, items] : reached) {
    if (count(have) > most || (count(have) == most && items.size() < facts.best_choice.size())) {
      most = count(have);
      facts.best_choice = items;
    }
  }
  facts.best_reward = reward_of(facts, most);
}

}  // namespace

bool can_click(std::string_view value) {
  return !value.empty() && value.find_first_of("[\n") == std::string_view::npos &&
         std::find(kTaken.begin(), kTaken.end(), value) == kTaken.end();
}

std::vector<bool> ItemFacts::satisfied(const Items& chosen) const {
  std::vector<bool> have(wanted_options, false);
  for (const auto& [name, value] : chosen) {
    if (const auto found = matches.find(value); found != matches.end())
      have = united(std::move(have), found->second);
  }
  return have;
}

double ItemFacts::reward(const Items& chosen) const { return reward_of(*this, count(satisfied(chosen))); }

ItemFacts study_item(const GoalTable& table, const Goal& goal, std::uint32_t product, Fuzzy fuzzy) {
  const Product item = table.catalogue().products()[product];
  bool approximate = false;
  const std::vector<std::string> nouns = table.nouns(item.title(), approximate);
  const RewardInfo bare =
      score_purchase({as_bought(item, nouns), &goal.wanted, table.price(product), {}, fuzzy});
  ItemFacts facts;
  facts.product = product;
  facts.r_type = bare.r_type;
  facts.price_ok = bare.r_price;
  facts.wanted_attributes = goal.wanted.attributes.size();
  facts.wanted_options = goal.wanted.options.size();
  facts.attributes = bare.attributes_matched;
  for (const ProductOption option : item.options()) {
    for (const std::string_view value : option.values) {
      if (facts.matches.find(value) == facts.matches.end()) {
        facts.matches.emplace(value, matched_options(value, goal.wanted, fuzzy));
      }
    }
  }
  choose(item, facts);
  return facts;
}

BestPurchase best_purchase(const GoalTable& table, const Goal& goal, Fuzzy fuzzy) {
  const ItemFacts own = study_item(table, goal, goal.product, fuzzy);
  BestPurchase best{goal.product, own.best_reward, own.best_choice};
  if (best.reward >= 1.0) return best;
  const std::vector<double> scores = title_scores(table, goal);
  std::unordered_map<std::string_view, std::vector<bool>, ContainerHash> known;  // values seen
  for (std::uint32_t i = 0; i < table.products() && best.reward < 1.0; ++i) {
    if (scores[i] == 0.0 || i == goal.product) continue;
    const Product item = table.catalogue().products()[i];
    // What it earns at most, with all attributes and with every value of every option.
    ItemFacts most;
    most.r_type = type_reward(as_bought(item, goal.wanted.nouns), goal.wanted, scores[i]);
    most.attributes = most.wanted_attributes = goal.wanted.attributes.size();
    most.wanted_options = goal.wanted.options.size();
    most.price_ok = table.price(i) <= goal.wanted.price_upper;
    if (reward_of(most, most.wanted_options) <= best.reward) continue;
    std::vector<bool> reached(most.wanted_options, false);
    for (const ProductOption option : item.options()) {
      for (const std::string_view value : option.values) {
        const auto [at, fresh] = known.try_emplace(value);
        if (fresh) at->second = matched_options(value, goal.wanted, fuzzy);
        reached = united(std::move(reached), at->second);
      }
    }
    if (reward_of(most, count(reached)) <= best.reward) continue;
    const ItemFacts facts = study_item(table, goal, i, fuzzy);
    if (facts.best_reward > best.reward) best = {i, facts.best_reward, facts.best_choice};
  }
  return best;
}

}  // namespace lodestep::webshop
