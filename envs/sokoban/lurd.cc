#include "envs/sokoban/lurd.h"

#include "base/text.h"
#include "envs/sokoban/board.h"
#include "envs/sokoban/search.h"

namespace lodestep::sokoban {

Result<std::string> check_solution(const Level& level, std::string_view moves) {
  Board board(&level);
  std::string out;
  for (const char letter : moves) {
    const std::string place = "move " + std::to_string(out.size() + 1);
    if (std::string_view("lurdLURD").find(letter) == std::string_view::npos) {
      return Error{ErrorCode::kBadData, "'" + std::string(1, letter) + "' is not one of l, u, r, d", place,
                   ""};
    }
    const Moved moved = board.push(direction_of(letter));
    if (!moved.player)
      return Error{ErrorCode::kBadData, "'" + std::string(1, letter) + "' is blocked", place, ""};
    const char lower = ascii_lower(std::string_view(&letter, 1))[0];
    out += moved.box ? static_cast<char>(lower - 'a' + 'A') : lower;
  }
  if (!board.solved()) {
    return Error{
        ErrorCode::kBadData,
        "the moves leave " + std::to_string(level.boxes - board.on_target()) + " boxes off their targets",
        "after " + std::to_string(out.size()) + " moves", ""};
  }
  return out;
}

std::string shorten_runs(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (end < text.size() && text[end] == text[at]) ++end;
    if (end - at > 1) out += std::to_string(end - at);
    out += text[at];
    at = end;
  }
  return out;
}

}  // namespace lodestep::sokoban
