#include "envs/webshop/webshop_settings.h"

#include <map>

namespace lodestep::webshop {
namespace {

constexpr std::int64_t kAnySeed = INT64_MAX;

}  // namespace

const std::vector<OptionSpec>& option_specs() {
  static const std::vector<OptionSpec> specs{
      {"variant", "native", "whose random streams goals follow", {"native", "verl", "upstream", "agentgym"}},
      {"seed", "0", "seed of prices and price limits (verl: of the shuffle too)", {}},
      {"shuffle_seed", "", "seed of the session numbering; 233, verl: seed", {}},
      {"human_goals", "false", "instructions written by people instead of synthetic ones", {}},
      {"num_products", "all", "records of the product file that count", {}},
      {"show_attrs", "false", "item pages have an Attributes page", {}},
      {"rng_seed", "", "seed of random sessions and <r> searches; default: the task's seed", {}},
      {"rng_skip", "0", "numbers of that generator that are gone before the episode starts", {}},
      {"mode", "text_rich", "how pages are shown", {"text", "text_rich", "html", "url"}},
      {"scheme", "raw", "reward: raw, or verl (10 for a perfect purchase, else 0)", {"raw", "verl"}},
      {"quirks",
       "original",
       "original, or fixed: marks and < Prev go by the state, not by the URL",
       {"original", "fixed"}},
      {"after_done", "stop", "stop, or continue as the original does", {"stop", "continue"}},
      {"fuzzy",
       "difflib",
       "string scores: difflib (thefuzz 0.19) or indel (its later versions)",
       {"difflib", "indel"}},
      {"ads", "0", "chance that a page view carries noise, 0 to 1", {}},
      {"max_ads", "1", "at most so many noise lines on a view", {}},
      {"noise",
       "ads",
       "kind of noise; given alone it sets ads=0.3",
       {"ads", "typos", "counter", "reorder", "timestamp", "banner", "mixed", "unique", "hard"}},
  };
  return specs;
}

Result<Rules> parse_rules(const Settings& settings) {
  const Result<Options> parsed = Options::parse("webshop", option_specs(), settings);
  if (!parsed) return parsed.error();
  const Options& options = *parsed;
  Rules rules;
  static const std::map<std::string, Variant> kVariants{{"native", Variant::kNative},
                                                        {"verl", Variant::kVerl},
                                                        {"upstream", Variant::kUpstream},
                                                        {"agentgym", Variant::kAgentGym}};
  static const std::map<std::string, Mode> kModes{
      {"text", Mode::kText}, {"text_rich", Mode::kTextRich}, {"html", Mode::kHtml}, {"url", Mode::kUrl}};
  static const std::map<std::string, NoiseKind> kNoise{{"ads", NoiseKind::kAds},
                                                       {"typos", NoiseKind::kTypos},
                                                       {"counter", NoiseKind::kCounter},
                                                       {"reorder", NoiseKind::kReorder},
                                                       {"timestamp", NoiseKind::kTimestamp},
                                                       {"banner", NoiseKind::kBanner},
                                                       {"mixed", NoiseKind::kMixed},
                                                       {"unique", NoiseKind::kUnique},
                                                       {"hard", NoiseKind::kHard}};
  rules.goals.variant = kVariants.at(options.text("variant"));
  rules.mode = kModes.at(options.text("mode"));
  rules.noise.kind = kNoise.at(options.text("noise"));
  rules.verl_scheme = options.text("scheme") == "verl";
  rules.fixed_quirks = options.text("quirks") == "fixed";
  rules.after_done = options.text("after_done") == "continue" ? AfterDone::kContinue : AfterDone::kStop;
  rules.fuzzy = options.text("fuzzy") == "indel" ? Fuzzy::kIndel : Fuzzy::kDifflib;

  const Result<std::int64_t> seed = options.integer("seed", -kAnySeed, kAnySeed);
  if (!seed) return seed.error();
  rules.goals.seed = *seed;
  if (!options.text("shuffle_seed").empty()) {
    const Result<std::int64_t> shuffle = options.integer("shuffle_seed", -kAnySeed, kAnySeed);
    if (!shuffle) return shuffle.error();
    rules.goals.shuffle_seed = *shuffle;
  }
  if (!options.text("rng_seed").empty()) {
    const Result<std::int64_t> rng = options.integer("rng_seed", -kAnySeed, kAnySeed);
    if (!rng) return rng.error();
    rules.rng_seed = *rng;
  }
  const Result<std::int64_t> skip = options.integer("rng_skip", 0, 1'000'000'000);
  if (!skip) return skip.error();
  rules.rng_skip = static_cast<std::uint64_t>(*skip);
  const std::string& records = options.text("num_products");
  if (records != "all" && records != "null" && records != "None") {
    const Result<std::int64_t> count = options.integer("num_products", 1, kAnySeed);
    if (!count) return count.error();
    rules.goals.records = static_cast<std::uint64_t>(*count);
  }
  const Result<bool> human = options.flag("human_goals");
  if (!human) return human.error();
  rules.goals.human = *human;
  const Result<bool> attributes = options.flag("show_attrs");
  if (!attributes) return attributes.error();
  rules.show_attributes = *attributes;
  const Result<double> density = options.number("ads", 0, 1);
  if (!density) return density.error();
  rules.noise.density = options.given("noise") && !options.given("ads") ? 0.3 : *density;
  const Result<std::int64_t> most = options.integer("max_ads", 1, 100);
  if (!most) return most.error();
  rules.noise.most = static_cast<std::size_t>(*most);
  return rules;
}

}  // namespace lodestep::webshop
