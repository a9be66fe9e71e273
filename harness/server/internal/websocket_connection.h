// One WebSocket: frames in, replies out, pings both ways, bounded queues, a time limit per message.
//   auto socket = std::make_shared<WebSocketConnection<Stream>>(std::move(stream), std::move(handler), loop,
//   shared); socket->open(handshake_reply, bytes_that_came_with_the_handshake);
// Threads: its loop's. A message that may take long is played on a worker, one at a time for each lane of the
// handler; reading goes on meanwhile, so that pings are answered, until the queue of waiting messages is
// full.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/stream_traits.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/server/internal/frames.h"
#include "harness/server/internal/io_loop.h"
#include "harness/server/internal/log.h"
#include "harness/server/internal/turn.h"

namespace lodestep::harness {

template <typename Stream>
class WebSocketConnection final : public Peer,
                                  public std::enable_shared_from_this<WebSocketConnection<Stream>> {
  using Error = boost::system::error_code;
  using Lane = std::optional<std::string>;
  static constexpr bool kPlain = std::is_same_v<Stream, boost::asio::ip::tcp::socket>;
  static constexpr std::int64_t kCloseMilliseconds = 5000;
  static constexpr std::size_t kSmallRead = 2048;  // of an idle socket: there may be tens of thousands
  static constexpr std::size_t kLargeRead = 65536;

 public:
  WebSocketConnection(Stream&& stream, std::unique_ptr<SocketHandler> handler, IoLoop& loop, Shared& shared)
      : membership_(loop, this),
        loop_(loop),
        shared_(shared),
        stream_(std::move(stream)),
        handler_(std::move(handler)),
        reader_(shared.limits.message_bytes) {}

  void open(const std::string& handshake, std::string_view early) {
    if constexpr (kPlain) {
      Error ignored;
      stream_.non_blocking(true, ignored);  // short replies are written without a detour
    }
    heard_ = now_milliseconds();
    in_.assign(early.begin(), early.end());
    end_ = in_.size();
    out_ = handshake;
    answer(handler_->greeting());
    if (shared_.stopping) finish();
    process();
  }

  void tick(std::int64_t now) override {
    const std::int64_t ping_after = shared_.limits.ping_milliseconds;
    if (deadline_ != 0 && now > deadline_) return drop();
    if (writing_since_ != 0 && now - writing_since_ > shared_.limits.write_seconds * 1000) return drop();
    if (closing_ || !reading_) return;  // while it is not read, a peer cannot be heard
    if (now - heard_ < ping_after || now - pinged_ < ping_after) return;
    if (unanswered_ >= 2) return drop();
    ++unanswered_;
    pinged_ = now;
    append_frame(out_, Opcode::kPing, {});
    flush();
  }

  void finish() override {
    leaving_ = true;
    close_when_idle();
    flush();
  }

 private:
  // ---- reading ----

  void read() {
    if (reading_ || gone_) return;
    reading_ = true;
    begin_ = end_ = 0;
    // Grows while reads fill it, and shrinks again.
    const std::size_t wanted = last_read_ >= in_.size()   ? std::clamp(2 * in_.size(), kSmallRead, kLargeRead)
                               : last_read_ <= kSmallRead ? kSmallRead
                                                          : in_.size();
    if (in_.size() != wanted) in_ = std::vector<char>(wanted);
    stream_.async_read_some(boost::asio::buffer(in_),
                            [self = this->shared_from_this()](const Error& error, std::size_t bytes) {
                              self->reading_ = false;
                              self->on_read(error, bytes);
                            });
  }

  void on_read(const Error& error, std::size_t bytes) {
    if (error) return drop();
    last_read_ = bytes;
    if (closing_) return read();  // nothing counts any more; only its end is waited for
    heard_ = now_milliseconds();
    unanswered_ = 0;
    end_ = bytes;
    process();
  }

  bool has_room() const {
    return inbox_.size() < shared_.limits.queued_messages &&
           inbox_bytes_ < shared_.limits.queued_message_bytes &&
           out_.size() + sending_.size() <= shared_.limits.output_bytes;
  }

  // Takes the frames that have arrived, as long as there is room for what they cause.
  void process() {
    while (begin_ < end_ && !closing_ && has_room()) {
      std::size_t used = 0;
      const Frame frame = reader_.next(in_.data() + begin_, end_ - begin_, used);
      begin_ += used;
      switch (frame.kind) {
        case FrameKind::kPart: break;
        case FrameKind::kText:
        case FrameKind::kBinary: arrive(frame.payload); break;  // binary is read as text
        case FrameKind::kPing: append_frame(out_, Opcode::kPong, frame.payload); break;
        case FrameKind::kPong: break;
        case FrameKind::kClose: close(close_code::kNormal); break;
        case FrameKind::kFailure: close(frame.code); break;
      }
    }
    flush();
    if (begin_ == end_ || closing_) read();
  }

  void arrive(std::string_view text) {
    if (running_.empty() && inbox_.empty()) return take(text);
    Lane lane = handler_->lane(text);
    const bool waits = std::any_of(inbox_.begin(), inbox_.end(),
                                   [&](const Waiting& other) { return lane && other.lane == lane; });
    if (!waits && may_start(lane)) return take(text);
    if (!waits && is_hopeless(lane)) return answer(handler_->late(text));
    inbox_bytes_ += text.size();
    inbox_.push_back({std::move(lane), std::string(text)});
  }

  // ---- answering ----

  // A message on a worker.
  struct Job {
    Lane lane;
    std::shared_ptr<const std::string> text;
    boost::asio::steady_timer timer;
    bool overdue = false;  // it has passed the time limit, and its sender was told
    bool waits = false;    // in the line for a session, not on a worker
    std::shared_ptr<Turn> turn = nullptr;
  };
  struct Waiting {
    Lane lane;
    std::string text;
  };

  bool may_start(const Lane& lane) const {
    return running_.size() < handler_->most_at_once() &&
           std::none_of(running_.begin(), running_.end(),
                        [&](const auto& job) { return lane && job.second.lane == lane; });
  }

  // Whatever it would wait for has passed the time limit.
  bool is_hopeless(const Lane& lane) const {
    const auto overdue = [](const auto& job) { return job.second.overdue; };
    return (running_.size() >= handler_->most_at_once() &&
            std::all_of(running_.begin(), running_.end(), overdue)) ||
           std::any_of(running_.begin(), running_.end(), [&](const auto& job) {
             return job.second.overdue && lane && job.second.lane == lane;
           });
  }

  void take(std::string_view text) {
    if (closing_) return;
    const bool is_quick = handler_->is_quick(text);
    if (is_quick) {
      SocketReply reply = play(text);
      if (!reply.full || shared_.limits.wait_milliseconds == 0) return answer(std::move(reply));
    }
    const std::uint64_t number = next_job_++;
    auto message = std::make_shared<const std::string>(text);
    Job& job =
        running_.emplace(number, Job{handler_->lane(text), message, boost::asio::steady_timer(loop_.context)})
            .first->second;
    job.timer.expires_after(Milliseconds(shared_.limits.step_milliseconds));
    job.timer.async_wait([self = this->shared_from_this(), number](const Error& cancelled) {
      if (!cancelled && !self->closing_) self->on_overdue(number);
    });
    work(number, std::move(message));
  }

  void work(std::uint64_t number, std::shared_ptr<const std::string> message) {
    shared_.run([self = this->shared_from_this(), number, message = std::move(message)]() mutable {
      SocketReply reply = self->play(*message);
      IoLoop& loop = self->loop_;
      // The connection is let go of on its own thread.
      boost::asio::post(loop.context, [self = std::move(self), number, reply = std::move(reply)]() mutable {
        self->on_played(number, std::move(reply));
      });
    });
  }

  // Answers a message in its place, and those that wait for it.
  void on_overdue(std::uint64_t number) {
    const auto job = running_.find(number);
    if (job == running_.end()) return;
    job->second.overdue = true;
    shared_.application.service().metrics().count_refusal("late");
    answer(handler_->late(*job->second.text));
    for (std::size_t i = 0; i < inbox_.size();) {
      if (is_hopeless(inbox_[i].lane)) {
        answer(handler_->late(take_out(i).text));
      } else {
        ++i;
      }
    }
    process();
  }

  // No session is free: the message stands in line.
  bool waits(std::uint64_t number, Job& job) {
    if (shared_.limits.wait_milliseconds == 0 || job.overdue || released_) return false;
    if (!job.turn) job.turn = std::make_shared<Turn>(loop_, shared_);
    job.waits = job.turn->wait([self = this->shared_from_this(), number] {
      const auto waiting = self->running_.find(number);
      if (waiting == self->running_.end()) return;
      waiting->second.waits = false;
      self->work(number, waiting->second.text);
    });
    return job.waits;
  }

  void on_played(std::uint64_t number, SocketReply reply) {
    const auto job = running_.find(number);
    if (reply.full && waits(number, job->second)) return;
    leave_line(job->second);
    const bool overdue = job->second.overdue;
    running_.erase(job);
    if (released_) return release();
    if (overdue) {
      handler_->on_dropped();
    } else {
      answer(std::move(reply));
    }
    take_waiting();
    process();
  }

  static void leave_line(const Job& job) {
    if (job.turn) job.turn->leave();
  }

  // Runs the handler; our own mistakes end this connection, not the server.
  SocketReply play(std::string_view text) {
    try {
      return handler_->on_message(text);
    } catch (const std::exception& error) {
      log_event(LogLevel::kError, "internal_error", {{"what", error.what()}});
      SocketReply broken;
      broken.close = close_code::kInternal;
      return broken;
    }
  }

  Waiting take_out(std::size_t at) {
    Waiting out = std::move(inbox_[at]);
    inbox_.erase(inbox_.begin() + static_cast<std::ptrdiff_t>(at));
    inbox_bytes_ -= out.text.size();
    return out;
  }

  void take_waiting() {
    for (std::size_t i = 0;
         i < inbox_.size() && out_.size() + sending_.size() <= shared_.limits.output_bytes;) {
      if (may_start(inbox_[i].lane)) {
        take(take_out(i).text);
      } else {
        ++i;
      }
    }
    if (leaving_) close_when_idle();
  }

  void answer(SocketReply reply) {
    if (closing_) return;
    if (!reply.text.empty()) append_frame(out_, Opcode::kText, reply.text);
    if (reply.close != 0) close(reply.close);
  }

  // ---- writing ----

  void flush() {
    if (gone_ || writing_since_ != 0) return;
    if constexpr (kPlain) {
      if (!out_.empty()) {
        Error error;
        const std::size_t written = stream_.write_some(boost::asio::buffer(out_), error);
        if (error && error != boost::asio::error::would_block) return drop();
        if (written == out_.size()) {
          out_.clear();
          if (out_.capacity() > kLargeRead) out_ = {};
        } else {
          out_.erase(0, written);
        }
      }
    }
    if (out_.empty()) {
      if (closing_) linger();
      return;
    }
    sending_.swap(out_);
    writing_since_ = now_milliseconds();
    boost::asio::async_write(stream_, boost::asio::buffer(sending_),
                             [self = this->shared_from_this()](const Error& error, std::size_t) {
                               self->writing_since_ = 0;
                               self->sending_ = {};
                               if (error) return self->drop();
                               self->take_waiting();
                               self->process();
                             });
  }

  // ---- the end ----

  // Close, after everything that is in the output already. The session ends now, whatever the peer does.
  void close(std::uint16_t code) {
    if (closing_) return;
    closing_ = true;
    append_close(out_, code);
    inbox_.clear();
    deadline_ = now_milliseconds() + kCloseMilliseconds;
    release();
  }

  // Ends our side and reads what still comes, so that the Close frame is not lost in a reset.
  void linger() {
    if (lingering_) return;
    lingering_ = true;
    Error ignored;
    boost::beast::get_lowest_layer(stream_).shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  }

  void close_when_idle() {
    if (running_.empty() && inbox_.empty()) close(close_code::kGoingAway);
  }

  // Ends the session behind the socket, unless a worker is busy with it.
  void release() {
    released_ = true;
    std::erase_if(running_, [](const auto& job) {
      if (job.second.waits) leave_line(job.second);
      return job.second.waits;
    });
    if (running_.empty()) handler_.reset();
  }

  void drop() {
    closing_ = true;
    gone_ = true;
    release();
    for (auto& [number, job] : running_) job.timer.cancel();
    Error ignored;
    boost::beast::get_lowest_layer(stream_).close(ignored);
  }

  Membership membership_;
  IoLoop& loop_;
  Shared& shared_;
  Stream stream_;
  std::unique_ptr<SocketHandler> handler_;
  FrameReader reader_;
  std::vector<char> in_;  // what was read; [begin_, end_) is not taken yet
  std::size_t begin_ = 0, end_ = 0;
  std::size_t last_read_ = 0;
  std::map<std::uint64_t, Job> running_;
  std::uint64_t next_job_ = 0;
  std::vector<Waiting> inbox_;  // messages that wait for running ones, in order of arrival
  std::size_t inbox_bytes_ = 0;
  std::string out_;      // frames to be written
  std::string sending_;  // frames being written
  std::int64_t heard_ = 0;
  std::int64_t pinged_ = 0;
  std::int64_t writing_since_ = 0;
  std::int64_t deadline_ = 0;  // 0: none
  int unanswered_ = 0;
  bool reading_ = false;
  bool closing_ = false;
  bool lingering_ = false;
  bool leaving_ = false;
  bool released_ = false;
  bool gone_ = false;
};

}  // namespace lodestep::harness
