// Solutions in LURD: one letter a move, l u r d, a capital where the move pushes a box.
//   Result<std::string> lurd = check_solution(level, "rrUl");
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "envs/sokoban/level.h"

namespace lodestep::sokoban {

// Plays the moves from the start of the level. Letters in either case are moves; the result has capitals
// exactly where boxes were pushed. Fails, with the number of the move, on other letters, on blocked moves and
// when the level is not solved at the end.
Result<std::string> check_solution(const Level& level, std::string_view moves);

// "rrrrU" -> "4rU".
std::string shorten_runs(std::string_view text);

}  // namespace lodestep::sokoban
