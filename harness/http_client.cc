#include "harness/internal/http_client.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include <chrono>
#include <exception>
#include <optional>

#include "base/text.h"

namespace lodestep::harness {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

using Reply = http::response_parser<http::string_body>;

template <typename Stream>
asio::awaitable<void> exchange(Stream& stream, const http::request<http::string_body>& message,
                               Reply& reply) {
  beast::flat_buffer buffer;
  co_await http::async_write(stream, message, asio::use_awaitable);
  co_await http::async_read(stream, buffer, reply, asio::use_awaitable);
}

asio::awaitable<void> post(const HttpUrl& url, const PostRequest& request, Reply& reply) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  http::request<http::string_body> message{http::verb::post, url.path, 11};
  message.set(http::field::host, url.host + ":" + url.port);
  message.set(http::field::content_type, "application/json");
  message.set(http::field::connection, "close");
  for (const auto& [name, value] : request.headers) message.set(name, value);
  message.body() = request.body;
  message.prepare_payload();

  const auto limit = std::chrono::milliseconds(static_cast<std::int64_t>(request.timeout_seconds * 1000));
  asio::ip::tcp::resolver resolver(executor);
  const auto addresses = co_await resolver.async_resolve(url.host, url.port, asio::use_awaitable);
  if (!url.tls) {
    beast::tcp_stream stream(executor);
    stream.expires_after(limit);
    co_await stream.async_connect(addresses, asio::use_awaitable);
    co_await exchange(stream, message, reply);
    co_return;
  }
  asio::ssl::context tls(asio::ssl::context::tls_client);
  tls.set_default_verify_paths();
  beast::ssl_stream<beast::tcp_stream> stream(executor, tls);
  stream.set_verify_mode(asio::ssl::verify_peer);
  stream.set_verify_callback(asio::ssl::host_name_verification(url.host));
  SSL_set_tlsext_host_name(stream.native_handle(), url.host.c_str());
  beast::get_lowest_layer(stream).expires_after(limit);
  co_await beast::get_lowest_layer(stream).async_connect(addresses, asio::use_awaitable);
  co_await stream.async_handshake(asio::ssl::stream_base::client, asio::use_awaitable);
  co_await exchange(stream, message, reply);
}

}  // namespace

Result<HttpUrl> parse_http_url(const std::string& url) {
  HttpUrl out;
  std::string_view left = url;
  if (left.starts_with("http://")) {
    left.remove_prefix(7);
  } else if (left.starts_with("https://")) {
    out.tls = true;
    left.remove_prefix(8);
  } else {
    return Error{ErrorCode::kInvalidArgument, "not an http or https address", url,
                 "like http://127.0.0.1:8000/v1"};
  }
  const std::size_t slash = std::min(left.find('/'), left.size());
  std::string_view authority = left.substr(0, slash);
  out.path = slash < left.size() ? std::string(left.substr(slash)) : "/";
  out.port = out.tls ? "443" : "80";
  const std::size_t bracket = authority.find(']');  // [::1]:8000
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    out.port = std::string(authority.substr(colon + 1));
    authority = authority.substr(0, colon);
    if (!parse_uint(out.port)) return Error{ErrorCode::kInvalidArgument, "bad port in the address", url, ""};
  }
  if (authority.starts_with('[') && authority.ends_with(']'))
    authority = authority.substr(1, authority.size() - 2);
  if (authority.empty()) return Error{ErrorCode::kInvalidArgument, "no host in the address", url, ""};
  out.host = std::string(authority);
  return out;
}

Result<HttpReply> http_post(const PostRequest& request) {
  const Result<HttpUrl> url = parse_http_url(request.url);
  if (!url) return url.error();
  asio::io_context io;
  Reply reply;
  reply.body_limit(256ULL << 20);
  std::optional<std::string> failure;
  bool ended = false;
  asio::co_spawn(io, post(*url, request, reply), [&](const std::exception_ptr& error) {
    ended = true;
    if (!error) return;
    try {
      std::rethrow_exception(error);
    } catch (const boost::system::system_error& wrong) {
      failure = wrong.code() == beast::error::timeout ? "no answer in time" : wrong.code().message();
    } catch (const std::exception& wrong) {
      failure = wrong.what();
    }
  });
  // A little longer than the connection's own limit, since names are looked up before that starts.
  io.run_for(std::chrono::milliseconds(static_cast<std::int64_t>(request.timeout_seconds * 1000) + 500));
  if (!ended) failure = "no answer in time";
  if (failure) return Error{ErrorCode::kUnavailable, *failure, request.url, ""};
  return HttpReply{reply.get().result_int(), std::move(reply.get().body())};
}

}  // namespace lodestep::harness
