// One WebSocket: frames in, replies out in order, pings both ways, bounded queues, a time limit per message.
//   auto socket = std::make_shared<WebSocketConnection<Stream>>(std::move(stream), std::move(handler), loop,
//   shared); socket->open(handshake_reply, bytes_that_came_with_the_handshake);
// Threads: its loop's. A message that may take long is answered on a worker, one at a time; reading goes on
// meanwhile, so that pings are answered, until the queue of waiting messages is full.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/stream_traits.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/server/internal/frames.h"
#include "harness/server/internal/io_loop.h"
#include "harness/server/internal/log.h"

namespace lodestep::harness {

template <typename Stream>
class WebSocketConnection final : public Peer,
                                  public std::enable_shared_from_this<WebSocketConnection<Stream>> {
  using Error = boost::system::error_code;
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
    if (busy_ || !inbox_.empty()) return;
    close(close_code::kGoingAway);
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
    if (!busy_ && inbox_.empty()) return take(text);
    if (overdue_ && inbox_.empty()) return answer(handler_->late(text));
    inbox_bytes_ += text.size();
    inbox_.emplace_back(text);
  }

  // ---- answering ----

  void take(std::string_view text) {
    if (closing_) return;
    if (handler_->is_quick(text)) return answer(play(*handler_, text));
    busy_ = true;
    const auto message = std::make_shared<const std::string>(text);
    limit_time(message);
    boost::asio::post(shared_.workers, [self = this->shared_from_this(), message]() mutable {
      SocketReply reply = self->play(*self->handler_, *message);
      IoLoop& loop = self->loop_;
      // The connection is let go of on its own thread.
      boost::asio::post(loop.context, [self = std::move(self), reply = std::move(reply)]() mutable {
        self->on_played(std::move(reply));
      });
    });
  }

  // Answers a message in its place when its own answer does not come in time.
  void limit_time(const std::shared_ptr<const std::string>& message) {
    if (!timer_) timer_ = std::make_unique<boost::asio::steady_timer>(loop_.context);
    timer_->expires_after(Milliseconds(shared_.limits.step_milliseconds));
    timer_->async_wait([self = this->shared_from_this(), message, job = ++job_](const Error& cancelled) {
      if (cancelled || job != self->job_ || !self->busy_ || self->closing_) return;
      self->overdue_ = true;
      self->shared_.application.service().metrics().count_refusal("late");
      self->answer(self->handler_->late(*message));
      while (!self->closing_ && !self->inbox_.empty()) {
        self->inbox_bytes_ -= self->inbox_.front().size();
        const std::string text = std::move(self->inbox_.front());
        self->inbox_.pop_front();
        self->answer(self->handler_->late(text));
      }
      self->process();
    });
  }

  void on_played(SocketReply reply) {
    busy_ = false;
    ++job_;
    timer_->cancel();
    if (released_) return release();
    if (overdue_) {  // its sender was told already
      overdue_ = false;
      handler_->on_dropped();
    } else {
      answer(std::move(reply));
    }
    take_waiting();
    process();
  }

  // Runs the handler; our own mistakes end this connection, not the server.
  SocketReply play(SocketHandler& handler, std::string_view text) {
    try {
      return handler.on_message(text);
    } catch (const std::exception& error) {
      log_event(LogLevel::kError, "internal_error", {{"what", error.what()}});
      SocketReply broken;
      broken.close = close_code::kInternal;
      return broken;
    }
  }

  void take_waiting() {
    while (!busy_ && !closing_ && !inbox_.empty() &&
           out_.size() + sending_.size() <= shared_.limits.output_bytes) {
      const std::string text = std::move(inbox_.front());
      inbox_.pop_front();
      inbox_bytes_ -= text.size();
      take(text);
    }
    if (leaving_ && !busy_ && inbox_.empty()) close(close_code::kGoingAway);
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

  // Ends the session behind the socket, unless a worker is busy with it.
  void release() {
    released_ = true;
    if (!busy_) handler_.reset();
  }

  void drop() {
    closing_ = true;
    gone_ = true;
    release();
    if (timer_) timer_->cancel();
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
  std::deque<std::string> inbox_;  // messages that wait for the running one
  std::size_t inbox_bytes_ = 0;
  std::string out_;                                   // frames to be written
  std::string sending_;                               // frames being written
  std::unique_ptr<boost::asio::steady_timer> timer_;  // of the message on a worker
  std::uint64_t job_ = 0;
  std::int64_t heard_ = 0;
  std::int64_t pinged_ = 0;
  std::int64_t writing_since_ = 0;
  std::int64_t deadline_ = 0;  // 0: none
  int unanswered_ = 0;
  bool reading_ = false;
  bool busy_ = false;     // a worker runs the handler
  bool overdue_ = false;  // and has passed the time limit
  bool closing_ = false;
  bool lingering_ = false;
  bool leaving_ = false;
  bool released_ = false;
  bool gone_ = false;
};

}  // namespace lodestep::harness
