#include "harness/state_policy.h"

#include <string_view>

#include "base/hash.h"
#include "base/text.h"

namespace lodestep::harness {
namespace {

std::string random_action(const std::vector<std::string>& actions, Stream& dice) {
  return actions.empty() ? std::string() : actions[dice.below(actions.size())];
}

class GoldPolicy final : public StatePolicy {
 public:
  std::optional<std::string> choose(const Standpoint& here, Stream&) const override { return here.gold(); }
};

class RandomPolicy final : public StatePolicy {
 public:
  std::optional<std::string> choose(const Standpoint& here, Stream& dice) const override {
    return random_action(here.admissible, dice);
  }
};

class MixedPolicy final : public StatePolicy {
 public:
  explicit MixedPolicy(double random_share) : random_share_(random_share) {}

  std::optional<std::string> choose(const Standpoint& here, Stream& dice) const override {
    if (dice.unit() >= random_share_) {
      if (std::optional<std::string> gold = here.gold()) return gold;
    }
    // Also where no way to success is left: a lost episode goes on at random.
    return random_action(here.admissible, dice);
  }

 private:
  double random_share_;
};

class ConfusedPolicy final : public StatePolicy {
 public:
  explicit ConfusedPolicy(double competent_share) : competent_share_(competent_share) {}

  std::optional<std::string> choose(const Standpoint& here, Stream& dice) const override {
    if (here.admissible.empty()) return std::string();
    if (dice.unit() < competent_share_) {
      const std::vector<std::size_t> context = context_of(here.admissible);
      Hasher hasher;
      for (const std::size_t i : context) hasher.add(here.admissible[i]);
      const std::uint64_t luck = hasher.finish().low;
      const bool misled = luck % 4 == 0 && !context.empty();
      if (misled && dice.unit() < 0.7) return here.admissible[context[luck / 4 % context.size()]];
      if (std::optional<std::string> gold = here.gold()) return gold;
    }
    return lost(here.admissible, dice);
  }

 private:
  static bool any_of(std::string_view action, std::initializer_list<std::string_view> verbs) {
    for (const std::string_view verb : verbs) {
      if (action.starts_with(verb) && action.size() > verb.size() && action[verb.size()] == ' ') return true;
    }
    return false;
  }

  // The offers tell place (where else one can go), hand (what can be put) and what is open; what lies about
  // (what can be taken or looked at) is left out.
  static std::vector<std::size_t> context_of(const std::vector<std::string>& actions) {
    std::vector<std::size_t> context;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (!any_of(actions[i], {"take", "examine", "use"})) context.push_back(i);
    }
    return context;
  }

  static std::string one_of(const std::vector<std::string>& actions,
                            std::initializer_list<std::string_view> verbs, Stream& dice) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (any_of(actions[i], verbs)) found.push_back(i);
    }
    return found.empty() ? "look" : actions[found[dice.below(found.size())]];
  }

  static std::string lost(const std::vector<std::string>& actions, Stream& dice) {
    const double what = dice.unit();
    if (what < 0.3) {
      switch (dice.below(4)) {
        case 0: return "look";
        case 1: return "inventory";
        case 2: return one_of(actions, {"examine"}, dice);
        default: return "think hard";  // no command
      }
    }
    if (what < 0.5) return one_of(actions, {"open", "close"}, dice);
    if (what < 0.7) return one_of(actions, {"take", "move", "put"}, dice);
    return one_of(actions, {"go"}, dice);
  }

  double competent_share_;
};

}  // namespace

Result<std::unique_ptr<StatePolicy>> make_state_policy(const std::string& spec) {
  using Made = std::unique_ptr<StatePolicy>;
  const std::size_t colon = spec.find(':');
  const std::string kind = spec.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : spec.substr(colon + 1);
  if (spec == "random") return Made(std::make_unique<RandomPolicy>());
  if (spec == "gold") return Made(std::make_unique<GoldPolicy>());
  if (kind == "mixed" || kind == "confused") {
    const std::optional<double> share = parse_double(rest);
    if (!share || !(*share >= 0) || !(*share <= 1)) {
      return Error{ErrorCode::kInvalidArgument,
                   "policy '" + spec + "' needs a probability, as in " + kind + ":0.5", "--policy", ""};
    }
    if (kind == "mixed") return Made(std::make_unique<MixedPolicy>(*share));
    return Made(std::make_unique<ConfusedPolicy>(*share));
  }
  return Error{ErrorCode::kNotFound, "no policy of the state alone: '" + spec + "'", "--policy",
               "random, gold, mixed:E and confused:P are"};
}

}  // namespace lodestep::harness
