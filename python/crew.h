// A few threads that share out n pieces of work, kept alive between calls.
//   Crew crew(4);
//   crew.each(episodes.size(), [&](std::size_t i) { results[i] = episodes[i].step(actions[i]); });
// Threads: each() from one thread at a time. Pieces must not touch each other's data; which thread does
// which piece must not matter. The first exception is rethrown by each().
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lodestep::python {

class Crew {
 public:
  // The caller of each() works too, so one thread starts none.
  explicit Crew(std::size_t threads);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void each(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  void helper();
  void share();

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_{0};
  std::size_t round_ = 0;
  std::size_t busy_ = 0;
  bool closing_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace lodestep::python
