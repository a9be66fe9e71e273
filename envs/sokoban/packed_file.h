// Reads level files as they lie on disk: plain, compressed (.gz, .zst, .xz, .bz2) or in archives (.zip, .tar,
// .tar.gz, ...).
//   Result<std::vector<NamedText>> texts = read_level_texts("boxoban.zip", "");
// Threads: pure functions. libarchive does the unpacking; nothing is written to disk.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace lodestep::sokoban {

struct NamedText {
  std::string name;
  std::string text;
};

// By its ending: a level file (.txt, .xsb, .sok, .rle), a compressed one, or an archive.
bool is_level_file(const std::string& name);
bool is_level_archive(const std::string& name);

// The text of one file under `name`; for an archive the text of every level file in it, sorted, under
// `name`/ENTRY (ENTRY alone when `name` is empty). Fails, naming the file, on unreadable or damaged files,
// archives without a level file, and more than 1 GB of text.
Result<std::vector<NamedText>> read_level_texts(const std::string& path, const std::string& name);

}  // namespace lodestep::sokoban
