#include "harness/server/load.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "base/text.h"

namespace lodestep::harness {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Error failed(const std::string& what) {
  return {ErrorCode::kUnavailable, what + ": " + std::strerror(errno), "", ""};
}

// A masked text frame; the mask is zero, which is legal and costs nothing.
std::string frame(std::string_view text) {
  std::string out = "\x81";
  if (text.size() < 126) {
    out += static_cast<char>(0x80 | text.size());
  } else {
    out += '\xfe';
    out += static_cast<char>(text.size() >> 8);
    out += static_cast<char>(text.size() & 0xff);
  }
  return out.append(4, '\0').append(text);
}

// Size of the whole frame at the front of `data`; 0: not known yet.
std::size_t frame_size(std::string_view data) {
  if (data.size() < 2) return 0;
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(data[i]));
  };
  const std::size_t size = byte(1) & 0x7f;
  if (size < 126) return 2 + size;
  const std::size_t width = size == 126 ? 2 : 8;
  if (data.size() < 2 + width) return 0;
  std::size_t length = 0;
  for (std::size_t i = 0; i < width; ++i) length = length << 8 | byte(2 + i);
  return 2 + width + length;
}

Result<int> connect_tcp(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return failed("cannot open a socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int one = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
  const Error error = failed("cannot connect");
  close(socket);
  return error;
}

Result<int> connect_to(std::uint16_t port, const std::string& path) {
  const Result<int> connected = connect_tcp(port);
  if (!connected) return connected.error();
  const int socket = *connected;
  const std::string request =
      "GET " + path +
      " HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
  std::string reply;
  if (send(socket, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char byte = 0;
    while (!reply.ends_with("\r\n\r\n") && recv(socket, &byte, 1, 0) == 1) reply += byte;
  }
  if (reply.starts_with("HTTP/1.1 101")) return socket;
  close(socket);
  return Error{ErrorCode::kUnavailable, "no WebSocket: " + reply.substr(0, reply.find('\r')), path, ""};
}

// Sends and waits for one whole reply, blocking.
Status converse(int socket, const std::string& message) {
  if (send(socket, message.data(), message.size(), MSG_NOSIGNAL) < 0) return failed("cannot send");
  std::string data;
  char buffer[65536];
  while (frame_size(data) == 0 || data.size() < frame_size(data)) {
    const ssize_t got = recv(socket, buffer, sizeof buffer, 0);
    if (got <= 0) return failed("the server closed the connection");
    data.append(buffer, static_cast<std::size_t>(got));
  }
  return {};
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

struct Client {
  int socket = -1;
  double sent = 0;
  std::size_t next = 0;
  std::string data;
};

struct Clients {
  std::vector<Client> list;
  int epoll = -1;
  Clients() = default;
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;
  ~Clients() {
    for (const Client& client : list) close(client.socket);
    if (epoll >= 0) close(epoll);
  }
};

double percentile(std::vector<double>& sorted, double share) {
  return sorted.empty() ? 0
                        : sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

double processor_seconds(int pid) {
  if (pid == 0) return 0;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

Result<LoadResult> run_load(const LoadPlan& plan) {
  std::vector<std::string> messages;
  for (const std::string& message : plan.messages) messages.push_back(frame(message));
  if (messages.empty()) {
    for (const char* command : {"up", "down"}) {
      messages.push_back(frame(std::string(R"({"type":"step","data":{"command":")") + command + "\"}}"));
    }
  }
  raise_descriptor_limit();
  Clients clients;
  clients.epoll = epoll_create1(EPOLL_CLOEXEC);
  clients.list.resize(plan.sessions);
  for (Client& client : clients.list) {
    Result<int> socket = connect_to(plan.port, plan.path);
    if (!socket) return socket.error();
    client.socket = *socket;
    if (!plan.reset.empty()) {
      if (Status status = converse(client.socket, frame(plan.reset)); !status) return status.error();
    }
    fcntl(client.socket, F_SETFL, O_NONBLOCK);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &client;
    epoll_ctl(clients.epoll, EPOLL_CTL_ADD, client.socket, &event);
  }
  const auto say = [&](Client& client) {
    const std::string& message = messages[client.next++ % messages.size()];
    client.sent = now();
    return send(client.socket, message.data(), message.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(message.size());
  };
  for (Client& client : clients.list) {
    if (!say(client)) return failed("cannot send");
  }
  LoadResult result;
  std::vector<double> latencies;
  std::vector<char> buffer(1 << 18);
  std::vector<epoll_event> events(256);
  double start = now() + 0.5;  // warming up
  double cpu = 0;
  bool measuring = false;
  for (;;) {
    const int ready = epoll_wait(clients.epoll, events.data(), static_cast<int>(events.size()), 1000);
    const double time = now();
    if (!measuring && time >= start) {
      measuring = true;
      start = time;
      cpu = processor_seconds(plan.server_pid);
    }
    if (measuring && time - start >= plan.seconds) break;
    for (int i = 0; i < ready; ++i) {
      Client& client = *static_cast<Client*>(events[static_cast<std::size_t>(i)].data.ptr);
      const ssize_t got = recv(client.socket, buffer.data(), buffer.size(), 0);
      if (got == 0) return Error{ErrorCode::kUnavailable, "the server closed a connection", "", ""};
      if (got < 0) continue;
      std::string_view data(buffer.data(), static_cast<std::size_t>(got));
      if (!client.data.empty()) data = client.data.append(data);
      const std::size_t size = frame_size(data);
      if (size == 0 || data.size() < size) {
        if (client.data.empty()) client.data.assign(data);
        continue;
      }
      const bool is_ping = (static_cast<unsigned char>(data[0]) & 0x0f) == 9;
      client.data.clear();
      if (is_ping) continue;  // a busy session is not pinged by our server; others may
      if (measuring) {
        ++result.steps;
        latencies.push_back(now() - client.sent);
      }
      if (!say(client)) return failed("cannot send");
    }
  }
  result.seconds = now() - start;
  result.server_cpu_seconds = processor_seconds(plan.server_pid) - cpu;
  std::sort(latencies.begin(), latencies.end());
  result.p50_milliseconds = 1000 * percentile(latencies, 0.5);
  result.p99_milliseconds = 1000 * percentile(latencies, 0.99);
  return result;
}

Result<std::string> open_group(std::uint16_t port, std::size_t members) {
  const Result<int> socket = connect_tcp(port);
  if (!socket) return socket.error();
  const std::string body = R"({"count":1,"group_size":)" + std::to_string(members) + "}";
  const std::string request =
      "POST /v1/groups HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  std::string reply;
  if (send(*socket, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char buffer[65536];
    for (ssize_t got = 0; (got = recv(*socket, buffer, sizeof buffer, 0)) > 0;)
      reply.append(buffer, static_cast<std::size_t>(got));
  }
  close(*socket);
  constexpr std::string_view kMember = "\"group_set_id\":\"";
  const std::size_t at = reply.find(kMember);
  if (at == std::string::npos)
    return Error{ErrorCode::kUnavailable, "no group was made: " + reply.substr(0, 200), "", ""};
  return reply.substr(at + kMember.size(), 32);
}

Result<ServerProcess> ServerProcess::start(const std::vector<std::string>& options) {
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return failed("cannot make a pipe");
  std::vector<std::string> words{"lodestep", "serve", "--port", "0", "--log-level", "warning"};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  ServerProcess server;
  const int error = posix_spawn(&server.pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  std::string line;
  char byte = 0;
  while (error == 0 && !line.ends_with('\n') && read(out[0], &byte, 1) == 1) line += byte;
  close(out[0]);
  const std::optional<std::uint64_t> port =
      parse_uint(trim(std::string_view(line).substr(line.rfind(':') + 1)));
  if (error != 0 || !port)
    return Error{ErrorCode::kUnavailable, "cannot start 'lodestep serve'", std::string(trim(line)), ""};
  server.port_ = static_cast<std::uint16_t>(*port);
  return server;
}

ServerProcess::ServerProcess(ServerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), port_(other.port_) {}

ServerProcess::~ServerProcess() {
  if (pid_ == 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

double ServerProcess::memory_bytes() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/statm");
  double total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

Result<IdleSessions> IdleSessions::open(std::uint16_t port, std::size_t count) {
  raise_descriptor_limit();
  IdleSessions sessions;
  const std::string reset = frame(R"({"type":"reset","data":{"seed":1}})");
  for (std::size_t i = 0; i < count; ++i) {
    Result<int> socket = connect_to(port, "/ws");
    if (!socket) return socket.error();
    sessions.sockets_.push_back(*socket);
    if (Status status = converse(*socket, reset); !status) return status.error();
  }
  return sessions;
}

IdleSessions::~IdleSessions() {
  for (const int socket : sockets_) close(socket);
}

}  // namespace lodestep::harness
