// The best purchase of a goal against trying every product with every choice of options.
#include <catch2/catch.hpp>

#include <algorithm>

#include "envs/webshop/planner.h"
#include "tests/unit/webshop/shop.h"

namespace lodestep::webshop {
namespace {

// Plain: all combinations of one value or none per option, each scored as a purchase.
double best_by_trying(const GoalTable& table, const Goal& goal, std::uint32_t product) {
  const Product item = table.catalogue().products()[product];
  bool approximate = false;
  const std::vector<std::string> nouns = table.nouns(item.title(), approximate);
  std::vector<std::vector<std::string>> choices{{}};
  const OptionList options = item.options();
  for (std::size_t o = 0; o < options.size(); ++o) {
    std::vector<std::vector<std::string>> longer = choices;
    for (const std::string_view value : options[o].values) {
      const bool hidden = std::any_of(options.begin() + static_cast<std::ptrdiff_t>(o) + 1, options.end(),
                                      [&](const ProductOption& later) {
                                        return std::find(later.values.begin(), later.values.end(), value) !=
                                               later.values.end();
                                      });
      if (hidden || !can_click(value)) continue;
      for (const std::vector<std::string>& choice : choices) {
        longer.push_back(choice);
        longer.back().emplace_back(value);
      }
    }
    choices = std::move(longer);
  }
  double best = 0;
  for (const std::vector<std::string>& choice : choices) {
    best = std::max(best, score_purchase({as_bought(item, nouns), &goal.wanted, table.price(product), choice,
                                          Fuzzy::kDifflib})
                              .reward);
  }
  return best;
}

TEST_CASE("the best purchase is what trying everything finds") {
  const auto shop = golden_shop();
  if (!shop) return;
  for (const bool human : {false, true}) {
    const auto goals = *GoalTable::make(
        shop, {.variant = Variant::kUpstream, .seed = 0, .human = human, .shuffle_seed = {}});
    std::size_t tried = 0, unwinnable = 0;
    for (std::uint32_t number = 0; number < goals->size() && tried < 6; ++number) {
      Goal goal = goals->goal(goals->in_session(number));
      bool approximate = false;
      goal.wanted.nouns = goals->nouns(goal.wanted.name, approximate);
      const BestPurchase best = best_purchase(*goals, goal, Fuzzy::kDifflib);
      if (best.reward == 1.0 && number % 40 != 0) continue;
      ++tried;
      unwinnable += best.reward < 1.0 ? 1 : 0;
      INFO(goal.instruction);
      CHECK(best_by_trying(*goals, goal, best.product) == best.reward);
      double most = 0;
      for (std::uint32_t product = 0; product < goals->products() && most < 1.0; ++product)
        most = std::max(most, best_by_trying(*goals, goal, product));
      CHECK(most == best.reward);
    }
    CHECK((human || unwinnable > 1));
  }
}

}  // namespace
}  // namespace lodestep::webshop
