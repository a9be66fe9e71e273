// The levels of a file or a folder, as named tasks in splits.
//   Result<LevelPack> pack = LevelPack::open("boxoban-levels/unfiltered", KeepSolved::kNo);
//   const Level* level = pack->find("train/000.txt#17");
// Threads: immutable once opened. It owns its levels.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "envs/sokoban/level_file.h"

namespace lodestep::sokoban {

enum class KeepSolved { kNo, kYes };  // a level that starts solved is an error, or a task won at once

class LevelPack {
 public:
  // Reads a level file, or every level file below a folder in the order of their paths. Fails on the first
  // bad level, on an unreadable file, and when there is no level at all.
  static Result<LevelPack> open(const std::string& path, KeepSolved keep);
  // One file's text under a name of its own.
  static Result<LevelPack> parse(std::string_view text, const std::string& name, KeepSolved keep);
  // About thirty small levels made for Lodestep, as `small.xsb`.
  static LevelPack small();

  // Folders named train, valid and test make splits of those names; other files are "train" when there is no
  // such folder and "other" when there is. A level that two splits hold stays in the later of train, valid,
  // test.
  const std::vector<std::string>& splits() const { return split_names_; }
  std::size_t size(std::size_t split) const { return members_[split].size(); }
  std::string id(std::size_t split, std::size_t index) const;  // "FILE#N", N from 0
  // Leaves the others out of the splits; find() still knows them. Fails when none is left.
  Status keep(const LevelFilter& wanted);
  const LevelRecord* find(std::string_view id) const;  // nullptr when there is none
  std::size_t files() const { return files_.size(); }
  Hash128 digest() const { return digest_; }

 private:
  struct File {
    std::string name;  // relative to the folder, '/' between parts
    std::vector<LevelRecord> levels;
  };
  static Result<LevelPack> make(std::vector<File> files, KeepSolved keep);
  void drop_empty_splits();

  std::vector<File> files_;  // sorted by name
  std::vector<std::string> split_names_;
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> members_;  // per split: file, level
  Hash128 digest_;
};

}  // namespace lodestep::sokoban
