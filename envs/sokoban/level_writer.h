// Writes levels as files that other Sokoban programs read.
//   Result<std::string> text = write_levels(records, LevelFormat::kSok);
// Threads: pure functions. What is written reads back equal through level_file.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envs/sokoban/level_file.h"

namespace lodestep::sokoban {

enum class LevelFormat {
  kBoxoban,  // "; N" and ten rows of ten characters; other sizes are refused, and so are * and +
  kXsb,      // "; title" and rows
  kSok,      // title line, rows, Author:, Comment: and Solution:
  kRle,      // one line a level, as 5#|#@$.#|5#
  kJson,     // one JSON document: [{"title","author","comment","rows":[...],"solution"}]
};
std::optional<LevelFormat> level_format(std::string_view name);
std::vector<std::string> level_format_names();

// Fails, naming the level, where a format cannot hold one.
Result<std::string> write_levels(const std::vector<LevelRecord>& records, LevelFormat format);

}  // namespace lodestep::sokoban
