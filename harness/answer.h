// Reads a model's reply: which action it means, and whether it keeps to the form asked for.
//   Answer answer = parse_answer("<think>...</think><action>go to desk 1</action>", AnswerStyle{});
// The rules are those of verl-agent's projections: an action is played also when the form is wrong.
// Threads: pure function.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lodestep::harness {

struct AnswerStyle {
  // Not empty: the action is the first of these words that occurs in the answer, in this order.
  std::vector<std::string> words;
  std::string no_word;          // played when none occurs
  std::size_t tail = 30;        // without tags: so many last characters are the action (free text only)
  bool refuses_chinese = true;  // U+4E00..U+9FFF anywhere makes the form wrong
};

struct Answer {
  std::string action;
  bool valid = false;  // tags in place, thoughts in place, script as asked
};

// `reply` is UTF-8; malformed bytes become U+FFFD. Tags may be in any case, <think> only in lower case.
Answer parse_answer(std::string_view reply, const AnswerStyle& style);

}  // namespace lodestep::harness
