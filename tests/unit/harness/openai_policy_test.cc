// The model policy against a small endpoint of our own: good, slow, failing, malformed, streaming.
#include <catch2/catch.hpp>

#include <atomic>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "base/text.h"
#include "envs/factory.h"
#include "harness/openai_policy.h"
#include "harness/recorder.h"
#include "harness/runner.h"
#include "harness/summary.h"
#include "tests/unit/harness/program.h"

namespace lodestep::harness {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

// A certificate for one name, signed by its own fresh key.
struct Certificate {
  std::string pem, key;
};

std::string written(const std::function<int(BIO*)>& write) {
  const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new(BIO_s_mem()), &BIO_free);
  REQUIRE(write(bio.get()) == 1);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

Certificate certificate_for(const std::string& names) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> cert(X509_new(), &X509_free);
  REQUIRE(key);
  X509_set_version(cert.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), 3600);
  X509_set_pubkey(cert.get(), key.get());
  X509_NAME* name = X509_get_subject_name(cert.get());
  const auto* own = reinterpret_cast<const unsigned char*>("lodestep test");
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, own, -1, -1, 0);
  X509_set_issuer_name(cert.get(), name);
  X509_EXTENSION* alternative = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
  REQUIRE(alternative != nullptr);
  X509_add_ext(cert.get(), alternative, -1);
  X509_EXTENSION_free(alternative);
  REQUIRE(X509_sign(cert.get(), key.get(), EVP_sha256()) > 0);
  return {written([&](BIO* bio) { return PEM_write_bio_X509(bio, cert.get()); }), written([&](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

// Answers each request with what the script says for its number (from 0); one thread per connection.
class Endpoint {
 public:
  struct Answer {
    unsigned status = 200;
    std::string body;
    std::string type = "application/json";
    int delay_ms = 0;
    bool hang_up = false;  // close without an answer
  };
  using Script = std::function<Answer(std::size_t, const std::string&)>;

  // With a certificate it speaks https.
  explicit Endpoint(Script script, const Certificate* certificate = nullptr)
      : script_(std::move(script)), acceptor_(context_, {asio::ip::make_address("127.0.0.1"), 0}) {
    if (certificate != nullptr) {
      tls_.emplace(asio::ssl::context::tls_server);
      tls_->use_certificate(asio::buffer(certificate->pem), asio::ssl::context::pem);
      tls_->use_private_key(asio::buffer(certificate->key), asio::ssl::context::pem);
    }
    accepting_ = std::thread([this] { accept(); });
  }
  ~Endpoint() {
    stopping_ = true;
    asio::io_context other;
    asio::ip::tcp::socket wake(other);
    beast::error_code ignored;
    wake.connect(acceptor_.local_endpoint(), ignored);
    accepting_.join();
    for (const auto& socket : sockets_) socket->shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    for (std::thread& thread : serving_) thread.join();
  }
  std::string url() const {
    return std::string(tls_ ? "https" : "http") +
           "://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()) + "/v1";
  }
  std::size_t requests() const { return requests_; }
  std::size_t connections() const { return sockets_.size(); }
  std::size_t most_at_once() const { return most_; }

 private:
  void accept() {
    while (true) {
      auto socket = std::make_shared<asio::ip::tcp::socket>(context_);
      acceptor_.accept(*socket);
      if (stopping_) return;
      sockets_.push_back(socket);
      serving_.emplace_back([this, socket] {
        if (!tls_) return serve(*socket, *socket);
        asio::ssl::stream<asio::ip::tcp::socket&> stream(*socket, *tls_);
        beast::error_code error;
        stream.handshake(asio::ssl::stream_base::server, error);
        if (error) {
          socket->close(error);
        } else {
          serve(stream, *socket);
        }
      });
    }
  }
  template <typename Stream>
  void serve(Stream& stream, asio::ip::tcp::socket& socket) {
    beast::flat_buffer buffer;
    while (true) {
      http::request<http::string_body> request;
      beast::error_code error;
      http::read(stream, buffer, request, error);
      if (error) return;
      const std::size_t now = ++running_;
      for (std::size_t most = most_; now > most && !most_.compare_exchange_weak(most, now);) {
      }
      const Answer answer = script_(requests_++, std::string(request.target()) + "\n" + request.body());
      for (int waited = 0; waited < answer.delay_ms && !stopping_; waited += 5)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      --running_;
      if (answer.hang_up || stopping_) {
        socket.shutdown(asio::ip::tcp::socket::shutdown_both, error);
        return;
      }
      http::response<http::string_body> response{static_cast<http::status>(answer.status), 11};
      response.set(http::field::content_type, answer.type);
      response.body() = answer.body;
      response.prepare_payload();
      http::write(stream, response, error);
      if (error) return;
    }
  }

  Script script_;
  asio::io_context context_;
  std::optional<asio::ssl::context> tls_;
  asio::ip::tcp::acceptor acceptor_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> requests_{0}, running_{0}, most_{0};
  std::vector<std::shared_ptr<asio::ip::tcp::socket>> sockets_;
  std::vector<std::thread> serving_;
  std::thread accepting_;
};

std::string says(const std::string& action) {
  return "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"<think>so</think><action>" +
         action + "</action>\"}}]}";
}

// One turn of the dummy environment, put to the policy.
Result<std::optional<Decision>> ask(const std::string& spec) {
  const Result<std::unique_ptr<Policy>> policy = make_policy("openai:" + spec);
  if (!policy) return policy.error();
  auto env = (*open_environment("dummy", {}))->make();
  const Task task{"dummy", "0", 0};
  if (Status status = env->reset(task); !status) return status.error();
  const Situation now = situation_of(*env);
  const std::vector<StepRecord> history;
  return (*policy)->act({*env, task, now, history, 20, Stream({1, 2})});
}

TEST_CASE("a good answer is read, and the request is what an endpoint expects") {
  std::string seen;
  Endpoint endpoint([&](std::size_t, const std::string& request) {
    seen = request;
    return Endpoint::Answer{200, says("Right")};
  });
  const auto action = ask(endpoint.url() + ",model=small,temperature=0.4");
  REQUIRE(action.ok());
  CHECK((*action)->action == "right");
  CHECK(seen.substr(0, seen.find('\n')) == "/v1/chat/completions");
  CHECK(seen.find("\"model\":\"small\"") != std::string::npos);
  CHECK(seen.find("\"temperature\":0.4") != std::string::npos);
  CHECK(seen.find("You stand in cell") != std::string::npos);
}

TEST_CASE("failures that may pass are tried again, others are reported at once") {
  Endpoint endpoint([](std::size_t i, const std::string&) {
    if (i == 0) return Endpoint::Answer{503, "busy"};
    if (i == 1) return Endpoint::Answer{200, "", "", 0, true};
    if (i == 2) return Endpoint::Answer{200, "{\"choices\":"};
    if (i == 3) return Endpoint::Answer{200, "{\"error\":\"none\"}"};
    return Endpoint::Answer{200, says("left")};
  });
  const auto action = ask(endpoint.url() + ",backoff=0.01,retries=6");
  REQUIRE(action.ok());
  CHECK((*action)->action == "left");
  CHECK(endpoint.requests() == 5);

  Endpoint refusing([](std::size_t, const std::string&) { return Endpoint::Answer{401, "no key"}; });
  const auto refused = ask(refusing.url() + ",backoff=0.01");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kUnavailable);
  CHECK(refused.error().message == "the endpoint answered 401: no key");
  CHECK(refusing.requests() == 1);
}

TEST_CASE("a slow answer is given up at the time limit") {
  Endpoint endpoint([](std::size_t, const std::string&) {
    return Endpoint::Answer{200, says("left"), "application/json", 60000};
  });
  const auto action = ask(endpoint.url() + ",timeout=0.1,retries=1,backoff=0.01");
  REQUIRE_FALSE(action.ok());
  CHECK(action.error().message.find("timed out") != std::string::npos);
  CHECK(action.error().message.find("(2 tries)") != std::string::npos);
  CHECK(endpoint.requests() == 2);
}

TEST_CASE("answers in pieces are put together; a stream that breaks off is no answer") {
  const std::string chunks =
      "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"content\":\"<think></think><act\"}}]}\n\n"
      ": keep-alive\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"ion>right</action>\"}}]}\n\n";
  Endpoint endpoint([&](std::size_t, const std::string&) {
    return Endpoint::Answer{200, chunks + "data: [DONE]\n\n", "text/event-stream"};
  });
  const auto action = ask(endpoint.url() + ",stream=true");
  REQUIRE(action.ok());
  CHECK((*action)->action == "right");
  CHECK_FALSE(read_completion(chunks, true).ok());
  CHECK_FALSE(read_completion("data: {nonsense\n", true).ok());
  CHECK_FALSE(read_completion("", false).ok());
}

TEST_CASE("an encrypted endpoint is believed only with a certificate that is trusted and names it") {
  const auto answer = [](std::size_t, const std::string&) { return Endpoint::Answer{200, says("right")}; };
  const Certificate fitting = certificate_for("IP:127.0.0.1");
  const Certificate foreign = certificate_for("DNS:elsewhere.example");
  const test::TemporaryFolder folder;
  std::ofstream(folder / "fitting.pem") << fitting.pem;
  std::ofstream(folder / "foreign.pem") << foreign.pem;

  Endpoint endpoint(answer, &fitting);
  const auto trusted = ask(endpoint.url() + ",ca_file=" + (folder / "fitting.pem"));
  if (!trusted) FAIL(to_string(trusted.error()));
  CHECK((*trusted)->action == "right");
  CHECK(endpoint.requests() == 1);

  const auto unknown = ask(endpoint.url() + ",retries=5,backoff=30");  // refused at once, not tried again
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().message.find("certificate is not trusted: ") != std::string::npos);
  CHECK(unknown.error().hint.find("ca_file") == 0);
  CHECK(endpoint.requests() == 1);

  Endpoint impostor(answer, &foreign);
  const auto elsewhere = ask(impostor.url() + ",ca_file=" + (folder / "foreign.pem"));
  REQUIRE_FALSE(elsewhere.ok());
  CHECK(elsewhere.error().message.find("certificate is not trusted") != std::string::npos);
  CHECK(impostor.requests() == 0);

  CHECK(make_policy("openai:https://localhost,ca_file=/no/such/file")
            .error()
            .message.find("cannot read certificates") == 0);
}

TEST_CASE("the form of every reply is recorded, beside whether the action was understood") {
  Endpoint endpoint([](std::size_t i, const std::string&) {
    if (i == 0) return Endpoint::Answer{200, says("jump")};  // the form is right, the action is not
    if (i == 1)
      return Endpoint::Answer{200, "{\"choices\":[{\"message\":{\"content\":\"<action>left</action>\"}}]}"};
    return Endpoint::Answer{200, says("right")};
  });
  const auto policy = make_policy("openai:" + endpoint.url() + ",concurrency=1");
  REQUIRE(policy.ok());
  RunPlan plan;
  plan.factory = *open_environment("dummy", {});
  plan.tasks = {"0"};
  plan.group_size = 1;
  plan.max_steps = 3;
  const test::TemporaryFolder folder;
  auto recorder = create_recording(folder / "run.db", {{"env", "dummy"}});
  REQUIRE(recorder.ok());
  REQUIRE(run_groups(plan, **policy, **recorder, {}).ok());
  REQUIRE((*recorder)->flush().ok());
  recorder->reset();
  const auto recording = read_recording(folder / "run.db");
  REQUIRE(recording.ok());
  std::string seen;
  for (const StepRecord& step : recording->episodes.at(0).steps) {
    seen += step.action + (step.valid ? " understood " : " odd ") +
            (!step.format_valid   ? "unknown; "
             : *step.format_valid ? "good form; "
                                  : "bad form; ");
  }
  CHECK(seen == "jump odd good form; left understood bad form; right understood good form; ");
  const Summary summary = summarize(*recording);
  CHECK(summary.replies == 3);
  CHECK(summary.malformed == 1);
}

TEST_CASE("nobody listens: one clear message") {
  const auto action = ask("http://127.0.0.1:9,retries=0");
  REQUIRE_FALSE(action.ok());
  CHECK(action.error().message.find("connecting") != std::string::npos);
  CHECK(action.error().where == "127.0.0.1:9");
}

TEST_CASE("odd words are refused with what is known") {
  CHECK(make_policy("openai:ftp://x").error().message.find("not an endpoint's URL") == 0);
  const auto unknown = make_policy("openai:http://x,modle=a");
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().message.find("modle") != std::string::npos);
  CHECK_FALSE(make_policy("openai:http://x,timeout=-1").ok());
  CHECK_FALSE(make_policy("openai:http://x,prompt_template=/no/such/file").ok());
}

TEST_CASE("a run keeps many requests in flight; an endpoint's failure fails that episode alone") {
  Endpoint endpoint([](std::size_t, const std::string& request) {
    if (request.find("cell 4") != std::string::npos) return Endpoint::Answer{400, "cannot"};
    return Endpoint::Answer{200, says("right"), "application/json", 20};
  });
  const auto policy = make_policy("openai:" + endpoint.url() + ",concurrency=16,retries=0");
  REQUIRE(policy.ok());
  RunPlan plan;
  plan.factory = *open_environment("dummy", {});
  plan.tasks = {"0", "1"};  // one step from the goal, and two
  plan.group_size = 8;
  plan.max_steps = 5;
  MemoryRecorder recorder({});
  REQUIRE(run_groups(plan, **policy, recorder, {}).ok());
  const Recording recording = recorder.take();
  REQUIRE(recording.episodes.size() == 16);
  for (const EpisodeRecord& episode : recording.episodes) {
    const bool failing = episode.task.id == "1";  // starts in cell 4
    CHECK((episode.status == EpisodeStatus::kFailed) == failing);
    CHECK((episode.outcome == Outcome::kSuccess) == !failing);
  }
  CHECK(endpoint.most_at_once() > 4);
}

}  // namespace
}  // namespace lodestep::harness
