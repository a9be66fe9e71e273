#include "harness/hints.h"

#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace lodestep::harness {
namespace {

struct Arrow {
  std::string from, action;
};

// Transitions of one task, backwards; success is one place.
struct KnownWays {
  std::string start;
  std::map<std::string, std::vector<Arrow>> into;  // by place
  std::size_t episodes = 0, successes = 0;
};

const std::string kSuccess;  // no key is empty

void add(const EpisodeRecord& episode, KnownWays& ways) {
  ++ways.episodes;
  ways.successes += episode.outcome == Outcome::kSuccess ? 1 : 0;
  for (std::size_t t = 0; t < episode.steps.size(); ++t) {
    const bool last = t + 1 == episode.steps.size();
    const std::string& next = last ? episode.last.keys.exact : episode.steps[t + 1].before.keys.exact;
    const std::string& place = last && episode.outcome == Outcome::kSuccess ? kSuccess : next;
    ways.into[place].push_back({episode.steps[t].before.keys.exact, episode.steps[t].action});
  }
}

// Breadth-first from success; among equally short ways the one that was recorded first.
std::optional<std::vector<std::string>> shortest(const KnownWays& ways) {
  std::map<std::string, std::pair<std::string, std::string>> onward;  // place -> action, next place
  std::deque<std::string> waiting{kSuccess};
  while (!waiting.empty() && !onward.contains(ways.start)) {
    const std::string place = waiting.front();
    waiting.pop_front();
    const auto arrows = ways.into.find(place);
    if (arrows == ways.into.end()) continue;
    for (const Arrow& arrow : arrows->second) {
      if (onward.try_emplace(arrow.from, arrow.action, place).second) waiting.push_back(arrow.from);
    }
  }
  if (!onward.contains(ways.start)) return std::nullopt;
  std::vector<std::string> actions;
  for (std::string place = ways.start; place != kSuccess; place = onward.at(place).second)
    actions.push_back(onward.at(place).first);
  return actions;
}

}  // namespace

std::string hints_text(const Recording& recording) {
  std::vector<std::string> order;
  std::map<std::string, KnownWays> tasks;
  for (const EpisodeRecord& episode : recording.episodes) {
    if (episode.status != EpisodeStatus::kFinished || episode.steps.empty()) continue;
    const auto [ways, fresh] = tasks.try_emplace(episode.task.id);
    if (fresh) {
      order.push_back(episode.task.id);
      ways->second.start = episode.steps.front().before.keys.exact;
    }
    add(episode, ways->second);
  }
  std::string out = "Hints, each for its own task only: on any other task they do not help.\n";
  for (const std::string& task : order) {
    const KnownWays& ways = tasks.at(task);
    out += "\ntask " + task + " (" + std::to_string(ways.successes) + " of " + std::to_string(ways.episodes) +
           " episodes succeeded)\n";
    const std::optional<std::vector<std::string>> actions = shortest(ways);
    if (!actions) {
      out += "  No way to success is known.\n";
      continue;
    }
    out += "  The shortest way known takes " + std::to_string(actions->size()) +
           (actions->size() == 1 ? " step:\n" : " steps:\n");
    for (std::size_t i = 0; i < actions->size(); ++i)
      out += "  " + std::to_string(i + 1) + ". " + (*actions)[i] + "\n";
  }
  return out;
}

}  // namespace lodestep::harness
