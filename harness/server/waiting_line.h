// Who waits for a free session: first come, first served.
//   WaitingLine line;  const WaitingLine::Place place = line.join();  if (line.is_first(place)) ...
// Threads: safe. Letting go of a place leaves the line.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

namespace lodestep::harness {

class WaitingLine {
 public:
  using Place = std::shared_ptr<const char>;

  Place join() {
    const std::lock_guard lock(mutex_);
    Place place = std::make_shared<const char>('\0');
    places_.push_back(place);
    return place;
  }

  bool is_first(const Place& place) {
    const std::lock_guard lock(mutex_);
    while (!places_.empty() && places_.front().expired()) places_.pop_front();
    return !places_.empty() && places_.front().lock() == place;
  }

 private:
  std::mutex mutex_;
  std::deque<std::weak_ptr<const char>> places_;
};

}  // namespace lodestep::harness
