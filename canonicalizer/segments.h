// Pages as lists of lines, each distinct line looked at once: its normal form, template, numbers, words.
//   SegmentBook book;
//   for (std::string_view raw : segments_of(page)) ids.push_back(book.line(raw).segment);
// Threads: one at a time. Owns copies of the lines. "Segment" is a line in normal form.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"

namespace lodestep::canonicalizer {

// The pieces between newlines and " [SEP] "; empty ones are left out.
std::vector<std::string_view> segments_of(std::string_view page);

// A line without `[button]` and `[clicked button]` marks around it.
std::string_view without_marks(std::string_view line);

// What a number in a page is replaced by when its value does not count. Not printable: with a printable
// mask, the walls of a Sokoban board would be masked numbers.
inline constexpr char kMask = '\x01';

using SegmentId = std::uint32_t;
using FeatureId = std::uint32_t;
inline constexpr SegmentId kNoSegment = std::numeric_limits<SegmentId>::max();

struct Number {
  std::uint32_t begin = 0;  // digits, with inner points and commas, in the segment's text
  std::uint32_t end = 0;
  std::uint64_t context = 0;  // hash of the template's 6 bytes before and after it
};

struct Segment {
  std::string text;
  Hash128 hash;           // of text
  Hash128 template_hash;  // of text with its numbers masked
  std::uint32_t template_id = 0;
  std::vector<Number> numbers;
  bool has_comma = false;
};

class SegmentBook {
 public:
  struct Line {
    SegmentId segment = kNoSegment;  // folded, clock times and ISO dates removed; kNoSegment: nothing left
    SegmentId plain = kNoSegment;    // folded only
    Hash128 bare;                    // of the folded line without button marks
  };

  const Line& line(std::string_view raw);
  SegmentId intern(std::string_view text);  // a text already in normal form
  const Segment& segment(SegmentId id) const { return segments_[id]; }
  std::size_t size() const { return segments_.size(); }
  std::size_t templates() const { return templates_.size(); }

  // The segment with the numbers in these contexts masked; itself when it has none of them.
  template <typename IsVolatile>
  SegmentId masked(SegmentId id, IsVolatile is_volatile);
  // The segment with its words sorted, a number kept with the word before it.
  SegmentId words_sorted(SegmentId id);
  // The template's words, punctuation and word pairs, start and end marked; each once, in the order of their
  // hashes.
  std::span<const FeatureId> features(SegmentId id);
  std::uint64_t feature_hash(FeatureId feature) const { return feature_hashes_[feature]; }
  std::size_t feature_count() const { return feature_hashes_.size(); }

 private:
  std::deque<Segment> segments_;
  std::unordered_map<Hash128, Line, ContainerHash> lines_;
  std::unordered_map<Hash128, SegmentId, ContainerHash> ids_;
  std::unordered_map<Hash128, std::uint32_t, ContainerHash> templates_;
  std::vector<SegmentId> sorted_;                 // words_sorted, kNoSegment when not asked for yet
  std::vector<std::vector<FeatureId>> features_;  // by template; empty when not asked for yet
  std::unordered_map<std::uint64_t, FeatureId, ContainerHash> feature_ids_;
  std::vector<std::uint64_t> feature_hashes_;
};

template <typename IsVolatile>
SegmentId SegmentBook::masked(SegmentId id, IsVolatile is_volatile) {
  std::string text;
  std::size_t done = 0;
  for (const Number& number : segments_[id].numbers) {
    if (!is_volatile(number.context)) continue;
    text.append(segments_[id].text, done, number.begin - done).push_back(kMask);
    done = number.end;
  }
  if (done == 0) return id;
  return intern(text.append(segments_[id].text, done));
}

}  // namespace lodestep::canonicalizer
