#include "envs/sokoban/key_table.h"

namespace lodestep::sokoban {
namespace {

std::uint64_t scramble(std::uint64_t x) {  // splitmix64 (Steele, Lea, Flood 2014)
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

Hash128 zobrist_number(std::uint64_t pair) { return {scramble(2 * pair), scramble(2 * pair + 1)}; }

}  // namespace lodestep::sokoban
