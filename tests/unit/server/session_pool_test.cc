// Sessions: leases, sweep, limits, ids.
#include <catch2/catch.hpp>

#include <set>
#include <thread>
#include <vector>

#include "harness/server/session_pool.h"
#include "tests/unit/server/support.h"

namespace lodestep::harness {
namespace {

struct Pool {
  explicit Pool(const SessionPool::Config& config) : pool(config, clock) {}
  std::shared_ptr<Session> open(const std::string& client = "c") {
    Result<std::shared_ptr<Session>> session = pool.open({environment, client, 20});
    REQUIRE(session.ok());
    return *session;
  }
  HostedEnvironment environment = hosted("dummy");
  FakeClock clock;
  SessionPool pool;
};

TEST_CASE("ids are 128 random bits") {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(random_id());
  REQUIRE(ids.size() == 1000);
  for (const std::string& id : ids) REQUIRE(id.size() == 32);
}

TEST_CASE("closing is idempotent and a closed id is told apart from an unknown one") {
  Pool p({.max_sessions = 4});
  const std::string id = p.open()->id;
  REQUIRE(p.pool.find(id).fate == SessionPool::Fate::kOpen);
  REQUIRE(p.pool.close(id));
  REQUIRE_FALSE(p.pool.close(id));
  REQUIRE(p.pool.find(id).fate == SessionPool::Fate::kClosed);
  REQUIRE(p.pool.find(random_id()).fate == SessionPool::Fate::kUnknown);
  REQUIRE(p.pool.size() == 0);
}

TEST_CASE("the sweep closes what idled past its lease, and nothing that is used") {
  Pool p({.max_sessions = 10, .idle_milliseconds = 1000});
  const std::shared_ptr<Session> idle = p.open();
  const std::shared_ptr<Session> used = p.open();
  const std::shared_ptr<Session> busy = p.open();
  const std::shared_ptr<Session> owned_by_socket = p.open();
  owned_by_socket->attached = 1;
  const SessionPool::Found held = p.pool.find(busy->id);
  p.clock.advance(900);
  REQUIRE(p.pool.sweep() == 0);
  REQUIRE(p.pool.find(used->id).fate == SessionPool::Fate::kOpen);  // renews the lease
  p.clock.advance(200);
  REQUIRE(p.pool.sweep() == 1);
  REQUIRE(p.pool.find(idle->id).fate == SessionPool::Fate::kClosed);
  REQUIRE(p.pool.find(used->id).fate == SessionPool::Fate::kOpen);
  REQUIRE(held.lease);
  REQUIRE_FALSE(held.lease->closed);
  REQUIRE_FALSE(owned_by_socket->closed);
}

TEST_CASE("sessions are swept after an hour unless told otherwise") {
  REQUIRE(SessionPool::Config().idle_milliseconds == 3600 * 1000);
  Pool never({.max_sessions = 2, .idle_milliseconds = 0});
  never.open();
  never.clock.advance(std::int64_t{1} << 40);
  REQUIRE(never.pool.sweep() == 0);
}

TEST_CASE("a full server names its limit, and a freed place is usable at once") {
  Pool p({.max_sessions = 3, .max_sessions_per_client = 2});
  const std::string first = p.open("a")->id;
  p.open("a");
  const Result<std::shared_ptr<Session>> third = p.pool.open({p.environment, "a"});
  REQUIRE_FALSE(third.ok());
  REQUIRE(third.error().code == ErrorCode::kUnavailable);
  REQUIRE(third.error().where == "limit max_sessions_per_client = 2");
  REQUIRE(third.error().hint.find("--max-sessions-per-client") != std::string::npos);
  p.open("b");
  const Result<std::shared_ptr<Session>> fourth = p.pool.open({p.environment, "b"});
  REQUIRE_FALSE(fourth.ok());
  REQUIRE(fourth.error().where == "limit max_sessions = 3");
  REQUIRE(fourth.error().hint.find("--max-sessions") != std::string::npos);
  p.pool.close(first);
  p.open("b");
}

TEST_CASE("open and close from many threads keep the count") {
  Pool p({.max_sessions = 1000});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&p] {
      for (int i = 0; i < 500; ++i) {
        const Result<std::shared_ptr<Session>> session = p.pool.open({p.environment, "c"});
        if (!session) continue;
        { const SessionPool::Found found = p.pool.find((*session)->id); }
        p.pool.close((*session)->id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(p.pool.size() == 0);
}

}  // namespace
}  // namespace lodestep::harness
