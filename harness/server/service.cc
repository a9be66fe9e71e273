#include "harness/server/service.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/rng.h"
#include "base/text.h"
#include "harness/runner.h"
#include "harness/server/groups.h"
#include "harness/server/internal/log.h"

namespace lodestep::harness {
namespace {

constexpr double kQuickStepSeconds = 0.002;
constexpr double kReplySeconds = 0.000003;  // about what the reply to a step costs
constexpr int kQuickAgainAfter = 2000;      // quick steps that make up for a slow one
constexpr double kStallSeconds = 0.05;
constexpr int kQuickAfterStall = 1000000;

SessionPool::Config pool_config(const Limits& limits) {
  SessionPool::Config config;
  config.max_sessions = limits.max_sessions;
  config.max_sessions_per_client = limits.max_sessions_per_client;
  config.idle_milliseconds = limits.session_idle_seconds * 1000;
  config.remembered_ids = limits.remembered_ids;
  return config;
}

}  // namespace

// The place of each recorded episode: one group per name or task, members in order of arrival.
struct Service::Recordings {
  std::mutex mutex;
  std::size_t next_group = 0;
  std::unordered_map<Hash128, RecordPlace, ContainerHash> places;  // by the hash of what names the group
};

Service::Service(ServiceConfig config, const Clock& clock)
    : config_(std::move(config)),
      pool_(pool_config(config_.limits), clock),
      groups_(std::make_unique<GroupTable>(pool_)),
      recorder_(config_.recorder),
      recordings_(std::make_unique<Recordings>()) {
  LODESTEP_CHECK(!config_.environments.empty());
  recordings_->next_group = config_.first_recorded_group;
  for (const HostedEnvironment& environment : config_.environments)
    counters_.push_back(&metrics_.of(environment.name));
  pool_.on_close([this](Session& session) {
    // A failure to write is reported by the next step that ends an episode; closing never fails.
    (void)store_record(session, EpisodeStatus::kAbandoned, false).ok();
    if (logs(LogLevel::kDebug))
      log_event(LogLevel::kDebug, "session_closed", {{"session", session.id}, {"client", session.client}});
  });
  metrics_.set_gauge("lodestep_sessions", "open sessions",
                     [this] { return static_cast<double>(pool_.size()); });
  metrics_.set_gauge("lodestep_groups", "open groups",
                     [this] { return static_cast<double>(groups_->size()); });
  metrics_.set_gauge("lodestep_ready", "1 when the self-test passed",
                     [this] { return unready_reason().empty() ? 1.0 : 0.0; });
}

Service::~Service() = default;

const HostedEnvironment* Service::find_environment(std::string_view name) const {
  for (const HostedEnvironment& environment : config_.environments) {
    if (environment.name == name) return &environment;
  }
  return nullptr;
}

Result<const HostedEnvironment*> Service::variant(const HostedEnvironment& environment,
                                                  const Settings& changes) {
  std::string key = environment.name;
  for (const auto& [name, value] : changes) key += "\n" + name + "=" + value;
  const std::lock_guard lock(variants_mutex_);
  std::unique_ptr<HostedEnvironment>& entry = variants_[key];
  if (!entry) {
    EnvConfig config = environment.config;
    config.settings.insert(config.settings.end(), changes.begin(), changes.end());
    const Result<std::shared_ptr<const EnvFactory>> factory = open_environment(environment.name, config);
    if (!factory) return factory.error();
    entry = std::make_unique<HostedEnvironment>(environment);
    entry->factory = *factory;
    entry->config = std::move(config);
  }
  return static_cast<const HostedEnvironment*>(entry.get());
}

Result<Task> Service::choose_task(const HostedEnvironment& environment, const TaskChoice& choice) {
  const EnvFactory& factory = *environment.factory;
  Task task;
  task.env = environment.name;
  task.seed =
      choice.seed ? *choice.seed : random_bits() >> 11;  // exact in a double, as other languages read it
  if (!choice.task_id.empty()) {
    task.id = choice.task_id;
    return task;
  }
  const std::string split = choice.split.empty() ? factory.splits().front() : choice.split;
  std::uint64_t index = 0;
  if (choice.index) {
    index = *choice.index;
  } else {
    const Result<std::size_t> count = factory.task_count(split);
    if (!count) return count.error();
    if (*count == 0) {
      return Error{ErrorCode::kNotFound, environment.name + " has no tasks in split '" + split + "'", "", ""};
    }
    Hasher key;
    key.add("task of a seed").add(environment.name).add(split).add_u64(task.seed);
    index = Stream(key.finish()).below(*count);
  }
  Result<std::string> id = factory.task_id(split, index);
  if (!id) return id.error();
  task.id = *id;
  return task;
}

Result<StepResult> Service::reset(Session& session, const TaskChoice& choice,
                                  const std::optional<std::string>& episode_id) {
  Result<Task> task = choose_task(session.environment, choice);
  if (!task) return task.error();
  // A fresh environment, so that nothing of an earlier episode can reach the new one, and a failed reset
  // none.
  Episode episode(session.environment.factory->make(), session.max_steps, session.environment.plays_on);
  if (Status status = episode.reset(*task); !status) return status.error();
  if (Status status = store_record(session, EpisodeStatus::kAbandoned, false); !status) return status.error();
  session.episode = std::move(episode);
  session.episode_id = episode_id ? *episode_id : random_id();
  session.score = 0;
  session.last_reward = 0;
  session.step_id = 0;
  session.step_reply.clear();
  if (session.counters == nullptr) session.counters = &metrics_.of(session.environment.name);
  ++session.counters->resets;
  begin_record(session);
  if (logs(LogLevel::kDebug)) {
    log_event(LogLevel::kDebug, "episode_started",
              {{"session", session.id},
               {"episode", session.episode_id},
               {"env", session.environment.name},
               {"task", task->id},
               {"client", session.client}});
  }
  return session.episode.environment().observe();
}

void Service::begin_record(Session& session) {
  session.record.reset();
  session.record_stored = false;
  session.too_long = false;
  if (!recorder_ && session.group.empty()) return;
  auto record = std::make_unique<EpisodeRecord>();
  record->task = session.episode.task();
  record->last = situation_of(session.episode.environment());
  const Task& task = record->task;
  Hasher name;
  if (session.group.empty()) {
    name.add("task").add(task.env).add(task.id).add_u64(task.seed);
  } else {
    name.add("group").add(session.group);
  }
  const std::lock_guard lock(recordings_->mutex);
  RecordPlace* place = session.place.get();
  if (place == nullptr) {
    const auto [entry, fresh] = recordings_->places.try_emplace(name.finish());
    if (fresh) entry->second.group = recordings_->next_group++;
    place = &entry->second;
  }
  record->group = place->group;
  record->member = place->next_member++;
  session.record = std::move(record);
}

std::shared_ptr<RecordPlace> Service::new_place() {
  const std::lock_guard lock(recordings_->mutex);
  return std::make_shared<RecordPlace>(RecordPlace{recordings_->next_group++});
}

Status Service::store_record(Session& session, EpisodeStatus status, bool durable) {
  if (!session.record || session.record_stored) return {};
  session.record->status = status;
  if (status == EpisodeStatus::kAbandoned && session.episode.started() && !session.episode.ended()) {
    metrics_.count_episode(session.environment.name, "abandoned");
  }
  if (!recorder_) return {};
  session.record_stored = true;
  if (Status added = recorder_->add(*session.record); !added) return added;
  return durable ? recorder_->flush() : Status();
}

Result<StepResult> Service::step(Session& session, std::string_view action) {
  Episode& episode = session.episode;
  const bool was_over = episode.ended();
  const auto begin = std::chrono::steady_clock::now();
  StepResult result = episode.step(action);
  time_step(session, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  if (was_over && !session.environment.plays_on) {
    session.last_reward = 0;
    return result;
  }
  session.score += result.reward;
  session.last_reward = result.reward;
  if (session.record && !recorder_ && session.record->steps.size() >= limits().kept_steps) {
    session.record.reset();
    session.too_long = true;
  }
  if (session.record) {
    EpisodeRecord& record = *session.record;
    // An environment that tells distances does so from the reset on.
    const bool tells_distance = record.last.distance.has_value();
    record.steps.push_back({std::move(record.last), std::string(action), result.action_valid, result.reward});
    record.last = situation_of(episode.environment(), result.observation.text, tells_distance);
    record.outcome = result.outcome;
    record.truncated = episode.truncated();
  }
  if (!was_over && episode.ended()) {
    metrics_.count_episode(session.environment.name,
                           episode.truncated() ? "truncated" : outcome_name(result.outcome));
    if (Status stored = store_record(session, EpisodeStatus::kFinished, true); !stored) {
      log_event(LogLevel::kError, "recording_failed",
                {{"session", session.id}, {"what", to_string(stored.error())}});
      set_ready("the recording failed: " + to_string(stored.error()));
      return stored.error();
    }
  }
  return result;
}

void Service::time_step(Session& session, double seconds) {
  if (session.counters == nullptr)
    session.counters = &metrics_.of(session.environment.name);  // forked or restored
  session.counters->steps.fetch_add(1, std::memory_order_relaxed);
  session.counters->nanoseconds.fetch_add(static_cast<std::uint64_t>(seconds * 1e9),
                                          std::memory_order_relaxed);
  if (seconds * 1000 > static_cast<double>(limits().step_milliseconds)) {
    log_event(LogLevel::kWarning, "late_step",
              {{"session", session.id},
               {"episode", session.episode_id},
               {"env", session.environment.name},
               {"seconds", json_number(seconds)}});
  }
  std::atomic<int>& unproven = session.counters->unproven;
  if (seconds > kQuickStepSeconds) {
    unproven = seconds > kStallSeconds ? kQuickAfterStall : std::max<int>(unproven, kQuickAgainAfter);
  } else if (int left = unproven.load(std::memory_order_relaxed); left > 0) {
    unproven.compare_exchange_strong(left, left - 1, std::memory_order_relaxed);
  }
}

bool Service::steps_are_quick(std::size_t count) const {
  return std::all_of(counters_.begin(), counters_.end(), [&](const EnvironmentCounters* counters) {
    if (!steps_are_quick(*counters)) return false;
    const double each =
        static_cast<double>(counters->nanoseconds) / 1e9 / static_cast<double>(counters->steps);
    return count == 1 || static_cast<double>(count) * (each + kReplySeconds) < kQuickStepSeconds;
  });
}

Result<StepResult> Service::restore(Session& session, const std::string& saved) {
  Episode episode(session.environment.factory->make(), session.max_steps, session.environment.plays_on);
  if (Status status = episode.load(saved); !status) return status.error();
  if (Status status = store_record(session, EpisodeStatus::kAbandoned, false); !status) return status.error();
  session.record.reset();
  session.too_long = false;
  session.episode = std::move(episode);
  session.episode_id = random_id();
  session.score = 0;
  session.last_reward = 0;
  session.step_id = 0;
  session.step_reply.clear();
  return session.episode.environment().observe();
}

Result<std::shared_ptr<Session>> Service::fork(const Session& session, const std::string& client) {
  Result<std::shared_ptr<Session>> copy = pool_.open({session.environment, client, session.max_steps});
  if (!copy) return copy;
  const std::lock_guard lock((*copy)->mutex);
  Session& fresh = **copy;
  fresh.episode = session.episode.fork();
  fresh.choice = session.choice;
  fresh.episode_id = random_id();
  fresh.score = session.score;
  fresh.last_reward = session.last_reward;
  fresh.step_id = session.step_id;
  fresh.step_reply = session.step_reply;
  return copy;
}

void Service::close_all() {
  pool_.for_each([this](Session& session) { pool_.close(session.id); });
}

Status Service::self_test() {
  for (const HostedEnvironment& environment : config_.environments) {
    const EnvFactory& factory = *environment.factory;
    const Error no_gold{
        ErrorCode::kUnavailable,
        "self-test of " + environment.name + ": no task of the first split has a known solution", "", ""};
    const Result<std::size_t> count = factory.task_count(factory.splits().front());
    if (!count) return count.error();
    Status failed = no_gold;
    for (std::size_t index = 0; index < std::min<std::size_t>(*count, 5) && !failed; ++index) {
      const Result<Task> task =
          choose_task(environment, {.seed = 0, .split = {}, .index = index, .task_id = {}});
      if (!task) return task.error();
      Episode episode(factory.make(), 1000);
      if (Status status = episode.reset(*task); !status) return status;
      while (!episode.ended()) {
        const std::optional<std::string> action = episode.environment().gold_action();
        if (!action) break;
        episode.step(*action);
      }
      if (episode.environment().observe().outcome == Outcome::kSuccess) failed = Status();
    }
    if (!failed) return failed;
  }
  return {};
}

void Service::set_ready(std::string reason) {
  const std::lock_guard lock(ready_mutex_);
  unready_reason_ = std::move(reason);
}

std::string Service::unready_reason() const {
  const std::lock_guard lock(ready_mutex_);
  return unready_reason_;
}

}  // namespace lodestep::harness
