#include "tests/support/shared_data.h"

#include <zstd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/check.h"
#include "base/text.h"

namespace lodestep::test {
namespace {

std::string unpack(const std::string& packed) {
  std::string out;
  std::string buffer(ZSTD_DStreamOutSize(), '\0');
  ZSTD_DStream* stream = ZSTD_createDStream();
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  while (in.pos < in.size) {
    ZSTD_outBuffer piece{buffer.data(), buffer.size(), 0};
    const std::size_t left = ZSTD_decompressStream(stream, &piece, &in);
    LODESTEP_CHECK(ZSTD_isError(left) == 0);
    out.append(buffer.data(), piece.pos);
  }
  ZSTD_freeDStream(stream);
  return out;
}

}  // namespace

std::string shared_path(const std::string& relative) {
  const char* folder = std::getenv("LODESTEP_SHARED");
  return std::string(folder != nullptr ? folder : "../shared") + "/" + relative;
}

std::optional<std::string> read_shared(const std::string& relative) {
  std::ifstream file(shared_path(relative), std::ios::binary);
  if (!file) return std::nullopt;
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return relative.ends_with(".zst") ? unpack(bytes) : bytes;
}

void skip(const std::string& relative) {
  std::cerr << "skipped: " << shared_path(relative) << " is not there (set LODESTEP_SHARED)\n";
}

std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> out = split(text, '\n');
  if (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

}  // namespace lodestep::test
