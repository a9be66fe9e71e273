#include "base/sequence_matcher.h"

#include <algorithm>

namespace lodestep {
namespace {

double matched_share(std::size_t matches, std::size_t length) {
  return length == 0 ? 1.0 : 2.0 * static_cast<double>(matches) / static_cast<double>(length);
}

}  // namespace

// Row i holds, at j + 1, the length of the common run that ends at a[i] and b[j]. Only touched cells
// are cleared, so a row costs as much as its letter has occurrences.
struct SequenceMatcher::Scratch {
  explicit Scratch(std::size_t b_size) : last(b_size + 1, 0), now(b_size + 1, 0) {}
  std::vector<std::uint32_t> last, now;
};

SequenceMatcher::SequenceMatcher(std::u32string_view b, bool autojunk) : b_(b), letters_(b.begin(), b.end()) {
  std::sort(letters_.begin(), letters_.end());
  letters_.erase(std::unique(letters_.begin(), letters_.end()), letters_.end());
  const auto none = static_cast<std::uint32_t>(letters_.size());
  ascii_.fill(none);
  for (std::uint32_t i = 0; i < none && letters_[i] < ascii_.size(); ++i) ascii_[letters_[i]] = i;

  const std::vector<std::uint32_t> text = letters_of(b);
  counts_.assign(letters_.size(), 0);
  for (const std::uint32_t letter : text) ++counts_[letter];
  const std::size_t most = autojunk && b.size() >= 200 ? b.size() / 100 + 1 : b.size();
  first_.assign(letters_.size() + 2, 0);
  for (std::size_t i = 0; i < letters_.size(); ++i)
    first_[i + 1] = first_[i] + (counts_[i] > most ? 0 : counts_[i]);
  first_[letters_.size() + 1] = first_[letters_.size()];  // the letter that b does not have
  positions_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::size_t j = 0; j < text.size(); ++j) {
    if (counts_[text[j]] <= most) positions_[next[text[j]]++] = static_cast<std::uint32_t>(j);
  }
}

std::size_t SequenceMatcher::letter_of(char32_t point) const {
  if (point < ascii_.size()) return ascii_[point];
  const auto found = std::lower_bound(letters_.begin(), letters_.end(), point);
  return found != letters_.end() && *found == point ? static_cast<std::size_t>(found - letters_.begin())
                                                    : letters_.size();
}

std::vector<std::uint32_t> SequenceMatcher::letters_of(std::u32string_view a) const {
  std::vector<std::uint32_t> letters(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) letters[i] = static_cast<std::uint32_t>(letter_of(a[i]));
  return letters;
}

MatchingBlock SequenceMatcher::longest_match(std::u32string_view a, const std::vector<std::uint32_t>& letters,
                                             const Range& range, Scratch& scratch) const {
  MatchingBlock best{range.a_low, range.b_low, 0};
  const auto span = [&](std::uint32_t letter) {
    const std::uint32_t* from = positions_.data() + first_[letter];
    const std::uint32_t* to = positions_.data() + first_[letter + 1];
    if (range.b_low > 0) from = std::lower_bound(from, to, static_cast<std::uint32_t>(range.b_low));
    if (range.b_high < b_.size()) to = std::lower_bound(from, to, static_cast<std::uint32_t>(range.b_high));
    return std::pair(from, to);
  };
  std::pair<const std::uint32_t*, const std::uint32_t*> before{nullptr, nullptr};
  for (std::size_t i = range.a_low; i < range.a_high; ++i) {
    const auto here = span(letters[i]);
    for (const std::uint32_t* at = here.first; at != here.second; ++at) {
      const std::uint32_t size = scratch.last[*at] + 1;
      scratch.now[*at + 1] = size;
      if (size > best.size) best = {i + 1 - size, *at + 1 - size, size};
    }
    for (const std::uint32_t* at = before.first; at != before.second; ++at) scratch.last[*at + 1] = 0;
    std::swap(scratch.last, scratch.now);
    before = here;
  }
  for (const std::uint32_t* at = before.first; at != before.second; ++at) scratch.last[*at + 1] = 0;

  // Popular letters start no block, but they lengthen one; with no block at all, difflib still tries the
  // common prefix of the range.
  while (best.a > range.a_low && best.b > range.b_low && a[best.a - 1] == b_[best.b - 1]) {
    --best.a;
    --best.b;
    ++best.size;
  }
  while (best.a + best.size < range.a_high && best.b + best.size < range.b_high &&
         a[best.a + best.size] == b_[best.b + best.size]) {
    ++best.size;
  }
  return best;
}

std::vector<MatchingBlock> SequenceMatcher::matching_blocks(std::u32string_view a) const {
  const std::vector<std::uint32_t> letters = letters_of(a);
  Scratch scratch(b_.size());
  std::vector<MatchingBlock> found;
  std::vector<Range> open{{0, a.size(), 0, b_.size()}};
  while (!open.empty()) {
    const Range range = open.back();
    open.pop_back();
    const MatchingBlock best = longest_match(a, letters, range, scratch);
    if (best.size == 0) continue;
    found.push_back(best);
    if (range.a_low < best.a && range.b_low < best.b)
      open.push_back({range.a_low, best.a, range.b_low, best.b});
    const std::size_t a_end = best.a + best.size;
    const std::size_t b_end = best.b + best.size;
    if (a_end < range.a_high && b_end < range.b_high)
      open.push_back({a_end, range.a_high, b_end, range.b_high});
  }
  std::sort(found.begin(), found.end(),
            [](const MatchingBlock& x, const MatchingBlock& y) { return x.a < y.a; });
  std::vector<MatchingBlock> blocks;
  for (const MatchingBlock& block : found) {
    if (!blocks.empty() && blocks.back().a + blocks.back().size == block.a &&
        blocks.back().b + blocks.back().size == block.b) {
      blocks.back().size += block.size;
    } else {
      blocks.push_back(block);
    }
  }
  blocks.push_back({a.size(), b_.size(), 0});
  return blocks;
}

double SequenceMatcher::ratio(std::u32string_view a) const {
  if (a == b_) return 1.0;
  std::size_t matches = 0;
  for (const MatchingBlock& block : matching_blocks(a)) matches += block.size;
  return matched_share(matches, a.size() + b_.size());
}

double SequenceMatcher::quick_ratio(std::u32string_view a) const {
  std::vector<std::uint32_t> left(counts_);
  std::size_t matches = 0;
  for (const char32_t point : a) {
    const std::size_t letter = letter_of(point);
    if (letter == left.size() || left[letter] == 0) continue;
    --left[letter];
    ++matches;
  }
  return matched_share(matches, a.size() + b_.size());
}

double SequenceMatcher::real_quick_ratio(std::u32string_view a) const {
  return matched_share(std::min(a.size(), b_.size()), a.size() + b_.size());
}

double sequence_ratio(std::u32string_view a, std::u32string_view b) { return SequenceMatcher(b).ratio(a); }

}  // namespace lodestep
