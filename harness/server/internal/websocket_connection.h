// One WebSocket: frames in, replies out in order, pings both ways, bounded queues.
//   auto socket = std::make_shared<WebSocketConnection<Stream>>(std::move(stream), std::move(handler), loop, shared);
//   socket->accept(request);
// Threads: its loop's. A message that may take long is answered on a worker, one at a time; reading goes on meanwhile,
// so that pings are answered, until the queue of waiting messages is full.
#pragma once

#include <boost/asio/post.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket/stream.hpp>

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "harness/server/internal/io_loop.h"
#include "harness/server/internal/log.h"

namespace lodestep::harness {

template <typename Stream>
class WebSocketConnection final : public Peer, public std::enable_shared_from_this<WebSocketConnection<Stream>> {
  using Error = boost::system::error_code;
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  static constexpr std::int64_t kCloseMilliseconds = 5000;

 public:
  WebSocketConnection(Stream&& stream, std::unique_ptr<SocketHandler> handler, IoLoop& loop, Shared& shared)
      : membership_(loop, this), loop_(loop), shared_(shared), socket_(std::move(stream)), handler_(std::move(handler)) {}

  void accept(const Request& request) {
    socket_.read_message_max(shared_.limits.message_bytes);
    socket_.auto_fragment(false);
    socket_.text(true);
    socket_.control_callback([this](boost::beast::websocket::frame_type kind, boost::beast::string_view) { on_control(kind); });
    heard_ = now_milliseconds();
    deadline_ = heard_ + shared_.limits.header_seconds * 1000;
    socket_.async_accept(request, [self = this->shared_from_this()](const Error& error) {
      if (error) return self->release();
      self->deadline_ = 0;
      if (self->shared_.stopping) return self->finish();
      self->read();
    });
  }

  void tick(std::int64_t now) override {
    const std::int64_t ping_after = shared_.limits.ping_seconds * 1000;
    if (deadline_ != 0 && now > deadline_) return drop();
    if (writing_since_ != 0 && now - writing_since_ > shared_.limits.write_seconds * 1000) return drop();
    if (closing_ || !reading_) return;  // while it is not read, a peer cannot be heard
    if (now - heard_ < ping_after || now - pinged_ < ping_after) return;
    if (unanswered_ >= 2) return drop();
    ++unanswered_;
    pinged_ = now;
    if (pinging_) return;
    pinging_ = true;
    socket_.async_ping({}, [self = this->shared_from_this()](const Error&) { self->pinging_ = false; });
  }

  void finish() override {
    leaving_ = true;
    if (!busy_ && inbox_.empty()) close(boost::beast::websocket::close_code::going_away);
  }

 private:
  void on_control(boost::beast::websocket::frame_type kind) {
    heard();
    if (kind != boost::beast::websocket::frame_type::close) return;
    // The library answers it; the session ends now, whether or not the peer ends its TCP connection.
    closing_ = true;
    deadline_ = now_milliseconds() + kCloseMilliseconds;
    release();
  }

  void heard() {
    heard_ = now_milliseconds();
    unanswered_ = 0;
  }

  void read() {
    if (reading_ || closing_) return;
    reading_ = true;
    socket_.async_read_some(buffer_, 0, [self = this->shared_from_this()](const Error& error, std::size_t) {
      self->reading_ = false;
      self->on_read(error);
    });
  }

  void on_read(const Error& error) {
    if (error) {
      closing_ = true;
      release();
      return;
    }
    heard();
    if (!socket_.is_message_done()) return read();
    const auto data = buffer_.data();
    const std::string_view text(static_cast<const char*>(data.data()), data.size());
    if (busy_ || !inbox_.empty() || output_bytes_ > shared_.limits.output_bytes) {
      inbox_bytes_ += text.size();
      inbox_.emplace_back(text);
    } else {
      take(text);
    }
    buffer_.consume(buffer_.size());
    if (buffer_.capacity() > 65536) buffer_ = boost::beast::flat_buffer();
    read_on();
  }

  // Reads the next message unless too many wait already.
  void read_on() {
    if (inbox_.size() < shared_.limits.queued_messages && inbox_bytes_ < shared_.limits.queued_message_bytes &&
        output_bytes_ <= shared_.limits.output_bytes) {
      read();
    }
  }

  void take(std::string_view text) {
    if (closing_ || !handler_) return;
    if (handler_->is_quick(text)) return answer(play(*handler_, text));
    busy_ = true;
    boost::asio::post(shared_.workers, [self = this->shared_from_this(), message = std::string(text)]() mutable {
      SocketReply reply = self->play(*self->handler_, message);
      IoLoop& loop = self->loop_;
      // The connection is let go of on its own thread.
      boost::asio::post(loop.context, [self = std::move(self), reply = std::move(reply)]() mutable {
        self->busy_ = false;
        if (self->released_) return self->release();
        self->answer(std::move(reply));
        self->take_waiting();
        self->read_on();
      });
    });
  }

  // Runs the handler; our own mistakes end this connection, not the server.
  SocketReply play(SocketHandler& handler, std::string_view text) {
    try {
      return handler.on_message(text);
    } catch (const std::exception& error) {
      log_event(LogLevel::kError, "internal_error", {{"what", error.what()}});
      broken_ = true;
      return {"", true};
    }
  }

  void take_waiting() {
    while (!busy_ && !closing_ && !inbox_.empty() && output_bytes_ <= shared_.limits.output_bytes) {
      const std::string text = std::move(inbox_.front());
      inbox_.pop_front();
      inbox_bytes_ -= text.size();
      take(text);
    }
    if (leaving_ && !busy_ && inbox_.empty()) close(boost::beast::websocket::close_code::going_away);
  }

  void answer(SocketReply reply) {
    if (!reply.text.empty()) {
      output_bytes_ += reply.text.size();
      output_.push_back(std::move(reply.text));
      write();
    }
    if (reply.close) {
      close(broken_ ? boost::beast::websocket::close_code::internal_error : boost::beast::websocket::close_code::normal);
    }
  }

  void write() {
    if (writing_since_ != 0 || output_.empty()) return;
    writing_since_ = now_milliseconds();
    socket_.async_write(boost::asio::buffer(output_.front()), [self = this->shared_from_this()](const Error& error, std::size_t) {
      self->writing_since_ = 0;
      self->output_bytes_ -= self->output_.front().size();
      self->output_.pop_front();
      if (error) return self->drop();
      self->write();
      if (self->close_wanted_) return self->close_now();
      self->take_waiting();
      self->read_on();
    });
  }

  // Closes after everything that is written already.
  void close(boost::beast::websocket::close_code code) {
    if (closing_) return;
    closing_ = true;
    close_wanted_ = true;
    close_code_ = code;
    deadline_ = now_milliseconds() + kCloseMilliseconds;
    release();
    close_now();
  }

  void close_now() {
    if (!close_wanted_ || writing_since_ != 0 || !output_.empty()) return;
    close_wanted_ = false;
    socket_.async_close(close_code_, [self = this->shared_from_this()](const Error&) { self->drop(); });
  }

  // Ends the session behind the socket, unless a worker is busy with it.
  void release() {
    released_ = true;
    if (!busy_) handler_.reset();
  }

  void drop() {
    closing_ = true;
    release();
    Error ignored;
    boost::beast::get_lowest_layer(socket_).close(ignored);
  }

  Membership membership_;
  IoLoop& loop_;
  Shared& shared_;
  boost::beast::websocket::stream<Stream> socket_;
  std::unique_ptr<SocketHandler> handler_;
  boost::beast::flat_buffer buffer_;
  std::deque<std::string> inbox_;  // read, waiting for the running one
  std::size_t inbox_bytes_ = 0;
  std::deque<std::string> output_;  // the first one is being written
  std::size_t output_bytes_ = 0;
  std::int64_t heard_ = 0;
  std::int64_t pinged_ = 0;
  std::int64_t writing_since_ = 0;
  std::int64_t deadline_ = 0;  // 0: none
  int unanswered_ = 0;
  boost::beast::websocket::close_code close_code_ = boost::beast::websocket::close_code::normal;
  bool pinging_ = false;
  bool reading_ = false;
  bool busy_ = false;
  bool closing_ = false;
  bool close_wanted_ = false;
  bool leaving_ = false;
  bool released_ = false;
  bool broken_ = false;
};

}  // namespace lodestep::harness
