// One HTTP POST and its answer, for endpoints that the harness asks: http and https, with a time limit.
//   Result<HttpReply> reply = http_post({.url = "http://127.0.0.1:8000/v1/embeddings", .body = json});
// Threads: safe; each call has its own connection and blocks until the answer or the limit. Certificates are
// checked against the system's. Fails (kUnavailable) on anything but a complete answer, whatever its status.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace lodestep::harness {

struct PostRequest {
  std::string url;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers =
      {};                       // beside host, length and content type (JSON)
  double timeout_seconds = 30;  // for the whole exchange
};

struct HttpReply {
  unsigned status = 0;
  std::string body;  // up to 256 MB
};

Result<HttpReply> http_post(const PostRequest& request);

// "http://host:port/path" taken apart; fails on another scheme or a missing host.
struct HttpUrl {
  bool tls = false;
  std::string host, port, path;
};
Result<HttpUrl> parse_http_url(const std::string& url);

}  // namespace lodestep::harness
