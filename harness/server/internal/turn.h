// One request's wait for a free session, on its connection's loop.
//   auto turn = std::make_shared<Turn>(loop, shared);
//   if (turn->wait([=] { try_again(); })) return;   // else it has waited long enough: send the refusal
// Threads: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "harness/server/internal/io_loop.h"

namespace lodestep::harness {

class Turn : public std::enable_shared_from_this<Turn> {
 public:
  Turn(IoLoop& loop, Shared& shared)
      : shared_(shared),
        timer_(loop.context),
        place_(shared.line.join()),
        until_(now_milliseconds() + shared.limits.wait_milliseconds) {}

  // Calls `again` when it is this request's turn and a session is free, or when its time is over. False: that
  // was so already.
  bool wait(std::function<void()> again) {
    if (now_milliseconds() >= until_) return false;
    timer_.expires_after(Milliseconds(20));
    timer_.async_wait([self = shared_from_this(), again = std::move(again)](const auto& cancelled) {
      if (cancelled || !self->place_) return;
      if (self->is_over() || (self->has_room() && self->shared_.line.is_first(self->place_))) return again();
      self->wait(again);
    });
    return true;
  }

  void leave() {
    place_.reset();
    timer_.cancel();
  }

 private:
  bool is_over() const { return shared_.stopping || now_milliseconds() >= until_; }
  bool has_room() const { return shared_.application.service().pool().size() < shared_.limits.max_sessions; }

  Shared& shared_;
  boost::asio::steady_timer timer_;
  WaitingLine::Place place_;
  const std::int64_t until_;
};

}  // namespace lodestep::harness
