#include "harness/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "graph/transition_graph.h"

namespace lodestep::harness {
namespace {

// Wilson's score interval (1927) at 95 %.
void wilson(std::size_t successes, std::size_t trials, double& low, double& high) {
  if (trials == 0) return;
  const double z = 1.959963984540054;
  const double n = static_cast<double>(trials);
  const double p = static_cast<double>(successes) / n;
  const double middle = p + z * z / (2 * n);
  const double spread = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  low = std::max(0.0, (middle - spread) / (1 + z * z / n));
  high = std::min(1.0, (middle + spread) / (1 + z * z / n));
}

// The transitions of one group by exact key; node 0 is the goal.
struct KeyGraph {
  graph::TransitionGraph graph;
  std::unordered_map<std::string_view, graph::Id, ContainerHash> node_of;
  std::size_t visits = 0;

  KeyGraph() {
    graph.goal = 0;
    graph.state.push_back(graph::kNone);
  }
  graph::Id node(std::string_view key) {
    const auto [found, fresh] = node_of.try_emplace(key, static_cast<graph::Id>(graph.state.size()));
    if (fresh) graph.state.push_back(found->second);
    return found->second;
  }
  void add(const EpisodeRecord& episode) {
    for (std::size_t t = 0; t < episode.steps.size(); ++t) {
      const bool last = t + 1 == episode.steps.size();
      const graph::Id from = node(episode.steps[t].before.keys.exact);
      const graph::Id to = last ? (episode.outcome == Outcome::kSuccess ? 0 : node(episode.last.keys.exact))
                                : node(episode.steps[t + 1].before.keys.exact);
      graph.edges.push_back({from, to, 1, 1});
      ++visits;
    }
  }
};

}  // namespace

Summary summarize(const Recording& recording) {
  Summary out;
  std::set<std::string> tasks;
  std::vector<std::size_t> group_of;
  std::size_t visits = 0, nodes = 0, reached = 0;
  for (std::size_t begin = 0; begin < recording.episodes.size();) {
    std::size_t end = begin;
    while (end < recording.episodes.size() &&
           recording.episodes[end].group == recording.episodes[begin].group)
      ++end;
    if (recording.episodes[begin].branched_from) {
      ++out.branch_groups;
      for (; begin < end; ++begin) {
        const EpisodeRecord& episode = recording.episodes[begin];
        ++out.branch_episodes;
        out.branch_successes += episode.outcome == Outcome::kSuccess ? 1 : 0;
        out.branch_steps += episode.own_steps();
      }
      continue;
    }
    GroupSummary group;
    group.group = recording.episodes[begin].group;
    group.task = recording.episodes[begin].task.id;
    tasks.insert(group.task);
    KeyGraph keys;
    std::set<double> scores;
    for (std::size_t e = begin; e < end; ++e) {
      const EpisodeRecord& episode = recording.episodes[e];
      if (episode.status != EpisodeStatus::kFinished) {
        ++(episode.status == EpisodeStatus::kFiltered ? out.filtered : out.failed);
        continue;
      }
      ++group.episodes;
      group.successes += episode.outcome == Outcome::kSuccess ? 1 : 0;
      out.truncated += episode.truncated ? 1 : 0;
      out.stopped += episode.outcome == Outcome::kRunning && !episode.truncated ? 1 : 0;
      group.mean_return += episode.total_reward();
      scores.insert(episode.total_reward());
      out.steps += episode.steps.size();
      for (const StepRecord& step : episode.steps) {
        out.invalid += step.valid ? 0 : 1;
        out.replies += step.format_valid ? 1 : 0;
        out.malformed += step.format_valid && !*step.format_valid ? 1 : 0;
      }
      keys.add(episode);
    }
    if (group.episodes == 0 && recording.episodes[begin].status == EpisodeStatus::kFiltered) {
      begin = end;
      continue;
    }
    out.episodes += group.episodes;
    out.successes += group.successes;
    out.mean_return += group.mean_return;
    if (group.episodes > 0) group.mean_return /= static_cast<double>(group.episodes);
    group.no_signal = scores.size() <= 1;
    out.no_signal_groups += group.no_signal ? 1 : 0;
    keys.graph.visits.assign(keys.graph.state.size(), 0);
    graph::measure(keys.graph);
    visits += keys.visits;
    nodes += keys.graph.nodes() - 1;
    for (std::size_t node = 1; node < keys.graph.nodes(); ++node)
      reached += keys.graph.reached[node] != 0 ? 1 : 0;
    out.per_group.push_back(group);
    begin = end;
  }
  out.groups = out.per_group.size();
  out.tasks = tasks.size();
  wilson(out.successes, out.episodes, out.success_low, out.success_high);
  if (out.episodes > 0) {
    out.mean_return /= static_cast<double>(out.episodes);
    out.mean_length = static_cast<double>(out.steps) / static_cast<double>(out.episodes);
  }
  if (visits > 0) out.node_reuse = 1 - static_cast<double>(nodes) / static_cast<double>(visits);
  if (nodes > 0) out.coverage = static_cast<double>(reached) / static_cast<double>(nodes);
  return out;
}

namespace {

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string to_text(const Summary& s) {
  std::string out;
  const auto line = [&out](const std::string& name, const std::string& value) {
    out += fmt::format("  {:<28}{}\n", name, value);
  };
  line("groups, tasks", fmt::format("{}, {}", s.groups, s.tasks));
  line("episodes", fmt::format("{} finished, {} failed by infrastructure (left out)", s.episodes, s.failed));
  line("success", fmt::format("{} of {} = {:.1f} %  [95 %: {:.1f} .. {:.1f}]", s.successes, s.episodes,
                              share(s.successes, s.episodes), 100 * s.success_low, 100 * s.success_high));
  line("truncated by the budget", fmt::format("{}", s.truncated));
  if (s.filtered > 0) line("filtered, sampled again", fmt::format("{} episodes without signal", s.filtered));
  if (s.stopped > 0) line("stopped by the policy", fmt::format("{}", s.stopped));
  line("mean return, mean length", fmt::format("{:.3f}, {:.2f} steps", s.mean_return, s.mean_length));
  line("steps, invalid actions",
       fmt::format("{}, {} ({:.1f} %)", s.steps, s.invalid, share(s.invalid, s.steps)));
  if (s.replies > 0)
    line("replies in a wrong form", fmt::format("{} ({:.1f} %)", s.malformed, share(s.malformed, s.replies)));
  line("groups without signal",
       fmt::format("{} ({:.1f} %)", s.no_signal_groups, share(s.no_signal_groups, s.groups)));
  line("node reuse", fmt::format("{:.1f} %", 100 * s.node_reuse));
  line("success-reachable states", fmt::format("{:.1f} %", 100 * s.coverage));
  if (s.branch_groups > 0) {
    line("reset groups", fmt::format("{}, {} of {} episodes succeeded, {} steps after their forks",
                                     s.branch_groups, s.branch_successes, s.branch_episodes, s.branch_steps));
  }
  return out;
}

std::string to_json(const Summary& s) {
  std::string out = fmt::format(
      "{{\"groups\":{},\"tasks\":{},\"episodes\":{},\"failed\":{},\"filtered\":{},\"successes\":{},\"success_"
      "rate\":{},"
      "\"success_interval\":[{},{}],\"truncated\":{},\"stopped\":{},\"mean_return\":{},\"mean_length\":{},"
      "\"steps\":{},"
      "\"invalid_actions\":{},\"replies\":{},\"malformed_replies\":{},\"no_signal_groups\":{},\"node_reuse\":"
      "{},\"coverage\":{},\"branches\":{{"
      "\"groups\":{},\"episodes\":{},\"successes\":{},\"steps\":{}}},\"per_group\":[",
      s.groups, s.tasks, s.episodes, s.failed, s.filtered, s.successes,
      json_number(share(s.successes, s.episodes) / 100), json_number(s.success_low),
      json_number(s.success_high), s.truncated, s.stopped, json_number(s.mean_return),
      json_number(s.mean_length), s.steps, s.invalid, s.replies, s.malformed, s.no_signal_groups,
      json_number(s.node_reuse), json_number(s.coverage), s.branch_groups, s.branch_episodes,
      s.branch_successes, s.branch_steps);
  for (std::size_t i = 0; i < s.per_group.size(); ++i) {
    const GroupSummary& g = s.per_group[i];
    out += fmt::format(
        "{}{{\"group\":{},\"task\":{},\"episodes\":{},\"successes\":{},\"mean_return\":{},\"no_signal\":{}}}",
        i == 0 ? "" : ",", g.group, json_quote(g.task), g.episodes, g.successes, json_number(g.mean_return),
        g.no_signal);
  }
  return out + "]}";
}

}  // namespace lodestep::harness
