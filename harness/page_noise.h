// Noise for recorded pages of any environment: what real pages carry and no state depends on.
//   NoisePlan plan{.kind = PageNoise::kAds, .density = 0.6, .most = 3};
//   std::string shown = disturb_page(page, plan, Stream(key_of_this_view));
// Threads: pure functions. The same page, plan and stream give the same bytes everywhere.
#pragma once

#include <cstdint>
#include <string>

#include "base/rng.h"

namespace lodestep::harness {

enum class PageNoise {
  kNone,
  kAds,        // advertisement lines between the page's lines
  kUnseenAds,  // likewise, from a list that was not used while matchers were developed
  kCounter,    // "n people are here" and the like: one line, another number on every view
  kTime,       // "Updated 12:03:45"
  kBanner,     // one of a few fixed lines
  kNumbers,    // a line whose numbers change from view to view, always in the same place
  kReorder,    // two neighbouring lines change places
  kMixed,      // advertisements, counters, times and banners
  kUnique,     // lines of made-up words, none ever repeated
  kTypos,      // letters of the page itself are exchanged
};

struct NoisePlan {
  PageNoise kind = PageNoise::kNone;
  double density = 0.3;    // chance that a view is disturbed; kTypos: share of letters
  std::uint32_t most = 1;  // at most so many lines
};

// Lines are those between newlines, or between " [SEP] " where the page has that.
std::string disturb_page(const std::string& page, const NoisePlan& plan, Stream dice);

}  // namespace lodestep::harness
