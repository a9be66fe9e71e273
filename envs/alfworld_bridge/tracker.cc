#include "envs/alfworld_bridge/tracker.h"

#include <algorithm>

#include "base/text.h"

namespace lodestep::alfworld {
namespace {

constexpr std::string_view kVerbs[] = {"heat", "cool", "clean", "slice"};
constexpr std::string_view kMarks[] = {"heated", "cooled", "cleaned", "sliced"};
constexpr std::string_view kNothing = "nothing";

bool begins(std::string_view text, std::string_view word) { return text.substr(0, word.size()) == word; }

// What stands between the verb and the first of these words.
std::string_view object_of(std::string_view rest, std::initializer_list<std::string_view> borders) {
  for (const std::string_view border : borders) {
    const std::size_t at = rest.find(border);
    if (at != std::string_view::npos) return trim(rest.substr(0, at));
  }
  return trim(rest);
}

}  // namespace

bool Tracker::is_treated(const std::string& name) const {
  return std::any_of(treated_.begin(), treated_.end(), [&](const Treated& t) { return t.name == name; });
}

std::string Tracker::status(const std::string& name) const {
  const auto found =
      std::find_if(treated_.begin(), treated_.end(), [&](const Treated& t) { return t.name == name; });
  if (found == treated_.end()) return "(unprocessed)";
  std::string words;
  for (unsigned i = 0; i < 4; ++i) {
    if ((found->marks >> i & 1) != 0) words += (words.empty() ? "" : " ") + std::string(kMarks[i]);
  }
  return "(" + words + ")";
}

void Tracker::mark(std::string_view name, unsigned bit) {
  auto found =
      std::find_if(treated_.begin(), treated_.end(), [&](const Treated& t) { return t.name == name; });
  if (found == treated_.end()) found = treated_.insert(treated_.end(), {std::string(name), 0});
  found->marks |= 1U << bit;
}

void Tracker::take(std::string_view name) {
  holding_ = std::string(name);
  const auto found =
      std::find_if(moved_.begin(), moved_.end(), [&](const Moved& m) { return m.name == name; });
  if (found == moved_.end()) {
    moved_.push_back({holding_, location_, location_});
  } else {
    found->to = found->from;
  }
}

void Tracker::put() {
  const auto found =
      std::find_if(moved_.begin(), moved_.end(), [&](const Moved& m) { return m.name == holding_; });
  if (found != moved_.end()) found->to = location_;
  holding_ = kNothing;
}

void Tracker::follow(std::string_view action, std::string_view reply) {
  if (reply.find("Nothing happens") != std::string_view::npos) return;
  const std::string lower = ascii_lower(python_strip(action));
  const std::string_view command = lower;
  for (unsigned i = 0; i < 4; ++i) {
    if (begins(command, std::string(kVerbs[i]) + " ") && reply.find(kVerbs[i]) != std::string_view::npos) {
      mark(object_of(command.substr(kVerbs[i].size() + 1), {" with "}), i);
      return;
    }
  }
  if (begins(command, "go to ")) {
    location_ = std::string(trim(command.substr(6)));
  } else if (begins(command, "take ")) {
    take(object_of(command.substr(5), {" from "}));
  } else if (begins(command, "move ") || begins(command, "put ") || begins(command, "place ") ||
             begins(command, "drop ")) {
    put();
  }
}

std::string Tracker::turn_text(std::string_view reply) const {
  std::string text(reply);
  text += " Location: " + location_ + ". Items in hand (status): " + holding_;
  if (holding_ != kNothing) text += status(holding_);
  text += ". ";
  std::string moves;
  for (const Moved& item : moved_) {
    if (item.from == item.to && !(is_treated(item.name) && item.name != holding_)) continue;
    moves += item.name + status(item.name) + " from " + item.from + " move to " + item.to + ";";
  }
  if (!moves.empty()) text += "History moving list by you: " + moves;
  return text;
}

std::map<std::string, std::string> Tracker::facts() const {
  std::string treated, moved;
  for (const Treated& item : treated_) {
    std::vector<std::string> words;
    for (unsigned i = 0; i < 4; ++i) {
      if ((item.marks >> i & 1) != 0) words.emplace_back(kMarks[i]);
    }
    treated += (treated.empty() ? "" : ",") + json_quote(item.name) + ":" + json_array(words);
  }
  for (const Moved& item : moved_) {
    moved += (moved.empty() ? "" : ",") + json_quote(item.name) + ":{\"old\":" + json_quote(item.from) +
             ",\"new\":" + json_quote(item.to) + "}";
  }
  return {{"obs_location", json_quote(location_)},
          {"obs_holding", json_quote(holding_)},
          {"items_info", "{" + treated + "}"},
          {"item_location", "{" + moved + "}"}};
}

std::vector<std::string> Tracker::save() const {
  std::vector<std::string> fields{location_, holding_, std::to_string(treated_.size())};
  for (const Treated& item : treated_) fields.insert(fields.end(), {item.name, std::to_string(item.marks)});
  for (const Moved& item : moved_) fields.insert(fields.end(), {item.name, item.from, item.to});
  return fields;
}

Status Tracker::load(const std::vector<std::string>& fields) {
  const Error bad{ErrorCode::kBadData, "damaged snapshot", "", ""};
  if (fields.size() < 3) return bad;
  Tracker next;
  next.location_ = fields[0];
  next.holding_ = fields[1];
  const auto treated = parse_uint(fields[2]);
  if (!treated || *treated > fields.size() || 3 + 2 * *treated > fields.size() ||
      (fields.size() - 3 - 2 * *treated) % 3 != 0)
    return bad;
  std::size_t at = 3;
  for (std::size_t i = 0; i < *treated; ++i, at += 2) {
    const auto marks = parse_uint(fields[at + 1]);
    if (!marks || *marks > 15) return bad;
    next.treated_.push_back({fields[at], static_cast<unsigned>(*marks)});
  }
  for (; at < fields.size(); at += 3) next.moved_.push_back({fields[at], fields[at + 1], fields[at + 2]});
  *this = std::move(next);
  return {};
}

}  // namespace lodestep::alfworld
