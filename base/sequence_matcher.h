// Similarity of two texts as Python's difflib.SequenceMatcher (isjunk=None) computes it, to the bit.
//   SequenceMatcher matcher(U"private volatile Thread");   // the fixed text, `b` in difflib
//   double close = matcher.ratio(U"private Thread");       // 2 * matched / (len a + len b)
// Threads: const methods are safe on one object from several threads. Borrows `b`: keep it alive.
// Source: CPython 3.11 Lib/difflib.py, autojunk included; golden values in tests/unit/base. Lengths and
// positions count code points.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lodestep {

struct MatchingBlock {
  std::size_t a = 0;     // start in a
  std::size_t b = 0;     // start in b
  std::size_t size = 0;  // length of the common piece
  bool operator==(const MatchingBlock&) const = default;
};

class SequenceMatcher {
 public:
  // Indexes `b`: O(len b log len b). Not symmetric: ratio(a) against b may differ from ratio(b) against a.
  explicit SequenceMatcher(std::u32string_view b, bool autojunk = true);

  double ratio(std::u32string_view a) const;             // in [0, 1]; 1 for two empty texts
  double quick_ratio(std::u32string_view a) const;       // upper bound of ratio, linear time
  double real_quick_ratio(std::u32string_view a) const;  // upper bound of quick_ratio, by lengths alone
  // Blocks in order, adjacent ones merged, closed by {len a, len b, 0}.
  std::vector<MatchingBlock> matching_blocks(std::u32string_view a) const;

 private:
  struct Range {
    std::size_t a_low, a_high, b_low, b_high;
  };
  struct Scratch;                               // the two rows of run lengths
  std::size_t letter_of(char32_t point) const;  // index into letters_, letters_.size() if not in b
  std::vector<std::uint32_t> letters_of(std::u32string_view a) const;
  MatchingBlock longest_match(std::u32string_view a, const std::vector<std::uint32_t>& letters,
                              const Range& range, Scratch& scratch) const;

  std::u32string_view b_;
  std::array<std::uint32_t, 128> ascii_;  // letter of an ASCII code point
  std::vector<char32_t> letters_;         // distinct code points of b, sorted
  std::vector<std::uint32_t> counts_;     // occurrences of each letter in b
  std::vector<std::uint32_t> first_;      // letter -> its span in positions_; empty span for popular letters
  std::vector<std::uint32_t> positions_;  // ascending within a letter
};

// SequenceMatcher(b).ratio(a), the common one-off.
double sequence_ratio(std::u32string_view a, std::u32string_view b);

}  // namespace lodestep
