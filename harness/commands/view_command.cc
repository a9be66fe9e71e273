// `lodestep view`: the viewer over HTTP, one page, read again from the recording at every request.
#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <memory>
#include <ostream>

#include "base/text.h"
#include "harness/internal/args.h"
#include "harness/internal/commands.h"
#include "harness/internal/interrupt.h"
#include "harness/recorder.h"
#include "harness/view/view_document.h"

namespace lodestep::harness {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

constexpr auto kTimeLimit = std::chrono::seconds(60);  // for one request or answer
constexpr std::uint64_t kMaxRequestBytes = 64 * 1024;

struct Site {
  std::string recording;
  std::string host;  // as given with --host
};

Result<std::string> page_of(const std::string& path) {
  const Result<Recording> recording = read_recording(path);
  if (!recording) return recording.error();
  return view_recording(path, *recording);
}

// A page of another site must not reach a recording by giving its own name our address (DNS rebinding): names
// other than ours are refused, addresses are what the user typed.
bool host_is_ours(std::string_view header, const Site& site) {
  std::string name = ascii_lower(header);
  const std::size_t port = name.rfind(':');
  if (port != std::string::npos && name.find(']', port) == std::string::npos) name.resize(port);
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
  boost::system::error_code no_address;
  asio::ip::make_address(name, no_address);
  return !no_address || name == "localhost" || name == ascii_lower(site.host);
}

http::response<http::string_body> answer(const http::request<http::string_body>& request, const Site& site) {
  http::response<http::string_body> response(http::status::ok, request.version());
  response.set(http::field::server, "lodestep");
  response.set(http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  response.keep_alive(request.keep_alive());
  const auto fail = [&](http::status status, const std::string& message) {
    response.result(status);
    response.set(http::field::content_type, "text/plain; charset=utf-8");
    response.body() = message + "\n";
  };
  const std::string_view target(request.target().data(), request.target().size());
  const beast::string_view host = request[http::field::host];
  if (!host_is_ours({host.data(), host.size()}, site)) {
    fail(http::status::misdirected_request, "this server does not answer to that name");
  } else if (request.method() != http::verb::get && request.method() != http::verb::head) {
    fail(http::status::method_not_allowed, "only GET and HEAD");
    response.set(http::field::allow, "GET, HEAD");
  } else if (target.substr(0, target.find('?')) != "/") {
    fail(http::status::not_found, "the viewer is at /");
  } else if (Result<std::string> page = page_of(site.recording); !page) {
    fail(http::status::internal_server_error, to_string(page.error()));
  } else {
    response.set(http::field::content_type, "text/html; charset=utf-8");
    response.body() = std::move(*page);
  }
  response.prepare_payload();
  if (request.method() == http::verb::head) response.body().clear();  // Content-Length stays that of GET
  return response;
}

// One connection; keeps itself alive while an operation is under way.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, const Site& site) : stream_(std::move(socket)), site_(site) {}

  void read() {
    parser_.emplace();
    parser_->body_limit(kMaxRequestBytes);
    stream_.expires_after(kTimeLimit);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) {
                       if (!error) self->write();
                     });
  }

 private:
  void write() {
    response_ = answer(parser_->get(), site_);
    serializer_.emplace(response_);
    stream_.expires_after(kTimeLimit);
    http::async_write(stream_, *serializer_,
                      [self = shared_from_this()](beast::error_code error, std::size_t) {
                        if (!error && self->response_.keep_alive()) self->read();
                      });
  }

  beast::tcp_stream stream_;
  const Site& site_;
  beast::flat_buffer buffer_{kMaxRequestBytes};
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  std::optional<http::response_serializer<http::string_body>> serializer_;
};

class Listener {
 public:
  Listener(asio::io_context& context, const Site& site) : acceptor_(context), site_(site) {}

  Status open(const std::string& host, std::int64_t port) {
    beast::error_code error;
    const asio::ip::address address = asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
    if (error) {
      return Error{ErrorCode::kInvalidArgument, "not an address: '" + host + "'", "--host",
                   "such as 127.0.0.1, or 0.0.0.0 for every interface"};
    }
    const tcp::endpoint endpoint(address, static_cast<std::uint16_t>(port));
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      return Error{ErrorCode::kUnavailable, "cannot listen: " + error.message(),
                   fmt::format("{}:{}", host, port), "another --port may be free; --port 0 takes any"};
    }
    return {};
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  void accept() {
    acceptor_.async_accept([this](beast::error_code error, tcp::socket socket) {
      if (!error) std::make_shared<Session>(std::move(socket), site_)->read();
      accept();
    });
  }

 private:
  tcp::acceptor acceptor_;
  const Site& site_;
};

}  // namespace

Result<int> run_view(const std::vector<std::string>& words, Io& io) {
  Args args("view", "Serves the viewer of a recording to a browser on this machine, until interrupted.");
  Site site;
  site.host = "127.0.0.1";
  std::int64_t port = 8090;
  args.positional("RUN", site.recording, "recording").required();
  args.option("--port", port, "TCP port, 0 = any free one").range(0, 65535);
  args.option("--host", site.host, "address to listen on");
  args.footer("The page is made from the recording at every load, also while a rollout still writes it.");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  if (const Result<std::string> page = page_of(site.recording); !page) return page.error();

  asio::io_context context(1);
  Listener listener(context, site);
  if (Status status = listener.open(site.host, port); !status) return status.error();
  const InterruptGuard interrupt;
  const std::string shown = site.host == "0.0.0.0" || site.host == "::" ? "localhost"
                            : site.host.find(':') != std::string::npos  ? "[" + site.host + "]"
                                                                        : site.host;
  io.out << fmt::format("http://{}:{}/", shown, listener.port()) << std::endl;
  io.err << "open it in a browser; Ctrl-C ends\n";
  listener.accept();
  while (!interrupt.requested()) context.run_for(std::chrono::milliseconds(100));
  return interrupt.exit_status();
}

}  // namespace lodestep::harness
