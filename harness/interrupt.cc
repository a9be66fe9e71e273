#include "harness/internal/interrupt.h"

#include <atomic>
#include <csignal>

namespace lodestep::harness {
namespace {

std::atomic<int> caught{0};
static_assert(std::atomic<int>::is_always_lock_free);  // as a signal handler needs
using Handler = void (*)(int);
Handler old_interrupt = SIG_DFL;
Handler old_terminate = SIG_DFL;

void remember(int signal) { caught = signal; }

}  // namespace

InterruptGuard::InterruptGuard() {
  caught = 0;
  old_interrupt = std::signal(SIGINT, &remember);
  old_terminate = std::signal(SIGTERM, &remember);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, old_interrupt);
  std::signal(SIGTERM, old_terminate);
}

int InterruptGuard::exit_status() const {
  const int signal = caught;
  return signal == 0 ? 0 : 128 + signal;
}

}  // namespace lodestep::harness
