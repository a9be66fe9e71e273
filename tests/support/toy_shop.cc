#include "tests/support/toy_shop.h"

#include <algorithm>

#include "base/text.h"

namespace lodestep::test {
namespace {

const std::vector<std::string> kThings{"Lamp", "Kettle", "Rug", "Jacket", "Chair", "Mug", "Tent", "Pillow"};
const std::vector<std::string> kQualities{"Soft",  "Sturdy", "Folding", "Compact", "Woven",
                                          "Quiet", "Slim",   "Classic", "Bright",  "Warm"};
const std::vector<std::string> kUses{"for the Kitchen", "for Camping", "for Small Rooms", "with Case",
                                     "by Norrby"};
const std::vector<std::string> kColours{"red", "navy", "mint", "sand", "black"};
const std::vector<std::string> kSizes{"small", "medium", "large", "x-large"};
const std::vector<std::string> kAdvertisements{"Limited offer: PRODUCT for only PRICE!",
                                               "Sponsored - PRODUCT, now NUMBER% off",
                                               "Hurry, NUMBER sold in the last hour: PRODUCT",
                                               "You may also like PRODUCT",
                                               "Free shipping on orders above PRICE today",
                                               "Join the club and save NUMBER% on your first order",
                                               "Flash sale: everything for the garden NUMBER% off",
                                               "Deal of the day: PRODUCT at PRICE",
                                               "Do not miss out! Only NUMBER PRODUCT left in stock",
                                               "Gift ideas under PRICE - shop now"};
const std::vector<std::string> kAdvertised{"AeroStep Sneakers", "BrewMate Grinder", "NapCloud Blanket",
                                           "TrailOwl Lantern", "GlowFern Serum"};

const std::string& pick(PythonRandom& dice, const std::vector<std::string>& from) {
  return from[dice.below(from.size())];
}

std::string price(PythonRandom& dice) {
  const std::string cents = std::to_string(dice.below(100));
  return "$" + std::to_string(5 + dice.below(90)) + "." + (cents.size() < 2 ? "0" : "") + cents;
}

std::string button(const std::string& name) { return "[button] " + name + " [button_]"; }

void replace(std::string& text, std::string_view what, const std::string& with) {
  if (const std::size_t at = text.find(what); at != std::string::npos) text.replace(at, what.size(), with);
}

}  // namespace

ToyShop::ToyShop(const ToyShopPlan& plan) : plan_(plan) {
  PythonRandom dice(99);
  for (int i = 0; i < 400; ++i) {
    Product product;
    product.id = "P" + std::to_string(10000 + i);
    product.title = pick(dice, kQualities) + " " + pick(dice, kQualities) + " " + pick(dice, kThings) + " " +
                    pick(dice, kUses) + ", " + std::to_string(1 + dice.below(12)) + " pieces";
    product.price = price(dice);
    for (std::size_t k : dice.sample(kColours.size(), 3)) product.colours.push_back(kColours[k]);
    for (std::size_t k : dice.sample(kSizes.size(), 2)) product.sizes.push_back(kSizes[k]);
    product.description = "Made of " + pick(dice, kColours) + " cotton. Weighs " +
                          std::to_string(dice.below(900)) + " grams and ships in " +
                          std::to_string(1 + dice.below(9)) + " days.";
    products_.push_back(product);
  }
  for (std::uint32_t group = 0; group < plan.groups; ++group) {
    for (std::uint32_t member = 0; member < plan.group_size; ++member) play(group, member);
  }
}

const ToyShop::Product& ToyShop::product(std::uint32_t group, std::uint32_t query, std::uint32_t rank) const {
  return products_[(group * 53 + query * 211 + rank * 7) % products_.size()];
}

ToyShop::Page ToyShop::page_of(const State& state, std::uint32_t group) const {
  const std::string task = "Find me a " + kQualities[group % kQualities.size()] + " " +
                           kThings[group % kThings.size()] + " below " + std::to_string(20 + group) +
                           " dollars";
  Page page;
  const auto offer = [&](const std::string& name, bool chosen) {
    page.lines.push_back(chosen ? "  [clicked button] " + name + " [clicked button_]" : button(name));
    page.actions.push_back("click[" + ascii_lower(name) + "]");
  };
  const Product& item = products_[state.product];
  switch (state.kind) {
    case State::kHome:
      page.lines = {"Shop", "Instruction:", task, button("Search")};
      page.actions = {"search[one]", "search[two]"};
      break;
    case State::kResults:
      page.lines = {"Instruction:", task};
      offer("Back to Search", false);
      page.lines.push_back("Page " + std::to_string(state.page + 1) + " (Total results: 24)");
      if (state.page < 3) offer("Next >", false);
      for (std::uint32_t rank = 0; rank < 6; ++rank) {
        const Product& hit = product(group, state.query, state.page * 6 + rank);
        offer(hit.id, false);
        page.lines.push_back(hit.title);
        page.lines.push_back(hit.price);
      }
      break;
    case State::kItem:
      page.lines = {"Instruction:", task};
      offer("Back to Search", false);
      page.lines.push_back("color");
      for (std::size_t i = 0; i < item.colours.size(); ++i) offer(item.colours[i], state.colour == i + 1);
      page.lines.push_back("size");
      for (std::size_t i = 0; i < item.sizes.size(); ++i) offer(item.sizes[i], state.size == i + 1);
      page.lines.push_back(item.title);
      page.lines.push_back("Price: " + item.price);
      offer("Description", false);
      offer("Buy Now", false);
      break;
    case State::kDescription:
      page.lines = {"Instruction:", task};
      offer("Back to Search", false);
      page.lines.push_back(item.description);
      break;
    case State::kDone: page.lines = {"Thank you for your order!"};
  }
  page.state = join(page.lines, "\n");
  return page;
}

ToyShop::State ToyShop::after(const State& state, const std::string& action, std::uint32_t group) const {
  State next = state;
  const std::string name = action.substr(action.find('[') + 1, action.size() - action.find('[') - 2);
  if (name == "one" || name == "two") return {State::kResults, name == "one" ? 0U : 1U};
  if (name == "back to search") return {};
  if (name == "buy now") return {State::kDone};
  if (name == "description") {
    next.kind = State::kDescription;
    return next;
  }
  if (name == "next >") {
    ++next.page;
    return next;
  }
  if (state.kind == State::kResults) {
    for (std::uint32_t rank = 0; rank < 6; ++rank) {
      const Product& hit = product(group, state.query, state.page * 6 + rank);
      if (ascii_lower(hit.id) != name) continue;
      return {State::kItem, state.query, state.page, static_cast<std::uint32_t>(&hit - products_.data())};
    }
  }
  const Product& item = products_[state.product];
  for (std::size_t i = 0; i < item.colours.size(); ++i) {
    if (item.colours[i] == name) next.colour = static_cast<std::uint32_t>(i + 1);
  }
  for (std::size_t i = 0; i < item.sizes.size(); ++i) {
    if (item.sizes[i] == name) next.size = static_cast<std::uint32_t>(i + 1);
  }
  return next;
}

std::string ToyShop::advertisement(PythonRandom& dice) const {
  std::string text = pick(dice, kAdvertisements);
  replace(text, "PRODUCT", pick(dice, kAdvertised));
  replace(text, "PRICE", price(dice));
  replace(text, "NUMBER", std::to_string(2 + dice.below(88)));
  return text;
}

void ToyShop::add_noise(std::vector<std::string>& lines, std::uint32_t t, PythonRandom& dice) const {
  Noise noise = plan_.noise;
  if (noise == Noise::kMixed) {
    static constexpr Noise kKinds[] = {Noise::kAds, Noise::kCounter, Noise::kTime, Noise::kBanner};
    noise = kKinds[dice.below(4)];
  }
  const auto insert = [&](std::string line) {
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(dice.below(lines.size() + 1)), std::move(line));
  };
  if (noise == Noise::kNone) return;
  if (noise == Noise::kStepCounter) {
    lines.insert(lines.begin(), "Step " + std::to_string(t + 1) + " of 15");
    return;
  }
  if (dice.random() >= plan_.density) return;
  for (std::size_t count = 1 + dice.below(plan_.most); count-- > 0;) {
    switch (noise) {
      case Noise::kAds: insert(advertisement(dice)); break;
      case Noise::kCounter: insert("Visitors today: " + std::to_string(dice.below(9000))); break;
      case Noise::kTime:
        insert("Updated " + std::to_string(dice.below(24)) + ":" + std::to_string(10 + dice.below(50)) +
               ":07");
        break;
      case Noise::kBanner: insert(dice.below(2) == 0 ? "*** Spring festival ***" : "We use cookies."); break;
      case Noise::kReorder:
        std::swap(lines.back(), lines[lines.size() - 1 - std::min(lines.size() - 1, dice.below(2))]);
        break;
      default: break;
    }
  }
}

void ToyShop::play(std::uint32_t group, std::uint32_t member) {
  PythonRandom dice(plan_.seed * 1000003 + group * 1009 + member);
  const std::string_view group_name = texts_.emplace_back("g" + std::to_string(group));
  const std::string_view trajectory = texts_.emplace_back("e" + std::to_string(member));
  State state;
  std::string_view action;
  for (std::uint32_t t = 0; t < plan_.steps; ++t) {
    Page page = page_of(state, group);
    canonicalizer::PageView view;
    view.group = group_name;
    view.trajectory = trajectory;
    view.t = t;
    if (t > 0) {
      view.previous = views_.size() - 1;
      view.action_before = action;
    }
    add_noise(page.lines, t, dice);
    view.text = texts_.emplace_back(join(page.lines, "\n"));
    view.truth = texts_.emplace_back(page.state);
    std::sort(page.actions.begin(), page.actions.end());
    view.actions = action_lists_.emplace_back(page.actions);
    views_.push_back(view);
    if (page.actions.empty()) break;
    // Half of the choices are the same in every episode, so that episodes meet.
    const std::size_t choice =
        dice.below(2) == 0 ? hash128(page.state).low % page.actions.size() : dice.below(page.actions.size());
    action = texts_.emplace_back(page.actions[choice]);
    state = after(state, std::string(action), group);
  }
}

}  // namespace lodestep::test
