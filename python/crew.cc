#include "python/crew.h"

namespace lodestep::python {

Crew::Crew(std::size_t threads) {
  for (std::size_t i = 1; i < threads; ++i) threads_.emplace_back([this] { helper(); });
}

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Crew::each(std::size_t count, const std::function<void(std::size_t)>& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    count_ = count;
    next_ = 0;
    failure_ = nullptr;
    busy_ = threads_.size();
    ++round_;
  }
  changed_.notify_all();
  share();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

void Crew::helper() {
  std::size_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || round_ != seen; });
    if (closing_) return;
    seen = round_;
    lock.unlock();
    share();
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

void Crew::share() {
  try {
    for (std::size_t i = next_++; i < count_; i = next_++) (*work_)(i);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    next_ = count_;
  }
}

}  // namespace lodestep::python
