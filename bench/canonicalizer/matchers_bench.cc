// Processor time of each matcher on a made-up shop, clean and with advertisements on every kind of page.
//   bench_matchers [GROUPS]      # 8 episodes of up to 15 pages a group; 16 groups when left out
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "canonicalizer/registry.h"
#include "tests/support/toy_shop.h"

int main(int argc, char** argv) {
  using namespace lodestep;
  using canonicalizer::MatcherRegistry;
  const auto groups = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 16);
  for (const auto& [density, most] : {std::pair{0.0, 1U}, {0.3, 1U}, {0.3, 3U}, {0.6, 1U}, {0.6, 3U}}) {
    const test::ToyShop shop(
        {.groups = groups, .noise = test::Noise::kAds, .density = density, .most = most});
    const std::vector<canonicalizer::PageView> views = shop.views();
    std::printf("advertisements (%.1f, %u), %zu views:", density, most, views.size());
    for (const char* name : {"exact", "rules", "lexical", "embedding", "robust"}) {
      double best = 1e9;
      for (int round = 0; round < 5; ++round) {
        const auto matcher = MatcherRegistry().make(name, {});
        const std::clock_t start = std::clock();
        if (!(*matcher)->match(views)) return 1;
        best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
      }
      std::printf("  %s %.2f", name, best * 1e6 / static_cast<double>(views.size()));
    }
    std::printf("  us a view\n");
  }
}
