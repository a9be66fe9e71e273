#include "harness/server/helpers.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

namespace lodestep::harness {
namespace {

TEST_CASE("helpers do every part once, for several callers at the same time") {
  Helpers helpers;
  const auto call = [&] {
    bool once = true;
    for (std::size_t count = 0; count < 60; ++count) {
      std::vector<int> done(count);
      helpers.run(count, [&](std::size_t part) { ++done[part]; });
      once = once && done == std::vector<int>(count, 1);
    }
    return once;
  };
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) callers.emplace_back([&] { right += call() ? 1 : 0; });
  for (std::thread& caller : callers) caller.join();
  REQUIRE(right == 4);
}

TEST_CASE("what a part throws reaches the caller after the other parts are done") {
  Helpers helpers;
  std::atomic<int> done{0};
  REQUIRE_THROWS_AS(helpers.run(9,
                                [&](std::size_t part) {
                                  if (part == 4) throw std::runtime_error("broken");
                                  ++done;
                                }),
                    std::runtime_error);
  REQUIRE(done == 8);
}

}  // namespace
}  // namespace lodestep::harness
