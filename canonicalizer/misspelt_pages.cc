#include "canonicalizer/misspelt_pages.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "canonicalizer/edit_distance.h"
#include "canonicalizer/similarity.h"

namespace lodestep::canonicalizer {
namespace {

constexpr double kAlike = 0.93;

// All digits of the page in order, numbers apart: typing errors exchange letters.
Hash128 numbers_of(std::string_view text) {
  Hasher hasher;
  std::string number;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      number += c;
    } else if (!number.empty()) {
      hasher.add(number);
      number.clear();
    }
  }
  return hasher.add(number).finish();
}

using WordId = std::uint32_t;

// A word of letters for the most part: the row of a board is none.
bool is_spelt(std::string_view word) {
  const auto letters = std::count_if(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
  });
  return letters >= 2 && 2 * static_cast<std::size_t>(letters) >= word.size();
}

// The words of all pages, and how often each is seen.
class Words {
 public:
  // Of one page, in order.
  std::vector<WordId> add(std::string_view text, std::uint32_t views) {
    std::vector<WordId> words;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t end = std::min(text.find_first_of(" \n", i), text.size());
      if (end > i) {
        const std::string word(text.substr(i, end - i));
        const auto [known, is_new] = ids_.try_emplace(hash128(word), static_cast<WordId>(texts_.size()));
        if (is_new) {
          texts_.push_back(word);
          seen_.push_back(0);
        }
        seen_[known->second] += views;
        words.push_back(known->second);
      }
      i = end + 1;
    }
    return words;
  }

  // Whether one is the other with a typing error: nearly the same letters, and one of them far rarer than the
  // other or hardly ever seen; or both are a third one, far commoner, with letters that changed places.
  bool same_but_for_typing(WordId a, WordId b) const {
    constexpr std::uint32_t kHardlyEver = 2;
    constexpr double kAlikeWords = 0.5;
    const std::string& one = texts_[a];
    const std::string& other = texts_[b];
    if (!is_spelt(one) || !is_spelt(other)) return false;
    const bool same_letters = std::is_permutation(one.begin(), one.end(), other.begin(), other.end());
    const WordId model = same_letters ? commonest_.at(letters_of(one)) : a;
    if (is_far_rarer(a, model) && is_far_rarer(b, model)) return true;
    const bool rare = std::min(seen_[a], seen_[b]) <= kHardlyEver || is_far_rarer(a, b) || is_far_rarer(b, a);
    return rare && (same_letters || edit_similarity(one, other) >= kAlikeWords);
  }

  // Once all pages are known.
  void find_commonest() {
    for (WordId word = 0; word < texts_.size(); ++word) {
      WordId& best = commonest_.try_emplace(letters_of(texts_[word]), word).first->second;
      if (std::tie(seen_[best], texts_[word]) < std::tie(seen_[word], texts_[best])) best = word;
    }
  }

 private:
  static Hash128 letters_of(std::string word) {
    std::sort(word.begin(), word.end());
    return hash128(word);
  }
  bool is_far_rarer(WordId word, WordId than) const { return 3 * seen_[word] <= seen_[than]; }

  std::unordered_map<Hash128, WordId, ContainerHash> ids_;
  std::vector<std::string> texts_;
  std::vector<std::uint32_t> seen_;
  std::unordered_map<Hash128, WordId, ContainerHash> commonest_;  // of the words with these letters
};

// Whether two pages are the same words in the same places, some of them misspelt.
bool differ_by_typing(const Words& words, const std::vector<WordId>& a, const std::vector<WordId>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](WordId one, WordId other) {
    return one == other || words.same_but_for_typing(one, other);
  });
}

// One cluster's first member.
struct First {
  std::size_t page;
  TextId text;
};

}  // namespace

std::vector<std::size_t> join_misspelt(std::span<const CleanPage> pages) {
  std::vector<std::size_t> order(pages.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    return std::tie(pages[x].t, pages[x].text) < std::tie(pages[y].t, pages[y].text);
  });
  std::vector<std::size_t> stands_for(pages.size());
  TextIndex index(Metric::kIndel);
  Words words;
  std::vector<std::vector<WordId>> words_of;
  for (const CleanPage& page : pages) words_of.push_back(words.add(page.text, page.views));
  words.find_commonest();
  std::unordered_map<Hash128, std::vector<First>, ContainerHash> firsts;
  for (const std::size_t i : order) {
    const CleanPage& page = pages[i];
    const Hash128 numbers = numbers_of(page.text);
    Hasher key;
    key.add_u64(page.group);
    for (const Hash128& part : {page.bucket, numbers}) key.add_u64(part.high).add_u64(part.low);
    std::vector<First>& known = firsts[key.finish()];
    const TextId text = index.add(code_points(page.text));
    const auto alike = std::find_if(known.begin(), known.end(), [&](const First& first) {
      return index.ratio_at_least(text, first.text, kAlike).has_value() &&
             differ_by_typing(words, words_of[i], words_of[first.page]);
    });
    stands_for[i] = alike == known.end() ? i : alike->page;
    if (alike == known.end()) known.push_back({i, text});
  }
  return stands_for;
}

}  // namespace lodestep::canonicalizer
