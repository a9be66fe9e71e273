// Noise between the lines of a page, as real shops have it: off unless asked for, never part of a state.
//   Noise noise{.density = 0.3, .most = 1};
//   std::vector<std::string> shown = disturb(lines, noise, {task, seed, view}, shop);
// Threads: pure functions. The same (task, seed, view number) gives the same bytes everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "envs/webshop/catalogue.h"

namespace lodestep::webshop {

enum class NoiseKind { kAds, kTypos, kCounter, kReorder, kTimestamp, kBanner, kMixed, kUnique, kHard };

struct Noise {
  NoiseKind kind = NoiseKind::kAds;
  double density = 0;    // chance that a page view is disturbed; 0: off
  std::size_t most = 1;  // at most so many lines on one view
};

struct View {
  std::string_view task;
  std::uint64_t seed = 0;
  std::uint64_t number = 0;  // of this view in the episode, from 0
};

// `lines` are the nodes of a page. Lines are added between them, never within a product's own text and
// never at the front; typos and reorder change lines that no button is on.
std::vector<std::string> disturb(std::vector<std::string> lines, const Noise& noise, const View& view,
                                 const Catalogue& shop);

std::size_t advertisement_count();  // templates in our own list

}  // namespace lodestep::webshop
