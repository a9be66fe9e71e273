// One session of the server: an episode, and what a client's retries and leases need.
//   Lease lease = pool.find(id).lease;            // holds the session's lock: one thread at a time
//   lease->episode.step(action);
// Threads: everything but the constants and the lease counters is guarded by `mutex`, which a Lease holds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "envs/factory.h"
#include "harness/episode.h"
#include "harness/recording.h"

namespace lodestep::harness {

// An environment that the server offers, opened once and shared by all of its sessions.
struct HostedEnvironment {
  std::string name;
  std::string summary;
  std::shared_ptr<const EnvFactory> factory;
  std::size_t max_steps = 0;  // step budget of a session that names none
  bool plays_on = false;
  EnvConfig config = {};  // what it was opened with, for variants
};

// How a client names the task of an episode. Nothing given: chance decides.
struct TaskChoice {
  std::optional<std::uint64_t> seed;   // also picks the task when neither index nor id is given
  std::string split;                   // empty: the environment's first
  std::optional<std::uint64_t> index;  // within the split
  std::string task_id;                 // wins over split and index
};

// Where the episodes of one group stand in a recording.
struct RecordPlace {
  std::size_t group = 0;
  std::size_t next_member = 0;
};

struct EnvironmentCounters;
class SessionPool;

struct Session {
  Session(std::string session_id, const HostedEnvironment& hosted, std::size_t max_steps,
          std::string client_name);

  const std::string id;
  const HostedEnvironment& environment;
  const std::string client;  // who asked for it: the peer's address

  std::timed_mutex mutex;
  Episode episode;
  std::size_t max_steps;
  TaskChoice choice;                   // what creation asked for; a reset may override parts of it
  std::string group;                   // group that its episodes are recorded under; empty: its task and seed
  std::shared_ptr<RecordPlace> place;  // of a group made in one call, shared by its members
  std::string episode_id;
  double score = 0;  // sum of the episode's rewards
  double last_reward = 0;
  std::uint64_t step_id = 0;                // last request id of this episode
  std::string step_reply;                   // and what it was answered
  EnvironmentCounters* counters = nullptr;  // of its environment, set by the first reset
  std::string label;                        // a dialect's own note, such as the number of the game
  std::vector<std::string> actions;         // of the episode, where a dialect must show it in another form
  std::unique_ptr<EpisodeRecord> record;    // the latest episode, kept for a recorder or for its group
  bool record_stored = false;               // the recorder has it
  bool too_long = false;  // the episode passed the limit of kept steps: its record was let go
  bool ended = false;     // what its end causes was done

  std::atomic<std::int64_t> last_used{0};  // milliseconds of the pool's clock
  std::atomic<int> busy{0};                // requests that hold or wait for it: never swept meanwhile
  std::atomic<int> attached{0};            // sockets that own it: never swept meanwhile
  std::atomic<bool> closing{false};        // close it when its socket lets go
  std::atomic<bool> closed{false};         // no longer in the pool; ends when its last user lets go
  SessionPool* pool = nullptr;             // that it was opened in
};

}  // namespace lodestep::harness
