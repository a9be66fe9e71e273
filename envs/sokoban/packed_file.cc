#include "envs/sokoban/packed_file.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string_view>

#include "base/text.h"

namespace lodestep::sokoban {
namespace {

constexpr std::size_t kMaxText = 1'000'000'000;
constexpr std::string_view kPlain[] = {".txt", ".xsb", ".sok", ".rle"};
constexpr std::string_view kCompressed[] = {".gz", ".zst", ".xz", ".bz2"};
constexpr std::string_view kArchives[] = {".zip", ".tar", ".tgz"};

// The ending that the name has, or nothing.
template <std::size_t N>
std::string_view ending_of(std::string_view name, const std::string_view (&endings)[N]) {
  for (const std::string_view ending : endings) {
    if (name.size() > ending.size() && name.ends_with(ending)) return ending;
  }
  return {};
}

std::string without_compression(const std::string& name) {
  std::string lower = ascii_lower(name);
  lower.resize(lower.size() - ending_of(lower, kCompressed).size());
  return lower;
}

Error unreadable(const std::string& path, const std::string& why) {
  return Error{ErrorCode::kBadData, "cannot read the level file" + (why.empty() ? "" : ": " + why), path, ""};
}

Result<std::string> read_plain(const std::string& path) {
  std::error_code failed;
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad() || std::filesystem::is_directory(path, failed)) {
    return Error{ErrorCode::kUnavailable, "cannot read the level file", path, ""};
  }
  return bytes;
}

}  // namespace

bool is_level_archive(const std::string& name) {
  return !ending_of(without_compression(name), kArchives).empty();
}
bool is_level_file(const std::string& name) { return !ending_of(without_compression(name), kPlain).empty(); }

Result<std::vector<NamedText>> read_level_texts(const std::string& path, const std::string& name) {
  std::error_code failed;
  if (!std::filesystem::exists(path, failed))
    return Error{ErrorCode::kNotFound, "no such level file", path, ""};
  const bool packed = is_level_archive(path);
  if (!packed && ending_of(ascii_lower(path), kCompressed).empty()) {
    Result<std::string> text = read_plain(path);
    if (!text) return text.error();
    return std::vector<NamedText>{{name, std::move(*text)}};
  }
  const std::unique_ptr<archive, int (*)(archive*)> reader(archive_read_new(), &archive_read_free);
  archive_read_support_filter_all(reader.get());
  if (packed) {
    archive_read_support_format_zip(reader.get());
    archive_read_support_format_tar(reader.get());
  } else {
    archive_read_support_format_raw(reader.get());
  }
  const auto why = [&reader] {
    const char* text = archive_error_string(reader.get());
    return std::string(text == nullptr ? "damaged" : text);
  };
  if (archive_read_open_filename(reader.get(), path.c_str(), 1 << 16) != ARCHIVE_OK)
    return unreadable(path, why());
  std::vector<NamedText> texts;
  std::size_t total = 0;
  for (;;) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(reader.get(), &entry);
    if (status == ARCHIVE_EOF) break;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return unreadable(path, why());
    std::string inner = name;
    if (packed) {
      const char* raw = archive_entry_pathname_utf8(entry);
      if (raw == nullptr) raw = archive_entry_pathname(entry);
      if (raw == nullptr || archive_entry_filetype(entry) != AE_IFREG || !is_level_file(raw)) continue;
      if (!ending_of(ascii_lower(raw), kCompressed).empty()) continue;
      inner = name.empty() ? raw : name + "/" + raw;
    }
    NamedText one{inner, {}};
    std::array<char, 1 << 16> buffer{};
    for (;;) {
      const la_ssize_t got = archive_read_data(reader.get(), buffer.data(), buffer.size());
      if (got < 0) return unreadable(path, why());
      if (got == 0) break;
      total += static_cast<std::size_t>(got);
      if (total > kMaxText) return unreadable(path, "more than 1 GB of text");
      one.text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    texts.push_back(std::move(one));
  }
  if (texts.empty()) return Error{ErrorCode::kNotFound, "no level files in this archive", path, ""};
  std::sort(texts.begin(), texts.end(),
            [](const NamedText& a, const NamedText& b) { return a.name < b.name; });
  return texts;
}

}  // namespace lodestep::sokoban
