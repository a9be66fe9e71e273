#include "envs/webshop/analyzer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/text.h"
#include "envs/webshop/unicode.h"

namespace lodestep::webshop {
namespace {

// The low four bits of word_class(), in the order of make_word_break_table.py.
enum Kind : std::uint16_t {
  kOther,
  kExtend,
  kJoiner,
  kExtendNumLet,
  kKatakana,
  kHebrew,
  kLetter,
  kDigit,
  kMidLetter,
  kMidNumLet,
  kSingleQuote,
  kMidNum,
  kDoubleQuote,
  kRegional,
};
constexpr std::uint16_t kSouthEastAsian = 0x10, kHanOrHiragana = 0x20, kEmoji = 0x40, kModifier = 0x80,
                        kModifierBase = 0x100;
constexpr char32_t kTextSelector = 0xfe0e, kEmojiSelector = 0xfe0f, kKeyCap = 0x20e3;
constexpr std::size_t kLongest = 255;  // UTF-16 units of one token

Kind kind(char32_t c) { return static_cast<Kind>(word_class(c) & 15); }
bool extends(char32_t c) { return kind(c) == kExtend || kind(c) == kJoiner; }

// Longest token that begins at `at`, 0 if none. All of it works on [at, end), so that a token never
// looks past the original scanner's buffer.
class Scanner {
 public:
  explicit Scanner(std::u32string_view window) : text_(window) {}

  std::size_t longest() const {
    const std::uint16_t first = word_class(text_[0]);
    std::size_t best = word();
    if ((first & kSouthEastAsian) != 0) best = std::max(best, south_east_asian());
    if ((first & kHanOrHiragana) != 0) best = std::max(best, after_extends(1));
    const bool may_be_emoji = (first & (kEmoji | kModifier | kModifierBase)) != 0 ||
                              kind(text_[0]) == kJoiner || kind(text_[0]) == kRegional ||
                              is_key_cap_base(text_[0]);
    return may_be_emoji ? std::max(best, emoji()) : best;
  }

 private:
  static bool is_key_cap_base(char32_t c) { return (c >= U'0' && c <= U'9') || c == U'#' || c == U'*'; }

  std::size_t after_extends(std::size_t at) const {
    while (at < text_.size() && extends(text_[at])) ++at;
    return at;
  }
  // The same but for the two presentation selectors, which emoji sequences need for themselves.
  std::size_t after_plain_extends(std::size_t at) const {
    while (at < text_.size() && extends(text_[at]) && text_[at] != kTextSelector &&
           text_[at] != kEmojiSelector)
      ++at;
    return at;
  }

  // Letters, digits and what joins them (WB5 to WB13b), as the set of states that the rules allow.
  std::size_t word() const {
    enum State : unsigned {
      kStart = 1,
      kAfterKatakana = 2,
      kAfterDigit = 4,
      kAfterLetter = 8,
      kAfterHebrew = 16,
      kAfterQuoted = 32,
      kAfterJoin = 64,
      kNeedsDigit = 128,
      kNeedsLetter = 256,
      kNeedsHebrew = 512,
    };
    constexpr unsigned kAccepting = kAfterKatakana | kAfterDigit | kAfterLetter | kAfterQuoted | kAfterJoin;
    constexpr unsigned kBeforeWord = kStart | kAfterDigit | kAfterLetter | kAfterQuoted | kAfterJoin;
    unsigned states = kStart;
    std::size_t best = 0;
    for (std::size_t at = 0; at < text_.size();) {
      const auto any = [states](unsigned set) { return (states & set) != 0; };
      unsigned next = 0;
      switch (kind(text_[at])) {
        case kExtendNumLet:
          if (any(kStart)) next |= kStart;
          if (any(kAccepting)) next |= kAfterJoin;
          break;
        case kKatakana:
          if (any(kStart | kAfterKatakana | kAfterJoin)) next |= kAfterKatakana;
          break;
        case kDigit:
          if (any(kBeforeWord | kNeedsDigit)) next |= kAfterDigit;
          break;
        case kHebrew:
          if (any(kBeforeWord)) next |= kAfterHebrew;
          if (any(kNeedsHebrew)) next |= kAfterQuoted;
          [[fallthrough]];
        case kLetter:
          if (any(kBeforeWord | kNeedsLetter)) next |= kAfterLetter;
          break;
        case kSingleQuote:
          if (any(kAfterHebrew)) next |= kAfterQuoted;
          [[fallthrough]];
        case kMidNumLet:
          if (any(kAfterDigit)) next |= kNeedsDigit;
          if (any(kAfterLetter)) next |= kNeedsLetter;
          break;
        case kMidLetter:
          if (any(kAfterLetter)) next |= kNeedsLetter;
          break;
        case kMidNum:
          if (any(kAfterDigit)) next |= kNeedsDigit;
          break;
        case kDoubleQuote:
          if (any(kAfterHebrew)) next |= kNeedsHebrew;
          break;
        default: break;
      }
      if (next == 0) break;
      states = next;
      at = after_extends(at + 1);
      if ((states & kAccepting) != 0) best = at;
    }
    return best;
  }

  std::size_t south_east_asian() const {
    std::size_t at = 0;
    while (at < text_.size() && (word_class(text_[at]) & kSouthEastAsian) != 0) at = after_extends(at + 1);
    return at;
  }

  // One emoji, with its selector or modifier: all ends that the rule allows, longest last.
  std::vector<std::size_t> emoji_elements(std::size_t at) const {
    std::vector<std::size_t> ends;
    std::size_t start = at;
    while (start < text_.size() && kind(text_[start]) == kJoiner) ++start;
    const auto has = [&](std::size_t i, std::uint16_t bit) {
      return i < text_.size() && (word_class(text_[i]) & bit) != 0;
    };
    if (has(start, kEmoji)) {
      const std::size_t end = after_plain_extends(start + 1);
      for (std::size_t e = start + 1; e <= end; ++e) {
        ends.push_back(e);
        if (e < text_.size() && text_[e] == kEmojiSelector) ends.push_back(e + 1);
      }
    }
    if (has(start, kModifierBase)) {
      const std::size_t modifier = after_plain_extends(start + 1);
      if (has(modifier, kModifier)) {
        for (std::size_t e = modifier + 1; e <= after_plain_extends(modifier + 1); ++e) ends.push_back(e);
      }
    }
    if (has(at, kModifier)) {
      for (std::size_t e = at + 1; e <= after_plain_extends(at + 1); ++e) ends.push_back(e);
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    return ends;
  }

  std::size_t emoji() const {
    std::size_t best = 0;
    if (is_key_cap_base(text_[0])) {
      std::size_t at = after_plain_extends(1);
      // The key cap itself extends, so look for it inside the run as well.
      for (std::size_t i = 1; i < at; ++i) {
        if (text_[i] == kKeyCap) best = after_plain_extends(i + 1);
      }
      if (at < text_.size() && text_[at] == kEmojiSelector) ++at;
      if (at < text_.size() && text_[at] == kKeyCap) best = std::max(best, after_plain_extends(at + 1));
    }
    if (kind(text_[0]) == kRegional) {
      const std::size_t second = after_extends(1);
      if (second < text_.size() && kind(text_[second]) == kRegional)
        best = std::max(best, after_extends(second + 1));
    }
    // element (ZWJ element)* or element tags: a search over the ends that were reached.
    std::vector<bool> reached(text_.size() + 1, false);
    const std::vector<std::size_t> first = emoji_elements(0);
    for (const std::size_t end : first) {
      reached[end] = true;
      std::size_t tag = end;
      while (tag < text_.size() && text_[tag] >= 0xe0020 && text_[tag] <= 0xe007e) ++tag;
      if (tag > end && tag < text_.size() && text_[tag] == 0xe007f) best = std::max(best, tag + 1);
    }
    if (first.empty()) return best;
    for (std::size_t at = first.front(); at <= text_.size(); ++at) {
      if (!reached[at]) continue;
      best = std::max(best, at);
      if (at == text_.size() || kind(text_[at]) != kJoiner) continue;
      for (const std::size_t end : emoji_elements(at + 1)) reached[end] = true;
    }
    return best;
  }

  std::u32string_view text_;
};

bool is_stop_word(std::string_view word) {
  static constexpr std::array<std::string_view, 33> kStopWords{
      "a",   "an",    "and",  "are",   "as",    "at",   "be",   "but", "by",  "for",  "if",
      "in",  "into",  "is",   "it",    "no",    "not",  "of",   "on",  "or",  "such", "that",
      "the", "their", "then", "there", "these", "they", "this", "to",  "was", "will", "with"};
  return word.size() <= 5 && std::binary_search(kStopWords.begin(), kStopWords.end(), word);
}

// Porter's five steps. The rules speak of letters, so a stem works on code points of any script: a
// letter outside a, e, i, o, u, y is a consonant.
template <typename Text>
class Porter {
 public:
  explicit Porter(Text& word) : w_(word) {}

  void stem() {
    if (w_.size() <= 2) return;
    plural();
    past_and_gerund();
    if (ends("y") && has_vowel(w_.size() - 1)) w_.back() = 'i';
    replace_first(kStep2);
    replace_first(kStep3);
    drop_suffix();
    if (ends("e")) {
      const int m = measure(w_.size() - 1);
      if (m > 1 || (m == 1 && !ends_cvc(w_.size() - 1))) w_.pop_back();
    }
    if (ends("ll") && measure(w_.size() - 1) > 1) w_.pop_back();
  }

 private:
  using Rule = std::pair<std::string_view, std::string_view>;
  static constexpr std::array<Rule, 21> kStep2{
      {{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
       {"bli", "ble"},     {"alli", "al"},     {"entli", "ent"}, {"eli", "e"},     {"ousli", "ous"},
       {"ization", "ize"}, {"ation", "ate"},   {"ator", "ate"},  {"alism", "al"},  {"iveness", "ive"},
       {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},  {"iviti", "ive"}, {"biliti", "ble"},
       {"logi", "log"}}};
  static constexpr std::array<Rule, 7> kStep3{{{"icate", "ic"},
                                               {"ative", ""},
                                               {"alize", "al"},
                                               {"iciti", "ic"},
                                               {"ical", "ic"},
                                               {"ful", ""},
                                               {"ness", ""}}};
  static constexpr std::array<std::string_view, 19> kStep4{
      "al",  "ance", "ence", "er",  "ic",  "able", "ible", "ant", "ement", "ment",
      "ent", "ion",  "ou",   "ism", "ate", "iti",  "ous",  "ive", "ize"};

  bool ends(std::string_view suffix) const {
    return w_.size() >= suffix.size() && w_.back() == static_cast<typename Text::value_type>(suffix.back()) &&
           std::equal(suffix.begin(), suffix.end(), w_.end() - static_cast<std::ptrdiff_t>(suffix.size()),
                      [](char a, auto b) { return static_cast<decltype(b)>(a) == b; });
  }
  bool consonant(std::size_t i) const {
    switch (w_[i]) {
      case 'a':
      case 'e':
      case 'i':
      case 'o':
      case 'u': return false;
      case 'y': return i == 0 || !consonant(i - 1);
      default: return true;
    }
  }
  int measure(std::size_t size) const {  // vowel-consonant sequences in the first `size` letters
    int count = 0;
    bool vowel = false;
    for (std::size_t i = 0; i < size; ++i) {
      if (!consonant(i)) {
        vowel = true;
      } else if (vowel) {
        ++count;
        vowel = false;
      }
    }
    return count;
  }
  bool has_vowel(std::size_t size) const {
    for (std::size_t i = 0; i < size; ++i) {
      if (!consonant(i)) return true;
    }
    return false;
  }
  bool ends_double_consonant() const {
    const std::size_t n = w_.size();
    return n >= 2 && w_[n - 1] == w_[n - 2] && consonant(n - 1);
  }
  bool ends_cvc(std::size_t size) const {
    if (size < 3 || !consonant(size - 1) || consonant(size - 2) || !consonant(size - 3)) return false;
    return w_[size - 1] != 'w' && w_[size - 1] != 'x' && w_[size - 1] != 'y';
  }
  void cut(std::size_t letters) { w_.resize(w_.size() - letters); }
  void append(std::string_view letters) {
    for (const char c : letters) w_ += static_cast<typename Text::value_type>(c);
  }

  void plural() {
    if (!ends("s")) return;
    if (ends("sses") || ends("ies")) {
      cut(2);
    } else if (!ends("ss")) {
      cut(1);
    }
  }
  void past_and_gerund() {
    if (ends("eed")) {
      if (measure(w_.size() - 3) > 0) cut(1);
      return;
    }
    const std::size_t suffix = ends("ed") ? 2 : ends("ing") ? 3 : 0;
    if (suffix == 0 || !has_vowel(w_.size() - suffix)) return;
    cut(suffix);
    if (ends("at") || ends("bl") || ends("iz")) {
      append("e");
    } else if (ends_double_consonant()) {
      if (!ends("l") && !ends("s") && !ends("z")) cut(1);
    } else if (measure(w_.size()) == 1 && ends_cvc(w_.size())) {
      append("e");
    }
  }
  template <std::size_t N>
  void replace_first(const std::array<Rule, N>& rules) {
    for (const auto& [suffix, instead] : rules) {
      if (!ends(suffix)) continue;
      if (measure(w_.size() - suffix.size()) > 0) {
        cut(suffix.size());
        append(instead);
      }
      return;
    }
  }
  void drop_suffix() {
    for (const std::string_view suffix : kStep4) {
      if (!ends(suffix)) continue;
      const std::size_t left = w_.size() - suffix.size();
      if (suffix == "ion" && (left == 0 || (w_[left - 1] != 's' && w_[left - 1] != 't'))) continue;
      if (measure(left) > 1) cut(suffix.size());
      return;
    }
  }

  Text& w_;
};

// What the scanner's buffer holds from here on, counted in UTF-16 units.
std::u32string_view window(std::u32string_view text) {
  std::size_t units = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    units += text[end] > 0xffff ? 2 : 1;
    if (units > kLongest) break;
  }
  return text.substr(0, end);
}

void finish_token(std::u32string token, std::vector<std::string>& terms) {
  const std::size_t n = token.size();
  if (n >= 2 && (token[n - 1] == U's' || token[n - 1] == U'S') &&
      (token[n - 2] == U'\'' || token[n - 2] == 0x2019 || token[n - 2] == 0xff07)) {
    token.resize(n - 2);
  }
  std::string word;
  bool ascii = true;
  for (const char32_t c : token) {
    ascii = ascii && c < 0x80;
    append_utf8(word, java_lower(c));
  }
  if (is_stop_word(word)) return;
  if (ascii) {
    Porter(word).stem();
    terms.push_back(std::move(word));
    return;
  }
  // The original's stemmer counts UTF-16 units.
  std::u16string units;
  for (const char32_t point : token) {
    const char32_t c = java_lower(point);
    if (c > 0xffff) units += static_cast<char16_t>(0xd7c0 + (c >> 10));
    units += static_cast<char16_t>(c > 0xffff ? 0xdc00 + (c & 0x3ff) : c);
  }
  Porter(units).stem();
  std::u32string stem;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const bool pair = units[i] >= 0xd800 && units[i] < 0xdc00 && i + 1 < units.size();
    stem += pair ? (static_cast<char32_t>(units[i] - 0xd7c0U) << 10) + (units[i + 1] & 0x3ffU)
                 : char32_t{units[i]};
    if (pair) ++i;
  }
  terms.push_back(encode_utf8(stem));
}

// ASCII as the rules see it: part of words, between words, or joining when letters or digits follow.
enum class Ascii : std::uint8_t { kSplits, kWord, kJoins, kNotAscii };
const std::array<Ascii, 256>& ascii_kinds() {
  static const std::array<Ascii, 256> kinds = [] {
    std::array<Ascii, 256> table{};
    for (std::size_t i = 0; i < table.size(); ++i) {
      const auto point = static_cast<char32_t>(i);
      table[i] = i >= 0x80                ? Ascii::kNotAscii
                 : is_alphanumeric(point) ? Ascii::kWord
                 : kind(point) == kOther  ? Ascii::kSplits
                                          : Ascii::kJoins;
    }
    return table;
  }();
  return kinds;
}

// The term of an ASCII word, empty for a stop word.
std::string plain_term(std::string_view word) {
  std::string term = ascii_lower(word);
  if (is_stop_word(term)) return "";
  Porter(term).stem();
  return term;
}

// Texts repeat their words, so each thread keeps the terms of short ones that it met.
void add_plain_word(std::string_view word, std::vector<std::string>& terms) {
  struct Known {
    std::uint64_t first = 0, second = 0;  // its bytes, with zeros behind them
    std::string term;
  };
  thread_local std::array<Known, 1024> known;
  std::uint64_t halves[2]{};
  if (word.size() > sizeof halves) {
    if (std::string term = plain_term(word); !term.empty()) terms.push_back(std::move(term));
    return;
  }
  std::memcpy(halves, word.data(), word.size());
  Known& place = known[((halves[0] ^ (halves[1] * 31)) * 0x9e3779b97f4a7c15ULL) >> 54];
  if (place.first != halves[0] || place.second != halves[1]) place = {halves[0], halves[1], plain_term(word)};
  if (!place.term.empty()) terms.push_back(place.term);
}

// Most pieces between blanks are ASCII words with a comma or a bracket at their ends, or with hyphens.
// Those need no scanner; false, and nothing added, where something may join.
bool add_plain_words(std::string_view piece, std::vector<std::string>& terms) {
  const std::array<Ascii, 256>& kinds = ascii_kinds();
  const auto ascii_kind = [&kinds](char c) { return kinds[static_cast<unsigned char>(c)]; };
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const Ascii here = ascii_kind(piece[i]);
    if (here == Ascii::kNotAscii || piece[i] == '_') return false;
    if (here != Ascii::kJoins || i == 0 || i + 1 == piece.size()) continue;
    if (ascii_kind(piece[i - 1]) != Ascii::kSplits && ascii_kind(piece[i + 1]) != Ascii::kSplits)
      return false;
  }
  if (piece.size() >= kLongest) return false;
  for (std::size_t at = 0; at < piece.size();) {
    if (ascii_kind(piece[at]) != Ascii::kWord) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    while (end < piece.size() && ascii_kind(piece[end]) == Ascii::kWord) ++end;
    add_plain_word(piece.substr(at, end - at), terms);
    at = end;
  }
  return true;
}

}  // namespace

std::vector<std::u32string> tokenize(std::u32string_view text) {
  std::vector<std::u32string> tokens;
  for (std::size_t at = 0; at < text.size();) {
    if (word_class(text[at]) == kOther && text[at] != U'#' && text[at] != U'*') {
      ++at;
      continue;
    }
    const std::size_t size = Scanner(window(text.substr(at))).longest();
    if (size > 0) tokens.emplace_back(text.substr(at, size));
    at += std::max<std::size_t>(1, size);
  }
  return tokens;
}

std::string porter_stem(std::string word) {
  Porter(word).stem();
  return word;
}

std::vector<std::string> analyze(std::string_view text) {
  std::vector<std::string> terms;
  terms.reserve(text.size() / 6 + 1);
  for (std::size_t at = 0; at < text.size();) {  // a blank always splits
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view piece = text.substr(at, end - at);
    if (!add_plain_words(piece, terms)) {
      for (std::u32string& token : tokenize(to_points(piece))) finish_token(std::move(token), terms);
    }
    at = end + 1;
  }
  return terms;
}

}  // namespace lodestep::webshop
