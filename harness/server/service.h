// What all dialects share: the environments, the sessions, and the one way to play a step.
//   Service service(config, clock);
//   Result<StepResult> first = service.reset(*lease, choice);
//   Result<StepResult> next = service.step(*lease, "push right");
// Threads: safe; reset and step want a session whose lease the caller holds.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/recorder.h"
#include "harness/server/helpers.h"
#include "harness/server/limits.h"
#include "harness/server/metrics.h"
#include "harness/server/session.h"
#include "harness/server/session_pool.h"

namespace lodestep::harness {

struct ServiceConfig {
  std::vector<HostedEnvironment> environments;  // the first one is the default
  Limits limits;
  Recorder* recorder = nullptr;          // borrowed; nullptr: nothing is recorded
  std::size_t first_recorded_group = 0;  // groups before it are in the recording already
  std::string version;                   // of the program
  std::string recording = {};            // file of the recorder, which /v1/recordings reads
  bool web = false;                      // serve OpenEnv's web routes
  std::string graph_store = {};          // what requests with memory=true recall and add to; empty: nothing
  double half_life = 0;                  // batches after which an edge of it counts half; 0: nothing fades
};

class GroupTable;

class Service {
 public:
  Service(ServiceConfig config, const Clock& clock);
  ~Service();

  const ServiceConfig& config() const { return config_; }
  const Limits& limits() const { return config_.limits; }
  const HostedEnvironment* find_environment(std::string_view name) const;
  const HostedEnvironment& default_environment() const { return config_.environments.front(); }
  // The same environment and data under other settings, for dialects whose clients expect them; opened once,
  // at the first call.
  Result<const HostedEnvironment*> variant(const HostedEnvironment& environment, const Settings& changes);
  SessionPool& pool() { return pool_; }
  GroupTable& groups() { return *groups_; }
  Metrics& metrics() { return metrics_; }
  Helpers& helpers() { return helpers_; }

  // The task that a choice names; with neither index nor id, the seed picks one of the split.
  static Result<Task> choose_task(const HostedEnvironment& environment, const TaskChoice& choice);

  // Starts an episode. Without an episode id it gets a fresh one. On failure the running episode goes on.
  Result<StepResult> reset(Session& session, const TaskChoice& choice,
                           const std::optional<std::string>& episode_id = {});
  // One step, counted, timed, recorded. When it ends the episode, the recording is durable before this
  // returns; fails only when that failed.
  Result<StepResult> step(Session& session, std::string_view action);
  // Puts the session where a snapshot stood. On failure nothing changes. The rest of the episode is not
  // recorded.
  Result<StepResult> restore(Session& session, const std::string& saved);
  // Copies a session: same task, same place, an own id, an own episode id. Not recorded (it has no
  // beginning).
  Result<std::shared_ptr<Session>> fork(const Session& session, const std::string& client);

  // The place of a group that nobody else will name.
  std::shared_ptr<RecordPlace> new_place();

  // Closes every session; what was running is recorded as abandoned.
  void close_all();

  // Plays one gold episode per environment; fails with the first that does not reach success.
  Status self_test();
  // Steps of the environment have been quick for so long that they may run on a thread that serves sockets.
  bool steps_are_quick(const EnvironmentCounters& environment) const {
    return !recorder_ && environment.unproven == 0;
  }
  // The same of so many steps in a row, of whichever environment.
  bool steps_are_quick(std::size_t count) const;
  bool draining() const { return draining_; }
  void drain() { draining_ = true; }   // no new sessions from now on
  void set_ready(std::string reason);  // empty: ready
  std::string unready_reason() const;

 private:
  struct Recordings;
  void begin_record(Session& session);
  Status store_record(Session& session, EpisodeStatus status, bool durable);
  void time_step(Session& session, double seconds);

  ServiceConfig config_;
  Metrics metrics_;
  SessionPool pool_;
  std::unique_ptr<GroupTable> groups_;
  Recorder* recorder_;
  std::unique_ptr<Recordings> recordings_;
  std::atomic<bool> draining_{false};
  std::vector<const EnvironmentCounters*> counters_;  // of the environments
  std::mutex variants_mutex_;
  std::map<std::string, std::unique_ptr<HostedEnvironment>> variants_;
  mutable std::mutex ready_mutex_;
  std::string unready_reason_ = "the start-up self-test has not run yet";
  Helpers helpers_;  // last, so that they end first
};

}  // namespace lodestep::harness
