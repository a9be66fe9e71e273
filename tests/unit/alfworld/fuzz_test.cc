// Odd bytes and odd structure in game files, odd commands: an answer or a refusal, never a crash or a hang.
#include <catch2/catch.hpp>

#include "base/rng.h"
#include "envs/alfworld_bridge/household.h"
#include "envs/alfworld_bridge/planner.h"
#include "tests/support/fuzz.h"
#include "tests/unit/alfworld/small_game.h"

namespace lodestep::alfworld {
namespace {

using test::SmallGame;

// Plays a while, whatever the game turned into.
void play(const std::shared_ptr<const Game>& game, Stream& dice) {
  World world(game);
  std::string text;
  std::vector<Id> commands;
  for (int i = 0; i < 20; ++i) {
    world.commands(commands);
    if (commands.empty()) break;
    REQUIRE(world.step(commands[dice.below(commands.size())], text));
  }
  find_plan(TaskView(game), world, 50);
  TaskView(game).keys(world);
}

TEST_CASE("fuzz: game files with damaged bytes", "[fuzz]") {
  Stream dice(hash128("bytes"));
  const std::string good = SmallGame().file();
  std::size_t accepted = 0;
  for (int i = 0; i < lodestep::test::fuzz_rounds(1500); ++i) {
    std::string bad = good;
    for (std::size_t n = 1 + dice.below(4); n > 0 && !bad.empty(); --n) {
      const std::size_t at = dice.below(bad.size());
      switch (dice.below(4)) {
        case 0: bad[at] = static_cast<char>(dice.below(256)); break;
        case 1: bad.erase(at, 1 + dice.below(20)); break;
        case 2: bad.insert(at, bad.substr(dice.below(bad.size()), dice.below(40))); break;
        default: bad.resize(at + 1); break;
      }
    }
    const auto game = load_game(bad, "fuzz");
    if (!game) {
      CHECK_FALSE(game.error().message.empty());
      continue;
    }
    ++accepted;
    play(*game, dice);
  }
  CHECK(accepted > 0);
}

// Swaps, drops and repeats whole words and parentheses: most results still parse, and mean something else.
std::string shuffled(const std::string& text, Stream& dice) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find_first_of(" ()\n", at);
    if (end == std::string::npos) end = text.size();
    if (end == at) ++end;
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  for (std::size_t n = 1 + dice.below(3); n > 0; --n) {
    const std::size_t a = dice.below(words.size()), b = dice.below(words.size());
    switch (dice.below(3)) {
      case 0: std::swap(words[a], words[b]); break;
      case 1: words[a] = words[b]; break;
      default: words.erase(words.begin() + static_cast<std::ptrdiff_t>(a)); break;
    }
  }
  return join(words, "");
}

TEST_CASE("fuzz: game files with damaged structure", "[fuzz]") {
  Stream dice(hash128("structure"));
  std::size_t accepted = 0;
  for (int i = 0; i < lodestep::test::fuzz_rounds(1500); ++i) {
    SmallGame game;
    if (dice.below(2) == 0) game.domain = shuffled(game.domain, dice);
    if (dice.below(2) == 0) game.grammar = shuffled(game.grammar, dice);
    if (dice.below(2) == 0) game.problem = shuffled(game.problem, dice);
    const auto loaded = load_game(game.file(), "fuzz");
    if (!loaded) continue;
    ++accepted;
    play(*loaded, dice);
  }
  CHECK(accepted > 20);
}

// The same with a household of everyday size: more facts, deeper conditions, longer rules.
TEST_CASE("fuzz: household games with damaged structure", "[fuzz]") {
  Stream dice(hash128("household"));
  const std::vector<HouseholdGame>& games = household_games();
  std::size_t accepted = 0;
  for (int i = 0; i < lodestep::test::fuzz_rounds(150); ++i) {
    const auto file = parse_game_file(games[dice.below(games.size())].file, "fuzz");
    REQUIRE(file.ok());
    GameFile odd = *file;
    std::string* const parts[] = {&odd.domain, &odd.grammar, &odd.problem};
    std::string& part = *parts[dice.below(3)];
    part = shuffled(part, dice);
    const auto compiled = compile_game(odd, "fuzz");
    if (!compiled) {
      CHECK_FALSE(compiled.error().message.empty());
      continue;
    }
    ++accepted;
    play(*compiled, dice);
  }
  CHECK(accepted > 5);
}

TEST_CASE("fuzz: odd commands are never offered and change nothing", "[fuzz]") {
  const auto game = load_game(household_games()[0].file, "embedded");
  REQUIRE(game.ok());
  Stream dice(hash128("commands"));
  World world(*game);
  const std::vector<std::uint64_t> before = world.bits();
  std::string text;
  for (int i = 0; i < lodestep::test::fuzz_rounds(3000); ++i) {
    std::string odd((*game)->command(dice.below((*game)->command_count())).text());
    odd.insert(dice.below(odd.size() + 1), 1, static_cast<char>(dice.below(256)));
    CHECK_FALSE(world.step(odd, text));
  }
  CHECK(world.bits() == before);
  CHECK(text.empty());
}

}  // namespace
}  // namespace lodestep::alfworld
