#include "envs/webshop/advertisement.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/rng.h"
#include "base/text.h"

namespace lodestep::webshop {
namespace {

// {p} a product word, {$} a price, {n} a small number, {%} a discount.
constexpr std::array<std::string_view, 64> kLines{"Sponsored: {p} from {$} while stocks last",
                                                  "Only {n} left! {p} will not be back this season",
                                                  "Flash deal: {%}% off every {p} until midnight",
                                                  "{n} shoppers are looking at {p} right now",
                                                  "Members save {%}% on their first {p}",
                                                  "Free shipping on {p} above {$} today",
                                                  "Ad: upgrade to {p} for just {$} more",
                                                  "Trending now: {p}, {n} sold in the last hour",
                                                  "Limited offer! {p} at {$}, ends in {n} minutes",
                                                  "Your neighbours love {p}: {n} orders this week",
                                                  "Last chance: {p} clearance from {$}",
                                                  "Buy two {p}, get {%}% off the second",
                                                  "New arrival: {p}, introductory price {$}",
                                                  "Spin the wheel and win a {p} worth {$}",
                                                  "Recommended for you: {p} ({n} reviews)",
                                                  "Promoted listing: {p}, now {$}",
                                                  "Hurry, {p} price rises to {$} tomorrow",
                                                  "{%}% cashback on {p} with the store card",
                                                  "Subscribe and save {%}% on {p}",
                                                  "Gift idea: {p} wrapped for {$}",
                                                  "Back in stock: {p}, {n} pieces only",
                                                  "Deal of the day: {p} for {$}",
                                                  "Editor's pick: the {p} everyone talks about",
                                                  "Bundle and save: {p} plus accessories for {$}",
                                                  "{n} people have {p} in their basket",
                                                  "Sale ends soon: {p} down to {$}",
                                                  "Exclusive online: {p} at {$}",
                                                  "Install our app and take {%}% off {p}",
                                                  "Advertisement: {p}, rated top by {n} buyers",
                                                  "Price drop! {p} is {%}% cheaper than last week",
                                                  "Invite a friend and get {p} for {$}",
                                                  "Weekend special: {p} from {$}",
                                                  "Seen on TV: {p}, only {$}",
                                                  "Clearance corner: {n} {p} must go",
                                                  "Outlet price: {p} {%}% below retail",
                                                  "Pre-order {p} now and pay {$}",
                                                  "Loyalty bonus: {n} points with every {p}",
                                                  "Mystery box with {p} for {$}",
                                                  "Same-day delivery on {p} if you order in {n} minutes",
                                                  "Compare and save: {p} for {$}",
                                                  "Student offer: {%}% off {p}",
                                                  "Top rated this month: {p}",
                                                  "Warehouse find: {p} at {$}",
                                                  "Coupon ready: take {%}% off {p} at checkout",
                                                  "Don't miss out: {p} has {n} left in your size",
                                                  "Best seller #{n}: {p}",
                                                  "Season opening: {p} from {$}",
                                                  "Trade in your old one and get {p} for {$}",
                                                  "Our partners present: {p}, {$}",
                                                  "Early access: {p} {%}% off for subscribers",
                                                  "Round the order up to {$} and get a free {p}",
                                                  "Hot right now: {p} ({n} watching)",
                                                  "Factory direct: {p} for {$}",
                                                  "Second unit half price on {p}",
                                                  "{p} bargain hunt: {n} coupons hidden on this site",
                                                  "Rated 4.{n} stars: {p} by a brand you know",
                                                  "Try {p} at home for {n} days",
                                                  "One-time offer for this visit: {p} at {$}",
                                                  "Countdown: {n} minutes left to save {%}% on {p}",
                                                  "Holiday deals start early: {p} {$}",
                                                  "Pay later: {p} in {n} instalments",
                                                  "Sponsored brand: {p} and more from {$}",
                                                  "We picked {p} for you, {%}% off today",
                                                  "As advertised: {p}, now only {$}"};

constexpr std::array<std::string_view, 24> kThings{
    "GlowMax Lamp",     "TravelPro Mug",    "SoftStep Slippers", "AquaPure Filter",  "ZenSleep Pillow",
    "TurboBlend Mixer", "CleanWave Mop",    "SnapFit Case",      "EverBright Torch", "CozyNest Blanket",
    "FreshBite Box",    "PowerGrip Gloves", "SkyView Drone",     "PureTone Earbuds", "QuickDry Towel",
    "TrailMate Pack",   "MiniChef Pan",     "SilkTouch Scarf",   "FlexiDesk Stand",  "HappyPaws Toy",
    "SunShield Hat",    "VitaBoost Bars",   "AirLight Fan",      "KidJoy Puzzle"};

std::string price(Stream& dice) {
  return "$" + std::to_string(3 + dice.below(190)) + "." + std::to_string(10 + dice.below(90));
}

std::string made_up_word(Stream& dice) {
  static constexpr std::string_view kFirst = "bdfgklmnprstvz", kSecond = "aeiou";
  std::string word;
  for (std::uint64_t i = 0, n = 2 + dice.below(3); i < n; ++i) {
    word += kFirst[dice.below(kFirst.size())];
    word += kSecond[dice.below(kSecond.size())];
  }
  return word;
}

std::string filled(std::string_view line, Stream& dice) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '{') {
      out += line[i];
      continue;
    }
    switch (line[i + 1]) {
      case 'p': out += kThings[dice.below(kThings.size())]; break;
      case '$': out += price(dice); break;
      case 'n': out += std::to_string(2 + dice.below(8)); break;
      default: out += std::to_string(5 * (1 + dice.below(14))); break;
    }
    i += 2;
  }
  return out;
}

std::string extra_line(NoiseKind kind, const View& view, Stream& dice, const Catalogue& shop) {
  switch (kind) {
    case NoiseKind::kCounter:
      return "Visitors today: " + std::to_string(1000 + 17 * view.number + dice.below(9));
    case NoiseKind::kTimestamp:
      return "Page generated at " + std::to_string(10 + dice.below(14)) + ":" +
             std::to_string(10 + dice.below(50)) + ":" + std::to_string(10 + dice.below(50));
    case NoiseKind::kBanner: {
      static constexpr std::array<std::string_view, 4> kBanners{
          "We use cookies to improve your visit", "Sign up for our newsletter and never miss a deal",
          "Need help? Chat with us", "Now shipping to more places than ever"};
      return std::string(kBanners[dice.below(kBanners.size())]);
    }
    case NoiseKind::kUnique: {
      std::string line = "Ad";
      for (int i = 0; i < 5; ++i) line += " " + made_up_word(dice);
      return line + " " + std::to_string(dice.below(1'000'000'000));
    }
    case NoiseKind::kHard: return std::string(shop.products()[dice.below(shop.products().size())].title());
    default: return filled(kLines[dice.below(kLines.size())], dice);
  }
}

// Lines that carry a button, a link or an instruction stay whole: only plain lines may be changed.
bool is_plain(std::string_view line) {
  return line.size() > 3 && line.find("[button]") == std::string_view::npos &&
         line.find("[clicked button]") == std::string_view::npos && !line.starts_with("Instruction") &&
         !line.starts_with("You have clicked");
}

void add_typo(std::string& line, Stream& dice) {
  // Two neighbouring ASCII letters change places; other bytes stay.
  std::vector<std::size_t> places;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    if (letter(line[i]) && letter(line[i + 1]) && line[i] != line[i + 1]) places.push_back(i);
  }
  if (places.empty()) return;
  const std::size_t at = places[dice.below(places.size())];
  std::swap(line[at], line[at + 1]);
}

}  // namespace

std::size_t advertisement_count() { return kLines.size(); }

std::vector<std::string> disturb(std::vector<std::string> lines, const Noise& noise, const View& view,
                                 const Catalogue& shop) {
  if (noise.density <= 0) return lines;
  Stream dice(Hasher().add("webshop noise").add(view.task).add_u64(view.seed).add_u64(view.number).finish());
  if (dice.unit() >= noise.density) return lines;
  const std::uint64_t times = 1 + dice.below(noise.most);
  for (std::uint64_t i = 0; i < times; ++i) {
    NoiseKind kind = noise.kind;
    if (kind == NoiseKind::kMixed) {
      static constexpr std::array<NoiseKind, 4> kMix{NoiseKind::kAds, NoiseKind::kCounter,
                                                     NoiseKind::kTimestamp, NoiseKind::kBanner};
      kind = kMix[dice.below(kMix.size())];
    }
    if (kind == NoiseKind::kTypos || kind == NoiseKind::kReorder) {
      std::vector<std::size_t> plain;
      for (std::size_t l = 3; l < lines.size(); ++l) {
        if (is_plain(lines[l])) plain.push_back(l);
      }
      if (plain.empty()) continue;
      const std::size_t chosen = plain[dice.below(plain.size())];
      if (kind == NoiseKind::kTypos) {
        add_typo(lines[chosen], dice);
      } else {
        std::swap(lines[chosen], lines[plain[dice.below(plain.size())]]);
      }
      continue;
    }
    const std::size_t at = lines.empty() ? 0 : 1 + dice.below(lines.size());
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), extra_line(kind, view, dice, shop));
  }
  return lines;
}

}  // namespace lodestep::webshop
