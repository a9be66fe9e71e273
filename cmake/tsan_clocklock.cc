// ThreadSanitizer of GCC 12 does not know pthread_mutex_clocklock, which std::timed_mutex waits with: it
// would take what that lock guards for unguarded. Builds with it wait through pthread_mutex_timedlock, which
// it knows.
#include <pthread.h>

#include <ctime>

extern "C" int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                       const timespec* end) noexcept {
  constexpr long kSecond = 1000000000;
  timespec now{}, real{};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  real.tv_sec += end->tv_sec - now.tv_sec;
  real.tv_nsec += end->tv_nsec - now.tv_nsec;
  if (real.tv_nsec < 0) real.tv_nsec += kSecond, --real.tv_sec;
  if (real.tv_nsec >= kSecond) real.tv_nsec -= kSecond, ++real.tv_sec;
  return pthread_mutex_timedlock(mutex, &real);
}
