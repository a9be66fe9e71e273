#include "envs/webshop/reward.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/sequence_matcher.h"
#include "base/text.h"
#include "envs/webshop/unicode.h"

namespace lodestep::webshop {
namespace {

constexpr int kMatch = 85;  // a score above this is a match

constexpr std::array<std::string_view, 102> kColors{
    "alabaster", "apricot",   "aqua",      "ash",      "asphalt",   "azure",    "banana",    "beige",
    "black",     "blue",      "blush",     "bordeaux", "bronze",    "brown",    "burgundy",  "camel",
    "camo",      "caramel",   "champagne", "charcoal", "cheetah",   "chestnut", "chocolate", "christmas",
    "coffee",    "cognac",    "copper",    "coral",    "cranberry", "cream",    "crystal",   "dark",
    "denim",     "eggplant",  "elephant",  "espresso", "fuchsia",   "gold",     "granite",   "grape",
    "graphite",  "grass",     "gray",      "green",    "grey",      "heather",  "indigo",    "ivory",
    "ivy",       "khaki",     "lavender",  "lemon",    "leopard",   "light",    "lilac",     "lime",
    "magenta",   "maroon",    "mauve",     "merlot",   "midnight",  "mint",     "mocha",     "multicolor",
    "mushroom",  "mustard",   "natural",   "navy",     "nude",      "olive",    "orange",    "peach",
    "pewter",    "pink",      "plum",      "purple",   "rainbow",   "red",      "rose",      "royal",
    "rust",      "sand",      "sapphire",  "seashell", "silver",    "skull",    "slate",     "steel",
    "stone",     "stonewash", "sunflower", "tan",      "taupe",     "teal",     "tiger",     "turquoise",
    "violet",    "walnut",    "wheat",     "white",    "wine",      "yellow"};

struct Tokens {
  bool any = false;                    // something was left after cleaning
  std::vector<std::u32string> sorted;  // distinct
};

// Cleaning of thefuzz: Latin-1 letters are deleted, everything but letters, digits and "_" is a blank.
Tokens tokens_of(std::u32string_view text) {
  std::u32string clean;
  clean.reserve(text.size());
  for (const char32_t c : text) {
    if (c >= 128 && c <= 255) continue;
    clean += c == U'_' || is_alphanumeric(c) ? c : U' ';
  }
  clean = python_lower(clean);
  Tokens tokens;
  for (std::size_t at = 0; at < clean.size();) {
    if (clean[at] == U' ') {
      ++at;
      continue;
    }
    const std::size_t end = std::min(clean.find(U' ', at), clean.size());
    tokens.sorted.push_back(clean.substr(at, end - at));
    at = end;
  }
  tokens.any = !tokens.sorted.empty();
  std::sort(tokens.sorted.begin(), tokens.sorted.end());
  tokens.sorted.erase(std::unique(tokens.sorted.begin(), tokens.sorted.end()), tokens.sorted.end());
  return tokens;
}

void append_word(std::u32string& text, const std::u32string& word) {
  if (!text.empty()) text += U' ';
  text += word;
}

double indel_ratio(std::u32string_view a, std::u32string_view b) {
  std::vector<std::size_t> row(b.size() + 1, 0);  // longest common subsequence, row by row
  for (const char32_t c : a) {
    std::size_t diagonal = 0;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = c == b[j - 1] ? diagonal + 1 : std::max(row[j], row[j - 1]);
      diagonal = above;
    }
  }
  return 2.0 * static_cast<double>(row.back()) / static_cast<double>(a.size() + b.size());
}

int ratio(std::u32string_view a, std::u32string_view b, Fuzzy fuzzy) {
  if (a == b) return 100;
  if (a.empty() || b.empty()) return 0;
  const double share = fuzzy == Fuzzy::kDifflib ? sequence_ratio(a, b) : indel_ratio(a, b);
  return static_cast<int>(std::nearbyint(100 * share));  // half to even, as Python rounds
}

int set_ratio(const Tokens& bought, const Tokens& wanted, Fuzzy fuzzy) {
  if (!bought.any || !wanted.any) return 0;
  std::u32string common;
  std::vector<const std::u32string*> only_bought, only_wanted;
  auto a = bought.sorted.begin();
  auto b = wanted.sorted.begin();
  while (a != bought.sorted.end() || b != wanted.sorted.end()) {
    if (b == wanted.sorted.end() || (a != bought.sorted.end() && *a < *b)) {
      only_bought.push_back(&*a++);
    } else if (a == bought.sorted.end() || *b < *a) {
      only_wanted.push_back(&*b++);
    } else {
      append_word(common, *a);
      ++a;
      ++b;
    }
  }
  if (!common.empty() && (only_bought.empty() || only_wanted.empty())) return 100;
  std::u32string first = common;
  std::u32string second = common;
  for (const std::u32string* word : only_bought) append_word(first, *word);
  for (const std::u32string* word : only_wanted) append_word(second, *word);
  return std::max({ratio(common, first, fuzzy), ratio(common, second, fuzzy), ratio(first, second, fuzzy)});
}

// A goal option as the original compares it. With names it is a Python tuple, in which a colour word is
// found only if it equals the name or the value, and which is otherwise compared as its repr.
Tokens option_tokens(const std::pair<std::string, std::string>& option, bool named) {
  if (!named) return tokens_of(to_points(normalize_color(option.second)));
  for (const std::string_view color : kColors) {
    if (color == option.first || color == option.second) return tokens_of(to_points(color));
  }
  return tokens_of(repr_pair(to_points(option.first), to_points(option.second)));
}

std::set<std::string_view> category_names(std::string_view path) {
  static constexpr std::string_view kSeparator = "\u203a";
  std::set<std::string_view> names;
  for (;;) {
    const std::size_t at = path.find(kSeparator);
    names.insert(python_strip(path.substr(0, at)));
    if (at == std::string_view::npos) return names;
    path.remove_prefix(at + kSeparator.size());
  }
}

bool share_two_categories(std::string_view a, std::string_view b) {
  const std::set<std::string_view> first = category_names(a);
  std::size_t shared = 0;
  for (const std::string_view name : category_names(b)) shared += first.count(name);
  return shared >= 2;
}

// The share of the goal name's nouns, repeats counted, that the bought name has.
double noun_overlap(const std::vector<std::string>& bought, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return 0.2;
  const std::set<std::string_view> have(bought.begin(), bought.end());
  const std::set<std::string_view> need(wanted.begin(), wanted.end());
  std::size_t shared = 0;
  for (const std::string_view noun : need) shared += have.count(noun);
  return static_cast<double>(shared) / static_cast<double>(wanted.size());
}

bool queries_agree(const Bought& bought, const Wanted& wanted) { return bought.query == wanted.query; }
bool categories_agree(const Bought& bought, const Wanted& wanted) {
  return share_two_categories(bought.product_category, wanted.product_category);
}

void score_type(const Bought& bought, const Wanted& wanted, RewardInfo& info) {
  info.query_match = queries_agree(bought, wanted);
  info.category_match = categories_agree(bought, wanted);
  info.title_score = noun_overlap(*bought.nouns, wanted.nouns);
  info.r_type = type_reward(bought, wanted, info.title_score);
}

std::size_t count_attributes(const Bought& bought, const Wanted& wanted, Fuzzy fuzzy) {
  std::vector<Tokens> have;
  std::string title, bullets, description;
  std::size_t matched = 0;
  for (const std::string& attribute : wanted.attributes) {
    const Tokens tokens = tokens_of(to_points(attribute));
    const TextList& list = bought.attributes;
    // Equal texts score 100 unless nothing is left of them; that spares most comparisons.
    if (tokens.any && std::find(list.begin(), list.end(), attribute) != list.end()) {
      ++matched;
      continue;
    }
    if (have.empty()) {
      for (const std::string_view text : list) have.push_back(tokens_of(to_points(text)));
      title = python_lower(bought.title);
      bullets = python_lower(bought.bullets.join(" "));
      description = python_lower(bought.description);
    }
    const bool found =
        std::any_of(have.begin(), have.end(),
                    [&](const Tokens& own) { return set_ratio(own, tokens, fuzzy) > kMatch; }) ||
        title.find(attribute) != std::string::npos || bullets.find(attribute) != std::string::npos ||
        description.find(attribute) != std::string::npos;
    matched += found ? 1 : 0;
  }
  return matched;
}

}  // namespace

double type_reward(const Bought& bought, const Wanted& wanted, double title_score) {
  if (title_score == 0.0) return 0.0;
  if (title_score < 0.1) return 0.1;
  return title_score > 0.2 || queries_agree(bought, wanted) || categories_agree(bought, wanted) ? 1.0 : 0.5;
}

int token_set_ratio(std::u32string_view bought, std::u32string_view wanted, Fuzzy fuzzy) {
  return set_ratio(tokens_of(bought), tokens_of(wanted), fuzzy);
}

std::string normalize_color(std::string_view text) {
  for (const std::string_view color : kColors) {
    if (text.find(color) != std::string_view::npos) return std::string(color);
  }
  return std::string(text);
}

std::vector<bool> matched_options(std::string_view chosen, const Wanted& wanted, Fuzzy fuzzy) {
  const Tokens tokens = tokens_of(to_points(normalize_color(chosen)));
  std::vector<bool> matched;
  for (const auto& option : wanted.options) {
    matched.push_back(set_ratio(tokens, option_tokens(option, wanted.named_options), fuzzy) > kMatch);
  }
  return matched;
}

RewardInfo score_purchase(const Purchase& purchase) {
  const Wanted& wanted = *purchase.wanted;
  RewardInfo info;
  score_type(purchase.bought, wanted, info);
  info.r_price = purchase.price <= wanted.price_upper;
  const std::size_t attributes = info.attributes_matched =
      count_attributes(purchase.bought, wanted, purchase.fuzzy);
  std::vector<bool> satisfied(wanted.options.size(), false);
  for (const std::string& chosen : purchase.options) {
    const std::vector<bool> matched = matched_options(chosen, wanted, purchase.fuzzy);
    for (std::size_t i = 0; i < matched.size(); ++i) satisfied[i] = satisfied[i] || matched[i];
  }
  const auto options = static_cast<std::size_t>(std::count(satisfied.begin(), satisfied.end(), true));
  const auto whole = static_cast<double>(wanted.attributes.size() + wanted.options.size() + 1);
  info.r_att = static_cast<double>(attributes) / static_cast<double>(wanted.attributes.size());
  info.w_att = static_cast<double>(wanted.attributes.size()) / whole;
  if (!wanted.options.empty()) {
    info.r_option = static_cast<double>(options) / static_cast<double>(wanted.options.size());
    info.w_option = static_cast<double>(wanted.options.size()) / whole;
  }
  info.w_price = 1 / whole;
  info.reward = static_cast<double>(attributes + options + (info.r_price ? 1 : 0)) / whole * info.r_type;
  return info;
}

std::string to_json(const RewardInfo& info) {
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  std::string out = "{\"r_type\":" + python_repr(info.r_type) + ",\"r_att\":" + python_repr(info.r_att) +
                    ",\"w_att\":" + python_repr(info.w_att) + ",\"query_match\":" + flag(info.query_match) +
                    ",\"category_match\":" + flag(info.category_match) +
                    ",\"title_score\":" + python_repr(info.title_score);
  if (info.r_option) {
    out += ",\"r_option\":" + python_repr(*info.r_option) + ",\"w_option\":" + python_repr(*info.w_option);
  }
  out += std::string(",\"r_price\":") + flag(info.r_price) + ",\"w_price\":" + python_repr(info.w_price);
  if (info.approximate) out += ",\"approximate\":true";
  return out + "}";
}

Bought as_bought(const Product& product, const std::vector<std::string>& nouns) {
  return {product.query(),       product.title(),   product.product_category(), product.title(),
          product.description(), product.bullets(), product.attributes(),       &nouns};
}

}  // namespace lodestep::webshop
