// Files that appear whole or not at all.
//   if (Status s = write_whole_file("out.csv", text); !s) return s.error();
// Threads: pure functions. "-" is standard output for writing and standard input for reading.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "harness/command.h"

namespace lodestep::harness {

// Writes a temporary file beside `path` and renames it. Fails on an unwritable folder or a full disk and
// then leaves nothing behind and an old file as it was.
Status write_whole_file(const std::string& path, std::string_view bytes);
// The same, or to io.out when path is "-".
Status write_output(const std::string& path, std::string_view bytes, Io& io);
// The whole file, or the whole of io.in when path is "-".
Result<std::string> read_input(const std::string& path, Io& io);
Result<std::string> read_whole_file(const std::string& path);

}  // namespace lodestep::harness
