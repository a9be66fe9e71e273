// Reads collections of levels: Boxoban, XSB, .sok, and the run-length form of each, by one reader.
//   Result<std::vector<LevelRecord>> levels = parse_levels(text, "hard-000.txt");
//   if (!levels) return levels.error();   // "level 3: no player (hard-000.txt, line 37)"
// Threads: pure functions. One bad level fails the file: nothing is skipped in silence.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "envs/sokoban/level.h"

namespace lodestep::sokoban {

struct LevelRecord {
  Level level;
  std::string title;  // last text line before the board, or `Title:` after it
  std::string author;
  std::string comment;   // lines joined by '\n'
  std::string solution;  // LURD letters as found, counts written out; not checked here
  std::size_t line = 0;  // of the first row, from 1
};

// Boards are runs of lines of XSB characters with a `#` in them; counts as in `3#-@|5#` are written out, `|`
// ends a row. Lines that start with `;` and other text lines give titles, `::` lines are skipped, `Title:`,
// `Author:`, `Comment:` (to `Comment-End:`) and `Solution:` belong to the board above. At least one level.
Result<std::vector<LevelRecord>> parse_levels(std::string_view text, const std::string& name);

}  // namespace lodestep::sokoban
