// All sessions of a server by id: leases, idle sweep, limits.
//   SessionPool pool({.max_sessions = 1000}, clock);
//   Result<std::shared_ptr<Session>> session = pool.open({hosted, "127.0.0.1"});
//   SessionPool::Found found = pool.find(id);  if (found.lease) found.lease->episode...
// Threads: safe; the map is sharded. A session that is closed while in use lives until its last user lets go.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "harness/server/clock.h"
#include "harness/server/session.h"

namespace lodestep::harness {

// 128 unguessable bits from the system as 32 hex digits.
std::string random_id();
bool is_session_id(std::string_view text);  // whether it could be one
std::uint64_t random_bits();

// How long a request waits for a session that another one plays.
inline constexpr std::chrono::milliseconds kPatience{1000};

// The right to use one session, exclusively, for one request; false when another request keeps it longer than
// kPatience. Renews the session's lease on the way out.
class Lease {
 public:
  Lease() = default;
  enum class Use { kPlay, kLook };  // looking renews nothing
  Lease(std::shared_ptr<Session> session, const Clock& clock, Use use = Use::kPlay);
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();
  explicit operator bool() const { return session_ != nullptr; }
  Session* operator->() const { return session_.get(); }
  Session& operator*() const { return *session_; }

 private:
  void release();
  std::shared_ptr<Session> session_;
  std::unique_lock<std::timed_mutex> lock_;
  const Clock* clock_ = nullptr;
  Use use_ = Use::kPlay;
};

class SessionPool {
 public:
  struct Config {
    std::size_t max_sessions = 1000;           // in all
    std::size_t max_sessions_per_client = 0;   // 0: no limit of its own
    std::int64_t idle_milliseconds = 3600000;  // 0: never swept
    std::size_t remembered_ids = 100000;       // closed ids that are still told apart from unknown ones
  };
  static constexpr const char* kClientLimit = "limit max_sessions_per_client";
  static constexpr const char* kServerLimit = "limit max_sessions = ";
  struct Wish {
    const HostedEnvironment& environment;
    std::string client;
    std::size_t max_steps = 0;
    std::string id = {};  // empty: a fresh random one
  };
  enum class Fate { kOpen, kBusy, kClosed, kUnknown };
  struct Found {
    Lease lease;
    Fate fate = Fate::kUnknown;
  };

  SessionPool(const Config& config, const Clock& clock) : config_(config), clock_(clock) {}

  // kUnavailable when a limit is reached (`where` begins with kClientLimit when it is the client's own, the
  // hint says how to raise it); kInvalidArgument when the wished id is taken.
  Result<std::shared_ptr<Session>> open(const Wish& wish);
  Found find(const std::string& id);  // waits a little while another request uses the session
  std::shared_ptr<Session> peek(const std::string& id);  // no lease: for counters only
  bool close(const std::string& id);  // false when it was not open; idempotent; never waits
  std::size_t sweep();                // closes what idled too long; how many
  std::size_t size() const { return size_; }
  const Config& config() const { return config_; }
  const Clock& clock() const { return clock_; }
  void for_each(const std::function<void(Session&)>& visit);  // without locks on the sessions
  // Called with each session that left the pool, when nobody uses it any more, its lock held.
  void on_close(std::function<void(Session&)> callback) { on_close_ = std::move(callback); }

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_map<std::string, std::shared_ptr<Session>, ContainerHash, std::equal_to<>> open;
    std::unordered_set<std::string, ContainerHash, std::equal_to<>> closed;
    std::deque<std::string> closed_order;
  };
  static constexpr std::size_t kShards = 16;
  Shard& shard_of(const std::string& id) { return shards_[ContainerHash()(id) % kShards]; }
  Status reserve(const std::string& client);
  void give_back(const std::string& client);
  void retire(Shard& shard, const std::string& id);  // with the shard's lock held
  friend class Lease;
  void finish(Session& session);
  void end_unless_used(Session& session);

  const Config config_;
  const Clock& clock_;
  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> size_{0};
  std::mutex clients_mutex_;
  std::unordered_map<std::string, std::size_t, ContainerHash, std::equal_to<>> clients_;
  std::function<void(Session&)> on_close_;
};

}  // namespace lodestep::harness
