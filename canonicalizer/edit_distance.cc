#include "canonicalizer/edit_distance.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lodestep::canonicalizer {
namespace {

// What equal ends leave of two texts; the distance stays the same.
void strip_common_ends(std::string_view& a, std::string_view& b) {
  std::size_t same = 0;
  while (same < a.size() && same < b.size() && a[same] == b[same]) ++same;
  a.remove_prefix(same);
  b.remove_prefix(same);
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a.remove_suffix(1);
    b.remove_suffix(1);
  }
}

// One block of 64 rows of the column: vertical differences of +1 and of -1.
struct Block {
  std::uint64_t plus = ~std::uint64_t{0};
  std::uint64_t minus = 0;
};

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  strip_common_ends(a, b);
  if (a.size() > b.size()) std::swap(a, b);
  if (a.empty()) return b.size();
  const std::size_t blocks = (a.size() + 63) / 64;
  std::vector<std::uint64_t> places(256 * blocks);  // of each byte in a
  for (std::size_t i = 0; i < a.size(); ++i) {
    places[static_cast<unsigned char>(a[i]) * blocks + i / 64] |= std::uint64_t{1} << (i % 64);
  }
  std::vector<Block> column(blocks);
  const std::uint64_t last_row = std::uint64_t{1} << ((a.size() - 1) % 64);
  std::size_t distance = a.size();
  for (const char byte : b) {
    std::uint64_t carry_plus = 1;  // the top row grows by one a column
    std::uint64_t carry_minus = 0;
    for (std::size_t k = 0; k < blocks; ++k) {
      Block& block = column[k];
      const std::uint64_t equal = places[static_cast<unsigned char>(byte) * blocks + k];
      const std::uint64_t carried = equal | carry_minus;
      const std::uint64_t zero =
          (((carried & block.plus) + block.plus) ^ block.plus) | equal | block.minus | carry_minus;
      std::uint64_t plus = block.minus | ~(zero | block.plus);
      std::uint64_t minus = zero & block.plus;
      if (k + 1 == blocks) {
        distance += (plus & last_row) != 0 ? 1 : 0;
        distance -= (minus & last_row) != 0 ? 1 : 0;
      }
      const std::uint64_t next_plus = plus >> 63;
      const std::uint64_t next_minus = minus >> 63;
      plus = (plus << 1) | carry_plus;
      minus = (minus << 1) | carry_minus;
      block.plus = minus | ~(zero | plus);
      block.minus = plus & zero;
      carry_plus = next_plus;
      carry_minus = next_minus;
    }
  }
  return distance;
}

double edit_similarity(std::string_view a, std::string_view b) {
  const std::size_t longer = std::max(a.size(), b.size());
  if (longer == 0) return 1;
  return 1 - static_cast<double>(edit_distance(a, b)) / static_cast<double>(longer);
}

}  // namespace lodestep::canonicalizer
