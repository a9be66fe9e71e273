#include "harness/server/internal/http_rules.h"

#include <openssl/evp.h>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/status.hpp>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"

namespace lodestep::harness {
namespace {

using Field = boost::beast::http::field;

std::size_t count_of(const HttpHeader& header, Field name) {
  const auto range = header.equal_range(name);
  return static_cast<std::size_t>(std::distance(range.first, range.second));
}

bool has_token(const HttpHeader& header, Field name, std::string_view token) {
  const auto range = header.equal_range(name);
  for (auto field = range.first; field != range.second; ++field) {
    if (boost::beast::http::token_list{field->value()}.exists({token.data(), token.size()})) return true;
  }
  return false;
}

// Names, addresses, brackets and a port: no blanks, no path, no user.
bool is_host(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("-._~!$&'()*+,;=%:[]").find(c) != std::string_view::npos;
  });
}

HttpRefusal bad(std::string message) { return {400, "BAD_REQUEST", std::move(message)}; }

}  // namespace

std::optional<HttpRefusal> check_request_line(std::string_view arrived, const Limits& limits) {
  const std::size_t end = arrived.find('\n');
  std::string_view line = arrived.substr(0, end);
  const std::size_t target = line.find(' ');
  const std::size_t target_end =
      target == std::string_view::npos ? std::string_view::npos : line.find(' ', target + 1);
  const std::size_t target_size = target == std::string_view::npos       ? 0
                                  : target_end == std::string_view::npos ? line.size() - target - 1
                                                                         : target_end - target - 1;
  if (target_size > limits.path_bytes) {
    return HttpRefusal{
        414, "PATH_TOO_LONG",
        "the path is longer than " + std::to_string(limits.path_bytes) + " bytes (limit path)"};
  }
  if (end == std::string_view::npos) {
    if (arrived.size() > limits.header_bytes) return refusal_of(boost::beast::http::error::header_limit);
    return std::nullopt;
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::string_view version =
      line.substr(line.rfind(' ') == std::string_view::npos ? 0 : line.rfind(' ') + 1);
  if (version.starts_with("HTTP/") && version != "HTTP/1.1" && version != "HTTP/1.0") {
    return HttpRefusal{505, "HTTP_VERSION", "this server speaks HTTP/1.1 and HTTP/1.0"};
  }
  return std::nullopt;
}

std::optional<HttpRefusal> check_header(const HttpHeader& header, const Limits& limits) {
  if (header.target().size() > limits.path_bytes) {
    return HttpRefusal{
        414, "PATH_TOO_LONG",
        "the path is longer than " + std::to_string(limits.path_bytes) + " bytes (limit path)"};
  }
  const std::size_t hosts = count_of(header, Field::host);
  if (hosts > 1 || (hosts == 0 && header.version() == 11))
    return bad("a request has exactly one Host header");
  if (const auto host = header[Field::host]; !is_host({host.data(), host.size()}))
    return bad("the Host header is no host");
  const std::size_t codings = count_of(header, Field::transfer_encoding);
  if (codings > 0) {
    if (count_of(header, Field::content_length) > 0)
      return bad("Content-Length together with Transfer-Encoding");
    if (codings > 1 || !boost::beast::iequals(header[Field::transfer_encoding], "chunked"))
      return bad("the only transfer coding is chunked");
    if (header.version() != 11) return bad("chunked bodies need HTTP/1.1");
  }
  if (count_of(header, Field::content_encoding) > 0 &&
      !boost::beast::iequals(header[Field::content_encoding], "identity")) {
    return HttpRefusal{415, "CONTENT_ENCODING", "bodies are not compressed"};
  }
  return std::nullopt;
}

HttpRefusal refusal_of(const boost::system::error_code& failure) {
  using Error = boost::beast::http::error;
  if (failure == Error::body_limit)
    return {413, "BODY_TOO_LARGE", "the body is larger than the limit 'body' of /v1/limits"};
  if (failure == Error::header_limit)
    return {431, "HEADER_TOO_LARGE", "the header block is larger than the limit 'header' of /v1/limits"};
  return bad("malformed HTTP: " + failure.message());
}

bool declares_endless_body(std::string_view arrived) {
  constexpr std::string_view kName = "content-length:";
  for (const std::string_view line : split(arrived, '\n')) {
    if (line.size() <= kName.size() || ascii_lower(line.substr(0, kName.size())) != kName) continue;
    const std::string_view value = trim(line.substr(kName.size()));
    return value.size() > 18 && value.find_first_not_of("0123456789") == std::string_view::npos;
  }
  return false;
}

bool wants_websocket(const HttpHeader& header) { return has_token(header, Field::upgrade, "websocket"); }

std::optional<HttpRefusal> check_handshake(const HttpHeader& header) {
  if (header.method() != boost::beast::http::verb::get || header.version() != 11)
    return bad("a WebSocket begins with GET and HTTP/1.1");
  if (!has_token(header, Field::connection, "upgrade"))
    return bad("a WebSocket handshake needs 'Connection: Upgrade'");
  if (count_of(header, Field::sec_websocket_key) != 1)
    return bad("a WebSocket handshake has one Sec-WebSocket-Key");
  const std::optional<std::string> key = base64_decode(std::string(header[Field::sec_websocket_key]));
  if (!key || key->size() != 16) return bad("Sec-WebSocket-Key must be 16 bytes in base64");
  if (count_of(header, Field::sec_websocket_version) == 0)
    return bad("a WebSocket handshake needs Sec-WebSocket-Version");
  if (header[Field::sec_websocket_version] != "13")
    return HttpRefusal{426, "WEBSOCKET_VERSION", "this server speaks WebSocket version 13"};
  return std::nullopt;
}

std::string handshake_reply(const HttpHeader& header) {
  const std::string key = std::string(trim(std::string(header[Field::sec_websocket_key]))) +
                          "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  LODESTEP_CHECK(EVP_Digest(key.data(), key.size(), digest.data(), &size, EVP_sha1(), nullptr) == 1, key);
  const std::string accept = base64_encode(std::string(reinterpret_cast<const char*>(digest.data()), size));
  return "HTTP/1.1 101 Switching Protocols\r\nServer: lodestep\r\nUpgrade: websocket\r\nConnection: "
         "Upgrade\r\nSec-WebSocket-Accept: " +
         accept + "\r\n\r\n";
}

std::string response_head(const HttpResponse& response, bool keep_alive, std::string_view request_id) {
  const auto reason = boost::beast::http::obsolete_reason(
      boost::beast::http::int_to_status(static_cast<unsigned>(response.status)));
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " " + std::string(reason) +
                     "\r\nServer: lodestep\r\nContent-Type: " + response.content_type +
                     "\r\nContent-Length: " + std::to_string(response.body.size()) + "\r\n";
  for (const auto& [name, value] : response.headers) head += name + ": " + value + "\r\n";
  if (!request_id.empty()) head.append("X-Request-Id: ").append(request_id).append("\r\n");
  return head + (keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n");
}

}  // namespace lodestep::harness
