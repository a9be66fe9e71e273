#include "envs/sokoban/level.h"

#include <algorithm>

namespace lodestep::sokoban {
namespace {

Error bad_level(std::string message) { return Error{ErrorCode::kBadData, std::move(message), "", ""}; }

std::string place(int cell, int cols) {
  return "row " + std::to_string(cell / cols + 1) + ", column " + std::to_string(cell % cols + 1);
}

int code_of(char symbol) {
  switch (symbol) {
    case '#': return kWall;
    case ' ':
    case '-':
    case '_': return kFloor;
    case '.':
    case 'o': return kTarget;
    case '*':
    case 'B': return kBoxOnTarget;
    case '$':
    case 'b': return kBox;
    case '@':
    case 'p': return kPlayer;
    case '+':
    case 'P': return kPlayerOnTarget;
    default: return -1;
  }
}

// Marks every cell joined by non-walls to one of the first cells.
std::vector<bool> flood(int rows, int cols, const Grid& codes, std::vector<int> open) {
  std::vector<bool> seen(codes.size());
  for (const int cell : open) seen[static_cast<std::size_t>(cell)] = true;
  while (!open.empty()) {
    const int cell = open.back();
    open.pop_back();
    const int row = cell / cols;
    const int col = cell % cols;
    const auto visit = [&](int next) {
      const auto at = static_cast<std::size_t>(next);
      if (codes[at] == kWall || seen[at]) return;
      seen[at] = true;
      open.push_back(next);
    };
    if (row > 0) visit(cell - cols);
    if (row + 1 < rows) visit(cell + cols);
    if (col > 0) visit(cell - 1);
    if (col + 1 < cols) visit(cell + 1);
  }
  return seen;
}

// Checks a grid of view codes and splits it into what stays and what moves.
Result<Level> make_level(int rows, int cols, Grid codes) {
  int player = -1;
  for (int cell = 0; cell < rows * cols; ++cell) {
    const std::uint8_t code = codes[static_cast<std::size_t>(cell)];
    if (code != kPlayer && code != kPlayerOnTarget) continue;
    if (player >= 0) return bad_level("more than one player: the second is at " + place(cell, cols));
    player = cell;
  }
  if (player < 0) return bad_level("no player");

  std::vector<int> edge;
  for (int cell = 0; cell < rows * cols; ++cell) {
    const int row = cell / cols;
    const int col = cell % cols;
    const bool on_edge = row == 0 || row + 1 == rows || col == 0 || col + 1 == cols;
    if (on_edge && codes[static_cast<std::size_t>(cell)] != kWall) edge.push_back(cell);
  }
  const std::vector<bool> outside = flood(rows, cols, codes, edge);
  if (outside[static_cast<std::size_t>(player)]) {
    const std::vector<bool> reached = flood(rows, cols, codes, {player});
    const int hole = *std::find_if(edge.begin(), edge.end(),
                                   [&](int cell) { return reached[static_cast<std::size_t>(cell)]; });
    return bad_level("open border: the player can leave the level at " + place(hole, cols));
  }

  Level level{rows, cols, codes, codes, player, 0};
  int targets = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    std::uint8_t code = codes[i];
    if (outside[i]) {
      if (code == kBox || code == kTarget) {
        return bad_level(std::string(code == kBox ? "box" : "target") + " outside the walls at " +
                         place(static_cast<int>(i), cols));
      }
      code = kWall;
    }
    const bool target = code == kTarget || code == kBoxOnTarget || code == kPlayerOnTarget;
    level.fixed[i] = code == kWall ? kWall : target ? kTarget : kFloor;
    level.start[i] = code == kPlayerOnTarget ? std::uint8_t{kPlayer} : code;
    targets += target ? 1 : 0;
    level.boxes += code == kBox || code == kBoxOnTarget ? 1 : 0;
  }
  if (level.boxes != targets) {
    return bad_level(std::to_string(level.boxes) + (level.boxes == 1 ? " box" : " boxes") + " but " +
                     std::to_string(targets) + (targets == 1 ? " target" : " targets"));
  }
  if (targets > kMaxBoxes) {
    return bad_level(std::to_string(targets) + " boxes; at most " + std::to_string(kMaxBoxes) + " are read");
  }
  if (targets == 0) return bad_level("no box and no target");
  return level;
}

Status check_size(std::size_t rows, std::size_t cols) {
  if (rows <= kMaxSide && cols <= kMaxSide) return {};
  return bad_level("level of " + std::to_string(rows) + " rows and " + std::to_string(cols) +
                   " columns; at most " + std::to_string(kMaxSide) + " of each are read");
}

}  // namespace

const char* direction_word(Direction direction) {
  static constexpr const char* kWords[] = {"up", "down", "left", "right"};
  return kWords[static_cast<int>(direction)];
}

Result<Level> level_from_rows(const std::vector<std::string>& rows) {
  std::size_t width = 0;
  for (const std::string& row : rows) width = std::max(width, row.size());
  if (Status size = check_size(rows.size(), width); !size) return size.error();
  if (width == 0) return bad_level("no rows");
  Grid codes(rows.size() * width, kFloor);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t col = 0; col < rows[row].size(); ++col) {
      const int code = code_of(rows[row][col]);
      if (code < 0) {
        return bad_level("unknown character '" + std::string(1, rows[row][col]) + "' at row " +
                         std::to_string(row + 1) + ", column " + std::to_string(col + 1));
      }
      codes[row * width + col] = static_cast<std::uint8_t>(code);
    }
  }
  return make_level(static_cast<int>(rows.size()), static_cast<int>(width), std::move(codes));
}

Result<Level> level_from_codes(int rows, int cols, std::string_view digits) {
  if (rows <= 0 || cols <= 0 ||
      digits.size() != static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols)) {
    return bad_level("expected " + std::to_string(rows) + " x " + std::to_string(cols) + " codes, got " +
                     std::to_string(digits.size()));
  }
  if (Status size = check_size(static_cast<std::size_t>(rows), static_cast<std::size_t>(cols)); !size) {
    return size.error();
  }
  Grid codes;
  for (const char digit : digits) {
    if (digit < '0' || digit > '6') {
      return bad_level("code '" + std::string(1, digit) + "' at " +
                       place(static_cast<int>(codes.size()), cols) + " is not 0 to 6");
    }
    codes.push_back(static_cast<std::uint8_t>(digit - '0'));
  }
  return make_level(rows, cols, std::move(codes));
}

bool is_xsb(char symbol) { return code_of(symbol) >= 0; }

bool is_solved(const Level& level) { return std::count(level.start.begin(), level.start.end(), kBox) == 0; }

Grid view(const Grid& fixed, const Grid& cells) {
  Grid out = cells;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == kPlayer && fixed[i] == kTarget) out[i] = kPlayerOnTarget;
  }
  return out;
}

std::string to_xsb(int rows, int cols, const Grid& view_cells, char floor) {
  const char symbols[] = {'#', floor, '.', '*', '$', '@', '+'};
  std::string out;
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; ++col)
      out += symbols[view_cells[static_cast<std::size_t>(row * cols + col)]];
    out += '\n';
  }
  return out;
}

Hash128 content_digest(const Level& level) {
  const Grid cells = view(level.fixed, level.start);
  return Hasher()
      .add("sokoban level")
      .add_u64(static_cast<std::uint64_t>(level.rows))
      .add_u64(static_cast<std::uint64_t>(level.cols))
      .add(std::string(cells.begin(), cells.end()))
      .finish();
}

}  // namespace lodestep::sokoban
