// One I/O thread: its event loop, the peers that live on it, and the tick that enforces their time limits.
//   IoLoop loop; loop.run_in_thread(); boost::asio::post(loop.context, ...);
// Threads: peers are touched from the loop's thread only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "harness/server/application.h"
#include "harness/server/waiting_line.h"

namespace lodestep::harness {

using Milliseconds = std::chrono::milliseconds;

inline std::int64_t now_milliseconds() {
  return std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A connection, as its loop sees it.
class Peer {
 public:
  Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  virtual ~Peer() = default;
  virtual void tick(std::int64_t now) = 0;  // drops itself when a time limit passed
  virtual void finish() = 0;                // the server stops: end when the running request is answered
};

struct IoLoop {
  IoLoop() : context(1), timer(context) {}

  void run_in_thread() {
    schedule_tick();
    thread = std::thread([this] { context.run(); });
  }

  void schedule_tick() {
    timer.expires_after(Milliseconds(500));
    timer.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      const std::vector<Peer*> present(peers.begin(), peers.end());
      const std::int64_t now = now_milliseconds();
      for (Peer* peer : present) {
        if (peers.contains(peer)) peer->tick(now);
      }
      schedule_tick();
    });
  }

  std::unordered_set<Peer*> peers;
  std::atomic<std::size_t> count{0};  // of peers, for other threads
  boost::asio::io_context context;    // after the peers: those that still live end with it
  boost::asio::steady_timer timer;
  std::thread thread;
};

// What connections share.
struct Shared {
  Application& application;
  boost::asio::thread_pool& workers;
  const Limits& limits;
  std::atomic<bool> stopping{false};
  std::atomic<std::size_t> running{0};  // requests on workers
  WaitingLine line{};                   // of requests that a full server lets wait

  // Runs what may take long on a worker.
  template <typename Work>
  void run(Work&& work) {
    ++running;
    boost::asio::post(workers, [this, work = std::forward<Work>(work)]() mutable {
      work();
      --running;
    });
  }
};

// Enters a peer in its loop's list for as long as it lives.
class Membership {
 public:
  Membership(IoLoop& loop, Peer* peer) : loop_(loop), peer_(peer) {
    loop_.peers.insert(peer_);
    ++loop_.count;
  }
  ~Membership() {
    loop_.peers.erase(peer_);
    --loop_.count;
  }
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

 private:
  IoLoop& loop_;
  Peer* peer_;
};

}  // namespace lodestep::harness
