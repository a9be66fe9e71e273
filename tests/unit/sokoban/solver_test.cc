// The searches against each other: the distance table is complete, so it judges the bounds, the deadlock
// tests and the best-first search.
#include "base/rng.h"
#include "envs/sokoban/board.h"
#include "envs/sokoban/generator.h"
#include "envs/sokoban/level_file.h"
#include "envs/sokoban/search.h"
#include "tests/unit/sokoban/support.h"

namespace lodestep::sokoban {
namespace {

// Plays LURD letters; false when a letter lies (a push in lower case, a blocked move).
bool plays(Board& board, const std::string& moves) {
  for (const char letter : moves) {
    const Moved moved = board.push(direction_of(letter));
    if (!moved.player || moved.box != (letter >= 'A' && letter <= 'Z')) return false;
  }
  return true;
}

Level room(int side, int boxes, std::uint32_t seed) {
  RoomSpec spec;
  spec.rows = spec.cols = side;
  spec.boxes = boxes;
  return make_room(spec, seed)->level;
}

TEST_CASE("best-first search finds solutions as short as the table's, from random positions too") {
  Stream dice(hash128("solver"));
  int dead = 0;
  for (const auto& [side, boxes] : std::vector<std::pair<int, int>>{{6, 1}, {6, 2}, {7, 3}, {8, 3}}) {
    for (std::uint32_t seed = 0; seed < 25; ++seed) {
      const Level level = room(side, boxes, seed);
      const LevelMap map(level);
      const auto table = DistanceTable::build(map, kTableEntries);
      REQUIRE(table.has_value());
      Board board(&level);
      for (int walk = 0; walk < 4; ++walk) {
        INFO(side << "x" << side << " " << boxes << " boxes, seed " << seed << "\n"
                  << to_xsb(level.rows, level.cols, view(level.fixed, board.cells())));
        const auto best = shortest_solution(map, *table, board.cells());
        const SearchResult found = search(map, board.cells(), {});
        const SearchResult quick = search(map, board.cells(), {1'000'000, 5});
        if (best) {
          REQUIRE(found.verdict == Verdict::kSolved);
          CHECK(found.moves.size() == best->size());
          REQUIRE(quick.verdict == Verdict::kSolved);
          CHECK(quick.moves.size() <= 5 * best->size());
          for (const std::string& moves : {*best, found.moves, quick.moves}) {
            Board copy = board;
            CHECK(plays(copy, moves));
            CHECK(copy.solved());
          }
          const std::vector<int> at = map.boxes_in(board.cells());
          CHECK_FALSE(map.frozen(at));
          CHECK(map.assignment(at).value() <= static_cast<int>(best->size()));
        } else {
          ++dead;
          CHECK(found.verdict == Verdict::kImpossible);
          CHECK(quick.verdict == Verdict::kImpossible);
        }
        for (int step = 0; step < 6; ++step) board.push(kDirections[dice.below(4)]);
      }
    }
  }
  CHECK(dead > 20);
}

TEST_CASE("what the bounds call dead is dead wherever the player stands") {
  std::size_t caught = 0;
  std::size_t all = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Level level = room(6, 3, seed);
    const LevelMap map(level);
    const auto table = DistanceTable::build(map, kTableEntries);
    const int n = map.squares();
    for (int a = 0; a < n; ++a) {
      for (int b = a + 1; b < n; ++b) {
        for (int c = b + 1; c < n; ++c) {
          const std::vector<int> boxes{a, b, c};
          bool alive = false;
          for (int player = 0; player < n && !alive; ++player) {
            if (player != a && player != b && player != c) alive = table->at(player, boxes) != kFar;
          }
          const bool called_dead = map.frozen(boxes) || !map.assignment(boxes);
          if (called_dead) CHECK_FALSE(alive);
          caught += called_dead ? 1 : 0;
          all += alive ? 0 : 1;
        }
      }
    }
  }
  CHECK(caught * 10 > all * 9);  // and they catch most of it
}

TEST_CASE("exact counts of small worlds: one box in an open square") {
  // 3x3 floor, target in the middle: solved states are 1 box place with 8 player places.
  const Level level = *level_from_rows({"#####", "#   #", "#$. #", "#@  #", "#####"});
  const LevelMap map(level);
  const auto table = DistanceTable::build(map, kTableEntries);
  CHECK(DistanceTable::entries(map) ==
        9);  // no other square than the target is live: every side square is on a wall
  CHECK(table->live_states() == 8);
  CHECK_FALSE(table->distance(map, level.start).has_value());
  // 4x4 floor, target in a corner of the inner square.
  const Level larger = *level_from_rows({"######", "#    #", "#  $ #", "# .  #", "#@   #", "######"});
  const LevelMap larger_map(larger);
  const auto larger_table = DistanceTable::build(larger_map, kTableEntries);
  CHECK(DistanceTable::entries(larger_map) == 4 * 16);
  CHECK(larger_table->live_states() == 4 * 15);
  CHECK(larger_table->distance(larger_map, larger.start) == 9);
}

TEST_CASE("beyond the table: ten boxes in a large room, an honest end at the node limit") {
  const Level level =
      *level_from_rows({"####################", "#                  #", "# $$$$$  $$$$$     #",
                        "#                  #", "#                  #", "# .....  .....     #",
                        "#        @         #", "#                  #", "####################"});
  const LevelMap map(level);
  CHECK(DistanceTable::entries(map) > kTableEntries);
  CHECK_FALSE(DistanceTable::build(map, kTableEntries).has_value());
  const SearchResult stopped = search(map, level.start, {10, 1});
  CHECK(stopped.verdict == Verdict::kGaveUp);
  CHECK(stopped.nodes == 10);
  CHECK(stopped.moves.empty());
  const SearchResult found = search(map, level.start, {100'000, 5});
  REQUIRE(found.verdict == Verdict::kSolved);
  Board board(&level);
  CHECK(plays(board, found.moves));
  CHECK(board.solved());
}

TEST_CASE("boxes that nobody can reach: fine on targets, hopeless elsewhere") {
  const Level fine = *level_from_rows({"########", "#@$. #*#", "########"});
  const LevelMap map(fine);
  CHECK(DistanceTable::build(map, kTableEntries)->distance(map, fine.start) == 1);
  const Level lost = *level_from_rows({"#########", "#@$. #$.#", "#########"});
  const LevelMap lost_map(lost);
  CHECK_FALSE(DistanceTable::build(lost_map, kTableEntries)->distance(lost_map, lost.start).has_value());
  CHECK(search(lost_map, lost.start, {}).verdict == Verdict::kImpossible);
}

}  // namespace
}  // namespace lodestep::sokoban
