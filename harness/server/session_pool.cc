#include "harness/server/session_pool.h"

#include <sys/random.h>

#include <algorithm>
#include <utility>

namespace lodestep::harness {

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  const ssize_t got = getrandom(&bits, sizeof bits, 0);
  LODESTEP_CHECK(got == static_cast<ssize_t>(sizeof bits), got);
  return bits;
}

bool is_session_id(std::string_view text) {
  return text.size() == 32 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string random_id() { return to_hex(Hash128{random_bits(), random_bits()}); }

Session::Session(std::string session_id, const HostedEnvironment& hosted, std::size_t step_budget,
                 std::string client_name)
    : id(std::move(session_id)),
      environment(hosted),
      client(std::move(client_name)),
      episode(hosted.factory->make(), step_budget, hosted.plays_on),
      max_steps(step_budget) {}

Lease::Lease(std::shared_ptr<Session> session, const Clock& clock, Use use) : clock_(&clock), use_(use) {
  ++session->busy;
  lock_ = std::unique_lock<std::timed_mutex>(session->mutex, std::try_to_lock);
  if (lock_ || lock_.try_lock_for(kPatience)) {
    session_ = std::move(session);
  } else {
    --session->busy;
  }
}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    release();
    session_ = std::move(other.session_);
    lock_ = std::move(other.lock_);
    clock_ = other.clock_;
    use_ = other.use_;
  }
  return *this;
}

Lease::~Lease() { release(); }

void Lease::release() {
  if (!session_) return;
  if (use_ == Use::kPlay) session_->last_used = clock_->milliseconds();
  lock_.unlock();
  --session_->busy;
  if (session_->closed && session_->pool != nullptr) session_->pool->end_unless_used(*session_);
  session_.reset();
}

Status SessionPool::reserve(const std::string& client) {
  const std::lock_guard lock(clients_mutex_);
  if (size_ >= config_.max_sessions) {
    const std::string limit = std::to_string(config_.max_sessions);
    return Error{ErrorCode::kUnavailable, "all " + limit + " sessions are in use", kServerLimit + limit,
                 "raise it with --max-sessions"};
  }
  std::size_t& count = clients_[client];
  if (config_.max_sessions_per_client != 0 && count >= config_.max_sessions_per_client) {
    const std::string limit = std::to_string(config_.max_sessions_per_client);
    return Error{ErrorCode::kUnavailable, "this client has all of its " + limit + " sessions in use",
                 kClientLimit + std::string(" = ") + limit, "raise it with --max-sessions-per-client"};
  }
  ++count;
  ++size_;
  return {};
}

void SessionPool::give_back(const std::string& client) {
  const std::lock_guard lock(clients_mutex_);
  --size_;
  const auto found = clients_.find(client);
  if (found != clients_.end() && --found->second == 0) clients_.erase(found);
}

Result<std::shared_ptr<Session>> SessionPool::open(const Wish& wish) {
  if (Status status = reserve(wish.client); !status) return status.error();
  try {
    const std::string id = wish.id.empty() ? random_id() : wish.id;
    auto session = std::make_shared<Session>(id, wish.environment, wish.max_steps, wish.client);
    session->last_used = clock_.milliseconds();
    session->pool = this;
    Shard& shard = shard_of(id);
    const std::lock_guard lock(shard.mutex);
    if (shard.open.emplace(id, session).second) return session;
  } catch (...) {
    give_back(wish.client);
    throw;
  }
  give_back(wish.client);
  return Error{ErrorCode::kInvalidArgument, "session id '" + wish.id + "' is taken", "", ""};
}

SessionPool::Found SessionPool::find(const std::string& id) {
  Found found;
  std::shared_ptr<Session> session;
  {
    Shard& shard = shard_of(id);
    const std::lock_guard lock(shard.mutex);
    if (const auto open = shard.open.find(id); open != shard.open.end()) {
      session = open->second;
      ++session->busy;  // from here on the sweep lets it be
    } else {
      found.fate = shard.closed.contains(id) ? Fate::kClosed : Fate::kUnknown;
      return found;
    }
  }
  Lease lease(session, clock_);
  --session->busy;
  if (!lease) {
    found.fate = Fate::kBusy;
    return found;
  }
  if (lease->closed) {
    found.fate = Fate::kClosed;
    return found;
  }
  found.lease = std::move(lease);
  found.fate = Fate::kOpen;
  return found;
}

std::shared_ptr<Session> SessionPool::peek(const std::string& id) {
  Shard& shard = shard_of(id);
  const std::lock_guard lock(shard.mutex);
  const auto open = shard.open.find(id);
  return open == shard.open.end() ? nullptr : open->second;
}

void SessionPool::retire(Shard& shard, const std::string& id) {
  shard.closed.insert(id);
  shard.closed_order.push_back(id);
  while (shard.closed_order.size() > config_.remembered_ids / kShards + 1) {
    shard.closed.erase(shard.closed_order.front());
    shard.closed_order.pop_front();
  }
}

void SessionPool::finish(Session& session) {
  session.closed = true;
  end_unless_used(session);
  give_back(session.client);
}

// Whoever closes a session marks it first and tries then; whoever lets go of it looks at the mark: one of
// them ends it.
void SessionPool::end_unless_used(Session& session) {
  const std::unique_lock<std::timed_mutex> lock(session.mutex, std::try_to_lock);
  if (!lock || session.ended) return;
  session.ended = true;
  if (on_close_) on_close_(session);
}

bool SessionPool::close(const std::string& id) {
  std::shared_ptr<Session> session;
  {
    Shard& shard = shard_of(id);
    const std::lock_guard lock(shard.mutex);
    const auto open = shard.open.find(id);
    if (open == shard.open.end()) return false;
    session = open->second;
    shard.open.erase(open);
    retire(shard, id);
  }
  finish(*session);
  return true;
}

std::size_t SessionPool::sweep() {
  if (config_.idle_milliseconds == 0) return 0;
  const std::int64_t now = clock_.milliseconds();
  std::vector<std::shared_ptr<Session>> idle;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (auto open = shard.open.begin(); open != shard.open.end();) {
      const Session& session = *open->second;
      if (session.busy == 0 && session.attached == 0 && now - session.last_used > config_.idle_milliseconds) {
        idle.push_back(open->second);
        retire(shard, open->first);
        open = shard.open.erase(open);
      } else {
        ++open;
      }
    }
  }
  for (const auto& session : idle) finish(*session);
  return idle.size();
}

void SessionPool::for_each(const std::function<void(Session&)>& visit) {
  for (Shard& shard : shards_) {
    std::vector<std::shared_ptr<Session>> sessions;
    {
      const std::lock_guard lock(shard.mutex);
      for (const auto& [id, session] : shard.open) sessions.push_back(session);
    }
    for (const auto& session : sessions) visit(*session);
  }
}

}  // namespace lodestep::harness
