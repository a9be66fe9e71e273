// Recent answers are right or forgotten, and never more than was asked for stay in memory.
#include <catch2/catch.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "envs/webshop/recent_cache.h"

namespace lodestep::webshop {
namespace {

TEST_CASE("the cache of recent answers keeps the latest, no more than its size, and mixes none up") {
  const auto token = std::make_shared<int>(0);  // counts the answers that are alive
  struct Answer {
    std::shared_ptr<int> alive;
    std::string text;
  };
  RecentCache<std::string, Answer> cache(16);
  CHECK(cache.find("red mug") == nullptr);
  std::size_t known = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = "query " + std::to_string(i);
    CHECK(cache.keep(key, {token, key})->text == key);
    REQUIRE(cache.find(key) != nullptr);
    CHECK(cache.find(key)->text == key);
    CHECK(token.use_count() <= 17);
    for (int before = std::max(0, i - 8); before < i; ++before) {
      const auto answer = cache.find("query " + std::to_string(before));
      if (answer) CHECK(answer->text == "query " + std::to_string(before));
      known += answer ? 1 : 0;
    }
  }
  CHECK(known > 3000);  // of 8,000 looked for: keys rarely share a place
  // What somebody holds outlives its place.
  const auto held = cache.keep("held", {token, "held"});
  for (int i = 0; i < 200; ++i) cache.keep("other " + std::to_string(i), {token, ""});
  CHECK(held->text == "held");
}

TEST_CASE("threads that ask the cache at once get their own answers") {
  RecentCache<std::string, std::string> cache(8);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, &wrong, t] {
      for (int i = 0; i < 3000; ++i) {
        const std::string key = std::to_string((i * (t + 1)) % 20);
        const auto answer = cache.find(key);
        if (answer && *answer != "to " + key) ++wrong;
        if (!answer && *cache.keep(key, "to " + key) != "to " + key) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace lodestep::webshop
