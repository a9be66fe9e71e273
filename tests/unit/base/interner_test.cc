// Numbers by first appearance, however texts collide. The hash_zero build puts all of them in one place.
#include "base/interner.h"

#include <catch2/catch.hpp>
#include <map>

#include "base/rng.h"

using namespace lodestep;

TEST_CASE("interner: the same numbers as a plain map, for texts of all lengths") {
  Interner interner;
  std::map<std::string, std::int32_t> plain;
  Stream dice(hash128("interner"));
  for (int i = 0; i < 20'000; ++i) {
    std::string text(dice.below(200), static_cast<char>('a' + dice.below(2)));
    if (!text.empty()) text[dice.below(text.size())] = static_cast<char>(dice.below(256));
    const auto [found, fresh] = plain.try_emplace(text, static_cast<std::int32_t>(plain.size()));
    REQUIRE(interner.find(text) == (fresh ? -1 : found->second));
    REQUIRE(interner.intern(text) == found->second);
    REQUIRE(interner.intern(std::string(text)) == found->second);  // the latest one again
    REQUIRE(interner.find(text) == found->second);
  }
  REQUIRE(interner.size() == plain.size());
  const Interner copy = interner;
  for (const auto& [text, id] : plain) {
    REQUIRE(interner.text(id) == text);
    REQUIRE(copy.find(text) == id);
  }
}

TEST_CASE("container hash: each byte of a text counts, whatever its length") {
  if (ContainerHash()("a") == ContainerHash()("b")) return;  // the hash_zero build
  for (std::size_t length = 1; length <= 200; ++length) {
    std::string text(length, 'x');
    const std::size_t whole = ContainerHash()(text);
    REQUIRE(whole != ContainerHash()(std::string(length - 1, 'x')));
    for (char& c : text) {
      c = 'y';
      REQUIRE(ContainerHash()(text) != whole);
      c = 'x';
    }
  }
}
