#include "harness/credit.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>
#include <unordered_map>

#include "base/text.h"
#include "canonicalizer/guard.h"
#include "harness/graph_store.h"
#include "harness/matchers.h"
#include "harness/step_matching.h"

namespace lodestep::harness {
namespace {

using graph::Id;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Texts to dense numbers by first appearance.
class Numbers {
 public:
  Id of(const Hash128& hash) { return ids_.try_emplace(hash, static_cast<Id>(ids_.size())).first->second; }

 private:
  std::unordered_map<Hash128, Id, ContainerHash> ids_;
};

// Every recorded situation as the matcher sees it: an episode's steps, then the state it ended in.
std::vector<canonicalizer::PageView> page_views(const Recording& recording,
                                                const std::vector<std::string>& groups,
                                                const std::vector<std::string>& members) {
  std::vector<canonicalizer::PageView> views;
  for (std::size_t e = 0; e < recording.episodes.size(); ++e) {
    const EpisodeRecord& episode = recording.episodes[e];
    for (std::size_t t = 0; t <= episode.steps.size(); ++t) {
      const Situation& now = t < episode.steps.size() ? episode.steps[t].before : episode.last;
      canonicalizer::PageView view;
      view.group = groups[e];
      view.trajectory = members[e];
      view.t = static_cast<std::int64_t>(t);
      view.text = now.observation;
      view.actions = now.admissible;
      if (t > 0) {
        view.action_before = episode.steps[t - 1].action;
        view.previous = views.size() - 1;
      }
      view.truth = now.keys.exact;
      view.truth_relevant = now.keys.relevant;
      view.truth_stage = now.keys.stage;
      views.push_back(view);
    }
  }
  return views;
}

// What a view is without any matcher: its text and its actions.
Hash128 exact_key(const canonicalizer::PageView& view) {
  return canonicalizer::key_of(view, canonicalizer::guard_hash(canonicalizer::Guard::kActions, view),
                               hash128(view.text));
}

std::optional<double> number_or_none(const std::vector<double>& column, std::size_t row) {
  if (column.empty() || std::isnan(column[row])) return std::nullopt;
  return column[row];
}

std::optional<std::int64_t> id_or_none(const std::vector<Id>& column, std::size_t row) {
  if (column.empty() || column[row] == graph::kNone) return std::nullopt;
  return column[row];
}

std::string info_text(const Recording& recording, const char* key) {
  const auto found = recording.info.find(key);
  return found == recording.info.end() ? std::string() : found->second;
}

// What an environment calls for where the caller says nothing: the released scripts' gamma, and key levels
// that fit the environment's keys.
Settings settings_for(const std::string& env, const CreditRequest& request) {
  Settings settings;
  const bool graphgpo = request.estimator == "graphgpo" || request.estimator == "graphgpo-paper";
  const auto given = [&](const std::string& name) {
    return std::any_of(request.settings.begin(), request.settings.end(),
                       [&](const auto& setting) { return setting.first == name; });
  };
  if (graphgpo && !given("gamma") && !given("omega")) {
    if (env == "sokoban") settings.emplace_back("gamma", "0.8");
    if (env == "webshop") settings.emplace_back("gamma", "0.2");
  }
  // Sokoban's stage is a distance, its places of boxes are the relevant key, and no state is left to pool
  // them.
  if (request.estimator == "evihb" && env == "sokoban") {
    settings.emplace_back("levels", "batch:0,batch.0:5,task.1:2,task.2:1");
  }
  settings.insert(settings.end(), request.settings.begin(), request.settings.end());
  return with_groups_by_matcher(request.estimator, request.preset, request.matcher, std::move(settings));
}

std::string settings_json(const CreditRequest& request) {
  std::string out = "{";
  const auto put = [&out](const std::string& key, const std::string& value) {
    if (out.size() > 1) out += ',';
    out += json_quote(key) + ":" + json_quote(value);
  };
  if (!request.preset.empty()) put("preset", request.preset);
  for (const auto& [key, value] : request.settings) put(key, value);
  for (const auto& [key, value] : request.matcher_settings) put("matcher." + key, value);
  return out + "}";
}

}  // namespace

Result<CreditBatch> make_batch(const Recording& recording, const std::string& matcher,
                               const Settings& settings) {
  Result<std::unique_ptr<canonicalizer::Matcher>> made = matchers().make(matcher, settings);
  if (!made) return made.error();
  std::vector<std::string> groups;
  std::vector<std::string> members;
  for (const EpisodeRecord& episode : recording.episodes) {
    groups.push_back(std::to_string(episode.group));
    members.push_back(std::to_string(episode.member));
  }
  const std::vector<canonicalizer::PageView> views = page_views(recording, groups, members);
  const std::clock_t start = std::clock();
  Result<canonicalizer::Matching> matching = (*made)->match(views);
  const double match_seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (!matching) return matching.error();
  if (!matching->failed.empty()) return matching->failed.front().error;
  const std::vector<std::uint32_t> state = canonicalizer::number_by_first_appearance(matching->keys);

  CreditBatch out;
  out.env = info_text(recording, "env");
  const auto max_steps = static_cast<std::int32_t>(parse_int(info_text(recording, "max_steps")).value_or(0));
  graph::Batch& batch = out.batch;
  batch.keys.resize(3);
  batch.next_keys.resize(3);
  Numbers tasks;
  Numbers actions;
  Numbers levels[3];
  Numbers exact_states;
  std::size_t view = 0;
  for (std::size_t e = 0; e < recording.episodes.size(); ++e) {
    const EpisodeRecord& episode = recording.episodes[e];
    const double total = episode.total_reward();
    for (std::size_t t = 0; t < episode.steps.size(); ++t, ++view) {
      const StepRecord& step = episode.steps[t];
      const bool last = t + 1 == episode.steps.size();
      graph::Step row;
      row.task = tasks.of(hash128(groups[e]));
      if (static_cast<std::size_t>(row.task) == out.tasks.size()) out.tasks.push_back(episode.task.id);
      row.episode = static_cast<Id>(episode.member);
      row.t = static_cast<std::int32_t>(t);
      row.state = static_cast<Id>(state[view]);
      row.next_state = static_cast<Id>(state[view + 1]);
      row.turns_left = max_steps - row.t > 0 ? max_steps - row.t : 0;
      row.admissible_count = static_cast<std::int32_t>(step.before.admissible.size());
      row.action = actions.of(hash128(step.action));
      row.reward = step.reward;
      row.episode_reward = total;
      row.valid = step.format_valid.value_or(step.valid);  // a model is charged for the form of its reply
      row.success = episode.outcome == Outcome::kSuccess;
      row.done = last && episode.outcome != Outcome::kRunning;
      row.truncated = last && episode.truncated;
      row.infrastructure_failure = episode.status == EpisodeStatus::kFailed;
      row.active = episode.status != EpisodeStatus::kFiltered &&
                   (!episode.branched_from || t >= episode.branched_from->step);
      batch.add(row);
      if (matcher != "exact") batch.exact_state.push_back(exact_states.of(exact_key(views[view])));
      const Situation& next = last ? episode.last : episode.steps[t + 1].before;
      const std::string* now_keys[3] = {&step.before.keys.stage, &step.before.keys.relevant,
                                        &step.before.keys.exact};
      const std::string* next_keys[3] = {&next.keys.stage, &next.keys.relevant, &next.keys.exact};
      for (std::size_t level = 0; level < 3; ++level) {
        batch.keys[level].push_back(levels[level].of(hash128(*now_keys[level])));
        batch.next_keys[level].push_back(levels[level].of(hash128(*next_keys[level])));
      }
    }
    ++view;  // the state the episode ended in
  }
  out.match_seconds = match_seconds;
  out.matching = std::move(*matching);
  return out;
}

namespace {

// The estimate over the batch's own steps and what a store remembers of its tasks. States go by the matcher's
// keys.
Result<graph::Credit> with_memory(const CreditBatch& batch, const graph::Request& asked,
                                  const CreditRequest& request, std::vector<std::string>& notes) {
  Result<GraphStore> store = GraphStore::open(request.graph_store);
  if (!store) return store.error();
  Interner states;  // numbered as the batch's states are: by first appearance
  for (const Hash128& key : batch.matching.keys) states.intern(to_hex(key));
  BatchNames names{batch.tasks, states};
  graph::Batch own = batch.batch;
  const Result<Remembered> old = store->recall(own, names, request.half_life);
  if (!old) return old.error();
  Result<graph::Credit> credit = graph::estimate(asked, own);
  if (!credit) return credit;
  if (Status s = store->remember(names, *credit); !s) return s.error();
  notes = {to_text(*old), share_of_memory(*credit)};
  return credit;
}

}  // namespace

Result<Credited> credit_batch(const CreditBatch& batch, const CreditRequest& given) {
  CreditRequest request = given;
  request.settings = settings_for(batch.env, given);
  const auto start = std::chrono::steady_clock::now();
  const graph::Request asked{.estimator = request.estimator,
                             .preset = request.preset,
                             .settings = request.settings,
                             .matcher = {},
                             .threads = request.threads};
  std::vector<std::string> memory;
  Result<graph::Credit> credit = request.graph_store.empty() ? graph::estimate(asked, batch.batch)
                                                             : with_memory(batch, asked, request, memory);
  if (!credit) return credit.error();
  Credited out;
  out.credit_seconds = seconds_since(start);
  out.cost = batch.matching.cost;
  out.notes = batch.matching.notes;
  out.notes.insert(out.notes.end(), memory.begin(), memory.end());
  Estimate& estimate = out.estimate;
  estimate.name = request.estimator + (request.preset.empty() ? "" : "-" + request.preset) +
                  (request.matcher == "exact" ? "" : ":" + request.matcher);
  estimate.estimator = request.estimator;
  estimate.matcher = request.matcher;
  estimate.settings = settings_json(request);
  estimate.advantage = credit->advantage;
  for (std::size_t row = 0; row < credit->advantage.size(); ++row) {
    estimate.step_return.push_back(number_or_none(credit->step_return, row));
    estimate.step_advantage.push_back(number_or_none(credit->step_advantage, row));
    estimate.episode_advantage.push_back(number_or_none(credit->episode_advantage, row));
    estimate.group.push_back(id_or_none(credit->group, row));
    estimate.node.push_back(id_or_none(credit->node, row));
    estimate.next_node.push_back(id_or_none(credit->next_node, row));
  }
  out.credit = std::move(*credit);
  return out;
}

Result<Credited> credit_recording(const Recording& recording, const CreditRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  Result<CreditBatch> batch = make_batch(recording, request.matcher, request.matcher_settings);
  if (!batch) return batch.error();
  const double match_seconds = seconds_since(start);
  Result<Credited> out = credit_batch(*batch, request);
  if (out) out->match_seconds = match_seconds;
  return out;
}

Result<graph::Diagnostics> diagnose_recording(const Recording& recording, const std::string& matcher,
                                              const Settings& matcher_settings, int threads) {
  const Result<CreditBatch> made = make_batch(recording, matcher, matcher_settings);
  if (!made) return made.error();
  graph::DiagnosticOptions how;
  how.threads = threads;
  for (const auto& [key, value] : settings_for(made->env, {.estimator = "graphgpo"})) {
    if (key == "gamma") how.gamma = parse_double(value).value_or(how.gamma);
  }
  bool known = false;
  for (const EpisodeRecord& episode : recording.episodes) {
    for (const StepRecord& step : episode.steps) {
      known = known || step.before.distance.has_value();
      how.true_distance.push_back(step.before.distance.value_or(std::numeric_limits<double>::quiet_NaN()));
    }
  }
  if (!known) how.true_distance.clear();
  return graph::diagnose(made->batch, how);
}

}  // namespace lodestep::harness
