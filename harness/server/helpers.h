// Threads that lend a hand to a request whose parts share nothing.
//   helpers.run(chunks, [&](std::size_t chunk) { out[chunk] = play(chunk); });
// Threads: safe, from several requests at once. The caller takes parts itself until none is left, so it never
// waits for a thread that is busy elsewhere. The threads start at the first call; owned here.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lodestep::harness {

class Helpers {
 public:
  Helpers() = default;
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;
  ~Helpers();

  // Calls part(0) to part(count - 1), each once, in any order and on any thread; returns when all are done.
  // What a part throws is thrown here, after the others.
  void run(std::size_t count, const std::function<void(std::size_t)>& part);

 private:
  struct Job;
  static void work_on(Job& job);
  void start();
  void serve();

  std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<std::shared_ptr<Job>> jobs_;
  std::vector<std::thread> threads_;
  bool started_ = false;
  bool ending_ = false;
};

}  // namespace lodestep::harness
