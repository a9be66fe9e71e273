#include "envs/sokoban/level_writer.h"

#include <algorithm>

#include "base/text.h"
#include "envs/sokoban/lurd.h"

namespace lodestep::sokoban {
namespace {

constexpr const char* kNames[] = {"boxoban", "xsb", "sok", "rle", "json"};

std::string board(const Level& level, char floor) {
  return to_xsb(level.rows, level.cols, view(level.fixed, level.start), floor);
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

Status fits_boxoban(const Level& level, std::size_t n) {
  const std::string text = board(level, ' ');
  const bool plain = text.find_first_of("*+") == std::string::npos;
  if (level.rows == 10 && level.cols == 10 && plain) return {};
  return Error{ErrorCode::kUnsupported,
               "Boxoban files hold levels of 10 x 10 that start with no box and no player on a target",
               "level " + std::to_string(n), "levels are counted from 0; write xsb or sok instead"};
}

std::string sok(const LevelRecord& record, std::size_t n) {
  std::string out = (record.title.empty() ? "Level " + std::to_string(n) : one_line(record.title)) + "\n\n";
  out += board(record.level, ' ');
  if (!record.title.empty()) out += "Title: " + one_line(record.title) + "\n";
  if (!record.author.empty()) out += "Author: " + one_line(record.author) + "\n";
  if (!record.comment.empty()) out += "Comment:\n" + record.comment + "\nComment-End:\n";
  if (!record.solution.empty()) out += "Solution:\n" + record.solution + "\n";
  return out + "\n";
}

std::string rle(const Level& level) {
  std::string rows = board(level, '-');
  rows.pop_back();
  std::replace(rows.begin(), rows.end(), '\n', '|');
  return shorten_runs(rows);
}

std::string json(const LevelRecord& record) {
  std::vector<std::string> rows;
  const std::string text = board(record.level, ' ');
  for (const std::string_view row : split(text, '\n')) {
    if (!row.empty()) rows.emplace_back(row);
  }
  return "{\"title\":" + json_quote(record.title) + ",\"author\":" + json_quote(record.author) +
         ",\"comment\":" + json_quote(record.comment) + ",\"rows\":" + json_array(rows) +
         ",\"solution\":" + (record.solution.empty() ? "null" : json_quote(record.solution)) + "}";
}

}  // namespace

std::optional<LevelFormat> level_format(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<LevelFormat>(i);
  }
  return std::nullopt;
}

std::vector<std::string> level_format_names() { return {std::begin(kNames), std::end(kNames)}; }

Result<std::string> write_levels(const std::vector<LevelRecord>& records, LevelFormat format) {
  std::string out = format == LevelFormat::kJson ? "[" : "";
  for (std::size_t n = 0; n < records.size(); ++n) {
    const LevelRecord& record = records[n];
    switch (format) {
      case LevelFormat::kBoxoban:
        if (Status status = fits_boxoban(record.level, n); !status) return status.error();
        out += "; " + std::to_string(n) + "\n" + board(record.level, ' ') + "\n";
        break;
      case LevelFormat::kXsb:
        out += "; " + (record.title.empty() ? std::to_string(n) : one_line(record.title)) + "\n" +
               board(record.level, ' ') + "\n";
        break;
      case LevelFormat::kSok: out += sok(record, n); break;
      case LevelFormat::kRle: out += rle(record.level) + "\n\n"; break;
      case LevelFormat::kJson: out += std::string(n > 0 ? "," : "") + "\n" + json(record); break;
    }
  }
  return format == LevelFormat::kJson ? out + "\n]\n" : out;
}

}  // namespace lodestep::sokoban
