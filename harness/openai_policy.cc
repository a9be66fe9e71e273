#include "harness/openai_policy.h"

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include "base/options.h"
#include "base/text.h"
#include "harness/internal/json.h"
#include "harness/prompt.h"

namespace lodestep::harness {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostReplyBytes = 32U << 20;

struct Endpoint {
  bool secure = false;
  std::string host, port, target;
};

Result<Endpoint> parse_url(const std::string& url) {
  const Error bad{ErrorCode::kInvalidArgument, "not an endpoint's URL: '" + url + "'",
                  "--policy openai:", "for example openai:http://localhost:8000/v1,model=NAME"};
  Endpoint endpoint;
  std::string_view rest = url;
  const auto begins = [&](std::string_view word) {
    if (rest.substr(0, word.size()) != word) return false;
    rest.remove_prefix(word.size());
    return true;
  };
  if (begins("https://")) {
    endpoint.secure = true;
  } else if (!begins("http://")) {
    return bad;
  }
  const std::size_t slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  endpoint.target = slash == std::string_view::npos ? "" : std::string(rest.substr(slash));
  while (!endpoint.target.empty() && endpoint.target.back() == '/') endpoint.target.pop_back();
  constexpr std::string_view kChat = "/chat/completions";
  if (endpoint.target.size() < kChat.size() ||
      endpoint.target.substr(endpoint.target.size() - kChat.size()) != kChat) {
    if (endpoint.target.empty()) endpoint.target = "/v1";
    endpoint.target += kChat;
  }
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  endpoint.port = colon == std::string_view::npos ? (endpoint.secure ? "443" : "80")
                                                  : std::string(authority.substr(colon + 1));
  endpoint.host = std::string(authority.substr(0, colon));
  if (endpoint.host.size() > 2 && endpoint.host.front() == '[')
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  const auto port = parse_uint(endpoint.port);
  if (endpoint.host.empty() || !port || *port == 0 || *port > 65535) return bad;
  return endpoint;
}

struct Reply {
  unsigned status = 0;
  std::string body;
  bool event_stream = false;
  double retry_after = 0;  // seconds the server asks for
};

// One kept-alive connection. Every operation ends by the deadline of its request.
class Connection {
 public:
  Connection(const Endpoint& endpoint, asio::ssl::context& tls)
      : endpoint_(endpoint), stream_(context_, tls) {}

  Result<Reply> post(const std::string& body, const std::string& key, Clock::time_point deadline) {
    deadline_ = deadline;
    if (!open_) {
      if (Status status = connect(); !status) return status.error();
    }
    http::request<http::string_body> request{http::verb::post, endpoint_.target, 11};
    request.set(http::field::host, host_header());
    request.set(http::field::content_type, "application/json");
    request.set(http::field::accept, "application/json, text/event-stream");
    request.set(http::field::user_agent, "lodestep");
    if (!key.empty()) request.set(http::field::authorization, "Bearer " + key);
    request.body() = body;
    request.prepare_payload();
    Status sent = run("sending", [&](auto done) {
      const auto tell = [done](beast::error_code error, std::size_t) { done(error); };
      if (endpoint_.secure) {
        http::async_write(stream_, request, tell);
      } else {
        http::async_write(stream_.next_layer(), request, tell);
      }
    });
    if (!sent) return drop(sent);
    http::response_parser<http::string_body> parser;
    parser.body_limit(kMostReplyBytes);
    Status read = run("waiting for the answer", [&](auto done) {
      const auto tell = [done](beast::error_code error, std::size_t) { done(error); };
      if (endpoint_.secure) {
        http::async_read(stream_, buffer_, parser, tell);
      } else {
        http::async_read(stream_.next_layer(), buffer_, parser, tell);
      }
    });
    if (!read) return drop(read);
    used_ = true;
    auto response = parser.release();
    if (!response.keep_alive()) close();
    Reply reply;
    reply.status = response.result_int();
    reply.event_stream =
        response[http::field::content_type].find("text/event-stream") != beast::string_view::npos;
    const auto after = response[http::field::retry_after];
    reply.retry_after = parse_double({after.data(), after.size()}).value_or(0);
    reply.body = std::move(response.body());
    return reply;
  }

  bool open() const { return open_; }
  bool used() const { return used_; }  // it has carried a request before: a failure may just be its age

 private:
  // Starts an operation and waits for it until the deadline; then it is cancelled.
  template <typename Start>
  Status run(const char* doing, Start start) {
    beast::error_code result = asio::error::would_block;
    start([&result](beast::error_code error) { result = error; });
    context_.restart();
    context_.run_until(deadline_);
    if (!context_.stopped()) {
      beast::get_lowest_layer(stream_).cancel();
      resolver_.cancel();
      close();
      context_.run();
      return Error{ErrorCode::kUnavailable, std::string("timed out while ") + doing, where(), ""};
    }
    if (result.category() == asio::error::get_ssl_category() &&
        ERR_GET_REASON(static_cast<unsigned long>(result.value())) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
      return Error{ErrorCode::kInvalidArgument,
                   std::string("the endpoint's certificate is not trusted: ") +
                       X509_verify_cert_error_string(SSL_get_verify_result(stream_.native_handle())),
                   where(), "ca_file=FILE names the certificates to trust beside the system's"};
    }
    if (result)
      return Error{ErrorCode::kUnavailable, std::string("failed while ") + doing + ": " + result.message(),
                   where(), ""};
    return {};
  }

  Status connect() {
    asio::ip::tcp::resolver::results_type addresses;
    Status status = run("looking up the host", [&](auto done) {
      resolver_.async_resolve(
          endpoint_.host, endpoint_.port,
          [&addresses, done](beast::error_code error, asio::ip::tcp::resolver::results_type found) {
            addresses = std::move(found);
            done(error);
          });
    });
    if (!status) return status;
    status = run("connecting", [&](auto done) {
      beast::get_lowest_layer(stream_).async_connect(
          addresses, [done](beast::error_code error, const asio::ip::tcp::endpoint&) { done(error); });
    });
    if (!status) return status;
    if (endpoint_.secure) {
      SSL_set_tlsext_host_name(stream_.native_handle(), endpoint_.host.c_str());
      stream_.set_verify_callback(asio::ssl::host_name_verification(endpoint_.host));
      status = run("agreeing on encryption", [&](auto done) {
        stream_.async_handshake(asio::ssl::stream_base::client,
                                [done](beast::error_code error) { done(error); });
      });
      if (!status) return status;
    }
    open_ = true;
    return {};
  }

  Error drop(const Status& status) {
    close();
    return status.error();
  }

  void close() {
    open_ = false;
    beast::error_code ignored;
    beast::get_lowest_layer(stream_).socket().close(ignored);
  }

  std::string where() const { return endpoint_.host + ":" + endpoint_.port; }
  std::string host_header() const {
    const bool v6 = endpoint_.host.find(':') != std::string::npos;
    return (v6 ? "[" + endpoint_.host + "]" : endpoint_.host) +
           (endpoint_.port == (endpoint_.secure ? "443" : "80") ? "" : ":" + endpoint_.port);
  }

  const Endpoint& endpoint_;
  asio::io_context context_;
  asio::ip::tcp::resolver resolver_{context_};
  beast::ssl_stream<beast::tcp_stream> stream_;
  beast::flat_buffer buffer_;
  Clock::time_point deadline_;
  bool open_ = false;
  bool used_ = false;
};

const std::vector<OptionSpec>& option_specs() {
  static const std::vector<OptionSpec> specs{
      {"model", "", "name the endpoint knows the model by", {}},
      {"temperature", "1", "of sampling", {}},
      {"top_p", "", "nucleus of sampling", {}},
      {"max_tokens", "512", "longest answer", {}},
      {"timeout", "120", "seconds for one try", {}},
      {"retries", "4", "further tries after a failure that may pass", {}},
      {"backoff", "0.5", "seconds before the first retry, doubled each time", {}},
      {"concurrency", "64", "requests in flight", {}},
      {"history", "2", "past turns shown in the prompt", {}},
      {"prompt_template", "", "file with the words of the prompt", {}},
      {"api_key_env", "OPENAI_API_KEY", "environment variable with the key", {}},
      {"ca_file", "", "file with certificates to trust beside the system's, for https", {}},
      {"stream", "false", "ask for the answer in pieces", {}},
  };
  return specs;
}

struct Request {
  std::string model, key;
  double temperature = 1, timeout = 120, backoff = 0.5;
  std::optional<double> top_p;
  std::int64_t max_tokens = 512, retries = 4, concurrency = 64, history = 2;
  bool stream = false;
};

class OpenAiPolicy final : public Policy {
 public:
  OpenAiPolicy(Endpoint endpoint, Request request, std::optional<PromptTemplate> words,
               asio::ssl::context tls)
      : endpoint_(std::move(endpoint)),
        request_(std::move(request)),
        words_(std::move(words)),
        tls_(std::move(tls)) {}

  std::size_t concurrency() const override { return static_cast<std::size_t>(request_.concurrency); }

  Result<std::optional<Decision>> act(const Turn& turn) const override {
    const PromptProfile& profile = prompt_profile(turn.task.env);
    PromptStyle style = profile.style;
    style.history_length = static_cast<std::size_t>(request_.history);
    const std::string prompt =
        format_prompt(words_ ? *words_ : profile.words, style, prompt_material(turn, style));
    Stream dice = turn.dice;
    const Result<std::string> text = complete(prompt, dice.next() >> 33);
    if (!text) return text.error();
    Answer answer = parse_answer(*text, profile.answer);
    return std::optional<Decision>(Decision(std::move(answer.action), answer.valid));
  }

 private:
  std::string body(const std::string& prompt, std::uint64_t seed) const {
    std::string out = "{\"model\":" + json_quote(request_.model) +
                      ",\"messages\":[{\"role\":\"user\",\"content\":" + json_quote(prompt) +
                      "}],\"temperature\":" + json_number(request_.temperature) +
                      ",\"max_tokens\":" + std::to_string(request_.max_tokens) +
                      ",\"seed\":" + std::to_string(seed);
    if (request_.top_p) out += ",\"top_p\":" + json_number(*request_.top_p);
    return out + ",\"stream\":" + (request_.stream ? "true" : "false") + "}";
  }

  // Tries until an answer comes, the failure is one that will not pass, or the tries are used up.
  Result<std::string> complete(const std::string& prompt, std::uint64_t seed) const {
    const std::string text = body(prompt, seed);
    Error last;
    double wait = request_.backoff;
    for (std::int64_t attempt = 0; attempt <= request_.retries; ++attempt) {
      if (attempt > 0) {
        std::this_thread::sleep_for(std::chrono::duration<double>(std::min(wait, 60.0)));
        wait = std::max(request_.backoff, wait * 2);
      }
      Result<Reply> reply = exchange(text);
      if (!reply) {
        last = reply.error();
        if (last.code != ErrorCode::kUnavailable) return last;  // it will not pass
        continue;
      }
      const bool may_pass = reply->status == 408 || reply->status == 409 || reply->status == 425 ||
                            reply->status == 429 || reply->status >= 500;
      if (reply->status != 200) {
        last = Error{ErrorCode::kUnavailable,
                     "the endpoint answered " + std::to_string(reply->status) + ": " + shortened(reply->body),
                     endpoint_.host + ":" + endpoint_.port, ""};
        if (!may_pass) return last;
        wait = std::max(wait, reply->retry_after);
        continue;
      }
      Result<std::string> content = read_completion(reply->body, reply->event_stream);
      if (content) return content;
      last = content.error();
    }
    last.message += " (" + std::to_string(request_.retries + 1) + " tries)";
    return last;
  }

  static std::string shortened(const std::string& text) {
    std::string out = text.substr(0, 200);
    std::replace_if(
        out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    return out;
  }

  Result<Reply> exchange(const std::string& text) const {
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                             std::chrono::duration<double>(request_.timeout));
    while (true) {
      std::unique_ptr<Connection> connection = borrow();
      const bool aged = connection->used();
      Result<Reply> reply = connection->post(text, request_.key, deadline);
      if (connection->open()) give_back(std::move(connection));
      // The server may have closed a kept connection in the meantime: a fresh one decides.
      if (reply || !aged || Clock::now() >= deadline) return reply;
    }
  }

  std::unique_ptr<Connection> borrow() const {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Connection>(endpoint_, tls_);
    std::unique_ptr<Connection> connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
  }

  void give_back(std::unique_ptr<Connection> connection) const {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
  }

  Endpoint endpoint_;
  Request request_;
  std::optional<PromptTemplate> words_;
  mutable asio::ssl::context tls_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Connection>> idle_;
};

// The piece of text in one chunk or one whole answer; nullptr when there is no such place.
const rapidjson::Value* choice_part(const rapidjson::Value& json, const char* part) {
  if (!json.IsObject()) return nullptr;
  const auto choices = json.FindMember("choices");
  if (choices == json.MemberEnd() || !choices->value.IsArray() || choices->value.Empty() ||
      !choices->value[0].IsObject())
    return nullptr;
  const auto message = choices->value[0].FindMember(part);
  if (message == choices->value[0].MemberEnd() || !message->value.IsObject()) return nullptr;
  return &message->value;
}

}  // namespace

Result<std::string> read_completion(std::string_view body, bool event_stream) {
  const auto bad = [](const std::string& what) {
    return Error{ErrorCode::kUnavailable, "the endpoint's answer is not a chat completion: " + what, "", ""};
  };
  if (!event_stream) {
    const Result<rapidjson::Document> json = parse_json(body, "the answer");
    if (!json) return bad(to_string(json.error()));
    const rapidjson::Value* message = choice_part(*json, "message");
    if (message == nullptr) return bad("no choices[0].message");
    const auto content = message->FindMember("content");
    if (content == message->MemberEnd() || (!content->value.IsString() && !content->value.IsNull()))
      return bad("no text in choices[0].message.content");
    return content->value.IsString()
               ? std::string(content->value.GetString(), content->value.GetStringLength())
               : std::string();
  }
  std::string text;
  bool any = false;
  bool finished = false;
  for (std::string_view line : split(body, '\n')) {
    line = trim(line);
    if (line.substr(0, 5) != "data:") continue;
    line = trim(line.substr(5));
    if (line == "[DONE]") {
      finished = true;
      break;
    }
    const Result<rapidjson::Document> json = parse_json(line, "a chunk");
    if (!json) return bad(to_string(json.error()));
    const rapidjson::Value* delta = choice_part(*json, "delta");
    if (delta == nullptr) continue;  // usage and the like
    any = true;
    const auto content = delta->FindMember("content");
    if (content != delta->MemberEnd() && content->value.IsString())
      text.append(content->value.GetString(), content->value.GetStringLength());
  }
  if (!any) return bad("a stream without chunks");
  if (!finished) return bad("the stream was cut off");
  return text;
}

Result<std::unique_ptr<Policy>> make_openai_policy(const std::string& spec) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(spec, ',')) parts.emplace_back(part);
  Result<Endpoint> endpoint = parse_url(parts[0]);
  if (!endpoint) return endpoint.error();
  Settings settings;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    Result<std::pair<std::string, std::string>> setting = parse_setting(parts[i]);
    if (!setting) return setting.error();
    settings.push_back(std::move(*setting));
  }
  const Result<Options> options = Options::parse("policy openai", option_specs(), settings);
  if (!options) return options.error();
  Request request;
  request.model = options->text("model");
  const struct {
    const char* name;
    double low, high;
    double* target;
  } numbers[] = {{"temperature", 0, 10, &request.temperature},
                 {"timeout", 0.01, 86400, &request.timeout},
                 {"backoff", 0, 3600, &request.backoff}};
  for (const auto& number : numbers) {
    const Result<double> value = options->number(number.name, number.low, number.high);
    if (!value) return value.error();
    *number.target = *value;
  }
  const struct {
    const char* name;
    std::int64_t low, high;
    std::int64_t* target;
  } counts[] = {{"max_tokens", 1, 1000000, &request.max_tokens},
                {"retries", 0, 100, &request.retries},
                {"concurrency", 1, 4096, &request.concurrency},
                {"history", 0, 1000, &request.history}};
  for (const auto& count : counts) {
    const Result<std::int64_t> value = options->integer(count.name, count.low, count.high);
    if (!value) return value.error();
    *count.target = *value;
  }
  if (!options->text("top_p").empty()) {
    const Result<double> top_p = options->number("top_p", 0, 1);
    if (!top_p) return top_p.error();
    request.top_p = *top_p;
  }
  const Result<bool> stream = options->flag("stream");
  if (!stream) return stream.error();
  request.stream = *stream;
  if (const char* key = std::getenv(options->text("api_key_env").c_str())) request.key = key;
  std::optional<PromptTemplate> words;
  if (const std::string& path = options->text("prompt_template"); !path.empty()) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Error{ErrorCode::kNotFound, "cannot read the prompt template", path, ""};
    std::ostringstream text;
    text << file.rdbuf();
    Result<PromptTemplate> parsed = parse_prompt_template(text.str(), path);
    if (!parsed) return parsed.error();
    words = std::move(*parsed);
  }
  asio::ssl::context tls(asio::ssl::context::tls_client);
  tls.set_verify_mode(asio::ssl::verify_peer);
  beast::error_code failed;
  tls.set_default_verify_paths(failed);  // a system without certificates trusts nobody
  if (const std::string& path = options->text("ca_file"); !path.empty()) {
    tls.load_verify_file(path, failed);
    if (failed)
      return Error{ErrorCode::kNotFound, "cannot read certificates: " + failed.message(), path,
                   "ca_file takes a file in PEM form"};
  }
  return std::unique_ptr<Policy>(std::make_unique<OpenAiPolicy>(std::move(*endpoint), std::move(request),
                                                                std::move(words), std::move(tls)));
}

}  // namespace lodestep::harness
