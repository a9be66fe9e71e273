// What the server demands of a request's framing, and how it writes a reply's head. No sockets.
//   if (auto refusal = check_header(message, limits)) ...
// Threads: pure.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

#include <optional>
#include <string>
#include <string_view>

#include "harness/server/limits.h"
#include "harness/server/message.h"

namespace lodestep::harness {

using HttpHeader = boost::beast::http::header<true, boost::beast::http::fields>;

struct HttpRefusal {
  int status = 400;
  std::string code;
  std::string message;
};

// Looks at what has arrived of a request line: its length and its version.
std::optional<HttpRefusal> check_request_line(std::string_view arrived, const Limits& limits);
// Host, target, transfer coding.
std::optional<HttpRefusal> check_header(const HttpHeader& header, const Limits& limits);
HttpRefusal refusal_of(const boost::system::error_code& parse_error);

// Whether the header text that has arrived declares a body of more bytes than a number here can hold.
bool declares_endless_body(std::string_view arrived);

// The client asks for a WebSocket, well or badly.
bool wants_websocket(const HttpHeader& header);
std::optional<HttpRefusal> check_handshake(const HttpHeader& header);
// The whole reply to a handshake that passed; no extension is taken.
std::string handshake_reply(const HttpHeader& header);

// Status line and header block.
std::string response_head(const HttpResponse& response, bool keep_alive, std::string_view request_id);

}  // namespace lodestep::harness
