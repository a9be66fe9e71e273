#include "envs/webshop/image.h"

#include <bit>
#include <cstring>

namespace lodestep::webshop {
namespace {

static_assert(std::endian::native == std::endian::little, "images are little-endian");
constexpr std::array<char, 8> kMark{'w', 'e', 'b', 's', 'h', 'o', 'p', '2'};

}  // namespace

void ImageWriter::begin(Section section) {
  static constexpr char kZeros[8] = {};
  const std::uint64_t end = size_;
  if (end % 8 != 0) write({kZeros, 8 - end % 8});
  table_.places[open_].bytes = end - table_.places[open_].begin;
  open_ = static_cast<std::size_t>(section);
  if (open_ < kSections) table_.places[open_].begin = size_;
}

void ImageWriter::write(std::string_view bytes) {
  sink_(bytes);
  size_ += bytes.size();
}

void ImageWriter::finish(const Hash128& digest) {
  begin(Section::kCount);
  table_.mark = kMark;
  table_.digest_high = digest.high;
  table_.digest_low = digest.low;
  write({reinterpret_cast<const char*>(&table_), sizeof table_});
}

std::optional<Image> Image::open(std::string_view bytes) {
  Image image;
  image.bytes_ = bytes;
  if (bytes.size() < sizeof(ImageTable)) return std::nullopt;
  const std::size_t end = bytes.size() - sizeof(ImageTable);
  std::memcpy(&image.table_, bytes.data() + end, sizeof(ImageTable));
  if (image.table_.mark != kMark) return std::nullopt;
  for (const ImageTable::Place& place : image.table_.places) {
    if (place.begin % 8 != 0 || place.begin > end || place.bytes > end - place.begin) return std::nullopt;
  }
  return image;
}

std::vector<std::uint32_t> make_slots(const std::vector<Hash128>& hashes) {
  std::vector<std::uint32_t> slots(std::bit_ceil(2 * hashes.size() + 2), 0);
  const std::size_t mask = slots.size() - 1;
  for (std::uint32_t i = 0; i < hashes.size(); ++i) {
    std::size_t at = hashes[i].low & mask;
    while (slots[at] != 0 && hashes[slots[at] - 1] != hashes[i]) at = (at + 1) & mask;
    if (slots[at] == 0) slots[at] = i + 1;
  }
  return slots;
}

}  // namespace lodestep::webshop
