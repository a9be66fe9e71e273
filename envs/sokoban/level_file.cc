#include "envs/sokoban/level_file.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace lodestep::sokoban {
namespace {

constexpr std::size_t kMaxRun = 100'000;  // letters or cells that one line may unfold to

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lurd(char c) { return std::string_view("lurdLURD").find(c) != std::string_view::npos; }

// "3#2(-$)" -> "###-$-$"; nullopt when counts or brackets do not add up, or a symbol is not accepted.
template <typename Accept>
std::optional<std::string> unfold(std::string_view text, Accept accept) {
  std::vector<std::pair<std::string, std::size_t>> outer;  // text before an open bracket, its count
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t count = 1;
    if (is_digit(text[at])) {
      count = 0;
      for (; at < text.size() && is_digit(text[at]); ++at) {
        count = std::min(kMaxRun + 1, count * 10 + static_cast<std::size_t>(text[at] - '0'));
      }
      if (at == text.size()) return std::nullopt;
    }
    const char symbol = text[at++];
    if (symbol == '(') {
      outer.emplace_back(std::move(out), count);
      out.clear();
      if (outer.size() > 20) return std::nullopt;
    } else if (symbol == ')' && !outer.empty() && count == 1) {
      const std::string group = std::move(out);
      out = std::move(outer.back().first);
      count = outer.back().second;
      outer.pop_back();
      if (count > kMaxRun || group.size() * count + out.size() > kMaxRun) return std::nullopt;
      for (std::size_t i = 0; i < count; ++i) out += group;
    } else if (accept(symbol)) {
      if (count + out.size() > kMaxRun) return std::nullopt;
      out.append(count, symbol);
    } else {
      return std::nullopt;
    }
  }
  if (!outer.empty()) return std::nullopt;
  return out;
}

// The rows that a line of a board stands for; empty when it is no such line.
std::vector<std::string> board_rows(std::string_view line, bool inside) {
  const bool floor_only = line.find_first_not_of(" -_") == std::string_view::npos;
  if (floor_only) {
    const bool visible = line.find_first_of("-_") != std::string_view::npos;
    return inside && visible ? std::vector<std::string>{std::string(line)} : std::vector<std::string>{};
  }
  if (line.find('#') == std::string_view::npos) return {};
  if (line.find_first_of("0123456789()|") == std::string_view::npos) {  // nothing to write out: most files
    return std::all_of(line.begin(), line.end(), is_xsb) ? std::vector<std::string>{std::string(line)}
                                                         : std::vector<std::string>{};
  }
  const std::optional<std::string> cells = unfold(line, [](char c) { return c == '|' || is_xsb(c); });
  if (!cells) return {};
  std::vector<std::string> rows;
  for (const std::string_view row : split(*cells, '|')) rows.emplace_back(row);
  if (rows.size() > 1 && rows.back().empty()) rows.pop_back();
  return rows;
}

// A line that was meant as a row but holds something unknown: walls at both ends, or inside a board.
bool looks_like_row(std::string_view line, bool inside) {
  const std::string_view text = trim(line);
  if (text.size() < 3 || text.front() != '#') return false;
  return inside || text.back() == '#';
}

struct Reader {
  explicit Reader(const std::string& file) : name(file) {}

  const std::string& name;
  std::vector<LevelRecord> levels;
  std::vector<std::string> rows;  // of the board being read
  std::size_t first_line = 0;
  std::string text_before;       // the last text line since the last board
  bool touching = false;         // no blank line since the last board
  std::size_t comment_line = 0;  // of the `Comment:` that is open, 0 when none is
  bool in_solution = false;

  Error at(Error error, std::size_t line) const {
    error.message = "level " + std::to_string(levels.size()) + ": " + error.message;
    error.where = name + ", line " + std::to_string(line);
    error.hint = "levels are counted from 0";
    return error;
  }

  Status end_board() {
    if (rows.empty()) return {};
    Result<Level> level = level_from_rows(rows);
    if (!level) return at(level.error(), first_line);
    LevelRecord record;
    record.level = std::move(*level);
    record.title = std::move(text_before);
    record.line = first_line;
    levels.push_back(std::move(record));
    rows.clear();
    text_before.clear();
    touching = true;
    in_solution = false;
    return {};
  }

  // "Title: x" and its like; they describe the board above, or the whole file when there is none yet.
  bool key_line(std::string_view line, std::size_t number) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    const std::string key = ascii_lower(trim(line.substr(0, colon)));
    const std::string value(trim(line.substr(colon + 1)));
    static const std::vector<std::string> kKnown{
        "title", "author", "comment",    "collection",  "solution",    "copyright", "email",    "homepage",
        "url",   "date",   "difficulty", "comment-end", "comment_end", "savegame",  "snapshot", "id"};
    if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end()) return false;
    in_solution = key == "solution";
    if (levels.empty()) {
      if (key == "comment" && value.empty()) comment_line = number;
      return true;
    }
    LevelRecord& record = levels.back();
    if (key == "title") record.title = value;
    if (key == "author") record.author = value;
    if (key == "comment") {
      if (!record.comment.empty()) record.comment += '\n';
      record.comment += value;
      if (value.empty()) comment_line = number;
    }
    if (in_solution && !value.empty()) solution_line(value);
    return true;
  }

  bool solution_line(std::string_view line) {
    if (levels.empty()) return false;
    const std::optional<std::string> moves = unfold(trim(line), is_lurd);
    if (!moves || moves->empty()) return false;
    // Outside a solution block a lone word such as "dull" is a title; moves have many letters.
    if (!in_solution && moves->size() < 8) return false;
    levels.back().solution += *moves;
    return true;
  }

  Status line(std::string_view text, std::size_t number) {
    if (comment_line != 0) {
      const std::string key = ascii_lower(trim(text));
      if (key.starts_with("comment-end") || key.starts_with("comment_end")) {
        comment_line = 0;
      } else if (!levels.empty()) {
        std::string& comment = levels.back().comment;
        comment += (comment.empty() ? "" : "\n") + std::string(trim(text));
      }
      return {};
    }
    std::vector<std::string> found = board_rows(text, !rows.empty());
    if (!found.empty()) {
      if (rows.empty()) first_line = number;
      for (std::string& row : found) {
        rows.push_back(std::move(row));
        if (rows.size() > kMaxSide) {
          return at(Error{ErrorCode::kBadData, "more than " + std::to_string(kMaxSide) + " rows", "", ""},
                    number);
        }
      }
      return {};
    }
    if (looks_like_row(text, !rows.empty())) {
      const std::size_t bad = static_cast<std::size_t>(
          std::find_if(text.begin(), text.end(),
                       [](char c) { return !is_xsb(c) && c != '|' && !is_digit(c); }) -
          text.begin());
      const std::string what = bad < text.size() ? "unknown character '" + std::string(1, text[bad]) + "'"
                                                 : std::string("counts that do not add up");
      return at(
          Error{ErrorCode::kBadData,
                what + " at row " + std::to_string(rows.size() + 1) + ", column " + std::to_string(bad + 1),
                "", ""},
          number);
    }
    if (Status status = end_board(); !status) return status;
    const std::string_view words = trim(text);
    if (words.empty()) {
      touching = false;
    } else if (words.starts_with("::") || key_line(words, number) || solution_line(words)) {
      return {};
    } else if (words.front() == ';') {
      const std::string title(trim(words.substr(1)));
      (touching && levels.back().title.empty() ? levels.back().title : text_before) = title;
    } else {
      if (ascii_lower(words).starts_with("solution")) in_solution = true;
      text_before = words;
    }
    return {};
  }
};

}  // namespace

Result<std::vector<LevelRecord>> parse_levels(std::string_view text, const std::string& name) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  Reader reader(name);
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (Status status = reader.line(line, ++number); !status) return status.error();
  }
  if (Status status = reader.end_board(); !status) return status.error();
  if (reader.comment_line != 0) {
    return Error{ErrorCode::kBadData, "a comment without Comment-End: would hide the rest of the file",
                 name + ", line " + std::to_string(reader.comment_line), ""};
  }
  if (reader.levels.empty()) {
    return Error{ErrorCode::kBadData, "no level in this file", name,
                 "a level is lines of the characters # @ $ . * + and blank"};
  }
  return std::move(reader.levels);
}

}  // namespace lodestep::sokoban
