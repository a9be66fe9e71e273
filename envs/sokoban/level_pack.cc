#include "envs/sokoban/level_pack.h"

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "base/text.h"
#include "envs/sokoban/packed_file.h"

namespace lodestep::sokoban {
namespace {

namespace fs = std::filesystem;

// "train", "valid" or "test" when the path leads through a folder of that name, else "".
std::string split_of(const std::string& name) {
  std::vector<std::string_view> parts = split(name, '/');
  parts.pop_back();
  for (const std::string_view part : parts) {
    if (part == "train" || part == "valid" || part == "test") return std::string(part);
  }
  return "";
}

}  // namespace

Result<LevelPack> LevelPack::open(const std::string& path, KeepSolved keep) {
  std::error_code failed;
  const fs::path root(path);
  if (!fs::exists(root, failed)) {
    return Error{ErrorCode::kNotFound, "no such level file or folder", path,
                 "give --data a level file or a folder of them"};
  }
  std::vector<std::pair<std::string, std::string>> found;  // name, path
  if (fs::is_directory(root, failed)) {
    const auto options = fs::directory_options::follow_directory_symlink;
    for (fs::recursive_directory_iterator it(root, options, failed), end; it != end && !failed;
         it.increment(failed)) {
      const std::string name = it->path().lexically_relative(root).generic_string();
      if (it->is_regular_file(failed) && (is_level_file(name) || is_level_archive(name))) {
        found.emplace_back(name, it->path().string());
      }
    }
    if (failed)
      return Error{ErrorCode::kUnavailable, "cannot list the folder: " + failed.message(), path, ""};
    if (found.empty()) {
      return Error{
          ErrorCode::kNotFound, "no level files in this folder", path,
          "looked for .txt, .xsb, .sok, .rle, those with .gz, .zst, .xz or .bz2, and .zip and .tar archives"};
    }
  } else {
    found.emplace_back(is_level_archive(path) ? "" : root.filename().string(), root.string());
  }
  std::sort(found.begin(), found.end());
  std::vector<File> files;
  for (const auto& [name, file] : found) {
    Result<std::vector<NamedText>> texts = read_level_texts(file, name);
    if (!texts) return texts.error();
    for (const NamedText& one : *texts) {
      Result<std::vector<LevelRecord>> levels = parse_levels(one.text, one.name);
      if (!levels) return levels.error();
      files.push_back({one.name, std::move(*levels)});
    }
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.name < b.name; });
  return make(std::move(files), keep);
}

Result<LevelPack> LevelPack::parse(std::string_view text, const std::string& name, KeepSolved keep) {
  Result<std::vector<LevelRecord>> levels = parse_levels(text, name);
  if (!levels) return levels.error();
  std::vector<File> files;
  files.push_back({name, std::move(*levels)});
  return make(std::move(files), keep);
}

Result<LevelPack> LevelPack::make(std::vector<File> files, KeepSolved keep) {
  LevelPack pack;
  pack.files_ = std::move(files);
  bool folders = false;
  for (const File& file : pack.files_) folders = folders || !split_of(file.name).empty();
  pack.split_names_ = folders ? std::vector<std::string>{"train", "valid", "test", "other"}
                              : std::vector<std::string>{"train"};
  pack.members_.resize(pack.split_names_.size());

  Hasher hasher;
  std::vector<std::vector<Hash128>> digests(pack.files_.size());
  for (std::size_t f = 0; f < pack.files_.size(); ++f) {
    const File& file = pack.files_[f];
    hasher.add(file.name);
    for (std::size_t n = 0; n < file.levels.size(); ++n) {
      const LevelRecord& record = file.levels[n];
      if (keep == KeepSolved::kNo && is_solved(record.level)) {
        return Error{ErrorCode::kBadData, "level " + std::to_string(n) + ": already solved",
                     file.name + ", line " + std::to_string(record.line),
                     "levels are counted from 0; --set solved=keep accepts such levels"};
      }
      digests[f].push_back(content_digest(record.level));
      hasher.add_u64(digests[f].back().high).add_u64(digests[f].back().low);
    }
  }
  pack.digest_ = hasher.finish();

  // From the last split to the first, so that what is kept for testing never turns up in training.
  std::unordered_set<Hash128, ContainerHash> taken;
  std::vector<std::size_t> order;
  for (const char* name : {"test", "valid", "train", "other"}) {
    const auto at = std::find(pack.split_names_.begin(), pack.split_names_.end(), name);
    if (at != pack.split_names_.end())
      order.push_back(static_cast<std::size_t>(at - pack.split_names_.begin()));
  }
  for (const std::size_t s : order) {
    std::vector<Hash128> own;
    for (std::size_t f = 0; f < pack.files_.size(); ++f) {
      const std::string folder = split_of(pack.files_[f].name);
      const std::string& wanted = pack.split_names_[s];
      if (folders ? (folder.empty() ? wanted != "other" : wanted != folder) : false) continue;
      for (std::size_t n = 0; n < pack.files_[f].levels.size(); ++n) {
        if (taken.contains(digests[f][n])) continue;
        pack.members_[s].emplace_back(static_cast<std::uint32_t>(f), static_cast<std::uint32_t>(n));
        own.push_back(digests[f][n]);
      }
    }
    if (folders) taken.insert(own.begin(), own.end());
  }
  pack.drop_empty_splits();
  return pack;
}

void LevelPack::drop_empty_splits() {
  for (std::size_t s = members_.size(); s-- > 0;) {
    if (!members_[s].empty()) continue;
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(s));
    split_names_.erase(split_names_.begin() + static_cast<std::ptrdiff_t>(s));
  }
}

Status LevelPack::keep(const LevelFilter& wanted) {
  for (auto& members : members_) {
    std::erase_if(members, [&](const auto& at) { return !wanted(files_[at.first].levels[at.second].level); });
  }
  drop_empty_splits();
  if (!members_.empty()) return {};
  return Error{ErrorCode::kNotFound, "no level is left", "", "widen min_moves and max_moves"};
}

std::string LevelPack::id(std::size_t split, std::size_t index) const {
  const auto [file, level] = members_[split][index];
  return files_[file].name + "#" + std::to_string(level);
}

const LevelRecord* LevelPack::find(std::string_view id) const {
  const std::size_t mark = id.rfind('#');
  if (mark == std::string_view::npos) return nullptr;
  const std::string name(id.substr(0, mark));
  const std::optional<std::uint64_t> number = parse_uint(id.substr(mark + 1));
  const auto file =
      std::lower_bound(files_.begin(), files_.end(), name,
                       [](const File& f, const std::string& wanted) { return f.name < wanted; });
  if (!number || file == files_.end() || file->name != name || *number >= file->levels.size()) return nullptr;
  if (std::to_string(*number) != id.substr(mark + 1)) return nullptr;  // one id a level: no leading zeros
  return &file->levels[*number];
}

}  // namespace lodestep::sokoban
