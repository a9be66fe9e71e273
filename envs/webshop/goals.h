// The goals of a shop: one table in a fixed order, and the original's numbering of it after its shuffle.
//   auto goals = GoalTable::make(shop, {.variant = Variant::kVerl, .seed = 0});
//   Goal goal = (*goals)->goal((*goals)->in_session(7));   // what `reset(session=7)` plays
// Threads: immutable after make. Shares the catalogue. Prices that the original draws by chance belong to
// the table, since the limit and the instruction's words depend on them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "envs/webshop/catalogue.h"
#include "envs/webshop/reward.h"

namespace lodestep::webshop {

// Whose random stream: what is seeded, when, and how many draws there are.
//   native    seed, prices, limits, then the shuffle with its own seed: the upstream stream, pinned
//   verl      seed, prices, limits, seed again, shuffle
//   upstream  as native (the original leaves the first seed open)
//   agentgym  limits of synthetic goals under seed 233; human goals for every limit, without a draw
enum class Variant { kNative, kVerl, kUpstream, kAgentGym };

struct GoalSettings {
  Variant variant = Variant::kNative;
  std::int64_t seed = 0;
  bool human = false;
  std::uint64_t records = 0;                 // product records that count; 0: all
  std::optional<std::int64_t> shuffle_seed;  // default 233; verl: the seed
};

struct Goal {
  std::uint32_t product = 0;
  std::string instruction;
  double weight = 0;
  Wanted wanted;
};

class GoalTable {
 public:
  // Fails when there is no goal at all, or more than 50 million.
  static Result<std::shared_ptr<const GoalTable>> make(std::shared_ptr<const Catalogue> catalogue,
                                                       const GoalSettings& settings);

  const GoalSettings& settings() const { return settings_; }
  const Catalogue& catalogue() const { return *catalogue_; }
  std::size_t products() const { return prices_.size(); }  // the leading ones that count
  double price(std::uint32_t product) const { return prices_[product]; }
  std::size_t indexed() const { return indexed_; }  // documents that a search covers

  std::size_t size() const { return order_.size(); }
  Goal goal(std::uint32_t position) const;  // by table position
  std::uint32_t in_session(std::uint32_t number) const {
    return order_[number];
  }  // session number -> position
  std::uint32_t session_number(std::uint32_t position) const { return number_[position]; }  // the inverse
  double total_weight() const { return total_weight_; }
  // The original's choice of a session number: one draw; number 0 never comes, the last one twice as often.
  std::uint32_t draw(PythonRandom& random) const;
  // The generator as the original leaves it after loading.
  const PythonRandom& after_load() const { return after_load_; }
  // Nouns of a title: the catalogue's table, else the built-in rule (`approximate` is then set).
  std::vector<std::string> nouns(std::string_view title, bool& approximate) const;

  // Products whose title has the noun, ascending. The first call works out all titles.
  const std::vector<std::uint32_t>& with_noun(std::string_view noun) const;

  // Goals of a split, "train", "valid" or "test", and the table position of one of them, ascending. Goals
  // that share a product or an instruction share a split, so that no content is in two.
  std::size_t split_size(std::string_view name) const;
  std::uint32_t in_split(std::string_view name, std::size_t index) const;

 private:
  // What one instruction asks for: a goal for each combination of options, or one of a human instruction.
  struct Wish {
    std::uint32_t product;
    std::uint32_t human;  // which of its human instructions
    std::uint32_t first;  // position of its first goal
    double price_upper;
    double weight;  // of each of its goals
  };
  struct SplitPart {
    std::uint32_t first;  // position of a wish's first goal
    std::uint32_t end;    // goals of the split up to the wish's last
  };
  GoalTable() = default;
  void draw_prices(PythonRandom& random);
  Result<std::size_t> add_synthetic(PythonRandom& random);  // how many goals there are
  Result<std::size_t> add_human(PythonRandom& random);
  void number_goals(std::size_t count, PythonRandom& random);
  void make_splits();
  const Wish& wish_of(std::uint32_t position) const;
  double weight_in_session(std::size_t number) const { return wish_of(order_[number]).weight; }
  const std::vector<SplitPart>& split(std::string_view name) const;

  std::shared_ptr<const Catalogue> catalogue_;
  GoalSettings settings_;
  std::vector<double> prices_;
  std::size_t indexed_ = 0;
  std::vector<Wish> wishes_;
  std::vector<std::uint32_t> order_;   // session number -> position
  std::vector<std::uint32_t> number_;  // position -> session number
  std::vector<double> weight_before_;  // sum of weights before every 64th session
  double total_weight_ = 0;
  PythonRandom after_load_;
  std::vector<SplitPart> train_, valid_, test_;
  mutable std::once_flag nouns_known_;
  mutable std::unordered_map<std::string, std::vector<std::uint32_t>, ContainerHash, std::equal_to<>>
      with_noun_;
};

constexpr double kNoLimit = 1000000;  // price_upper of a goal without a price text

}  // namespace lodestep::webshop
