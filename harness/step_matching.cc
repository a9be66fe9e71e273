#include "harness/step_matching.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/text.h"
#include "harness/matchers.h"

namespace lodestep::harness {
namespace {

using canonicalizer::PageView;
using graph::Id;

// The short names for difflib's clustering, which look at nothing but the text.
Settings lexical_settings(const std::string& name, const std::string& threshold) {
  Settings settings{{"threshold", threshold}, {"guard", "none"}};
  if (name == "difflib-no-autojunk") settings.emplace_back("autojunk", "false");
  if (name == "indel") settings.emplace_back("metric", "indel");
  return settings;
}

Result<std::vector<Id>> representatives(const std::string& kind, const Settings& settings,
                                        const StepFile& steps, std::span<const Id> states) {
  Result<std::unique_ptr<canonicalizer::Matcher>> matcher = matchers().make(kind, settings);
  if (!matcher) return matcher.error();
  std::vector<std::string> texts;
  texts.reserve(states.size());
  // A goal that no line names is a node beyond the file's states.
  for (Id state : states) {
    const bool named = static_cast<std::size_t>(state) < steps.states.size();
    texts.push_back(named ? state_text(steps, state) : "success");
  }
  std::vector<PageView> views(states.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    views[i].t = static_cast<std::int64_t>(i);
    views[i].text = texts[i];
  }
  const Result<canonicalizer::Matching> matching = (*matcher)->match(views);
  if (!matching) return matching.error();
  if (!matching->failed.empty()) return matching->failed.front().error;
  std::map<Hash128, Id> first;
  std::vector<Id> out;
  for (std::size_t i = 0; i < states.size(); ++i) {
    out.push_back(first.try_emplace(matching->keys[i], states[i]).first->second);
  }
  return out;
}

// States of equal true state hash are one; the first one of a task stands for them. A text that stood for
// several true states is left alone.
graph::Matcher by_hash(const StepFile& steps) {
  std::vector<Id> hash(steps.states.size(), graph::kNone);
  std::vector<std::uint8_t> ambiguous(steps.states.size(), 0);
  for (std::size_t row = 0; row < steps.state_hash.size(); ++row) {
    const auto state = static_cast<std::size_t>(steps.batch.state[row]);
    if (steps.state_hash[row] == graph::kNone) continue;
    if (hash[state] != graph::kNone && hash[state] != steps.state_hash[row]) ambiguous[state] = 1;
    hash[state] = steps.state_hash[row];
  }
  return [hash, ambiguous](std::span<const Id> states) -> Result<std::vector<Id>> {
    std::map<Id, Id> first;
    std::vector<Id> out;
    for (const Id state : states) {
      const auto place = static_cast<std::size_t>(state);
      const bool known = place < hash.size() && hash[place] != graph::kNone && ambiguous[place] == 0;
      out.push_back(known ? first.try_emplace(hash[place], state).first->second : state);
    }
    return out;
  };
}

bool is_lexical(const std::string& name) {
  return name == "difflib" || name == "difflib-no-autojunk" || name == "indel";
}

}  // namespace

Settings with_groups_by_matcher(const std::string& estimator, const std::string& preset,
                                const std::string& matcher, Settings settings) {
  if (matcher == "exact" || is_lexical(matcher) || !preset.empty()) return settings;
  const std::optional<graph::EstimatorInfo> info = graph::find_estimator(estimator);
  const auto is_matching = [](const OptionSpec& option) { return option.name == "group_matching"; };
  const auto says = [](const auto& setting) {
    return setting.first == "group_matching" || setting.first == "grouping";
  };
  if (!info || std::none_of(info->options.begin(), info->options.end(), is_matching) ||
      std::any_of(settings.begin(), settings.end(), says)) {
    return settings;
  }
  settings.emplace_back("group_matching", "same-as-graph");
  return settings;
}

Result<StepMatching> match_steps(const std::string& name, const Settings& settings,
                                 const graph::EstimatorInfo& estimator, const Options& options,
                                 const StepFile& steps) {
  StepMatching out;
  std::string chosen = name;
  if (estimator.merges_states && chosen == "exact") {
    const Result<bool> similarity = options.flag("similarity");
    if (!similarity) return similarity.error();
    if (*similarity) chosen = "difflib";
  }
  if (chosen == "state_hash") {
    if (steps.state_hash.empty()) {
      return Error{ErrorCode::kInvalidArgument, "no step has a \"state_hash\"", "--matcher state_hash",
                   "give each line the environment's own hash of its state"};
    }
    if (estimator.merges_states) out.matcher = by_hash(steps);
    if (!estimator.merges_states)
      out.notes.push_back("estimator '" + estimator.name + "' compares no states: the matcher has no effect");
    return out;
  }
  const std::string threshold = estimator.merges_states ? options.text("similarity_threshold") : "0.95";
  const std::string kind = is_lexical(chosen) ? "lexical" : chosen;
  Settings all = is_lexical(chosen) ? lexical_settings(chosen, threshold) : Settings{};
  all.insert(all.end(), settings.begin(), settings.end());
  if (Result<std::unique_ptr<canonicalizer::Matcher>> made = matchers().make(kind, all); !made) {
    Error error = made.error();
    if (error.hint.starts_with("known: ")) error.hint += ", difflib, difflib-no-autojunk, indel, state_hash";
    return error;
  }
  if (chosen == "exact") return out;
  if (!estimator.merges_states) {
    out.notes.push_back("estimator '" + estimator.name + "' compares no states: the matcher has no effect");
    return out;
  }
  bool long_text = false;
  for (Id state = 0; state < static_cast<Id>(steps.states.size()); ++state) {
    if (estimator.name == "gigpo" && !is_text_state(steps, state)) {
      return Error{ErrorCode::kInvalidArgument, "gigpo merges states by similarity only where they are text",
                   "--matcher " + chosen, "give states as text, or leave similarity off"};
    }
    long_text = long_text || steps.states.text(state).size() >= 200;
  }
  if (long_text && chosen == "difflib") {
    out.notes.emplace_back(
        "states of 200 characters and more: difflib then looks at rare characters only (autojunk), so "
        "scattered "
        "noise of 2 % often fails the threshold; --matcher difflib-no-autojunk or indel do not have this");
  }
  out.matcher = [kind, all, &steps](std::span<const Id> states) {
    return representatives(kind, all, steps, states);
  };
  return out;
}

std::optional<std::string> compare_hashes(const StepFile& steps) {
  std::map<Id, Id> hash_of_text, text_of_hash;
  std::set<Id> many_hashes, many_texts;
  for (std::size_t row = 0; row < steps.state_hash.size(); ++row) {
    const Id state = steps.batch.state[row], hash = steps.state_hash[row];
    if (hash == graph::kNone) continue;
    if (hash_of_text.try_emplace(state, hash).first->second != hash) many_hashes.insert(state);
    if (text_of_hash.try_emplace(hash, state).first->second != state) many_texts.insert(hash);
  }
  if (many_hashes.empty() && many_texts.empty()) return std::nullopt;
  return "state_hash: " + std::to_string(many_texts.size()) + " of " + std::to_string(text_of_hash.size()) +
         " true states come in several texts (--matcher state_hash makes them one), " +
         std::to_string(many_hashes.size()) + " of " + std::to_string(hash_of_text.size()) +
         " texts stand for several true states (no matcher can tell these apart)";
}

}  // namespace lodestep::harness
