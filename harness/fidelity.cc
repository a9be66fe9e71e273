#include "harness/fidelity.h"

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/hash.h"
#include "base/text.h"
#include "graph/estimator.h"
#include "harness/credit.h"
#include "harness/text_stage.h"

namespace lodestep::harness {
namespace {

using Choice = std::pair<std::string, double>;  // action, probability

// The probabilities of the policies that are known in closed form.
class KnownPolicy {
 public:
  static Result<KnownPolicy> parse(const std::string& spec) {
    if (spec == "random") return KnownPolicy(1);
    if (spec == "gold") return KnownPolicy(0);
    const std::optional<double> share =
        spec.starts_with("mixed:") ? parse_double(spec.substr(6)) : std::nullopt;
    if (share && *share >= 0 && *share <= 1) return KnownPolicy(*share);
    return Error{ErrorCode::kUnsupported, "the probabilities of policy '" + spec + "' are not known",
                 "--policy", "random, gold and mixed:E are"};
  }

  std::vector<Choice> choices(const Environment& environment) const {
    std::vector<Choice> out;
    const std::optional<std::string> gold = random_share_ < 1 ? environment.gold_action() : std::nullopt;
    // Where no way to success is left, a mixed policy goes on at random.
    const double random = gold ? random_share_ : 1;
    const std::vector<std::string> actions = environment.admissible_actions();
    for (const std::string& action : actions)
      out.emplace_back(action, random / static_cast<double>(actions.size()));
    if (gold) out.emplace_back(*gold, 1 - random);
    return out;
  }

 private:
  explicit KnownPolicy(double random_share) : random_share_(random_share) {}
  double random_share_;
};

// All states of a task that the policy can reach, and its chance of success from each within k turns.
class StateSpace {
 public:
  static Result<StateSpace> enumerate(const EnvFactory& factory, const Task& task,
                                      const KnownPolicy& policy) {
    StateSpace space;
    std::vector<std::unique_ptr<Environment>> waiting;
    std::unique_ptr<Environment> start = factory.make();
    if (Status s = start->reset(task); !s) return s.error();
    space.meet(std::move(start), waiting);
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      constexpr std::size_t kMostStates = 200'000;
      if (waiting.size() > kMostStates) {
        return Error{ErrorCode::kUnsupported,
                     "more than 200000 states: the true advantages cannot be enumerated", "task " + task.id,
                     "smaller rooms, such as gen/6x6/b1/..."};
      }
      const std::unique_ptr<Environment> here = std::move(waiting[i]);
      if (here->observe().done()) continue;
      for (const auto& [action, probability] : policy.choices(*here)) {
        if (probability == 0) continue;
        std::unique_ptr<Environment> next = here->clone();
        next->step(action);
        const std::size_t to = space.meet(std::move(next), waiting);  // may move moves_
        space.moves_[i].emplace_back(to, probability);
      }
    }
    return space;
  }

  // The chance of success from a state with k turns left; nullopt: the policy does not come there.
  std::optional<double> value(const Hash128& state, std::size_t k) {
    const auto found = index_.find(state);
    if (found == index_.end()) return std::nullopt;
    while (values_.size() <= k) values_.push_back(next_values());
    return values_[k][found->second];
  }
  std::size_t states() const { return moves_.size(); }

 private:
  std::size_t meet(std::unique_ptr<Environment> environment,
                   std::vector<std::unique_ptr<Environment>>& waiting) {
    const auto [found, fresh] = index_.try_emplace(environment->true_state_hash(), moves_.size());
    if (fresh) {
      moves_.emplace_back();
      success_.push_back(environment->observe().outcome == Outcome::kSuccess ? 1 : 0);
      waiting.push_back(std::move(environment));
    }
    return found->second;
  }

  std::vector<double> next_values() const {
    if (values_.empty()) return success_;
    std::vector<double> next = success_;
    for (std::size_t s = 0; s < moves_.size(); ++s) {
      for (const auto& [to, probability] : moves_[s]) next[s] += probability * values_.back()[to];
    }
    return next;
  }

  std::unordered_map<Hash128, std::size_t, ContainerHash> index_;
  std::vector<std::vector<std::pair<std::size_t, double>>> moves_;  // per state: where to, how likely
  std::vector<double> success_;                                     // 1 where the task is solved
  std::vector<std::vector<double>> values_;                         // by turns left, then state
};

}  // namespace

Result<Truth> true_advantages(const Recording& recording, const EnvFactory& factory,
                              const std::string& policy, std::size_t max_steps) {
  const Result<KnownPolicy> known = KnownPolicy::parse(policy);
  if (!known) return known.error();
  std::map<std::string, StateSpace> spaces;
  Truth truth;
  for (const EpisodeRecord& episode : recording.episodes) {
    // Every member has its own task seed; an environment without chance has one space for them all.
    auto space = spaces.find(episode.task.id);
    if (space == spaces.end()) {
      Result<StateSpace> enumerated = StateSpace::enumerate(factory, episode.task, *known);
      if (!enumerated) return enumerated.error();
      truth.states += enumerated->states();
      space = spaces.emplace(episode.task.id, std::move(*enumerated)).first;
    }
    for (std::size_t t = 0; t < episode.steps.size(); ++t) {
      const bool last = t + 1 == episode.steps.size();
      const Hash128& next = last ? episode.last.state_hash : episode.steps[t + 1].before.state_hash;
      const std::size_t k = max_steps - t;
      const std::optional<double> before = space->second.value(episode.steps[t].before.state_hash, k);
      const std::optional<double> after = space->second.value(next, k - 1);
      if (!before || !after) {
        return Error{ErrorCode::kBadData, "a recorded state is not one that the policy reaches",
                     "group " + std::to_string(episode.group) + ", member " + std::to_string(episode.member) +
                         ", step " + std::to_string(t),
                     "was the recording made with this policy, data and settings?"};
      }
      truth.advantage.push_back(*after - *before);
    }
  }
  return truth;
}

Fidelity fidelity_of(const std::vector<double>& advantage, const Truth& truth) {
  LODESTEP_CHECK(advantage.size() == truth.advantage.size(), advantage.size(), truth.advantage.size());
  double product = 0, own = 0, true_squares = 0, agree = 0, both = 0, non_zero = 0;
  for (std::size_t i = 0; i < advantage.size(); ++i) {
    const double truly = truth.advantage[i];
    product += advantage[i] * truly;
    own += advantage[i] * advantage[i];
    true_squares += truly * truly - (truth.variance.empty() ? 0 : truth.variance[i]);
    non_zero += advantage[i] != 0 ? 1 : 0;
    // Rounding leaves signs on what is 0 in truth.
    if (advantage[i] == 0 || std::abs(truly) < 1e-12) continue;
    both += 1;
    agree += (advantage[i] > 0) == (truly > 0) ? 1 : 0;
  }
  Fidelity f;
  if (own > 0 && true_squares > 0) f.cosine = product / std::sqrt(own * true_squares);
  if (both > 0) f.sign_agreement = agree / both;
  if (!advantage.empty()) f.non_zero = non_zero / static_cast<double>(advantage.size());
  return f;
}

namespace {

void outcomes_for_rewards(graph::Batch& batch) {
  batch.reward.assign(batch.rows(), 0);
  batch.episode_reward.assign(batch.rows(), 0);
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    const graph::Step step = batch.step(row);
    batch.episode_reward[row] = step.success ? 1 : 0;
    batch.reward[row] = step.success && step.done ? 1 : 0;
  }
}

// Puts a key level in place of the states.
void compare_by(graph::Batch& batch, std::size_t level) {
  batch.state = batch.keys[level];
  batch.next_state = batch.next_keys[level];
}

// Two levels, the stage read from texts and the state; false where the texts do not say.
bool stages_from_text(const Recording& recording, graph::Batch& batch) {
  std::unordered_map<Hash128, graph::Id, ContainerHash> numbers;
  const auto number = [&](const std::string& key) {
    return numbers.try_emplace(hash128(key), static_cast<graph::Id>(numbers.size())).first->second;
  };
  std::vector<graph::Id> stage, next_stage;
  for (const EpisodeRecord& episode : recording.episodes) {
    if (episode.steps.empty()) continue;
    const std::optional<TextStage> reader = TextStage::of(episode.steps.front().before.observation);
    if (!reader) return false;
    for (std::size_t t = 0; t <= episode.steps.size(); ++t) {
      const bool last = t == episode.steps.size();
      const std::optional<std::string> key =
          reader->key(last ? episode.last.observation : episode.steps[t].before.observation);
      if (!key) return false;
      if (t > 0) next_stage.push_back(number(*key));
      if (!last) stage.push_back(number(*key));
    }
  }
  batch.keys = {std::move(stage), batch.state};
  batch.next_keys = {std::move(next_stage), batch.next_state};
  return true;
}

std::vector<FidelityRow> table_rows() {
  const Settings term{{"mode", "mean_norm"}, {"episode_w", "0"}};
  using enum FidelityStates;
  return {
      {"grpo", "grpo", {}, kText, {}, {}},
      {"rloo", "rloo", {}, kText, {}, {}},
      {"gigpo (mean)", "gigpo", {{"mode", "mean_norm"}}, kText, {}, {}},
      {"graphgpo", "graphgpo", {}, kText, {}, {}},
      {"graphgpo, graph term (mean)", "graphgpo", term, kText, {}, {}},
      {"evi (mean)", "evi", {}, kText, {}, {}},
      {"evih", "evih", {}, kText, {}, {}},
      {"graphgpo, exact keys", "graphgpo", {}, kExact, {}, {}},
      {"graph term (mean), exact keys", "graphgpo", term, kExact, {}, {}},
      {"evih, exact keys", "evih", {}, kExact, {}, {}},
      {"evih, relevant keys", "evih", {}, kRelevant, {}, {}},
      {"evihb, stages from text", "evihb", {{"levels", kTextLevels}}, kStages, {}, {}},
      {"evihb, stage and relevant keys", "evihb", {{"levels", kTextLevels}}, kText, {}, {}},
      {"evihb", "evihb", {}, kText, {}, {}},
  };
}

}  // namespace

Result<std::vector<FidelityRow>> fidelity_table(std::span<const Recording> recordings,
                                                std::span<const Truth> truths) {
  LODESTEP_CHECK(recordings.size() == truths.size(), recordings.size(), truths.size());
  std::vector<FidelityRow> rows = table_rows();
  Truth pooled;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    Result<CreditBatch> made = make_batch(recordings[i], "exact", {});
    if (!made) return made.error();
    outcomes_for_rewards(made->batch);
    for (std::size_t r = 0; r < rows.size();) {
      FidelityRow& row = rows[r];
      CreditBatch own = *made;
      if (row.states == FidelityStates::kExact) compare_by(own.batch, 2);
      if (row.states == FidelityStates::kRelevant) compare_by(own.batch, 1);
      if (row.states == FidelityStates::kStages && !stages_from_text(recordings[i], own.batch)) {
        rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(r));
        continue;
      }
      CreditRequest request;
      request.estimator = row.estimator;
      request.settings = row.settings;
      request.settings.emplace_back("penalty_coef", "0");
      const Result<Credited> credited = credit_batch(own, request);
      if (!credited) return credited.error();
      const std::vector<double>& advantage = credited->credit.advantage;
      row.advantage.insert(row.advantage.end(), advantage.begin(), advantage.end());
      ++r;
    }
    pooled.advantage.insert(pooled.advantage.end(), truths[i].advantage.begin(), truths[i].advantage.end());
    pooled.variance.insert(pooled.variance.end(), truths[i].variance.begin(), truths[i].variance.end());
  }
  for (FidelityRow& row : rows) row.fidelity = fidelity_of(row.advantage, pooled);
  return rows;
}

double outcome_cosine(std::span<const Recording> recordings) {
  double weight = 0, length = 0;
  for (const Recording& recording : recordings) {
    std::map<std::size_t, std::pair<double, double>> groups;  // successes, episodes
    for (const EpisodeRecord& episode : recording.episodes) {
      groups[episode.group].first += episode.outcome == Outcome::kSuccess ? 1 : 0;
      groups[episode.group].second += 1;
    }
    for (const EpisodeRecord& episode : recording.episodes) {
      const auto& [successes, episodes] = groups[episode.group];
      const double off = (episode.outcome == Outcome::kSuccess ? 1 : 0) - successes / episodes;
      weight += off * off;
      length += off * off * static_cast<double>(episode.steps.size());
    }
  }
  return length > 0 ? std::sqrt(weight / length) : 0;
}

Recording regrouped(const Recording& recording, std::size_t size, Truth& truth) {
  Recording out;
  out.info = recording.info;
  std::map<std::size_t, std::size_t> members;  // of each group
  for (const EpisodeRecord& episode : recording.episodes)
    members[episode.group] = std::max(members[episode.group], episode.member + 1);
  Truth own;
  own.states = truth.states;
  std::size_t row = 0, groups = 0;
  std::optional<std::pair<std::size_t, std::size_t>> current;  // group and part
  for (const EpisodeRecord& episode : recording.episodes) {
    const std::size_t steps = episode.steps.size();
    const std::size_t part = episode.member / size;
    if ((part + 1) * size <= members[episode.group]) {
      if (current != std::pair(episode.group, part)) ++groups;
      current = {episode.group, part};
      out.episodes.push_back(episode);
      out.episodes.back().group = groups - 1;
      out.episodes.back().member = episode.member % size;
      const auto take = [&](const std::vector<double>& from, std::vector<double>& to) {
        if (from.empty()) return;
        const auto begin = from.begin() + static_cast<std::ptrdiff_t>(row);
        to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(steps));
      };
      take(truth.advantage, own.advantage);
      take(truth.variance, own.variance);
    }
    row += steps;
  }
  truth = std::move(own);
  return out;
}

}  // namespace lodestep::harness
