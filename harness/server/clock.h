// Time as the server asks for it: leases, limits and log lines. Nothing that an episode outputs asks it.
//   SystemClock clock; SessionPool pool(config, clock);
// Threads: safe. Tests use FakeClock, which stands still until it is told to move.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lodestep::harness {

class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;
  virtual std::int64_t milliseconds() const = 0;  // since some fixed moment; never goes back
};

class SystemClock final : public Clock {
 public:
  std::int64_t milliseconds() const override {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  }
};

class FakeClock final : public Clock {
 public:
  std::int64_t milliseconds() const override { return now_; }
  void advance(std::int64_t milliseconds) { now_ += milliseconds; }

 private:
  std::atomic<std::int64_t> now_{0};
};

}  // namespace lodestep::harness
