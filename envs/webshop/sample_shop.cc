#include "envs/webshop/sample_shop.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

#include "base/rng.h"
#include "base/text.h"
#include "envs/webshop/nouns.h"

namespace lodestep::webshop {
namespace {

constexpr std::size_t kProducts = 1000;
constexpr std::uint64_t kSeed = 20240607;

using Words = std::vector<std::string_view>;

enum class Sizes { kNone, kClothes, kShoes, kRooms, kPacks, kVolumes, kStorage };

struct Department {
  std::string_view category;  // the site's top level
  std::string_view path;      // product category
  std::string_view query;     // the search that collects it
  Words things;               // what the products are
  Words attributes;           // what is said of them
  Sizes sizes;
  bool colors;
  int cheapest, dearest;  // dollars
};

const std::vector<Department>& departments() {
  static const std::vector<Department> list{
      {"fashion",
       "Clothing, Shoes & Jewelry \u203a Men \u203a Shirts",
       "men's shirts",
       {"Oxford Shirt", "Henley Shirt", "Polo Shirt", "Flannel Shirt", "Work Shirt"},
       {"machine washable", "slim fit", "long sleeve", "button closure", "wrinkle resistant",
        "moisture wicking"},
       Sizes::kClothes,
       true,
       14,
       58},
      {"fashion",
       "Clothing, Shoes & Jewelry \u203a Women \u203a Dresses",
       "women's dresses",
       {"Wrap Dress", "Maxi Dress", "Shift Dress", "Summer Dress", "Knit Dress"},
       {"hand wash", "short sleeve", "elastic waist", "soft material", "high waist", "side pockets"},
       Sizes::kClothes,
       true,
       18,
       85},
      {"fashion",
       "Clothing, Shoes & Jewelry \u203a Shoes \u203a Walking",
       "walking shoes",
       {"Trail Runner", "Canvas Sneaker", "Leather Loafer", "Hiking Boot", "Slip On Shoe"},
       {"rubber sole", "arch support", "memory foam", "non slip", "ankle strap", "water resistant"},
       Sizes::kShoes,
       true,
       22,
       140},
      {"garden",
       "Home & Kitchen \u203a Furniture \u203a Tables",
       "side tables",
       {"Side Table", "Coffee Table", "Console Table", "Night Stand", "Folding Desk"},
       {"solid wood", "easy assembly", "metal legs", "living room", "storage shelf", "scratch resistant"},
       Sizes::kRooms,
       true,
       35,
       320},
      {"garden",
       "Home & Kitchen \u203a Bedding \u203a Blankets",
       "throw blankets",
       {"Fleece Blanket", "Knit Throw", "Quilted Bedspread", "Duvet Cover", "Weighted Blanket"},
       {"super soft", "machine washable", "queen bed", "all season", "fade resistant",
        "hypoallergenic filling"},
       Sizes::kRooms,
       true,
       16,
       110},
      {"garden",
       "Home & Kitchen \u203a Kitchen & Dining \u203a Drinkware",
       "travel mugs",
       {"Travel Mug", "Water Bottle", "Tea Infuser", "Coffee Tumbler", "Soup Flask"},
       {"leak proof", "dishwasher safe", "stainless body", "double wall", "easy clean", "spill resistant"},
       Sizes::kVolumes,
       true,
       9,
       46},
      {"beauty",
       "Beauty & Personal Care \u203a Skin Care \u203a Face",
       "face creams",
       {"Day Cream", "Night Cream", "Face Serum", "Clay Mask", "Cleansing Gel"},
       {"cruelty free", "sensitive skin", "fragrance free", "hyaluronic acid", "vitamin c", "paraben free"},
       Sizes::kPacks,
       false,
       7,
       64},
      {"beauty",
       "Beauty & Personal Care \u203a Hair Care \u203a Styling",
       "hair styling",
       {"Curling Iron", "Hair Brush", "Styling Comb", "Hair Dryer", "Detangling Spray"},
       {"long lasting", "heat resistant", "dry hair", "travel size", "damaged hair", "frizz control"},
       Sizes::kNone,
       true,
       8,
       95},
      {"electronics",
       "Electronics \u203a Headphones \u203a Wireless",
       "wireless headphones",
       {"Over Ear Headphones", "Earbuds", "Sport Headset", "Studio Monitor", "Sleep Headband"},
       {"noise cancelling", "fast charging", "stereo sound", "hands free", "long battery", "carrying case"},
       Sizes::kNone,
       true,
       19,
       230},
      {"electronics",
       "Electronics \u203a Computers \u203a Data Storage",
       "flash drives",
       {"Flash Drive", "Memory Card", "Portable Drive", "Card Reader", "Backup Disk"},
       {"high speed", "plug play", "shock proof", "easy carry", "wide compatibility", "water proof"},
       Sizes::kStorage,
       true,
       6,
       180},
      {"grocery",
       "Grocery & Gourmet Food \u203a Beverages \u203a Tea",
       "herbal tea",
       {"Green Tea", "Chamomile Tea", "Rooibos Tea", "Ginger Tea", "Peppermint Tea"},
       {"caffeine free", "non gmo", "sugar free", "individually wrapped", "usda organic", "loose leaf"},
       Sizes::kPacks,
       false,
       4,
       38},
      {"grocery",
       "Grocery & Gourmet Food \u203a Snacks \u203a Bars",
       "snack bars",
       {"Oat Bar", "Nut Bar", "Protein Bar", "Fruit Bar", "Seed Cracker"},
       {"gluten free", "high protein", "low sodium", "dairy free", "plant based", "kosher certified"},
       Sizes::kPacks,
       false,
       5,
       42},
      {"sports",
       "Sports & Outdoors \u203a Camping \u203a Gear",
       "camping gear",
       {"Camp Stool", "Headlamp", "Dry Bag", "Trekking Pole", "Sleeping Pad"},
       {"quick release", "easy carry", "aluminum frame", "weather resistant", "compact folding",
        "heavy duty"},
       Sizes::kNone,
       true,
       11,
       150},
      {"office",
       "Office Products \u203a Desk Supplies \u203a Organizers",
       "desk organizers",
       {"Pen Holder", "File Sorter", "Monitor Stand", "Drawer Tray", "Letter Rack"},
       {"space saving", "easy install", "anti slip", "mesh design", "stackable trays", "cable slot"},
       Sizes::kRooms,
       true,
       8,
       72},
  };
  return list;
}

// Values that a purchase of exactly this value satisfies: no colour word hides inside another word.
Words size_values(Sizes sizes) {
  switch (sizes) {
    case Sizes::kNone: return {};
    case Sizes::kClothes: return {"small", "medium", "large", "x-large", "xx-large"};
    case Sizes::kShoes: return {"6", "7", "8", "9", "10", "11", "12"};
    case Sizes::kRooms:
      return {"12 x 16 inch", "18 x 24 inch", "24 x 36 inch", "30 x 48 inch", "40 x 60 inch"};
    case Sizes::kPacks: return {"1 count", "2 count", "3 count", "6 count", "12 count"};
    case Sizes::kVolumes: return {"8 ounce", "12 ounce", "16 ounce", "24 ounce"};
    case Sizes::kStorage: return {"32 gb", "64 gb", "128 gb", "256 gb"};
  }
  return {};
}

constexpr std::array<std::string_view, 16> kColors{
    "black", "white",  "navy",    "olive", "teal",   "burgundy", "charcoal",   "ivory",
    "coral", "purple", "mustard", "grey",  "yellow", "sky blue", "dark green", "light pink"};
constexpr std::array<std::string_view, 5> kStyles{"classic", "modern", "sport", "vintage", "deluxe"};
constexpr std::array<std::string_view, 24> kBrands{
    "Alderbrook", "Brightmoor", "Corvane", "Dunmere",  "Eastwick", "Fenlark", "Galdor",   "Hollin",
    "Ibexa",      "Juneau",     "Kelmora", "Larkspur", "Merrow",   "Nimbo",   "Oakhaven", "Pellion",
    "Quarry",     "Rivenhall",  "Solvane", "Tamsin",   "Umbra",    "Varden",  "Wexley",   "Yarrow"};
constexpr std::array<std::string_view, 18> kQualities{
    "Lightweight", "Premium", "Compact",    "Everyday", "Durable",  "Elegant", "Outdoor", "Cozy",   "Smart",
    "Sturdy",      "Simple",  "Breathable", "Reusable", "Foldable", "Quiet",   "Slim",    "Rustic", "Bold"};
constexpr std::array<std::string_view, 12> kUses{"Travel", "Home",      "Office",      "Camping",
                                                 "Gifts",  "Students",  "Small Rooms", "Weekends",
                                                 "Family", "Beginners", "Winter",      "Summer"};
constexpr std::array<std::string_view, 6> kOpenings{"Find me", "I am looking for", "I need",
                                                    "Show me", "I want to buy",    "Help me find"};

template <typename List>
std::string_view pick(const List& list, Stream& dice) {
  return list[dice.below(list.size())];
}

// k of the words, in the list's order.
std::vector<std::string> some(const Words& words, std::size_t k, Stream& dice) {
  std::vector<std::size_t> order(words.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[dice.below(i + 1)]);
  order.resize(std::min(k, order.size()));
  std::sort(order.begin(), order.end());
  std::vector<std::string> out;
  for (const std::size_t i : order) out.emplace_back(words[i]);
  return out;
}

std::string new_asin(Stream& dice, std::unordered_set<std::string, ContainerHash, std::equal_to<>>& taken) {
  static constexpr std::string_view kDigits = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ";
  for (;;) {
    std::string asin = "B0";
    while (asin.size() < 10) asin += kDigits[dice.below(kDigits.size())];
    if (taken.insert(asin).second) return asin;
  }
}

double cents(int dollars, Stream& dice) {
  return static_cast<double>(dollars * 100 + static_cast<int>(dice.below(100))) / 100;
}

ProductRecord make_product(const Department& department, Stream& dice) {
  ProductRecord product;
  const std::string thing(pick(department.things, dice));
  const std::string quality(pick(kQualities, dice));
  product.title = std::string(pick(kBrands, dice)) + " " + quality + " " + thing + " for " +
                  std::string(pick(kUses, dice)) + ", Model " + std::to_string(100 + dice.below(900));
  product.attributes = some(department.attributes, 2 + dice.below(3), dice);
  product.description = "This " + ascii_lower(thing) + " is " + join(product.attributes, ", ") +
                        ". Made for " + ascii_lower(std::string(pick(kUses, dice))) + " and built to last.";
  product.bullets.push_back(quality + " " + ascii_lower(thing) + " with " + product.attributes.front());
  for (std::size_t i = 1; i < product.attributes.size(); ++i)
    product.bullets.push_back("Designed to be " + product.attributes[i]);
  product.bullets.emplace_back("Free returns within 30 days");
  product.category = department.category;
  product.query = department.query;
  product.product_category = department.path;

  const int low =
      department.cheapest +
      static_cast<int>(dice.below(static_cast<std::uint64_t>(department.dearest - department.cheapest)));
  product.prices = {cents(low, dice)};
  product.price_text = "$" + python_repr(product.prices[0]);
  if (dice.below(5) == 0) {
    product.prices.push_back(
        cents(low + 1 + static_cast<int>(dice.below(static_cast<std::uint64_t>(low / 2 + 2))), dice));
    product.price_text += " to $" + python_repr(product.prices[1]);
  }
  if (department.colors && dice.below(4) != 0) {
    product.options.push_back(
        {"color", some(Words(kColors.begin(), kColors.end()), 2 + dice.below(3), dice)});
  }
  if (department.sizes != Sizes::kNone && dice.below(5) != 0) {
    product.options.push_back({"size", some(size_values(department.sizes), 2 + dice.below(3), dice)});
  }
  if (dice.below(12) == 0)
    product.options.push_back({"style", some(Words(kStyles.begin(), kStyles.end()), 2, dice)});

  product.instruction_attributes = some(Words(product.attributes.begin(), product.attributes.end()),
                                        1 + dice.below(product.attributes.size()), dice);
  const std::string wish = join(product.instruction_attributes, ", ") + " " + std::string(department.query);
  if (dice.below(5) < 3)
    product.instruction =
        std::string(pick(kOpenings, dice)) + " " + wish + " such as a " + ascii_lower(thing);
  HumanRecord human{"hi, " + ascii_lower(std::string(pick(kOpenings, dice))) + " a " + ascii_lower(thing) +
                        " that is " + join(product.instruction_attributes, " and "),
                    product.instruction_attributes,
                    {}};
  for (const OptionRecord& option : product.options) {
    human.options.push_back(option.values[dice.below(option.values.size())]);
    human.text += ", " + option.name + " " + human.options.back();
  }
  human.text += ".";
  if (dice.below(3) == 0) product.human.push_back(std::move(human));
  product.nouns = nouns_by_rule(product.title);
  return product;
}

}  // namespace

std::vector<ProductRecord> make_products(std::size_t count, std::uint64_t seed) {
  Stream dice(Hasher().add("webshop sample").add_u64(seed).finish());
  std::unordered_set<std::string, ContainerHash, std::equal_to<>> taken;
  std::vector<ProductRecord> products;
  products.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    ProductRecord product = make_product(departments()[i % departments().size()], dice);
    product.asin = new_asin(dice, taken);
    product.record = i;
    products.push_back(std::move(product));
  }
  // As in the real file, neighbours have nothing to do with each other.
  for (std::size_t i = products.size(); i-- > 1;) std::swap(products[i], products[dice.below(i + 1)]);
  for (std::size_t i = 0; i < products.size(); ++i) products[i].record = i;
  return products;
}

std::shared_ptr<const Catalogue> sample_shop() {
  static const std::shared_ptr<const Catalogue> shop =
      make_catalogue(make_products(kProducts, kSeed), Hasher().add("webshop sample").add_u64(kSeed).finish());
  return shop;
}

}  // namespace lodestep::webshop
