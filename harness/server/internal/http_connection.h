// One HTTP/1.1 connection: requests in, replies out in order, strict framing, limits before bodies are read.
//   auto connection = std::make_shared<HttpConnection<Stream>>(std::move(stream), address, loop, shared);
//   connection->start();
// Threads: its loop's; a request that may take long is answered on a worker. Becomes a WebSocketConnection on
// upgrade.
#pragma once

#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "harness/server/internal/dialects.h"
#include "harness/server/internal/http_rules.h"
#include "harness/server/internal/io_loop.h"
#include "harness/server/internal/log.h"
#include "harness/server/internal/turn.h"
#include "harness/server/internal/websocket_connection.h"

namespace lodestep::harness {

template <typename Stream>
class HttpConnection final : public Peer, public std::enable_shared_from_this<HttpConnection<Stream>> {
  using Error = boost::system::error_code;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  static constexpr std::size_t kReadBytes = 16384;
  static constexpr std::int64_t kLingerMilliseconds = 5000;

 public:
  HttpConnection(Stream&& stream, std::string client, IoLoop& loop, Shared& shared)
      : membership_(loop, this),
        loop_(loop),
        shared_(shared),
        stream_(std::move(stream)),
        client_(std::move(client)) {}

  // A fresh connection has as long to send its first header block as any other.
  void start() {
    limit(shared_.limits.header_seconds);
    if constexpr (requires { stream_.next_layer(); }) {
      stream_.async_handshake(Stream::server, [self = this->shared_from_this()](const Error& error) {
        if (!error) self->read();
      });
    } else {
      read();
    }
  }

  void tick(std::int64_t now) override {
    if (deadline_ != 0 && now > deadline_) drop();
  }

  void finish() override {
    leaving_ = true;
    if (state_ == State::kBetween) drop();
  }

 private:
  enum class State { kBetween, kHeader, kBody, kAnswering, kLingering };

  void limit(std::int64_t seconds) { deadline_ = now_milliseconds() + seconds * 1000; }

  void read() {
    stream_.async_read_some(buffer_.prepare(kReadBytes),
                            [self = this->shared_from_this()](const Error& error, std::size_t bytes) {
                              self->on_read(error, bytes);
                            });
  }

  void on_read(const Error& error, std::size_t bytes) {
    if (error) return;  // gone; nothing else keeps this object alive
    buffer_.commit(bytes);
    if (state_ == State::kLingering) {
      buffer_.consume(buffer_.size());
      return read();
    }
    if (state_ == State::kBetween) {
      state_ = State::kHeader;
      if (!first_) limit(shared_.limits.header_seconds);
    }
    if (state_ == State::kBody) limit(shared_.limits.body_progress_seconds);
    parse();
  }

  std::string_view unread() const {
    const auto data = buffer_.data();
    return {static_cast<const char*>(data.data()), data.size()};
  }

  void parse() {
    if (state_ == State::kHeader) {
      // Some clients end a body with a line break that belongs to nothing.
      while (!parser_ && (unread().starts_with("\r\n") || unread().starts_with("\n")))
        buffer_.consume(unread()[0] == '\r' ? 2 : 1);
      if (unread().empty() || unread() == "\r") return read();
      if (!parser_) {
        const std::string_view arrived = unread();
        if (const std::optional<HttpRefusal> refusal = check_request_line(arrived, shared_.limits))
          return refuse(*refusal);
        if (arrived.find('\n') == std::string_view::npos) return read();
        parser_.emplace();
        header_bytes_ = 0;
        parser_->header_limit(static_cast<std::uint32_t>(shared_.limits.header_bytes));
        parser_->body_limit(shared_.limits.body_bytes);
        parser_->eager(false);
      }
      Error error;
      const std::size_t used = parser_->put(buffer_.data(), error);
      if (error == boost::beast::http::error::bad_content_length && declares_endless_body(unread()))
        error = boost::beast::http::error::body_limit;
      buffer_.consume(used);
      // The parser's own limit holds for the part that it has not taken yet.
      header_bytes_ += used;
      const std::size_t so_far = header_bytes_ + (parser_->is_header_done() ? 0 : unread().size());
      if (so_far > shared_.limits.header_bytes)
        return refuse(refusal_of(boost::beast::http::error::header_limit));
      if (error && error != boost::beast::http::error::need_more) return refuse(refusal_of(error));
      if (!parser_->is_header_done()) return read();
      if (const std::optional<HttpRefusal> refusal = check_header(parser_->get().base(), shared_.limits))
        return refuse(*refusal);
      state_ = State::kBody;
      limit(shared_.limits.body_progress_seconds);
      if (!parser_->is_done() &&
          boost::beast::iequals(parser_->get()[boost::beast::http::field::expect], "100-continue") &&
          unread().empty()) {
        return send_continue();
      }
    }
    read_body();
  }

  void send_continue() {
    output_ = "HTTP/1.1 100 Continue\r\n\r\n";
    boost::asio::async_write(stream_, boost::asio::buffer(output_),
                             [self = this->shared_from_this()](const Error& error, std::size_t) {
                               if (!error) self->read_body();
                             });
  }

  void read_body() {
    parser_->eager(true);
    while (!parser_->is_done()) {
      Error error;
      const std::size_t used = parser_->put(buffer_.data(), error);
      buffer_.consume(used);
      if (error && error != boost::beast::http::error::need_more) return refuse(refusal_of(error));
      if (parser_->is_done()) break;
      if (used == 0 || unread().empty()) {
        if (buffer_.size() > shared_.limits.header_bytes)
          return refuse({400, "BAD_CHUNK", "a chunk header or trailer is too long"});
        return read();
      }
    }
    answer();
  }

  void answer() {
    state_ = State::kAnswering;
    deadline_ = 0;
    first_ = false;
    auto& message = parser_->get();
    const auto field = [&](boost::beast::http::field name) { return std::string(message[name]); };
    request_ = {std::string(message.method_string()),
                std::string(message.target()),
                std::move(message.body()),
                client_,
                field(boost::beast::http::field::authorization),
                field(boost::beast::http::field::content_type),
                {}};
    request_id_ = std::string(message["X-Request-Id"]).substr(0, 128);
    keep_ = message.keep_alive() && !leaving_;
    if (wants_websocket(message)) return upgrade();
    if (shared_.application.is_quick(request_)) return send(shared_.application.handle(request_));
    run();
  }

  // Answers on a worker, or, when that takes too long, in its place.
  void run() {
    const std::uint64_t job = ++job_;
    auto request = std::make_shared<HttpRequest>(std::move(request_));
    request_ = {request->method, request->target, {}, request->client};
    limit_time(job, static_cast<double>(shared_.limits.step_milliseconds) / 1000, false);
    request->answer_within = [self = this->shared_from_this(), job](double seconds) {
      boost::asio::post(self->loop_.context, [self, job, seconds] { self->limit_time(job, seconds, true); });
    };
    work(job, std::move(request));
  }

  void work(std::uint64_t job, std::shared_ptr<HttpRequest> request) {
    shared_.run([self = this->shared_from_this(), request = std::move(request), job]() mutable {
      HttpResponse response = self->shared_.application.handle(*request);
      IoLoop& loop = self->loop_;
      request->answer_within = {};
      // The connection is let go of on its own thread.
      boost::asio::post(loop.context, [self = std::move(self), job, request = std::move(request),
                                       response = std::move(response)]() mutable {
        if (job != self->job_ || (response.full && self->waits(job, request))) return;
        self->finish_job(response);
      });
    });
  }

  // No session is free: the request stands in line.
  bool waits(std::uint64_t job, const std::shared_ptr<HttpRequest>& request) {
    if (shared_.limits.wait_milliseconds == 0) return false;
    if (!turn_) turn_ = std::make_shared<Turn>(loop_, shared_);
    return turn_->wait([self = this->shared_from_this(), job, request] {
      if (job != self->job_) return;
      if (self->is_gone()) return self->leave_line();  // nothing else keeps this object alive
      self->work(job, request);
    });
  }

  void leave_line() {
    if (turn_) turn_->leave();
    turn_.reset();
  }

  // The peer has ended its side: it waits for nothing any more.
  bool is_gone() {
    char byte = 0;
    return ::recv(boost::beast::get_lowest_layer(stream_).native_handle(), &byte, 1,
                  MSG_PEEK | MSG_DONTWAIT) == 0;
  }

  void limit_time(std::uint64_t job, double seconds, bool by_client) {
    if (job != job_ || seconds * 1000 > static_cast<double>(shared_.limits.step_milliseconds)) return;
    if (!timer_) timer_ = std::make_unique<boost::asio::steady_timer>(loop_.context);
    timer_->expires_after(Milliseconds(static_cast<std::int64_t>(seconds * 1000)));
    timer_->async_wait([self = this->shared_from_this(), job, seconds, by_client](const Error& cancelled) {
      if (!cancelled && job == self->job_)
        self->finish_job(self->shared_.application.late(self->request_, seconds, by_client));
    });
  }

  void finish_job(const HttpResponse& response) {
    ++job_;  // an answer that comes later is nobody's
    leave_line();
    timer_->cancel();
    send(response);
  }

  void upgrade() {
    if (const std::optional<HttpRefusal> refusal = check_handshake(parser_->get().base())) {
      HttpResponse response = native_error(refusal->status, refusal->code, refusal->message);
      if (refusal->status == 426) response.headers.emplace_back("Sec-WebSocket-Version", "13");
      return send(response);
    }
    HttpResponse refusal;
    std::unique_ptr<SocketHandler> handler = shared_.application.open_socket(request_, refusal);
    if (!handler) return send(refusal);
    const std::string handshake = handshake_reply(parser_->get().base());
    auto socket =
        std::make_shared<WebSocketConnection<Stream>>(std::move(stream_), std::move(handler), loop_, shared_);
    socket->open(handshake, unread());
  }

  void send(const HttpResponse& response) {
    keep_ = keep_ && !leaving_;
    if (logs(LogLevel::kDebug)) {
      log_event(LogLevel::kDebug, "request",
                {{"client", client_},
                 {"request_id", request_id_},
                 {"method", request_.method},
                 {"target", request_.target.substr(0, 256)},
                 {"status", std::to_string(response.status)}});
    }
    output_ = response_head(response, keep_, request_id_);
    if (request_.method != "HEAD") output_ += response.body;
    limit(shared_.limits.write_seconds);
    boost::asio::async_write(stream_, boost::asio::buffer(output_),
                             [self = this->shared_from_this()](const Error& error, std::size_t) {
                               if (!error) self->on_sent();
                             });
  }

  void on_sent() {
    parser_.reset();
    request_ = {};
    output_ = {};
    if (!keep_ || leaving_) return linger();
    if (buffer_.size() == 0) {
      if (buffer_.capacity() > 2 * kReadBytes) buffer_ = boost::beast::flat_buffer();
      state_ = State::kBetween;
      limit(shared_.limits.keep_alive_seconds);
      return read();
    }
    state_ = State::kHeader;  // the next one is here already
    limit(shared_.limits.header_seconds);
    parse();
  }

  // The framing is lost or a limit is passed: one reply, then the end.
  void refuse(const HttpRefusal& refusal) {
    state_ = State::kAnswering;
    keep_ = false;
    request_ = {};
    shared_.application.service().metrics().count_request("none", refusal.status);
    send(native_error(refusal.status, refusal.code, refusal.message));
  }

  // Ends our side and reads what still comes, so that the reply is not lost in a reset.
  void linger() {
    state_ = State::kLingering;
    deadline_ = now_milliseconds() + kLingerMilliseconds;
    Error ignored;
    boost::beast::get_lowest_layer(stream_).shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
    buffer_.consume(buffer_.size());
    read();
  }

  void drop() {
    Error ignored;
    boost::beast::get_lowest_layer(stream_).close(ignored);
  }

  Membership membership_;
  IoLoop& loop_;
  Shared& shared_;
  Stream stream_;
  const std::string client_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::size_t header_bytes_ = 0;  // taken by the parser, of the running request
  HttpRequest request_;
  std::string request_id_;
  std::string output_;
  State state_ = State::kBetween;
  std::unique_ptr<boost::asio::steady_timer> timer_;  // of the request on a worker
  std::shared_ptr<Turn> turn_;                        // in the line for a session
  std::uint64_t job_ = 0;                             // changes when a request is answered
  std::int64_t deadline_ = 0;                         // 0: none
  bool first_ = true;                                 // no request was answered yet
  bool keep_ = false;
  bool leaving_ = false;
};

}  // namespace lodestep::harness
