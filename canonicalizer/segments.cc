#include "canonicalizer/segments.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "canonicalizer/normal_form.h"

namespace lodestep::canonicalizer {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0 || c == '\'';
}

bool may_hold_time(std::string_view text) {
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if ((text[i] == ':' || text[i] == '-') && is_digit(text[i - 1]) && is_digit(text[i + 1])) return true;
  }
  return false;
}

// Clock times and ISO dates, with the words that announce them.
std::string without_times(const std::string& text) {
  static const RE2 kTime(
      R"((?:\b(?:last updated|as of|at|updated)\b:? ?)*\b(?:\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?|)"
      R"(\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?)(?: ?[ap]m\b)?(?: ?(?:utc|gmt|z)\b)?)");
  std::string out = text;
  return RE2::GlobalReplace(&out, kTime, "") > 0 ? collapse_space(out) : out;
}

std::vector<Number> numbers_of(std::string_view text) {
  std::vector<Number> numbers;
  for (std::uint32_t i = 0; i < text.size();) {
    if (!is_digit(text[i])) {
      ++i;
      continue;
    }
    Number number{i, i + 1, 0};
    while (number.end < text.size() &&
           (is_digit(text[number.end]) || ((text[number.end] == '.' || text[number.end] == ',') &&
                                           number.end + 1 < text.size() && is_digit(text[number.end + 1])))) {
      ++number.end;
    }
    numbers.push_back(number);
    i = number.end;
  }
  return numbers;
}

}  // namespace

std::vector<std::string_view> segments_of(std::string_view page) {
  static constexpr std::string_view kSeparator = " [SEP] ";
  std::vector<std::string_view> segments;
  const auto put = [&](std::string_view piece) {
    if (!piece.empty()) segments.push_back(piece);
  };
  while (!page.empty()) {
    const std::size_t end = std::min(page.find('\n'), page.size());
    std::string_view line = page.substr(0, end);
    for (std::size_t at = line.find(kSeparator); at != std::string_view::npos; at = line.find(kSeparator)) {
      put(line.substr(0, at));
      line.remove_prefix(at + kSeparator.size());
    }
    put(line);
    page.remove_prefix(std::min(end + 1, page.size()));
  }
  return segments;
}

std::string_view without_marks(std::string_view line) {
  for (const std::string_view mark : {"[button] ", "[clicked button] "}) {
    if (line.starts_with(mark)) line.remove_prefix(mark.size());
  }
  for (const std::string_view mark : {" [button_]", " [clicked button_]"}) {
    if (line.ends_with(mark)) line.remove_suffix(mark.size());
  }
  return line;
}

const SegmentBook::Line& SegmentBook::line(std::string_view raw) {
  const auto [known, is_new] = lines_.try_emplace(hash128(raw));
  Line& line = known->second;
  if (!is_new) return line;
  const std::string folded = fold_line(raw);
  if (folded.empty()) return line;
  line.plain = intern(folded);
  line.bare = hash128(without_marks(folded));
  line.segment = line.plain;
  if (may_hold_time(folded)) {
    const std::string timeless = without_times(folded);
    line.segment = timeless.empty() ? kNoSegment : intern(timeless);
  }
  return line;
}

SegmentId SegmentBook::intern(std::string_view text) {
  const Hash128 hash = hash128(text);
  const auto [known, is_new] = ids_.try_emplace(hash, static_cast<SegmentId>(segments_.size()));
  if (!is_new) return known->second;
  Segment segment;
  segment.text = text;
  segment.hash = hash;
  segment.has_comma = text.find(',') != std::string_view::npos;
  segment.numbers = numbers_of(text);
  if (segment.numbers.empty()) {
    segment.template_hash = hash;
  } else {
    std::string masked;
    std::vector<std::size_t> places;
    std::size_t done = 0;
    for (const Number& number : segment.numbers) {
      masked.append(text, done, number.begin - done);
      places.push_back(masked.size());
      masked.push_back(kMask);
      done = number.end;
    }
    masked.append(text, done);
    segment.template_hash = hash128(masked);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::size_t from = places[i] - std::min<std::size_t>(places[i], 6);
      segment.numbers[i].context =
          hash128(std::string_view(masked).substr(from, places[i] - from + 7)).low ^ (places[i] - from);
    }
  }
  segment.template_id =
      templates_.try_emplace(segment.template_hash, static_cast<std::uint32_t>(templates_.size()))
          .first->second;
  segments_.push_back(std::move(segment));
  return known->second;
}

SegmentId SegmentBook::words_sorted(SegmentId id) {
  if (sorted_.size() <= id) sorted_.resize(segments_.size(), kNoSegment);
  if (sorted_[id] != kNoSegment) return sorted_[id];
  std::vector<std::string> units;
  const std::string& text = segments_[id].text;
  for (std::string_view word : split(text, ' ')) {
    while (!word.empty() && (word.back() == ',' || word.back() == '.')) word.remove_suffix(1);
    if (word.empty()) continue;
    if (!units.empty() && is_digit(word.front())) {
      units.back().append(" ").append(word);
    } else {
      units.emplace_back(word);
    }
  }
  std::sort(units.begin(), units.end());
  const SegmentId sorted = intern("\x02" + join(units, " "));
  sorted_[id] = sorted;
  return sorted;
}

std::span<const FeatureId> SegmentBook::features(SegmentId id) {
  const Segment& segment = segments_[id];
  if (features_.size() <= segment.template_id) features_.resize(templates_.size());
  std::vector<FeatureId>& features = features_[segment.template_id];
  if (!features.empty()) return features;
  std::vector<std::uint64_t> hashes;
  std::uint64_t before = hash128("\x02start").low;
  const auto put = [&](std::uint64_t word) {
    hashes.push_back(word);
    hashes.push_back(Hasher().add_u64(before).add_u64(word).finish().low);
    before = word;
  };
  std::size_t number = 0;
  for (std::size_t i = 0; i < segment.text.size();) {
    if (number < segment.numbers.size() && segment.numbers[number].begin == i) {
      i = segment.numbers[number++].end;
      put(hash128(std::string_view(&kMask, 1)).low);
      continue;
    }
    if (segment.text[i] == ' ') {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (is_word(segment.text[i]) && end < segment.text.size() && is_word(segment.text[end]) &&
           !(number < segment.numbers.size() && segment.numbers[number].begin == end)) {
      ++end;
    }
    put(hash128(std::string_view(segment.text).substr(i, end - i)).low);
    i = end;
  }
  hashes.push_back(Hasher()
                       .add_u64(before)
                       .add(std::string_view("\x02"
                                             "end"))
                       .finish()
                       .low);
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  features.reserve(hashes.size());
  for (const std::uint64_t hash : hashes) {
    const auto [known, is_new] =
        feature_ids_.try_emplace(hash, static_cast<FeatureId>(feature_hashes_.size()));
    if (is_new) feature_hashes_.push_back(hash);
    features.push_back(known->second);
  }
  return features;
}

}  // namespace lodestep::canonicalizer
