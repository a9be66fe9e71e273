// Fast answers to "is this text at least that similar to one of those?", to the bit what difflib says.
//   TextIndex index(Metric::kDifflib, Autojunk::kOn);
//   TextId one = index.add(U"the first text"), two = index.add(U"the second text");
//   std::optional<double> ratio = index.ratio_at_least(two, one, 0.95);   // two is difflib's a, one its b
// Threads: one at a time. Owns a copy of the texts. The plain twin is base/sequence_matcher.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"

namespace lodestep::canonicalizer {

enum class Metric {
  kDifflib,  // Python's difflib.SequenceMatcher(None, a, b).ratio()
  kIndel,    // 2 * longest common subsequence / (len a + len b): symmetric, never below kDifflib
};
enum class Autojunk { kOn, kOff };  // difflib's rule that drops frequent characters of a long b

using TextId = std::uint32_t;

// Of UTF-8. The bytes of any other text become points that no text has, so they equal only themselves.
std::u32string code_points(std::string_view text);

class TextIndex {
 public:
  explicit TextIndex(Metric metric = Metric::kDifflib, Autojunk autojunk = Autojunk::kOn);
  ~TextIndex();
  TextIndex(const TextIndex&) = delete;
  TextIndex& operator=(const TextIndex&) = delete;

  TextId add(std::u32string_view text);  // counts code points once; what a `b` needs is built when asked for

  // The ratio of a against b where it is >= threshold, else nothing. Length and character counts decide
  // most pairs; a match that can no longer reach the threshold is given up.
  std::optional<double> ratio_at_least(TextId a, TextId b, double threshold);

  std::uint64_t compared() const { return compared_; }  // pairs whose match was run
  std::uint64_t avoided() const { return avoided_; }    // pairs decided by equality or a bound

 private:
  using Letter = std::uint32_t;  // code points numbered by first appearance in the index
  static constexpr std::size_t kBuckets = 128;
  struct Text;
  struct Window;

  bool counts_allow(const Text& a, const Text& b, std::size_t needed) const;
  void build_positions(Text& b);
  std::size_t matched_blocks(const Text& a, Text& b, std::size_t needed);
  std::size_t common_subsequence(const Text& a, Text& b);
  Window longest_block(const Text& a, const Text& b, const Window& window);

  Metric metric_;
  Autojunk autojunk_;
  std::unordered_map<std::uint64_t, Letter, ContainerHash> letters_;
  std::array<Letter, kBuckets> ascii_{};  // letter + 1; 0 when not seen yet
  std::vector<std::unique_ptr<Text>> texts_;
  std::uint64_t compared_ = 0;
  std::uint64_t avoided_ = 0;

  struct Run {
    std::uint32_t row = 0;   // the row of the dynamic programme that wrote it
    std::uint32_t size = 0;  // length of the common run that ends here
  };
  std::vector<Run> runs_;  // by position in b
  std::uint32_t row_ = 1;
  std::vector<std::pair<std::uint32_t, Letter>> rare_;  // places of a whose letter b's index holds
  std::vector<Window> open_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace lodestep::canonicalizer
