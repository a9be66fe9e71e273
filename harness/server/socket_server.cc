#include "harness/server/socket_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>

#include <algorithm>
#include <deque>
#include <thread>

#include "harness/server/internal/http_connection.h"
#include "harness/server/internal/io_loop.h"
#include "harness/server/internal/log.h"
#include "harness/server/internal/tls.h"

namespace lodestep::harness {
namespace {

using Tcp = boost::asio::ip::tcp;

Result<Tcp::endpoint> resolve(const std::string& host, std::uint16_t port) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(host, error);
  if (!error) return Tcp::endpoint(address, port);
  boost::asio::io_context context;
  Tcp::resolver resolver(context);
  const auto found = resolver.resolve(host, std::to_string(port), Tcp::resolver::passive, error);
  if (error || found.empty()) {
    return Error{ErrorCode::kInvalidArgument, "unknown host '" + host + "'", "",
                 "--host takes an address or a name of this machine"};
  }
  // A name may have several addresses; IPv4 is what most clients try first.
  for (const auto& entry : found) {
    if (entry.endpoint().address().is_v4()) return entry.endpoint();
  }
  return found.begin()->endpoint();
}

class AsioServer final : public SocketServer {
 public:
  AsioServer(const SocketConfig& config, Application& application, std::unique_ptr<Tls> tls)
      : workers_(config.worker_threads != 0 ? config.worker_threads
                                            : std::max(4u, 2 * std::thread::hardware_concurrency())),
        shared_{application, workers_, application.service().limits()},
        tls_(std::move(tls)),
        loops_(config.io_threads != 0 ? config.io_threads
                                      : std::max(1u, std::thread::hardware_concurrency())),
        acceptor_(loops_.front().context),
        retry_(loops_.front().context) {}

  ~AsioServer() override {
    stop(Milliseconds(0));
    workers_.join();
    for (IoLoop& loop : loops_) loop.context.stop();
    for (IoLoop& loop : loops_) {
      if (loop.thread.joinable()) loop.thread.join();
    }
  }

  Status listen(const Tcp::endpoint& endpoint) {
    boost::system::error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(Tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(4096, error);
    if (error) {
      return Error{ErrorCode::kUnavailable, "cannot listen: " + error.message(),
                   endpoint.address().to_string() + ":" + std::to_string(endpoint.port()),
                   "choose another --port, or 0 for a free one"};
    }
    port_ = acceptor_.local_endpoint(error).port();
    for (IoLoop& loop : loops_) loop.run_in_thread();
    boost::asio::post(loops_.front().context, [this] { accept(); });
    return {};
  }

  std::uint16_t port() const override { return port_; }

  std::size_t connections() const override {
    std::size_t sum = 0;
    for (const IoLoop& loop : loops_) sum += loop.count;
    return sum;
  }

  std::size_t running() const { return shared_.running; }

  std::size_t stop(Milliseconds grace) override {
    if (!shared_.stopping.exchange(true)) {
      boost::asio::post(loops_.front().context, [this] {
        boost::system::error_code ignored;
        acceptor_.close(ignored);
        retry_.cancel();
      });
      for (IoLoop& loop : loops_) {
        boost::asio::post(loop.context, [&loop] {
          const std::vector<Peer*> present(loop.peers.begin(), loop.peers.end());
          for (Peer* peer : present) {
            if (loop.peers.contains(peer)) peer->finish();
          }
        });
      }
    }
    const auto end = std::chrono::steady_clock::now() + grace;
    while ((connections() > 0 || shared_.running > 0) && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(Milliseconds(10));
    return shared_.running;
  }

 private:
  // The next connection, on the loop that has fewest.
  void accept() {
    IoLoop& loop = *std::min_element(loops_.begin(), loops_.end(),
                                     [](const IoLoop& a, const IoLoop& b) { return a.count < b.count; });
    acceptor_.async_accept(loop.context,
                           [this, &loop](const boost::system::error_code& error, Tcp::socket socket) {
                             if (shared_.stopping || error == boost::asio::error::operation_aborted) return;
                             if (error) {  // out of file descriptors, most likely: wait for some to come free
                               log_event(LogLevel::kWarning, "accept_failed", {{"what", error.message()}});
                               retry_.expires_after(Milliseconds(100));
                               retry_.async_wait([this](const boost::system::error_code& cancelled) {
                                 if (!cancelled) accept();
                               });
                               return;
                             }
                             begin(loop, std::move(socket));
                             accept();
                           });
  }

  void begin(IoLoop& loop, Tcp::socket socket) {
    boost::system::error_code error;
    const auto peer = socket.remote_endpoint(error);
    if (error) return;  // gone already
    if (connections() >= shared_.limits.max_connections) {
      shared_.application.service().metrics().count_refusal("connections");
      log_event(LogLevel::kWarning, "connection_refused",
                {{"limit", std::to_string(shared_.limits.max_connections)}});
      return;  // closed with its socket
    }
    socket.set_option(Tcp::no_delay(true), error);
    socket.set_option(boost::asio::socket_base::keep_alive(true), error);
    boost::asio::post(loop.context, [this, &loop, socket = std::move(socket),
                                     client = peer.address().to_string()]() mutable {
      if (tls_) {
        tls_->start(std::move(socket), std::move(client), loop, shared_);
      } else {
        std::make_shared<HttpConnection<Tcp::socket>>(std::move(socket), std::move(client), loop, shared_)
            ->start();
      }
    });
  }

  boost::asio::thread_pool workers_;
  Shared shared_;
  std::unique_ptr<Tls> tls_;
  std::deque<IoLoop> loops_;  // after what their peers refer to
  Tcp::acceptor acceptor_;
  boost::asio::steady_timer retry_;
  std::uint16_t port_ = 0;
};

}  // namespace

bool is_loopback(const std::string& host) {
  const Result<Tcp::endpoint> endpoint = resolve(host, 0);
  return endpoint.ok() && endpoint->address().is_loopback();
}

Result<std::unique_ptr<SocketServer>> SocketServer::start(const SocketConfig& config,
                                                          Application& application) {
  const Result<Tcp::endpoint> endpoint = resolve(config.host, config.port);
  if (!endpoint) return endpoint.error();
  std::unique_ptr<Tls> tls;
  if (!config.tls_cert.empty() || !config.tls_key.empty()) {
    if (config.tls_cert.empty() || config.tls_key.empty()) {
      return Error{ErrorCode::kInvalidArgument, "--tls-cert and --tls-key go together", "",
                   "give both or neither"};
    }
    Result<std::unique_ptr<Tls>> loaded = Tls::load(config.tls_cert, config.tls_key);
    if (!loaded) return loaded.error();
    tls = std::move(*loaded);
  }
  auto server = std::make_unique<AsioServer>(config, application, std::move(tls));
  if (Status status = server->listen(*endpoint); !status) return status.error();
  Metrics& metrics = application.service().metrics();
  metrics.set_gauge("lodestep_connections", "open connections",
                    [raw = server.get()] { return static_cast<double>(raw->connections()); });
  metrics.set_gauge("lodestep_running_requests", "requests on workers, or waiting for one",
                    [raw = server.get()] { return static_cast<double>(raw->running()); });
  return std::unique_ptr<SocketServer>(std::move(server));
}

}  // namespace lodestep::harness
