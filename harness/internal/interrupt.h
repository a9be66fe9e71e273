// SIGINT and SIGTERM as a question that long work asks.
//   InterruptGuard guard;            // installs the handlers, restores the old ones at its end
//   if (guard.requested()) ...       // finish the running step, close the recording
// Threads: requested() from any thread; one guard at a time.
#pragma once

namespace lodestep::harness {

class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  bool requested() const { return exit_status() != 0; }
  // 130 after SIGINT, 143 after SIGTERM, 0 before either.
  int exit_status() const;
};

}  // namespace lodestep::harness
