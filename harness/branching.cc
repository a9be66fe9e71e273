#include "harness/branching.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "base/rng.h"
#include "base/text.h"
#include "graph/transition_graph.h"

namespace lodestep::harness {
namespace {

// What the finished episodes of one group saw, by exact key.
class GroupView {
 public:
  explicit GroupView(std::span<const EpisodeRecord> episodes) {
    graph_.goal = 0;
    graph_.state.push_back(graph::kNone);
    for (const EpisodeRecord& episode : episodes) {
      if (episode.status != EpisodeStatus::kFinished) continue;
      const bool success = episode.outcome == Outcome::kSuccess;
      for (std::size_t t = 0; t < episode.steps.size(); ++t) {
        const graph::Id from = node(episode.steps[t].before.keys.exact);
        const bool last = t + 1 == episode.steps.size();
        const graph::Id to = last ? (success ? 0 : node(episode.last.keys.exact))
                                  : node(episode.steps[t + 1].before.keys.exact);
        graph_.edges.push_back({from, to, 1, 1});
        auto& [won, tried] = outcomes_[from];
        won += success ? 1 : 0;
        tried += 1;
      }
    }
    graph_.visits.assign(graph_.nodes(), 0);
    graph::measure(graph_);
  }

  // The farthest where no success was observed.
  double distance(const Situation& at) const {
    const auto found = node_of_.find(at.keys.exact);
    return found == node_of_.end() ? graph_.farthest + 1
                                   : graph_.distance[static_cast<std::size_t>(found->second)];
  }
  bool any_success() const { return graph_.farthest > 0; }
  // Variance of success from here: 1/4 where as many visits succeeded as failed.
  double uncertainty(const Situation& at) const {
    const auto found = outcomes_.find(node_of_.at(at.keys.exact));
    const double p = found->second.first / found->second.second;
    return p * (1 - p);
  }

 private:
  graph::Id node(const std::string& key) {
    const auto [found, fresh] = node_of_.try_emplace(key, static_cast<graph::Id>(graph_.state.size()));
    if (fresh) graph_.state.push_back(found->second);
    return found->second;
  }

  graph::TransitionGraph graph_;
  std::map<std::string, graph::Id> node_of_;
  std::map<graph::Id, std::pair<double, double>> outcomes_;  // won, tried
};

std::optional<std::size_t> first_mistake(const EpisodeRecord& episode, const GroupView& view) {
  const auto after = [&](std::size_t t) -> const Situation& {
    return t + 1 < episode.steps.size() ? episode.steps[t + 1].before : episode.last;
  };
  for (std::size_t t = 0; t < episode.steps.size(); ++t) {
    const Situation &before = episode.steps[t].before, &next = after(t);
    if (before.distance && next.distance) {
      if (*next.distance > *before.distance) return t;
    } else if (view.any_success() && view.distance(next) > view.distance(before)) {
      return t;
    }
  }
  return std::nullopt;
}

std::vector<std::size_t> places_of(const EpisodeRecord& episode, const BranchRule& rule,
                                   const GroupView& view, Stream& dice) {
  switch (rule.where) {
    case BranchRule::Where::kRandom: return {dice.below(episode.steps.size())};
    case BranchRule::Where::kFirstMistake: {
      const std::optional<std::size_t> step = first_mistake(episode, view);
      return step ? std::vector<std::size_t>{*step} : std::vector<std::size_t>{};
    }
    case BranchRule::Where::kUncertain: break;
  }
  std::vector<std::size_t> steps;
  std::vector<double> uncertainty;
  for (std::size_t t = 0; t < episode.steps.size(); ++t) {
    uncertainty.push_back(view.uncertainty(episode.steps[t].before));
    if (uncertainty.back() > 0) steps.push_back(t);
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [&](std::size_t a, std::size_t b) { return uncertainty[a] > uncertainty[b]; });
  steps.resize(std::min(steps.size(), rule.places));
  std::sort(steps.begin(), steps.end());
  return steps;
}

}  // namespace

Result<BranchRule> read_branch_rule(const std::string& spec, std::size_t suffixes) {
  BranchRule rule;
  rule.suffixes = suffixes;
  if (spec == "random") return rule;
  if (spec == "first-mistake") {
    rule.where = BranchRule::Where::kFirstMistake;
    return rule;
  }
  const std::optional<std::int64_t> places =
      spec.starts_with("uncertain:") ? parse_int(std::string_view(spec).substr(10)) : std::nullopt;
  if (!places || *places < 1 || *places > 1'000'000) {
    return Error{ErrorCode::kInvalidArgument, "unknown way to branch '" + spec + "'", "--branch",
                 "known: random, first-mistake, uncertain:K (K a number from 1)"};
  }
  rule.where = BranchRule::Where::kUncertain;
  rule.places = static_cast<std::size_t>(*places);
  return rule;
}

std::vector<Branch> choose_branches(const Recording& recording, const BranchRule& rule,
                                    std::size_t first_group, std::size_t max_steps, std::size_t step_budget,
                                    std::uint64_t seed) {
  const std::vector<EpisodeRecord>& episodes = recording.episodes;
  std::size_t spent = 0;
  for (const EpisodeRecord& episode : episodes)
    spent += episode.group < first_group ? episode.steps.size() : 0;
  std::vector<Branch> branches;
  for (std::size_t begin = 0; begin < episodes.size() && episodes[begin].group < first_group;) {
    std::size_t end = begin;
    while (end < episodes.size() && episodes[end].group == episodes[begin].group) ++end;
    const std::span<const EpisodeRecord> group = std::span(episodes).subspan(begin, end - begin);
    begin = end;
    std::vector<const EpisodeRecord*> failed;
    for (const EpisodeRecord& episode : group) {
      if (episode.status == EpisodeStatus::kFinished && episode.outcome != Outcome::kSuccess &&
          !episode.steps.empty())
        failed.push_back(&episode);
    }
    if (failed.empty()) continue;
    Stream dice(Hasher().add("branch").add_u64(seed).add_u64(group.front().group).finish());
    const EpisodeRecord& parent = *failed[dice.below(failed.size())];
    for (const std::size_t step : places_of(parent, rule, GroupView(group), dice)) {
      const std::size_t set_aside = rule.suffixes * (max_steps - std::min(max_steps, step));
      if (spent + set_aside > step_budget) return branches;
      spent += set_aside;
      branches.push_back({first_group + branches.size(), parent.group, parent.member, step});
    }
  }
  return branches;
}

std::string to_text(const std::vector<Branch>& branches) {
  std::string out;
  for (const Branch& b : branches) {
    out += (out.empty() ? "" : ",") + std::to_string(b.group) + ":" + std::to_string(b.parent_group) + ":" +
           std::to_string(b.parent_member) + ":" + std::to_string(b.step);
  }
  return out;
}

std::vector<Branch> parse_branches(const std::string& text) {
  std::vector<Branch> branches;
  for (const std::string_view word : split(text, ',')) {
    std::vector<std::size_t> numbers;
    for (const std::string_view number : split(word, ':')) {
      if (const auto value = parse_uint(number)) numbers.push_back(*value);
    }
    if (numbers.size() == 4) branches.push_back({numbers[0], numbers[1], numbers[2], numbers[3]});
  }
  return branches;
}

void mark_branches(Recording& recording) {
  const auto text = recording.info.find(kBranches);
  if (text == recording.info.end()) return;
  std::map<std::size_t, Branch> by_group;
  for (const Branch& branch : parse_branches(text->second)) by_group[branch.group] = branch;
  for (EpisodeRecord& episode : recording.episodes) {
    const auto found = by_group.find(episode.group);
    if (found == by_group.end() || found->second.step > episode.steps.size()) continue;
    episode.branched_from = {found->second.parent_group, found->second.parent_member, found->second.step};
  }
}

}  // namespace lodestep::harness
