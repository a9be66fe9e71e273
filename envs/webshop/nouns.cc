#include "envs/webshop/nouns.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "envs/webshop/unicode.h"

namespace lodestep::webshop {
namespace {

// Words that are hardly ever nouns: prepositions, articles, pronouns, conjunctions, auxiliaries.
constexpr std::array<std::string_view, 98> kClosedClass{
    "a",       "about",  "above",  "across", "after",   "all",    "also",    "am",     "an",     "and",
    "any",     "are",    "around", "as",     "at",      "be",     "been",    "before", "behind", "below",
    "between", "both",   "but",    "by",     "can",     "could",  "did",     "do",     "does",   "down",
    "during",  "each",   "easy",   "every",  "for",     "from",   "had",     "has",    "have",   "he",
    "her",     "his",    "how",    "i",      "if",      "in",     "inside",  "into",   "is",     "it",
    "its",     "may",    "more",   "most",   "my",      "near",   "new",     "no",     "nor",    "not",
    "of",      "off",    "on",     "only",   "or",      "other",  "our",     "out",    "over",   "per",
    "she",     "should", "so",     "some",   "than",    "that",   "the",     "their",  "them",   "then",
    "these",   "they",   "this",   "those",  "through", "to",     "under",   "until",  "up",     "upon",
    "very",    "via",    "we",     "while",  "with",    "within", "without", "you"};

bool is_letter_or_digit(char32_t c) { return is_alphanumeric(c); }
bool is_digit(char32_t c) { return decimal_digit(c) >= 0; }
bool is_letter(char32_t c) { return is_alphanumeric(c) && !is_digit(c); }

// Cuts one blank-free piece as a tagger's tokenizer would: at brackets, quotes and commas, at "-" and "/"
// between letters, before 's.
void cut_piece(std::u32string_view piece, std::vector<std::u32string>& words) {
  static constexpr std::u32string_view kAlways = U"()[]{}\"\u201c\u201d,;:!?|&+*\u2013\u2014~<>=";
  std::u32string word;
  const auto flush = [&] {
    while (!word.empty() && !is_letter_or_digit(word.back())) word.pop_back();
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const char32_t c = piece[i];
    const bool between = i > 0 && i + 1 < piece.size();
    const bool quote = c == U'\'' || c == 0x2019;
    if (kAlways.find(c) != std::u32string_view::npos) {
      flush();
    } else if ((c == U'-' || c == U'/') &&
               (!between || (is_letter(piece[i - 1]) && is_letter(piece[i + 1])))) {
      flush();
    } else if (quote && i + 2 == piece.size() && (piece[i + 1] == U's' || piece[i + 1] == U'S')) {
      flush();
      return;
    } else if (word.empty() && !is_letter_or_digit(c)) {
      continue;
    } else {
      word += c;
    }
  }
  flush();
}

bool looks_like_noun(const std::u32string& word) {
  if (std::none_of(word.begin(), word.end(), is_letter)) return false;
  const std::string lower = python_lower(encode_utf8(word));
  if (std::binary_search(kClosedClass.begin(), kClosedClass.end(), lower)) return false;
  const bool capital = lower != encode_utf8(word);
  if (is_digit(word.front()) && !capital) return false;
  if (capital) return true;  // in titles a capitalised word nearly always counts as a name
  static constexpr std::array<std::string_view, 10> kNotNouns{"ly",  "able", "ful", "less", "ous",
                                                              "ive", "ic",   "al",  "ing",  "ed"};
  return std::none_of(kNotNouns.begin(), kNotNouns.end(),
                      [&](std::string_view end) { return lower.ends_with(end); });
}

}  // namespace

std::vector<std::string> nouns_by_rule(std::string_view title) {
  std::vector<std::u32string> words;
  std::u32string piece;
  for (const char32_t c : to_points(title)) {
    if (!is_python_space(c)) {
      piece += c;
      continue;
    }
    cut_piece(piece, words);
    piece.clear();
  }
  cut_piece(piece, words);
  std::vector<std::string> nouns;
  for (const std::u32string& word : words) {
    if (looks_like_noun(word)) nouns.push_back(python_lower(encode_utf8(word)));
  }
  return nouns;
}

}  // namespace lodestep::webshop
