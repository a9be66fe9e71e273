// Golden values of the random generators: CPython 3.11 and numpy 1.24 gave these numbers.
#include <catch2/catch.hpp>

#include <numeric>

#include "base/rng.h"

namespace lodestep {
namespace {

std::vector<int> range(int low, int high) {
  std::vector<int> items(static_cast<std::size_t>(high - low));
  std::iota(items.begin(), items.end(), low);
  return items;
}

TEST_CASE("CPython random: words and doubles") {
  PythonRandom zero(0);
  CHECK(zero.random() == 0.8444218515250481);
  CHECK(zero.random() == 0.7579544029403025);
  PythonRandom other(233);
  CHECK(other.random() == 0.6824769139473528);
  CHECK(other.random() == 0.6283202109809801);
}

TEST_CASE("CPython random: bounded draws follow getrandbits") {
  PythonRandom dice(0);
  CHECK(dice.random() == 0.8444218515250481);
  CHECK(dice.sample(4, 1) == std::vector<std::size_t>{3});
  CHECK(dice.randint(1, 5) == 1);
  CHECK(dice.below(3) == 1);
}

TEST_CASE("CPython random: shuffle and sample") {
  std::vector<int> items = range(0, 10);
  PythonRandom(233).shuffle(items);
  CHECK(items == std::vector<int>{5, 9, 0, 1, 4, 7, 6, 3, 8, 2});
  items = range(0, 10);
  PythonRandom(0).shuffle(items);
  CHECK(items == std::vector<int>{7, 8, 1, 5, 3, 4, 2, 0, 9, 6});
  items = range(0, 6910);
  PythonRandom(233).shuffle(items);
  CHECK(std::vector<int>(items.begin(), items.begin() + 5) == std::vector<int>{3963, 2638, 2193, 1856, 4358});
  PythonRandom pairs(233);
  CHECK(pairs.sample(4, 2) == std::vector<std::size_t>{1, 2});
  CHECK(pairs.sample(4, 2) == std::vector<std::size_t>{1, 3});
  CHECK(pairs.sample(4, 2) == std::vector<std::size_t>{1, 0});
}

TEST_CASE("CPython random: seeds beyond 32 bits and negative ones") {
  // The sign is dropped, and a large seed uses two key words.
  CHECK(PythonRandom(-7).random() == PythonRandom(7).random());
  CHECK(PythonRandom((1LL << 40) + 5).random() != PythonRandom(5).random());
}

TEST_CASE("numpy RandomState: integers, shuffle and choice") {
  NumpyRandomState zero(0);
  std::vector<std::uint64_t> draws;
  for (int i = 0; i < 6; ++i) draws.push_back(zero.below(10));
  CHECK(draws == std::vector<std::uint64_t>{5, 0, 3, 3, 7, 9});
  NumpyRandomState batch(1000);
  std::vector<std::int64_t> seeds;
  for (int i = 0; i < 8; ++i) seeds.push_back(batch.randint(0, 65535));
  CHECK(seeds == std::vector<std::int64_t>{42419, 4695, 6215, 3776, 48379, 18782, 58716, 33537});
  NumpyRandomState validation(1000);
  CHECK(validation.randint(65536, 4294967295) == 2807211443);
  NumpyRandomState order(0);
  std::vector<int> items = range(0, 10);
  order.shuffle(items);
  CHECK(items == std::vector<int>{2, 8, 4, 9, 1, 6, 7, 3, 0, 5});
  const std::vector<std::size_t> chosen = NumpyRandomState(0).choice(6410, 16);
  CHECK(std::vector<std::size_t>(chosen.begin(), chosen.begin() + 6) ==
        std::vector<std::size_t>{2793 - 500, 3742 - 500, 1953 - 500, 6895 - 500, 5950 - 500, 6901 - 500});
}

TEST_CASE("a stream depends on its key and on the draw number alone") {
  Stream a(hash128("run 1"));
  Stream b(hash128("run 1"));
  Stream c(hash128("run 2"));
  CHECK(a.next() == b.next());
  CHECK(a.next() == b.next());
  CHECK(a.next() != c.next());
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts[a.below(7)];
  for (const int count : counts) CHECK(std::abs(count - 10000) < 500);
}

}  // namespace
}  // namespace lodestep
