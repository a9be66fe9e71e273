// Steps that take longer than the limit: answered in time with an error, their late answers nobody's,
// everybody else served.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "harness/server/socket_server.h"
#include "tests/unit/server/support.h"

namespace lodestep::harness {
namespace {

// Where "wait" keeps a step until the test lets it go.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  int inside = 0;

  void pass() {
    std::unique_lock lock(mutex);
    ++inside;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
  }
  void await_inside(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return inside >= count; });
  }
  void let_go() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
};

// The dummy, but "wait" is a right that stands at the gate first.
class GatedEnv final : public Environment {
 public:
  GatedEnv(std::unique_ptr<Environment> inner, Gate& gate) : inner_(std::move(inner)), gate_(gate) {}
  Status reset(const Task& task) override { return inner_->reset(task); }
  StepResult step(std::string_view action) override {
    if (action != "wait") return inner_->step(action);
    gate_.pass();
    return inner_->step("right");
  }
  StepResult observe() const override { return inner_->observe(); }
  std::vector<std::string> admissible_actions() const override { return inner_->admissible_actions(); }
  std::optional<std::string> gold_action() const override { return inner_->gold_action(); }
  StateKeys state_keys() const override { return inner_->state_keys(); }
  Hash128 true_state_hash() const override { return inner_->true_state_hash(); }
  Details details() const override { return inner_->details(); }
  std::unique_ptr<Environment> clone() const override {
    return std::make_unique<GatedEnv>(inner_->clone(), gate_);
  }
  Snapshot snapshot() const override { return inner_->snapshot(); }
  Status restore(const Snapshot& snapshot) override { return inner_->restore(snapshot); }

 private:
  std::unique_ptr<Environment> inner_;
  Gate& gate_;
};

class GatedFactory final : public EnvFactory {
 public:
  explicit GatedFactory(Gate& gate) : inner_(*open_environment("dummy", {})), gate_(gate) {}
  std::string name() const override { return "dummy"; }
  std::uint32_t version() const override { return inner_->version(); }
  Hash128 data_digest() const override { return inner_->data_digest(); }
  std::vector<std::string> splits() const override { return inner_->splits(); }
  Result<std::size_t> task_count(std::string_view split) const override { return inner_->task_count(split); }
  Result<std::string> task_id(std::string_view split, std::size_t index) const override {
    return inner_->task_id(split, index);
  }
  std::unique_ptr<Environment> make() const override {
    return std::make_unique<GatedEnv>(inner_->make(), gate_);
  }

 private:
  std::shared_ptr<const EnvFactory> inner_;
  Gate& gate_;
};

// A blocking client.
class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { close(socket_); }

  void send(const std::string& bytes) {
    REQUIRE(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  }

  // A request and its reply: the status, then the body.
  std::pair<int, std::string> ask(const std::string& method, const std::string& path,
                                  const std::string& body = "") {
    send(method + " " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body);
    return reply();
  }
  std::pair<int, std::string> reply() {
    while (data_.find("\r\n\r\n") == std::string::npos) more();
    const std::size_t head = data_.find("\r\n\r\n") + 4;
    const std::size_t length = data_.find("Content-Length: ");
    const std::size_t size =
        length < head ? static_cast<std::size_t>(std::stoul(data_.substr(length + 16))) : 0;
    while (data_.size() < head + size) more();
    std::pair<int, std::string> out{std::stoi(data_.substr(9, 3)), data_.substr(head, size)};
    data_.erase(0, head + size);
    return out;
  }

  void upgrade(const std::string& path) {
    send("GET " + path +
         " HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: "
         "dGhlIHNhbXBsZSBub25jZQ==\r\n"
         "Sec-WebSocket-Version: 13\r\n\r\n");
    REQUIRE(reply().first == 101);
  }
  void say(const std::string& text) {
    send(std::string("\x81") + static_cast<char>(0x80 | text.size()) + std::string(4, '\0') + text);
  }
  std::pair<int, std::string> frame() {
    while (data_.size() < 2) more();
    std::size_t size = static_cast<unsigned char>(data_[1]);
    std::size_t head = 2;
    if (size == 126) {
      while (data_.size() < 4) more();
      size = static_cast<std::size_t>(static_cast<unsigned char>(data_[2])) << 8 |
             static_cast<unsigned char>(data_[3]);
      head = 4;
    }
    while (data_.size() < head + size) more();
    std::pair<int, std::string> out{data_[0] & 0x0f, data_.substr(head, size)};
    data_.erase(0, head + size);
    return out;
  }
  std::string hear() {
    const auto [opcode, text] = frame();
    REQUIRE(opcode == 1);
    return text;
  }
  std::string say_and_hear(const std::string& text) {
    say(text);
    return hear();
  }

 private:
  void more() {
    char buffer[65536];
    const ssize_t got = recv(socket_, buffer, sizeof buffer, 0);
    if (got <= 0) throw std::runtime_error("the server closed the connection");
    data_.append(buffer, static_cast<std::size_t>(got));
  }
  int socket_;
  std::string data_;
};

struct SlowServer {
  explicit SlowServer(std::int64_t step_milliseconds = 200) : SlowServer(limits(step_milliseconds)) {}
  explicit SlowServer(const Limits& limits)
      : service({{{"dummy", "gated", std::make_shared<GatedFactory>(gate), 20}}, limits, nullptr, 0, "test"},
                clock),
        application(service, {}),
        sockets(listen(application)),
        port(sockets->port()) {}
  ~SlowServer() {
    gate.let_go();
    sockets->stop(std::chrono::milliseconds(1000));
  }
  static std::unique_ptr<SocketServer> listen(Application& served) {
    SocketConfig config;
    config.io_threads = 1;
    config.worker_threads = 4;
    Result<std::unique_ptr<SocketServer>> started = SocketServer::start(config, served);
    LODESTEP_CHECK(started.ok(), "no server");
    return std::move(*started);
  }
  static Limits limits(std::int64_t step_milliseconds) {
    Limits out;
    out.step_milliseconds = step_milliseconds;
    return out;
  }

  Gate gate;
  SystemClock clock;
  Service service;
  Application application;
  std::unique_ptr<SocketServer> sockets;
  std::uint16_t port;
};

constexpr const char* kReset = R"({"type":"reset","data":{"index":3}})";
constexpr const char* kWait = R"({"type":"step","data":{"command":"wait"}})";
constexpr const char* kLeft = R"({"type":"step","data":{"command":"left"}})";

TEST_CASE("a step on /ws that passes the limit is an error in time; its late answer reaches nobody") {
  SlowServer server;
  Client client(server.port);
  client.upgrade("/ws");
  client.say_and_hear(kReset);
  REQUIRE(at(client.say_and_hear(kWait), "data.code") == "EXECUTION_ERROR");
  // Until the step ends the session answers, and plays nothing.
  REQUIRE(at(client.say_and_hear(kLeft), "data.code") == "EXECUTION_ERROR");
  client.send(std::string("\x89\x80\0\0\0\0", 6));
  REQUIRE(client.frame().first == 10);
  server.gate.let_go();
  // When it has ended, the episode is lost: only a reset helps, and what comes is the reset's own answer.
  std::string reply;
  do reply = client.say_and_hear(kReset);
  while (at(reply, "type") == "error");
  REQUIRE(at(reply, "data.observation.text") ==
          "You stand in cell 2. The goal is cell 6, the trap is cell 0.");
  REQUIRE(at(client.say_and_hear(kLeft), "data.observation.text") ==
          "You stand in cell 1. The goal is cell 6, the trap is cell 0.");
}

TEST_CASE("after a lost step only a reset goes on") {
  SlowServer server;
  Client client(server.port);
  client.upgrade("/ws");
  client.say_and_hear(kReset);
  REQUIRE(at(client.say_and_hear(kWait), "type") == "error");
  server.gate.let_go();
  std::string state;
  do state = client.say_and_hear(R"({"type":"state"})");
  while (at(state, "type") == "error");
  const std::string refused = client.say_and_hear(kLeft);
  REQUIRE(at(refused, "data.code") == "EXECUTION_ERROR");
  REQUIRE(at(refused, "data.message").find("reset") != std::string::npos);
  REQUIRE(at(client.say_and_hear(kReset), "type") == "observation");
}

TEST_CASE("a peer that closes while its step runs is answered at once") {
  SlowServer server(60000);
  Client client(server.port);
  client.upgrade("/ws");
  client.say_and_hear(kReset);
  client.say(kWait);
  server.gate.await_inside(1);
  client.send(std::string("\x88\x82\0\0\0\0\x03\xe8", 8));
  REQUIRE(client.frame() == std::pair<int, std::string>(8, "\x03\xe8"));
  server.gate.let_go();
  // The session ends when the step does.
  for (int i = 0; i < 1000 && server.service.pool().size() > 0; ++i) usleep(10000);
  REQUIRE(server.service.pool().size() == 0);
}

TEST_CASE("/v1: a late step is 504, a retry with its step_id gets its answer, once") {
  SlowServer server;
  Client client(server.port);
  const std::string path =
      "/v1/sessions/" + at(client.ask("POST", "/v1/sessions", R"({"index":3})").second, "session_id");
  client.ask("POST", path + "/reset");
  const std::string step = R"({"action":"wait","step_id":1})";
  const auto late = client.ask("POST", path + "/step", step);
  REQUIRE(late.first == 504);
  REQUIRE(at(late.second, "error.code") == "LATE");
  const auto busy = client.ask("POST", path + "/step", step);
  REQUIRE((busy.first == 409 || busy.first == 504));  // busy, or late itself
  REQUIRE(at(client.ask("GET", "/health").second, "status") == "healthy");
  server.gate.let_go();
  std::pair<int, std::string> reply;
  do reply = client.ask("POST", path + "/step", step);
  while (reply.first != 200);
  REQUIRE(at(reply.second, "step_count") == "1");
  REQUIRE(at(client.ask("GET", path).second, "step_count") == "1");
}

TEST_CASE("/v1: closing a session whose step runs does not wait for it") {
  SlowServer server(60000);
  Client player(server.port), other(server.port);
  const std::string path =
      "/v1/sessions/" + at(other.ask("POST", "/v1/sessions", R"({"index":3})").second, "session_id");
  other.ask("POST", path + "/reset");
  player.send("POST " + path +
              "/step HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\n{\"action\":\"wait\"}");
  server.gate.await_inside(1);
  REQUIRE(at(other.ask("GET", path).second, "busy") == "true");
  REQUIRE(other.ask("DELETE", path).first == 200);
  REQUIRE(server.service.pool().size() == 0);
  REQUIRE(other.ask("GET", path).first == 410);
  server.gate.let_go();
  REQUIRE(player.reply().first == 200);
}

TEST_CASE("OpenEnv over HTTP: timeout_s is the client's own limit") {
  SlowServer server(60000);
  Client client(server.port);
  const auto late = client.ask("POST", "/step", R"({"action":{"command":"wait"},"timeout_s":0.1})");
  REQUIRE(late.first == 408);
  REQUIRE(at(late.second, "detail").find("timeout_s") != std::string::npos);
  REQUIRE(client.ask("POST", "/step", R"({"action":{"command":"left"},"timeout_s":30})").first == 200);
}

TEST_CASE("AgentGym: a late step is an error that the client does not send again") {
  SlowServer server;
  Client client(server.port);
  const std::string id = at(client.ask("POST", "/agentgym/dummy/create").second, "id");
  client.ask("POST", "/agentgym/dummy/reset", R"({"data_idx":3,"id":)" + id + "}");
  const auto late = client.ask("POST", "/agentgym/dummy/step", R"({"action":"wait","id":)" + id + "}");
  REQUIRE(late.first == 200);
  REQUIRE(at(late.second, "error").find("step_time") != std::string::npos);
}

// A group of one, made over the stream; its step as a message that answers with `id`.
std::string make_group(Client& stream) {
  return at(stream.say_and_hear(R"({"path":"/v1/groups","body":{"tasks":["3"]}})"), "body.group_set_id");
}
std::string step_of(const std::string& group, const std::string& id, const char* action) {
  return R"({"id":")" + id + R"(","path":"/v1/groups/)" + group + R"(/step","body":{"actions":[")" + action +
         R"("]}})";
}

TEST_CASE("/v1/stream: a slow group holds up nobody but itself, and keeps its order") {
  SlowServer server(60000);
  Client stream(server.port);
  stream.upgrade("/v1/stream");
  const std::string slow = make_group(stream), quick = make_group(stream);
  stream.say(step_of(slow, "slow 1", "wait"));
  server.gate.await_inside(1);
  stream.say(step_of(slow, "slow 2", "left"));
  stream.say(step_of(quick, "quick 1", "left"));
  REQUIRE(at(stream.hear(), "id") == "quick 1");
  REQUIRE(at(stream.say_and_hear(R"({"id":"limits","method":"GET","path":"/v1/limits"})"), "id") == "limits");
  server.gate.let_go();
  REQUIRE(at(stream.hear(), "id") == "slow 1");
  const std::string last = stream.hear();
  REQUIRE(at(last, "id") == "slow 2");
  REQUIRE(at(last, "body.observations.0") == "You stand in cell 2. The goal is cell 6, the trap is cell 0.");
}

TEST_CASE(
    "/v1/stream: so many messages are played at once; the others wait, and are told when that is in vain") {
  Limits limits = SlowServer::limits(300);
  limits.stream_requests = 2;
  SlowServer server(limits);
  Client stream(server.port);
  stream.upgrade("/v1/stream");
  std::vector<std::string> groups;
  for (int i = 0; i < 3; ++i) groups.push_back(make_group(stream));
  stream.say(step_of(groups[0], "0", "wait"));
  stream.say(step_of(groups[1], "1", "wait"));
  server.gate.await_inside(2);
  stream.say(step_of(groups[2], "2", "left"));
  for (int i = 0; i < 3; ++i) REQUIRE(at(stream.hear(), "status") == "504");
  REQUIRE(at(stream.say_and_hear(step_of(groups[2], "3", "left")), "status") == "504");
  server.gate.let_go();
  std::string reply;
  do reply = stream.say_and_hear(step_of(groups[2], "4", "left"));
  while (at(reply, "status") == "504");
  REQUIRE(at(reply, "body.step_counts.0") == "1");
}

TEST_CASE("a stop waits for running steps up to its limit, and says how many it leaves") {
  SlowServer server(60000);
  Client client(server.port);
  client.upgrade("/ws");
  client.say_and_hear(kReset);
  client.say(kWait);
  server.gate.await_inside(1);
  REQUIRE(server.sockets->stop(std::chrono::milliseconds(50)) == 1);
  server.gate.let_go();
  REQUIRE(server.sockets->stop(std::chrono::milliseconds(60000)) == 0);
  REQUIRE(at(client.hear(), "type") == "observation");  // it finished after all
  REQUIRE(client.frame() == std::pair<int, std::string>(8, "\x03\xe9"));
}

TEST_CASE("steps that stand still on all workers but one delay neither health nor other sessions") {
  SlowServer server(60000);
  std::vector<std::unique_ptr<Client>> stuck;
  for (int i = 0; i < 3; ++i) {
    stuck.push_back(std::make_unique<Client>(server.port));
    stuck.back()->upgrade("/ws");
    stuck.back()->say_and_hear(kReset);
    stuck.back()->say(kWait);
  }
  server.gate.await_inside(3);
  Client client(server.port);
  REQUIRE(client.ask("GET", "/health").first == 200);
  client.upgrade("/ws");
  client.say_and_hear(kReset);
  REQUIRE(at(client.say_and_hear(kLeft), "type") == "observation");
  server.gate.let_go();
  for (const auto& one : stuck)
    REQUIRE(at(one->hear(), "data.observation.text") ==
            "You stand in cell 3. The goal is cell 6, the trap is cell 0.");
}

}  // namespace
}  // namespace lodestep::harness
