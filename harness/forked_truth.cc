#include "harness/forked_truth.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/hash.h"
#include "harness/state_policy.h"

namespace lodestep::harness {
namespace {

// A chance of success, and how far sampling may be off.
struct Estimated {
  double value = 0, variance = 0;
};

// The states of one task, met while the policy is played on from recorded ones. The first ones are kept with
// where their actions led, so that the beginnings that continuations share are played once.
class ForkedTask {
 public:
  ForkedTask(const StatePolicy& policy, std::size_t continuations, std::uint64_t seed)
      : policy_(policy), continuations_(continuations), seed_(seed) {}

  Estimated value(const Environment& from, std::size_t turns) {
    const StepResult now = from.observe();
    if (now.done()) return {now.outcome == Outcome::kSuccess ? 1.0 : 0.0, 0};
    if (turns == 0) return {0, 0};
    const Hash128 state = from.true_state_hash();
    const auto [known, fresh] = values_.try_emplace(std::pair(state, turns));
    if (!fresh) return known->second;
    std::size_t successes = 0;
    for (std::size_t i = 0; i < continuations_; ++i) {
      Stream dice(Hasher()
                      .add("fork")
                      .add_u64(seed_)
                      .add_u64(state.high)
                      .add_u64(state.low)
                      .add_u64(turns)
                      .add_u64(i)
                      .finish());
      successes += play_on(from, turns, dice) ? 1 : 0;
    }
    const double n = static_cast<double>(continuations_);
    const double share = static_cast<double>(successes) / n;
    known->second = {share, n > 1 ? share * (1 - share) / (n - 1) : share * (1 - share)};
    return known->second;
  }

 private:
  struct Node {
    std::unique_ptr<Environment> environment;
    std::vector<std::string> admissible;
    std::optional<std::optional<std::string>> gold;
    std::map<std::string, Node*, std::less<>> next;
    Outcome outcome = Outcome::kRunning;
  };

  // The node of a state; one that is not kept lives in `spare`.
  Node* node_of(std::unique_ptr<Environment> environment, Node& spare) {
    const Hash128 state = environment->true_state_hash();
    if (const auto known = nodes_.find(state); known != nodes_.end()) return known->second.get();
    Node* node = &spare;
    if (nodes_.size() < kKept) node = nodes_.emplace(state, std::make_unique<Node>()).first->second.get();
    *node = Node();
    node->outcome = environment->observe().outcome;
    node->admissible = environment->admissible_actions();
    node->environment = std::move(environment);
    return node;
  }

  bool play_on(const Environment& from, std::size_t turns, Stream& dice) {
    Node spare[2];  // where it stands, and where it goes
    std::size_t free = 0;
    Node* here = node_of(from.clone(), spare[free]);
    for (; turns > 0 && here->outcome == Outcome::kRunning; --turns) {
      const bool kept = here != &spare[0] && here != &spare[1];
      if (!kept) free = here == &spare[0] ? 1 : 0;
      const std::optional<std::string> action =
          policy_.choose({here->admissible, [&] { return gold(*here); }}, dice);
      if (!action) return false;
      if (const auto known = here->next.find(*action); known != here->next.end()) {
        here = known->second;
        continue;
      }
      std::unique_ptr<Environment> next = kept ? here->environment->clone() : std::move(here->environment);
      next->step(*action);
      Node* there = node_of(std::move(next), spare[free]);
      if (kept && there != &spare[free]) here->next.emplace(*action, there);
      here = there;
    }
    return here->outcome == Outcome::kSuccess;
  }

  std::optional<std::string> gold(Node& node) {
    if (node.gold) return *node.gold;
    Hasher hasher;
    hasher.add(node.environment->state_keys().relevant);
    for (const std::string& action : node.admissible) {
      // What else lies about does not matter to a plan.
      if (!action.starts_with("take ") && !action.starts_with("examine ")) hasher.add(action);
    }
    std::optional<std::string>& answer = gold_.try_emplace(hasher.finish()).first->second;
    const bool usable = answer && std::binary_search(node.admissible.begin(), node.admissible.end(), *answer);
    if (!usable) answer = node.environment->gold_action();
    node.gold = answer;
    return answer;
  }

  static constexpr std::size_t kKept = 10'000;  // nodes; some kilobytes each

  const StatePolicy& policy_;
  std::size_t continuations_;
  std::uint64_t seed_;
  std::map<std::pair<Hash128, std::size_t>, Estimated> values_;
  std::unordered_map<Hash128, std::unique_ptr<Node>, ContainerHash> nodes_;
  std::unordered_map<Hash128, std::optional<std::string>, ContainerHash> gold_;
};

// Plays a recorded episode again and asks for the value of each of its situations.
Status replay(const EpisodeRecord& episode, const EnvFactory& factory, std::size_t max_steps,
              ForkedTask& task, std::span<double> advantage, std::span<double> variance) {
  const std::unique_ptr<Environment> environment = factory.make();
  if (Status s = environment->reset(episode.task); !s) return s;
  std::vector<Estimated> values;
  for (std::size_t t = 0; t <= episode.steps.size(); ++t) {
    const bool last = t == episode.steps.size();
    const Situation& recorded = last ? episode.last : episode.steps[t].before;
    if (environment->state_keys().exact != recorded.keys.exact) {
      return Error{ErrorCode::kBadData, "the recorded actions do not lead to the recorded states",
                   "group " + std::to_string(episode.group) + ", member " + std::to_string(episode.member) +
                       ", step " + std::to_string(t),
                   "was the recording made with this data, version and settings?"};
    }
    values.push_back(task.value(*environment, max_steps - std::min(t, max_steps)));
    if (!last) environment->step(episode.steps[t].action);
  }
  for (std::size_t t = 0; t < episode.steps.size(); ++t) {
    advantage[t] = values[t + 1].value - values[t].value;
    variance[t] = values[t + 1].variance + values[t].variance;
  }
  return {};
}

}  // namespace

Result<Truth> forked_advantages(const Recording& recording, const EnvFactory& factory,
                                const std::string& policy, std::size_t max_steps, const ForkOptions& how) {
  const Result<std::unique_ptr<StatePolicy>> made = make_state_policy(policy);
  if (!made) {
    Error error = made.error();
    if (error.code == ErrorCode::kNotFound) error.code = ErrorCode::kUnsupported;
    return error;
  }
  const std::vector<EpisodeRecord>& episodes = recording.episodes;
  std::vector<std::size_t> first_row{0}, first_of_group;
  for (std::size_t e = 0; e < episodes.size(); ++e) {
    first_row.push_back(first_row.back() + episodes[e].steps.size());
    if (e == 0 || episodes[e].group != episodes[e - 1].group) first_of_group.push_back(e);
  }
  first_of_group.push_back(episodes.size());
  Truth truth;
  truth.advantage.resize(recording.steps());
  truth.variance.resize(recording.steps());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  Status failure;
  std::exception_ptr crash;
  const auto work = [&] {
    try {
      for (std::size_t g = next++; g + 1 < first_of_group.size(); g = next++) {
        ForkedTask task(**made, how.continuations, how.seed);
        for (std::size_t e = first_of_group[g]; e < first_of_group[g + 1]; ++e) {
          const std::size_t steps = episodes[e].steps.size();
          if (Status s = replay(episodes[e], factory, max_steps, task,
                                std::span(truth.advantage).subspan(first_row[e], steps),
                                std::span(truth.variance).subspan(first_row[e], steps));
              !s) {
            const std::lock_guard lock(mutex);
            if (failure.ok()) failure = s;
            return;
          }
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!crash) crash = std::current_exception();
    }
  };
  std::vector<std::thread> pool;
  for (int i = 1; i < how.threads; ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  if (crash) std::rethrow_exception(crash);
  if (!failure.ok()) return failure.error();
  return truth;
}

}  // namespace lodestep::harness
