#include "harness/internal/interrupt.h"

#include <csignal>

namespace lodestep::harness {
namespace {

volatile std::sig_atomic_t caught = 0;
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

int InterruptGuard::exit_status() const { return caught == 0 ? 0 : 128 + caught; }

}  // namespace lodestep::harness
