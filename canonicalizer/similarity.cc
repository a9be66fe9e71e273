#include "canonicalizer/similarity.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"
#include "base/text.h"

namespace lodestep::canonicalizer {
namespace {

double share(std::size_t matches, std::size_t total) {
  return total == 0 ? 1.0 : 2.0 * static_cast<double>(matches) / static_cast<double>(total);
}

// The least number of matches whose share of `total` is >= threshold; nothing reaches it: SIZE_MAX.
std::size_t matches_needed(double threshold, std::size_t total) {
  if (share(total / 2, total) < threshold) return std::numeric_limits<std::size_t>::max();
  auto needed = static_cast<std::size_t>(std::max(0.0, threshold * static_cast<double>(total) / 2));
  needed = std::min(needed, total / 2);
  while (needed > 0 && share(needed - 1, total) >= threshold) --needed;
  while (share(needed, total) < threshold) ++needed;
  return needed;
}

// Counts are kept in 16 bits, so that the bound costs a few vector instructions.
constexpr std::size_t kLongestCounted = 32767;

}  // namespace

struct TextIndex::Text {
  std::vector<Letter> letters;
  std::array<std::int16_t, kBuckets> counts{};  // of letters modulo kBuckets; unused for very long texts
  // As b: where each letter stands, popular ones left out. first[letter] to first[letter + 1].
  bool indexed = false;
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> positions;
};

// In a search: the part of a and b to be matched. As an answer: the block found, both sides of one size.
struct TextIndex::Window {
  std::uint32_t a_low, a_high, b_low, b_high;
  std::uint32_t most() const { return std::min(a_high - a_low, b_high - b_low); }
};

std::u32string code_points(std::string_view text) {
  if (std::optional<std::u32string> points = decode_utf8(text)) return *std::move(points);
  std::u32string points;
  for (const char byte : text) points.push_back(0x110000 + static_cast<unsigned char>(byte));
  return points;
}

TextIndex::TextIndex(Metric metric, Autojunk autojunk) : metric_(metric), autojunk_(autojunk) {}
TextIndex::~TextIndex() = default;

TextId TextIndex::add(std::u32string_view text) {
  LODESTEP_CHECK(text.size() < std::numeric_limits<std::uint32_t>::max() / 2, text.size());
  auto entry = std::make_unique<Text>();
  entry->letters.reserve(text.size());
  const bool counted = text.size() <= kLongestCounted;
  for (const char32_t point : text) {
    Letter letter = 0;
    if (point < ascii_.size() && ascii_[point] != 0) {
      letter = ascii_[point] - 1;
    } else {
      letter = letters_.try_emplace(point, static_cast<Letter>(letters_.size())).first->second;
      if (point < ascii_.size()) ascii_[point] = letter + 1;
    }
    entry->letters.push_back(letter);
    if (counted) ++entry->counts[letter % kBuckets];
  }
  texts_.push_back(std::move(entry));
  return static_cast<TextId>(texts_.size() - 1);
}

bool TextIndex::counts_allow(const Text& a, const Text& b, std::size_t needed) const {
  if (std::min(a.letters.size(), b.letters.size()) < needed) return false;
  if (std::max(a.letters.size(), b.letters.size()) > kLongestCounted) return true;
  std::int16_t common = 0;  // at most the shorter length
  for (std::size_t i = 0; i < kBuckets; ++i) {
    common = static_cast<std::int16_t>(common + std::min(a.counts[i], b.counts[i]));
  }
  return static_cast<std::size_t>(common) >= needed;
}

std::optional<double> TextIndex::ratio_at_least(TextId a_id, TextId b_id, double threshold) {
  const Text& a = *texts_[a_id];
  Text& b = *texts_[b_id];
  const std::size_t total = a.letters.size() + b.letters.size();
  const std::size_t needed = matches_needed(threshold, total);
  if (!counts_allow(a, b, needed)) {
    ++avoided_;
    return std::nullopt;
  }
  if (a_id == b_id || a.letters == b.letters) {
    ++avoided_;
    return 1.0;
  }
  ++compared_;
  const std::size_t matches =
      metric_ == Metric::kDifflib ? matched_blocks(a, b, needed) : common_subsequence(a, b);
  if (matches < needed) return std::nullopt;
  return share(matches, total);
}

void TextIndex::build_positions(Text& b) {
  b.indexed = true;
  const std::size_t size = b.letters.size();
  Letter last = 0;
  for (const Letter letter : b.letters) last = std::max(last, letter);
  b.first.assign(static_cast<std::size_t>(last) + 2, 0);
  for (const Letter letter : b.letters) ++b.first[letter + 1];
  const bool junk = metric_ == Metric::kDifflib && autojunk_ == Autojunk::kOn && size >= 200;
  const std::size_t most = junk ? size / 100 + 1 : size;
  std::vector<bool> popular(static_cast<std::size_t>(last) + 1);
  for (Letter letter = 0; letter <= last; ++letter) {
    popular[letter] = b.first[letter + 1] > most;
    b.first[letter + 1] = b.first[letter] + (popular[letter] ? 0 : b.first[letter + 1]);
  }
  b.positions.resize(b.first.back());
  std::vector<std::uint32_t> next(b.first.begin(), b.first.end() - 1);
  for (std::size_t j = 0; j < size; ++j) {
    if (!popular[b.letters[j]]) b.positions[next[b.letters[j]]++] = static_cast<std::uint32_t>(j);
  }
}

// Sum of difflib's matching blocks; may stop with less as soon as `needed` is out of reach.
std::size_t TextIndex::matched_blocks(const Text& a, Text& b, std::size_t needed) {
  if (!b.indexed) build_positions(b);
  rare_.clear();
  for (std::size_t i = 0; i < a.letters.size(); ++i) {
    const Letter letter = a.letters[i];
    if (letter + 1 < b.first.size() && b.first[letter] != b.first[letter + 1]) {
      rare_.emplace_back(static_cast<std::uint32_t>(i), letter);
    }
  }
  if (runs_.size() < b.letters.size()) runs_.resize(b.letters.size());
  open_.clear();
  open_.push_back(
      {0, static_cast<std::uint32_t>(a.letters.size()), 0, static_cast<std::uint32_t>(b.letters.size())});
  std::size_t possible = open_.back().most();
  std::size_t matched = 0;
  while (!open_.empty() && possible >= needed) {
    const Window window = open_.back();
    open_.pop_back();
    const Window block = longest_block(a, b, window);
    possible -= window.most();
    const std::uint32_t size = block.most();
    if (size == 0) continue;
    matched += size;
    const Window left{window.a_low, block.a_low, window.b_low, block.b_low};
    const Window right{block.a_high, window.a_high, block.b_high, window.b_high};
    possible += size + left.most() + right.most();
    if (left.most() > 0) open_.push_back(left);
    if (right.most() > 0) open_.push_back(right);
  }
  return possible >= needed ? matched : 0;
}

TextIndex::Window TextIndex::longest_block(const Text& a, const Text& b, const Window& window) {
  std::uint32_t best_a = window.a_low;
  std::uint32_t best_b = window.b_low;
  std::uint32_t best = 0;
  if (row_ > std::numeric_limits<std::uint32_t>::max() - 2 * static_cast<std::uint32_t>(rare_.size()) - 4) {
    std::fill(runs_.begin(), runs_.end(), Run{});
    row_ = 1;
  }
  row_ += 2;  // no row of an earlier window counts
  auto at = std::lower_bound(rare_.begin(), rare_.end(), std::pair(window.a_low, Letter{0}));
  std::uint32_t before = std::numeric_limits<std::uint32_t>::max() - 1;
  for (; at != rare_.end() && at->first < window.a_high; ++at) {
    const auto [i, letter] = *at;
    row_ += i == before + 1 ? 1 : 2;
    before = i;
    const std::uint32_t* from = b.positions.data() + b.first[letter];
    const std::uint32_t* to = b.positions.data() + b.first[letter + 1];
    // Backwards, so that the cell before j still belongs to the row before; ties then go to the lower j.
    std::uint32_t longest = 0;
    std::uint32_t longest_at = 0;
    while (to != from && *(to - 1) >= window.b_high) --to;
    while (to != from) {
      const std::uint32_t j = *--to;
      if (j < window.b_low) break;
      const std::uint32_t size = j > 0 && runs_[j - 1].row == row_ - 1 ? runs_[j - 1].size + 1 : 1;
      runs_[j] = {row_, size};
      if (size >= longest) {
        longest = size;
        longest_at = j;
      }
    }
    if (longest > best) {
      best = longest;
      best_a = i + 1 - longest;
      best_b = longest_at + 1 - longest;
    }
  }
  std::uint32_t end_a = best_a + best;
  std::uint32_t end_b = best_b + best;
  while (best_a > window.a_low && best_b > window.b_low && a.letters[best_a - 1] == b.letters[best_b - 1]) {
    --best_a;
    --best_b;
  }
  while (end_a < window.a_high && end_b < window.b_high && a.letters[end_a] == b.letters[end_b]) {
    ++end_a;
    ++end_b;
  }
  return {best_a, end_a, best_b, end_b};
}

// Length of the longest common subsequence, 64 characters of b at a time (Hyyro 2004).
std::size_t TextIndex::common_subsequence(const Text& a, Text& b) {
  if (!b.indexed) build_positions(b);
  const std::size_t words = (b.letters.size() + 63) / 64;
  bits_.assign(words, ~std::uint64_t{0});
  std::vector<std::uint64_t> row(words);
  for (const Letter letter : a.letters) {
    if (letter + 1 >= b.first.size() || b.first[letter] == b.first[letter + 1]) continue;
    for (std::uint32_t p = b.first[letter]; p < b.first[letter + 1]; ++p) {
      row[b.positions[p] / 64] |= std::uint64_t{1} << (b.positions[p] % 64);
    }
    std::uint64_t carry = 0;
    for (std::size_t w = 0; w < words; ++w) {
      const std::uint64_t matches = bits_[w] & row[w];
      const std::uint64_t sum = bits_[w] + matches;
      const std::uint64_t total = sum + carry;
      carry = static_cast<std::uint64_t>(sum < bits_[w]) | static_cast<std::uint64_t>(total < sum);
      bits_[w] = total | (bits_[w] - matches);
      row[w] = 0;
    }
  }
  std::size_t length = 0;
  for (std::size_t w = 0; w < words; ++w) {
    std::uint64_t zeros = ~bits_[w];
    if (w + 1 == words && b.letters.size() % 64 != 0) {
      zeros &= (std::uint64_t{1} << (b.letters.size() % 64)) - 1;
    }
    length += static_cast<std::size_t>(std::popcount(zeros));
  }
  return length;
}

}  // namespace lodestep::canonicalizer
