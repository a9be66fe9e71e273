// Best-first search for a solution of one position, for levels whose distance table would be too large.
//   SearchResult result = search(map, board.cells(), {});
//   if (result.verdict == Verdict::kSolved) play(result.moves);   // "rrdLU": capitals push
// Threads: pure function. Memory: about 100 bytes a node plus 2 per box.
#pragma once

#include <cstddef>
#include <string>

#include "envs/sokoban/solver.h"

namespace lodestep::sokoban {

enum class Verdict {
  kSolved,
  kImpossible,  // proved: no sequence of moves wins
  kGaveUp,      // neither within the node limit
};

struct SearchLimits {
  std::size_t nodes = 1'000'000;
  // f = g + weight * h. At 1 a solution has the least number of moves (A*, Hart, Nilsson, Raphael 1968);
  // above, it is found sooner and is at most weight times as long.
  int weight = 1;
};

struct SearchResult {
  Verdict verdict = Verdict::kGaveUp;
  std::string moves;      // LURD: lower case moves, upper case pushes
  std::size_t nodes = 0;  // positions expanded
};

// Positions are joined by "walk somewhere and push once"; the cost is in moves. h is the assignment bound of
// LevelMap; positions with a dead assignment or a frozen box are dropped.
SearchResult search(const LevelMap& map, const Grid& cells, const SearchLimits& limits);

Direction direction_of(char letter);  // of one of "udlrUDLR"

// A shortest solution out of a distance table; empty when the position is solved, nullopt when it is dead.
std::optional<std::string> shortest_solution(const LevelMap& map, const DistanceTable& table,
                                             const Grid& cells);

}  // namespace lodestep::sokoban
