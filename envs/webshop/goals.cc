#include "envs/webshop/goals.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>

#include "base/text.h"
#include "envs/webshop/nouns.h"

namespace lodestep::webshop {
namespace {

constexpr std::int64_t kShuffleSeed = 233;  // the original's
constexpr std::size_t kMostGoals = 50'000'000;

// Up to four of 10, 20, ..., 990 above the price.
std::vector<double> limits_above(double price) {
  std::vector<double> limits;
  for (int i = 1; i < 100 && limits.size() < 4; ++i) {
    if (10.0 * i > price) limits.push_back(10.0 * i);
  }
  return limits;
}

double draw_limit(double price, PythonRandom& random) {
  const std::vector<double> limits = limits_above(price);
  if (limits.size() < 2) return kNoLimit;
  const std::vector<std::size_t> pair = random.sample(limits.size(), 2);
  return limits[std::max(pair[0], pair[1])];
}

std::string limit_text(double limit) {
  if (limit == kNoLimit) return "";
  char text[64];
  std::snprintf(text, sizeof text, ", and price lower than %.2f dollars", limit);
  return text;
}

// Options by name, the order in which goals combine them.
std::vector<const ProductOption*> by_name(const Product& product) {
  std::vector<const ProductOption*> options;
  for (const ProductOption& option : product.options) options.push_back(&option);
  std::sort(options.begin(), options.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  return options;
}

std::string without_dots(const std::string& text) {
  const std::size_t first = text.find_first_not_of('.');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of('.') - first + 1);
}

Error too_many() {
  return Error{ErrorCode::kUnsupported, "the catalogue has more than 50 million goals", "",
               "use num_products to cut it"};
}

}  // namespace

Result<std::shared_ptr<const GoalTable>> GoalTable::make(std::shared_ptr<const Catalogue> catalogue,
                                                         const GoalSettings& settings) {
  std::shared_ptr<GoalTable> table(new GoalTable());
  table->catalogue_ = std::move(catalogue);
  table->settings_ = settings;
  const Catalogue& shop = *table->catalogue_;
  table->prices_.resize(settings.records == 0 ? shop.products().size()
                                              : shop.products_within(settings.records));
  // The original has prebuilt indexes of the first so many kept products, and one of all.
  table->indexed_ = settings.records == 0 ? shop.products().size()
                                          : std::min<std::size_t>(settings.records, shop.products().size());

  PythonRandom random(settings.seed);
  table->draw_prices(random);
  if (settings.variant == Variant::kAgentGym && !settings.human) random = PythonRandom(kShuffleSeed);
  if (Status s = settings.human ? table->add_human(random) : table->add_synthetic(random); !s)
    return s.error();
  if (table->entries_.empty()) {
    return Error{ErrorCode::kBadData,
                 std::string("the catalogue has no ") + (settings.human ? "human" : "synthetic") + " goals",
                 "",
                 settings.human ? "import it with --human-instructions"
                                : "import it with --attributes that have instructions"};
  }
  const std::int64_t own_shuffle = settings.variant == Variant::kVerl ? settings.seed : kShuffleSeed;
  random = PythonRandom(settings.shuffle_seed.value_or(own_shuffle));
  table->order_.resize(table->entries_.size());
  std::iota(table->order_.begin(), table->order_.end(), 0U);
  random.shuffle(table->order_);
  table->after_load_ = random;
  table->number_.resize(table->order_.size());
  for (std::uint32_t number = 0; number < table->order_.size(); ++number)
    table->number_[table->order_[number]] = number;
  table->cumulative_.push_back(0);
  for (const std::uint32_t position : table->order_) {
    table->cumulative_.push_back(table->cumulative_.back() + table->entries_[position].weight);
  }
  table->make_splits();
  return std::shared_ptr<const GoalTable>(std::move(table));
}

void GoalTable::draw_prices(PythonRandom& random) {
  for (std::size_t i = 0; i < prices_.size(); ++i) {
    const std::vector<double>& range = catalogue_->products()[i].prices;
    prices_[i] = range.size() == 1 ? range[0] : random.uniform(range[0], range[1]);
  }
}

Status GoalTable::add_synthetic(PythonRandom& random) {
  std::map<std::string_view, std::size_t> uses;  // goals that name an attribute
  for (std::uint32_t i = 0; i < prices_.size(); ++i) {
    const Product& product = catalogue_->products()[i];
    if (!product.instruction) continue;
    const double limit = draw_limit(prices_[i], random);
    std::size_t combinations = 1;
    for (const ProductOption& option : product.options) {
      combinations *= option.values.size();
      if (combinations > kMostGoals) return too_many();
    }
    if (entries_.size() + combinations > kMostGoals) return too_many();
    for (std::uint32_t choice = 0; choice < combinations; ++choice) entries_.push_back({i, choice, limit, 0});
    for (const std::string& attribute : product.instruction_attributes) uses[attribute] += combinations;
  }
  for (Entry& entry : entries_) {
    const auto& attributes = catalogue_->products()[entry.product].instruction_attributes;
    double sum = 0;
    for (const std::string& attribute : attributes) sum += 1.0 / static_cast<double>(uses[attribute]);
    entry.weight = sum / static_cast<double>(attributes.size());
  }
  return {};
}

Status GoalTable::add_human(PythonRandom& random) {
  for (std::uint32_t i = 0; i < prices_.size(); ++i) {
    const Product& product = catalogue_->products()[i];
    for (std::uint32_t choice = 0; choice < product.human.size(); ++choice) {
      if (product.human[choice].attributes.empty()) continue;
      if (settings_.variant != Variant::kAgentGym) {
        entries_.push_back({i, choice, draw_limit(prices_[i], random), 1});
        continue;
      }
      const std::vector<double> limits = limits_above(prices_[i]);
      for (std::size_t k = 0; k < 4; ++k) {
        if (limits.size() < 2) {
          entries_.push_back({i, choice, kNoLimit, 1});
        } else if (k < limits.size()) {
          entries_.push_back({i, choice, limits[k], 1});
        }
      }
    }
    if (entries_.size() > kMostGoals) return too_many();
  }
  return {};
}

Goal GoalTable::goal(std::uint32_t position) const {
  const Entry& entry = entries_[position];
  const Product& product = catalogue_->products()[entry.product];
  Goal goal;
  goal.product = entry.product;
  goal.weight = entry.weight;
  Wanted& wanted = goal.wanted;
  wanted.query = product.query;
  wanted.name = product.title;
  wanted.product_category = product.product_category;
  wanted.price_upper = entry.price_upper;
  wanted.named_options = !settings_.human;
  if (settings_.human) {
    const HumanInstruction& human = product.human[entry.choice];
    goal.instruction = without_dots(human.text);
    wanted.attributes = human.attributes;
    for (const std::string& option : human.options) wanted.options.emplace_back("", option);
  } else {
    goal.instruction = *product.instruction;
    wanted.attributes = product.instruction_attributes;
    const std::vector<const ProductOption*> options = by_name(product);
    wanted.options.resize(options.size());
    std::uint32_t choice = entry.choice;
    for (std::size_t i = options.size(); i-- > 0;) {  // the last name turns fastest
      const auto count = static_cast<std::uint32_t>(options[i]->values.size());
      wanted.options[i] = {options[i]->name, options[i]->values[choice % count]};
      choice /= count;
    }
    for (std::size_t i = 0; i < options.size(); ++i) {
      goal.instruction +=
          (i == 0 ? " with " : ", and ") + wanted.options[i].first + ": " + wanted.options[i].second;
    }
  }
  goal.instruction += limit_text(entry.price_upper);
  return goal;
}

std::uint32_t GoalTable::draw(PythonRandom& random) const {
  const double at = random.uniform(0, cumulative_.back());
  const auto above = std::upper_bound(cumulative_.begin(), cumulative_.end(), at);
  const auto number = static_cast<std::size_t>(above - cumulative_.begin());
  return static_cast<std::uint32_t>(std::min(number, order_.size() - 1));
}

std::vector<std::string> GoalTable::nouns(std::string_view title, bool& approximate) const {
  const std::optional<std::uint32_t> product = catalogue_->find_title(title);
  if (product && catalogue_->products()[*product].nouns) return *catalogue_->products()[*product].nouns;
  approximate = true;
  return nouns_by_rule(title);
}

const std::vector<std::uint32_t>& GoalTable::with_noun(std::string_view noun) const {
  std::call_once(nouns_known_, [this] {
    for (std::uint32_t i = 0; i < products(); ++i) {
      bool approximate = false;
      for (const std::string& own : nouns(catalogue_->products()[i].title, approximate)) {
        std::vector<std::uint32_t>& list = with_noun_[own];
        if (list.empty() || list.back() != i) list.push_back(i);
      }
    }
  });
  static const std::vector<std::uint32_t> none;
  const auto found = with_noun_.find(noun);
  return found == with_noun_.end() ? none : found->second;
}

const std::vector<std::uint32_t>& GoalTable::split(std::string_view name) const {
  return name == "test" ? test_ : name == "valid" ? valid_ : train_;
}

// Union of goals by product and by instruction without options; each union's first asin decides.
void GoalTable::make_splits() {
  std::vector<std::uint32_t> parent(prices_.size());
  std::iota(parent.begin(), parent.end(), 0U);
  const auto root = [&parent](std::uint32_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  std::unordered_map<std::string_view, std::uint32_t, ContainerHash> first_with;
  for (const Entry& entry : entries_) {
    const Product& product = catalogue_->products()[entry.product];
    const std::string_view text = settings_.human ? product.human[entry.choice].text : *product.instruction;
    const std::uint32_t a = root(first_with.emplace(text, entry.product).first->second);
    const std::uint32_t b = root(entry.product);
    parent[std::max(a, b)] = std::min(a, b);
  }
  for (std::uint32_t position = 0; position < entries_.size(); ++position) {
    const std::string& asin = catalogue_->products()[root(entries_[position].product)].asin;
    const std::uint64_t bucket = hash128(asin).low % 10;
    (bucket == 0 ? test_ : bucket == 1 ? valid_ : train_).push_back(position);
  }
  if (train_.empty()) {
    train_.resize(entries_.size());
    std::iota(train_.begin(), train_.end(), 0U);
    valid_.clear();
    test_.clear();
  }
}

}  // namespace lodestep::webshop
