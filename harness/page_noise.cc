#include "harness/page_noise.h"

#include <array>
#include <utility>
#include <vector>

#include "base/text.h"

namespace lodestep::harness {
namespace {

constexpr const char* kAds[] = {"Limited offer: @ for only $!",
                                "Sponsored: @",
                                "Hurry! Only # left of @",
                                "Customers also looked at @ for $",
                                "Flash sale ends in # minutes: & up to #% off",
                                "Free delivery on orders over $",
                                "Sign up today and save #%",
                                "Deal of the day: @ (#% off)",
                                "# people have @ in their basket",
                                "Do not miss the & clearance event",
                                "Recommended for you: @, $",
                                "New arrivals in &: shop now!",
                                "Earn # bonus points with @",
                                "Members get @ delivered tomorrow",
                                "Trending now: @",
                                "Last chance! @ at $",
                                "Winter preview: #% off &",
                                "Top rated in &: @",
                                "Subscribe and take $ off your first order",
                                "Gift idea: @ under $",
                                "Back in stock: @",
                                "Buy two, get one free on all &",
                                "@: rated #/100 by our readers",
                                "Price drop! @ was $, now $",
                                "Advertisement: discover @",
                                "Your friends love @",
                                "Weekend special: & from $",
                                "Order within # minutes for @",
                                "Trade in your old device and get $",
                                "Win a @! Enter the draw today",
                                "Exclusive: @ in # colours",
                                "Complete the look with @",
                                "Save #% with code SHOP#",
                                "Now streaming: the & show",
                                "Refer a friend, get $",
                                "@ - as seen on television",
                                "Only today: # coupons for &",
                                "Bundle and save: @ plus case for $",
                                "Our bestsellers in &",
                                "Extended: #% off everything in &"};
constexpr const char* kProducts[] = {"CloudNine Pillow",    "ZenBrew Kettle",     "AeroFit Sneakers",
                                     "GlowUp Serum",        "TrailMax Tent",      "SnapSeal Jars",
                                     "EverSharp Knife Set", "VitaBoost Gummies",  "LumiDesk Lamp",
                                     "QuietMix Blender",    "FreshNest Diffuser", "SolarPath Lights"};
constexpr const char* kUnseenAds[] = {"Psst... @ is waiting for you",
                                      "Why pay more? @ from $",
                                      "We picked @ just for you",
                                      "#-day returns on all &",
                                      "Editor's choice: @",
                                      "Upgrade to plus and skip the shipping fee",
                                      "Selling fast: @",
                                      "Was it @ you were after?",
                                      "Half-price hour on & until #:00",
                                      "Pay in # instalments, no interest",
                                      "Rated best & store # years running",
                                      "Unlock $ credit when you open an account",
                                      "@ + gift wrap = $",
                                      "Meet the all-new @",
                                      "Stock alert: # x @",
                                      "Chat with an expert about &",
                                      "Students save #%",
                                      "Pre-order @ and be first",
                                      "Outlet: & up to #% cheaper",
                                      "Add $ more to your basket for a free tote"};
constexpr const char* kUnseenProducts[] = {"MossLine Backpack", "Pepperoni Drone",  "SilkRoute Scarf",
                                           "OwlEye Webcam",     "BreezeBox Cooler", "Nimbus Umbrella",
                                           "CraftPress Mug",    "HushPod Earplugs"};
constexpr const char* kFields[] = {"kitchen", "garden", "beauty", "electronics",
                                   "shoes",   "toys",   "office", "sports"};
constexpr const char* kBanners[] = {
    "*** Spring festival ***", "We use cookies to improve your visit.", "Scheduled maintenance on Sunday.",
    "A new version of the app is available.", "Follow us for news and offers."};

template <std::size_t N>
std::string pick(const char* const (&list)[N], Stream& dice) {
  return list[dice.below(N)];
}

std::string number(Stream& dice, std::uint64_t low, std::uint64_t high) {
  return std::to_string(low + dice.below(high - low));
}

std::string two_digits(std::uint64_t value) { return (value < 10 ? "0" : "") + std::to_string(value); }

// @ a product, $ a price, # a number, & a field.
std::string advertisement(Stream& dice, bool unseen) {
  const std::string pattern = unseen ? pick(kUnseenAds, dice) : pick(kAds, dice);
  std::string text;
  for (const char c : pattern) {
    switch (c) {
      case '@': text += unseen ? pick(kUnseenProducts, dice) : pick(kProducts, dice); break;
      case '$': text += "$" + number(dice, 3, 150) + "." + two_digits(dice.below(100)); break;
      case '#': text += number(dice, 2, 90); break;
      case '&': text += pick(kFields, dice); break;
      default: text += c;
    }
  }
  return text;
}

std::string made_up_line(Stream& dice) {
  static constexpr std::string_view kConsonants = "bcdfghklmnprstvz";
  static constexpr std::string_view kVowels = "aeiou";
  std::string line;
  for (std::uint64_t words = 3 + dice.below(6); words-- > 0;) {
    if (!line.empty()) line += ' ';
    for (std::uint64_t syllables = 1 + dice.below(4); syllables-- > 0;) {
      line += kConsonants[dice.below(kConsonants.size())];
      line += kVowels[dice.below(kVowels.size())];
    }
  }
  return line;
}

std::string noise_line(PageNoise kind, Stream& dice) {
  switch (kind) {
    case PageNoise::kAds: return advertisement(dice, false);
    case PageNoise::kUnseenAds: return advertisement(dice, true);
    case PageNoise::kCounter: return "People here now: " + number(dice, 1, 900);
    case PageNoise::kTime:
      return "Updated " + two_digits(dice.below(24)) + ":" + two_digits(dice.below(60)) + ":" +
             two_digits(dice.below(60));
    case PageNoise::kBanner: return pick(kBanners, dice);
    default: return made_up_line(dice);
  }
}

void exchange_letters(std::string& page, double share, Stream& dice) {
  for (char& c : page) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_letter && dice.unit() < share) c = static_cast<char>('a' + dice.below(26));
  }
}

}  // namespace

std::string disturb_page(const std::string& page, const NoisePlan& plan, Stream dice) {
  PageNoise kind = plan.kind;
  if (kind == PageNoise::kNone) return page;
  if (kind == PageNoise::kTypos) {
    std::string out = page;
    exchange_letters(out, plan.density, dice);
    return out;
  }
  const std::string separator = page.find(" [SEP] ") != std::string::npos ? " [SEP] " : "\n";
  std::vector<std::string> lines;
  for (std::size_t from = 0; from <= page.size();) {
    const std::size_t to = std::min(page.find(separator, from), page.size());
    lines.push_back(page.substr(from, to - from));
    from = to + separator.size();
  }
  if (kind == PageNoise::kNumbers) {  // on every view, or the place would not be the line's own
    lines.insert(lines.begin(),
                 "Queue length " + number(dice, 1, 400) + ", load " + number(dice, 1, 100) + " percent");
    return join(lines, separator);
  }
  if (dice.unit() >= plan.density) return page;
  for (std::uint64_t count = 1 + dice.below(plan.most); count-- > 0;) {
    PageNoise now = kind;
    if (kind == PageNoise::kMixed) {
      static constexpr std::array kKinds{PageNoise::kAds, PageNoise::kCounter, PageNoise::kTime,
                                         PageNoise::kBanner};
      now = kKinds[dice.below(kKinds.size())];
    }
    if (now == PageNoise::kReorder) {
      if (lines.size() < 2) continue;
      const std::size_t at = dice.below(lines.size() - 1);
      std::swap(lines[at], lines[at + 1]);
    } else {
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(dice.below(lines.size() + 1)),
                   noise_line(now, dice));
    }
  }
  return join(lines, separator);
}

}  // namespace lodestep::harness
