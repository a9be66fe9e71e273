#include "harness/answer.h"

#include <unicode/locid.h>
#include <unicode/unistr.h>

#include "base/text.h"

namespace lodestep::harness {
namespace {

std::string lower(std::string_view utf8) {
  icu::UnicodeString text =
      icu::UnicodeString::fromUTF8({utf8.data(), static_cast<std::int32_t>(utf8.size())});
  std::string out;
  return text.toLower(icu::Locale::getRoot()).toUTF8String(out);
}

bool has_chinese(std::string_view utf8) {
  const icu::UnicodeString text =
      icu::UnicodeString::fromUTF8({utf8.data(), static_cast<std::int32_t>(utf8.size())});
  for (std::int32_t i = 0; i < text.length(); ++i) {
    if (text[i] >= 0x4E00 && text[i] <= 0x9FFF) return true;
  }
  return false;
}

// The last `count` characters of UTF-8 text.
std::string_view tail_of(std::string_view text, std::size_t count) {
  std::size_t at = text.size();
  while (at > 0 && count > 0) {
    --at;
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) --count;
  }
  return text.substr(at);
}

}  // namespace

Answer parse_answer(std::string_view reply, const AnswerStyle& style) {
  constexpr std::string_view kOpen = "<action>";
  constexpr std::string_view kClose = "</action>";
  const std::string text = lower(reply);
  const std::size_t open = text.find(kOpen);
  const std::size_t close = text.find(kClose);
  Answer answer;
  if (open == std::string::npos || close == std::string::npos) {
    answer.action = style.words.empty() ? std::string(tail_of(text, style.tail)) : style.no_word;
    return answer;
  }
  const std::size_t begin = open + kOpen.size();
  const std::string_view inner =
      close < begin ? std::string_view() : python_strip(std::string_view(text).substr(begin, close - begin));
  answer.valid = true;
  if (style.words.empty()) {
    answer.action = std::string(inner);
  } else {
    answer.valid = false;
    answer.action = style.no_word;
    for (const std::string& word : style.words) {
      if (inner.find(word) == std::string_view::npos) continue;
      answer.action = word;
      answer.valid = true;
      break;
    }
  }
  if (reply.find("<think>") == std::string_view::npos || reply.find("</think>") == std::string_view::npos)
    answer.valid = false;
  if (style.refuses_chinese && has_chinese(reply)) answer.valid = false;
  return answer;
}

}  // namespace lodestep::harness
