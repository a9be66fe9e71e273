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
constexpr std::size_t kSumStep = 64;  // sessions between two sums of weights that are kept

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
std::vector<ProductOption> by_name(const Product& product) {
  const OptionList list = product.options();
  std::vector<ProductOption> options(list.begin(), list.end());
  std::sort(options.begin(), options.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return options;
}

std::string_view without_dots(std::string_view text) {
  const std::size_t first = text.find_first_not_of('.');
  if (first == std::string_view::npos) return "";
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
  const Result<std::size_t> count = settings.human ? table->add_human(random) : table->add_synthetic(random);
  if (!count) return count.error();
  if (*count == 0) {
    return Error{ErrorCode::kBadData,
                 std::string("the catalogue has no ") + (settings.human ? "human" : "synthetic") + " goals",
                 "",
                 settings.human ? "import it with --human-instructions"
                                : "import it with --attributes that have instructions"};
  }
  const std::int64_t own_shuffle = settings.variant == Variant::kVerl ? settings.seed : kShuffleSeed;
  random = PythonRandom(settings.shuffle_seed.value_or(own_shuffle));
  table->number_goals(*count, random);
  table->make_splits();
  return std::shared_ptr<const GoalTable>(std::move(table));
}

void GoalTable::draw_prices(PythonRandom& random) {
  for (std::size_t i = 0; i < prices_.size(); ++i) {
    const std::span<const double> range = catalogue_->products()[i].prices();
    prices_[i] = range.size() == 1 ? range[0] : random.uniform(range[0], range[1]);
  }
}

Result<std::size_t> GoalTable::add_synthetic(PythonRandom& random) {
  std::map<std::string_view, std::size_t> uses;  // goals that name an attribute
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < prices_.size(); ++i) {
    const Product product = catalogue_->products()[i];
    if (!product.instruction()) continue;
    const double limit = draw_limit(prices_[i], random);
    std::size_t combinations = 1;
    for (const ProductOption option : product.options()) {
      combinations *= option.values.size();
      if (combinations > kMostGoals) return too_many();
    }
    if (combinations == 0) continue;
    wishes_.push_back({i, 0, static_cast<std::uint32_t>(count), limit, 0});
    count += combinations;
    if (count > kMostGoals) return too_many();
    for (const std::string_view attribute : product.instruction_attributes()) uses[attribute] += combinations;
  }
  for (Wish& wish : wishes_) {
    const TextList attributes = catalogue_->products()[wish.product].instruction_attributes();
    double sum = 0;
    for (const std::string_view attribute : attributes) sum += 1.0 / static_cast<double>(uses[attribute]);
    wish.weight = sum / static_cast<double>(attributes.size());
  }
  return count;
}

Result<std::size_t> GoalTable::add_human(PythonRandom& random) {
  const auto add = [this](std::uint32_t product, std::uint32_t human, double limit) {
    wishes_.push_back({product, human, static_cast<std::uint32_t>(wishes_.size()), limit, 1});
  };
  for (std::uint32_t i = 0; i < prices_.size(); ++i) {
    const HumanList list = catalogue_->products()[i].human();
    for (std::uint32_t human = 0; human < list.size(); ++human) {
      if (list[human].attributes.empty()) continue;
      if (settings_.variant != Variant::kAgentGym) {
        add(i, human, draw_limit(prices_[i], random));
        continue;
      }
      const std::vector<double> limits = limits_above(prices_[i]);
      for (std::size_t k = 0; k < 4; ++k) {
        if (limits.size() < 2) {
          add(i, human, kNoLimit);
        } else if (k < limits.size()) {
          add(i, human, limits[k]);
        }
      }
    }
    if (wishes_.size() > kMostGoals) return too_many();
  }
  return wishes_.size();
}

// The original's shuffle, and the running sums behind its random sessions.
void GoalTable::number_goals(std::size_t count, PythonRandom& random) {
  order_.resize(count);
  std::iota(order_.begin(), order_.end(), 0U);
  random.shuffle(order_);
  after_load_ = random;
  number_.resize(count);
  std::vector<double> weights;  // of each position, for as long as all are asked for
  weights.reserve(count);
  for (std::size_t i = 0; i < wishes_.size(); ++i)
    weights.resize(i + 1 < wishes_.size() ? wishes_[i + 1].first : count, wishes_[i].weight);
  for (std::uint32_t number = 0; number < count; ++number) {
    number_[order_[number]] = number;
    if (number % kSumStep == 0) weight_before_.push_back(total_weight_);
    total_weight_ += weights[order_[number]];
  }
}

const GoalTable::Wish& GoalTable::wish_of(std::uint32_t position) const {
  const auto after =
      std::upper_bound(wishes_.begin(), wishes_.end(), position,
                       [](std::uint32_t value, const Wish& wish) { return value < wish.first; });
  return *std::prev(after);
}

Goal GoalTable::goal(std::uint32_t position) const {
  const Wish& wish = wish_of(position);
  const Product product = catalogue_->products()[wish.product];
  Goal goal;
  goal.product = wish.product;
  goal.weight = wish.weight;
  Wanted& wanted = goal.wanted;
  wanted.query = product.query();
  wanted.name = product.title();
  wanted.product_category = product.product_category();
  wanted.price_upper = wish.price_upper;
  wanted.named_options = !settings_.human;
  if (settings_.human) {
    const HumanInstruction human = product.human()[wish.human];
    goal.instruction = without_dots(human.text);
    wanted.attributes = human.attributes.copy();
    for (const std::string_view option : human.options) wanted.options.emplace_back("", option);
  } else {
    goal.instruction = *product.instruction();
    wanted.attributes = product.instruction_attributes().copy();
    const std::vector<ProductOption> options = by_name(product);
    wanted.options.resize(options.size());
    std::uint32_t choice = position - wish.first;
    for (std::size_t i = options.size(); i-- > 0;) {  // the last name turns fastest
      const auto count = static_cast<std::uint32_t>(options[i].values.size());
      wanted.options[i] = std::pair(options[i].name, options[i].values[choice % count]);
      choice /= count;
    }
    for (std::size_t i = 0; i < options.size(); ++i) {
      goal.instruction +=
          (i == 0 ? " with " : ", and ") + wanted.options[i].first + ": " + wanted.options[i].second;
    }
  }
  goal.instruction += limit_text(wish.price_upper);
  return goal;
}

// bisect_right over the sums with a leading 0: the sum before session N must be above what was drawn.
std::uint32_t GoalTable::draw(PythonRandom& random) const {
  const double at = random.uniform(0, total_weight_);
  const auto above = std::upper_bound(weight_before_.begin(), weight_before_.end(), at);
  std::size_t number = static_cast<std::size_t>(above - weight_before_.begin() - 1) * kSumStep;
  for (double before = *std::prev(above); number < size() && before <= at; ++number)
    before += weight_in_session(number);
  return static_cast<std::uint32_t>(std::min(number, size() - 1));
}

std::vector<std::string> GoalTable::nouns(std::string_view title, bool& approximate) const {
  const std::optional<std::uint32_t> product = catalogue_->find_title(title);
  if (product) {
    if (const std::optional<TextList> tagged = catalogue_->products()[*product].nouns())
      return tagged->copy();
  }
  approximate = true;
  return nouns_by_rule(title);
}

const std::vector<std::uint32_t>& GoalTable::with_noun(std::string_view noun) const {
  std::call_once(nouns_known_, [this] {
    for (std::uint32_t i = 0; i < products(); ++i) {
      bool approximate = false;
      for (const std::string& own : nouns(catalogue_->products()[i].title(), approximate)) {
        std::vector<std::uint32_t>& list = with_noun_[own];
        if (list.empty() || list.back() != i) list.push_back(i);
      }
    }
  });
  static const std::vector<std::uint32_t> none;
  const auto found = with_noun_.find(noun);
  return found == with_noun_.end() ? none : found->second;
}

const std::vector<GoalTable::SplitPart>& GoalTable::split(std::string_view name) const {
  return name == "test" ? test_ : name == "valid" ? valid_ : train_;
}

std::size_t GoalTable::split_size(std::string_view name) const {
  return split(name).empty() ? 0 : split(name).back().end;
}

std::uint32_t GoalTable::in_split(std::string_view name, std::size_t index) const {
  const auto part = std::upper_bound(split(name).begin(), split(name).end(), index,
                                     [](std::size_t i, const SplitPart& p) { return i < p.end; });
  const std::size_t before = part == split(name).begin() ? 0 : std::prev(part)->end;
  return static_cast<std::uint32_t>(part->first + index - before);
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
  for (const Wish& wish : wishes_) {
    const Product product = catalogue_->products()[wish.product];
    const std::string_view text = settings_.human ? product.human()[wish.human].text : *product.instruction();
    const std::uint32_t a = root(first_with.emplace(text, wish.product).first->second);
    const std::uint32_t b = root(wish.product);
    parent[std::max(a, b)] = std::min(a, b);
  }
  const auto put = [this](std::vector<SplitPart>& part, std::size_t wish) {
    const std::uint32_t first = wishes_[wish].first;
    const auto next =
        wish + 1 < wishes_.size() ? wishes_[wish + 1].first : static_cast<std::uint32_t>(size());
    part.push_back({first, (part.empty() ? 0 : part.back().end) + next - first});
  };
  for (std::size_t i = 0; i < wishes_.size(); ++i) {
    const Product first = catalogue_->products()[root(wishes_[i].product)];
    const std::uint64_t bucket = hash128(first.asin()).low % 10;
    put(bucket == 0 ? test_ : bucket == 1 ? valid_ : train_, i);
  }
  if (train_.empty()) {
    valid_.clear();
    test_.clear();
    for (std::size_t i = 0; i < wishes_.size(); ++i) put(train_, i);
  }
}

}  // namespace lodestep::webshop
