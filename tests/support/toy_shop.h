// A small made-up shop for tests and benchmarks of matchers: episodes of pages with known states, and the
// noise that real pages carry.
//   ToyShop shop({.groups = 4, .noise = Noise::kAds, .density = 0.6, .most = 3});
//   matcher.match(shop.views());     // views()[i].truth is the state's name
// Threads: one. Owns the text that its views point to.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/rng.h"
#include "canonicalizer/matcher.h"

namespace lodestep::test {

enum class Noise { kNone, kAds, kCounter, kStepCounter, kTime, kBanner, kReorder, kMixed };

struct ToyShopPlan {
  std::uint32_t groups = 4;
  std::uint32_t group_size = 8;
  std::uint32_t steps = 15;
  Noise noise = Noise::kNone;
  double density = 0.3;    // chance that a view carries noise
  std::uint32_t most = 1;  // noise lines per view
  std::int64_t seed = 1;
};

class ToyShop {
 public:
  explicit ToyShop(const ToyShopPlan& plan);
  std::vector<canonicalizer::PageView> views() const { return views_; }

 private:
  struct Product {
    std::string id, title, price, description;
    std::vector<std::string> colours, sizes;
  };
  struct State {
    enum Kind { kHome, kResults, kItem, kDescription, kDone } kind = kHome;
    std::uint32_t query = 0, page = 0, product = 0;
    std::uint32_t colour = 0, size = 0;  // 0: not chosen; else index + 1
  };
  struct Page {
    std::vector<std::string> lines;
    std::vector<std::string> actions;
    std::string state;
  };

  void play(std::uint32_t group, std::uint32_t member);
  Page page_of(const State& state, std::uint32_t group) const;
  State after(const State& state, const std::string& action, std::uint32_t group) const;
  const Product& product(std::uint32_t group, std::uint32_t query, std::uint32_t rank) const;
  std::string advertisement(PythonRandom& dice) const;
  void add_noise(std::vector<std::string>& lines, std::uint32_t t, PythonRandom& dice) const;

  ToyShopPlan plan_;
  std::vector<Product> products_;
  std::vector<canonicalizer::PageView> views_;
  std::deque<std::string> texts_;
  std::deque<std::vector<std::string>> action_lists_;
};

}  // namespace lodestep::test
