#include "harness/server/helpers.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>

namespace lodestep::harness {

// Outlives the call where a helper looks at it late; it finds no part left then.
struct Helpers::Job {
  Job(std::size_t parts, const std::function<void(std::size_t)>& what) : count(parts), part(what) {}
  const std::size_t count;
  const std::function<void(std::size_t)>& part;  // the caller's: touched only by who holds a part
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::condition_variable all_done;
  std::size_t done = 0;
  std::exception_ptr failure;
};

Helpers::~Helpers() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Helpers::work_on(Job& job) {
  std::size_t finished = 0;
  std::exception_ptr failure;
  for (std::size_t i = 0; (i = job.next.fetch_add(1)) < job.count; ++finished) {
    try {
      job.part(i);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (finished == 0) return;
  const std::lock_guard lock(job.mutex);
  job.done += finished;
  if (failure) job.failure = failure;
  if (job.done == job.count) job.all_done.notify_all();
}

void Helpers::run(std::size_t count, const std::function<void(std::size_t)>& part) {
  const auto job = std::make_shared<Job>(count, part);
  if (count > 1) {
    std::size_t wanted = 0;
    {
      const std::lock_guard lock(mutex_);
      if (!started_) start();
      wanted = std::min(count - 1, threads_.size());
      jobs_.insert(jobs_.end(), wanted, job);
    }
    for (std::size_t i = 0; i < wanted; ++i) wanted_.notify_one();
  }
  work_on(*job);
  std::unique_lock lock(job->mutex);
  job->all_done.wait(lock, [&] { return job->done == job->count; });
  if (job->failure) std::rethrow_exception(job->failure);
}

// One thread per core but the caller's.
void Helpers::start() {
  started_ = true;
  const unsigned cores = std::thread::hardware_concurrency();
  for (unsigned i = 1; i < cores; ++i) threads_.emplace_back([this] { serve(); });
}

void Helpers::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wanted_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    if (ending_) return;
    const std::shared_ptr<Job> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    work_on(*job);
    lock.lock();
  }
}

}  // namespace lodestep::harness
