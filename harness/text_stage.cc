#include "harness/text_stage.h"

#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/text.h"

namespace lodestep::harness {
namespace {

using graph::Id;

// The sentences of ALFWorld's templates, and those of our own household games.
struct Sentence {
  const char* pattern;  // object, then target where there is one
  const char* kind;
  const char* mark;
};
constexpr Sentence kSentences[] = {
    {R"((?:look at|examine|study) (?:the |an? |some )?(\w+) (?:under|with|by the light of) the (\w+))",
     "look", ""},
    {R"((?:put|find) two (\w+)(?: and put them)? (?:in/on|in|on) (\w+))", "two", ""},
    {R"(bring two of the (\w+?)s to one (\w+))", "two", ""},
    {R"(put (?:a|some) clean (\w+) (?:in/on|in|on) (\w+))", "treat", "cleaned"},
    {R"(put (?:a|some) hot (\w+) (?:in/on|in|on) (\w+))", "treat", "heated"},
    {R"(put (?:a|some) cool (\w+) (?:in/on|in|on) (\w+))", "treat", "cooled"},
    {R"(clean (?:an?|some) (\w+) and (?:put|bring) it (?:in/on|in|on|to the) (\w+))", "treat", "cleaned"},
    {R"(heat (?:an?|some) (\w+) and (?:put|bring) it (?:in/on|in|on|to the) (\w+))", "treat", "heated"},
    {R"(cool (?:an?|some) (\w+) and (?:put|bring) it (?:in/on|in|on|to the) (\w+))", "treat", "cooled"},
    {R"((?:put|bring) (?:an?|some) (\w+) (?:in/on|in|on|to the) (\w+))", "put", ""},
};

constexpr std::string_view kTask = "Your task is to: ";
constexpr std::string_view kLocation = " Location: ";
constexpr std::string_view kHand = ". Items in hand (status): ";
constexpr std::string_view kMoves = "History moving list by you: ";

// "mug 1" is a "mug".
bool is_a(std::string_view name, std::string_view type) {
  return name.size() > type.size() + 1 && name.starts_with(type) && name[type.size()] == ' ' &&
         name.find(' ', type.size() + 1) == std::string_view::npos;
}

// "mug 1(heated cooled)" apart.
std::pair<std::string_view, std::string_view> name_and_status(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) return {trim(text), {}};
  return {trim(text.substr(0, open)), text.substr(open, text.find(')', open) - open)};
}

// Whether the text tells of a thing of this type, other than the one in hand.
bool tells_of(std::string_view text, std::string_view type, std::string_view held) {
  for (std::size_t at = text.find(type); at != std::string_view::npos; at = text.find(type, at + 1)) {
    const std::size_t number = at + type.size() + 1;
    const bool whole = (at == 0 || text[at - 1] == ' ') && number < text.size() && text[number - 1] == ' ' &&
                       text[number] >= '0' && text[number] <= '9';
    if (!whole) continue;
    std::size_t end = number;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    if (text.substr(at, end - at) != held) return true;
  }
  return false;
}

}  // namespace

std::optional<TextStage> TextStage::of(std::string_view first_observation) {
  const std::size_t at = first_observation.find(kTask);
  if (at == std::string_view::npos) return std::nullopt;
  static const std::vector<std::unique_ptr<RE2>>& patterns = *[] {
    auto* made = new std::vector<std::unique_ptr<RE2>>;  // lives as long as the program
    for (const Sentence& sentence : kSentences)
      made->push_back(std::make_unique<RE2>("^" + std::string(sentence.pattern) + "\\b"));
    return made;
  }();
  const std::string sentence(first_observation.substr(at + kTask.size()));
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    TextStage stage;
    if (!RE2::PartialMatch(sentence, *patterns[i], &stage.object_, &stage.target_)) continue;
    stage.mark_ = kSentences[i].mark;
    stage.kind_ = kSentences[i].kind + (stage.mark_.empty() ? "" : "-" + stage.mark_);
    return stage;
  }
  return std::nullopt;
}

std::optional<std::string> TextStage::key(std::string_view observation) const {
  const std::size_t place = observation.rfind(kLocation);
  if (place == std::string_view::npos) return std::nullopt;
  const std::size_t hand = observation.find(kHand, place);
  if (hand == std::string_view::npos) return std::nullopt;
  const std::size_t end = observation.find(". ", hand + kHand.size());
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view location =
      observation.substr(place + kLocation.size(), hand - place - kLocation.size());
  const auto [held, status] =
      name_and_status(observation.substr(hand + kHand.size(), end - hand - kHand.size()));
  const auto ready = [&](std::string_view conditions) {
    return mark_.empty() || conditions.find(mark_) != std::string_view::npos;
  };

  std::size_t delivered = 0;
  const std::size_t moves = observation.find(kMoves, end);
  if (moves != std::string_view::npos && kind_ != "look") {
    std::map<std::string_view, std::size_t> inside;  // per receptacle
    for (const std::string_view move : split(observation.substr(moves + kMoves.size()), ';')) {
      const std::size_t to = move.rfind(" move to ");
      if (to == std::string_view::npos) continue;
      const auto [name, conditions] = name_and_status(move);
      const std::string_view where = trim(move.substr(to + 9));
      if (is_a(name, object_) && is_a(where, target_) && name != held && ready(conditions))
        delivered = std::max(delivered, ++inside[where]);
    }
  }
  const std::string_view reply = observation.substr(0, observation.find(kTask) < place ? 0 : place);
  const bool at_target = kind_ == "look" ? tells_of(reply, target_, "") : is_a(location, target_);
  const bool in_sight = !(kind_ != "look" && at_target) && tells_of(reply, object_, held);
  const char* in_hand = held == "nothing"      ? "none"
                        : !is_a(held, object_) ? "other"
                        : ready(status)        ? "ready"
                                               : "unready";
  return kind_ + " hand=" + in_hand + " delivered=" + std::to_string(std::min<std::size_t>(delivered, 2)) +
         " target=" + (at_target ? "1" : "0") + " sight=" + (in_sight ? "1" : "0");
}

bool add_text_keys(StepFile& steps) {
  graph::Batch& batch = steps.batch;
  if (!batch.keys.empty() || batch.rows() == 0) return false;
  std::map<std::pair<Id, Id>, std::size_t> first;  // row of each episode's first step
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    const auto [found, fresh] = first.try_emplace({batch.task[row], batch.episode[row]}, row);
    if (!fresh && batch.t[row] < batch.t[found->second]) found->second = row;
  }
  std::map<std::pair<Id, Id>, TextStage> stages;
  for (const auto& [episode, row] : first) {
    if (!is_text_state(steps, batch.state[row])) return false;
    std::optional<TextStage> stage = TextStage::of(state_text(steps, batch.state[row]));
    if (!stage) return false;
    stages.emplace(episode, std::move(*stage));
  }
  Interner keys;
  std::vector<std::vector<Id>> now(2), next(2);
  // The goal named as text stands for no place.
  const auto key = [&](const TextStage& stage, Id state) -> std::optional<Id> {
    if (!is_text_state(steps, state)) return std::nullopt;
    const std::string text = state_text(steps, state);
    if (text == "success") return keys.intern(text);
    const std::optional<std::string> read = stage.key(text);
    return read ? std::optional<Id>(keys.intern(*read)) : std::nullopt;
  };
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    const TextStage& stage = stages.at({batch.task[row], batch.episode[row]});
    const std::optional<Id> here = key(stage, batch.state[row]);
    const std::optional<Id> there = batch.next_state[row] == graph::kNone ? std::optional<Id>(graph::kNone)
                                                                          : key(stage, batch.next_state[row]);
    if (!here || !there) return false;
    now[0].push_back(*here);
    next[0].push_back(*there);
  }
  now[1] = batch.state;
  next[1] = batch.next_state;
  batch.keys = std::move(now);
  batch.next_keys = std::move(next);
  return true;
}

}  // namespace lodestep::harness
