// OpenEnv's WebSocket /ws: one session, its messages and error codes.
#include <rapidjson/document.h>

#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "harness/internal/json.h"
#include "harness/server/internal/frames.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/mcp.h"
#include "harness/server/internal/openenv_parts.h"
#include "harness/server/internal/situation.h"

namespace lodestep::harness {
namespace {

std::string socket_error(std::string_view code, std::string_view message, const std::string& extra = {}) {
  JsonObject data;
  data.text("code", code).text("message", message);
  std::string body = data.end();
  if (!extra.empty()) body.insert(body.size() - 1, "," + extra);
  return JsonObject().text("type", "error").raw("data", body).end();
}

std::string validation_error(const Problems& problems, const std::vector<std::string>& location) {
  std::string message = "Invalid message";
  if (!problems.empty()) {
    message +=
        ": " + (problems[0].field.empty() ? std::string() : problems[0].field + ": ") + problems[0].message;
  }
  return socket_error("VALIDATION_ERROR", message, "\"errors\":" + problems_json(problems, location));
}

class OpenEnvSocket final : public SocketHandler {
 public:
  OpenEnvSocket(Service& service, const HostedEnvironment& environment, std::string client,
                const std::string& session_id)
      : service_(service),
        environment_(environment),
        counters_(service.metrics().of(environment.name)),
        client_(std::move(client)) {
    if (session_id.empty()) {
      begin();
    } else {
      attach(session_id);
    }
  }

  ~OpenEnvSocket() override {
    if (!session_) return;
    if (owned_) {
      service_.pool().close(session_->id);
      return;
    }
    session_->last_used = service_.pool().clock().milliseconds();
    session_->attached = 0;
    if (session_->closing) service_.pool().close(session_->id);
  }

  bool is_quick(std::string_view text) const override {
    const std::string_view head = text.substr(0, 80);
    return service_.steps_are_quick(counters_) && text.size() < 65536 && (!session_ || session_->busy == 0) &&
           (head.find("\"step\"") != std::string_view::npos ||
            head.find("\"state\"") != std::string_view::npos);
  }

  SocketReply greeting() override {
    return speaks_first_ ? SocketReply{refusal_, close_code::kNormal} : SocketReply{};
  }

  SocketReply late(std::string_view text) const override {
    const Result<rapidjson::Document> message = parse_json(text, "");
    if (message && message->IsObject() && text_member(*message, "type") == "close")
      return {"", close_code::kNormal};
    return {socket_error("EXECUTION_ERROR",
                         "no answer in time: the environment takes longer than " +
                             json_number(static_cast<double>(service_.limits().step_milliseconds) / 1000) +
                             " s (limit step_time)")};
  }

  void on_dropped() override { lost_ = true; }

  SocketReply on_message(std::string_view text) override {
    // A full server says so late, in answer to the first message: older clients would lose it.
    if (full_ && !session_) begin();  // one may be free by now
    if (!session_) return {refusal_, close_code::kNormal, full_};
    alignas(std::max_align_t) char pool[2048];  // enough for a step: no memory from the heap
    rapidjson::MemoryPoolAllocator<> allocator(pool, sizeof pool);
    rapidjson::Document message(&allocator, 256);
    if (Status parsed = parse_json(text, "", message); !parsed) {
      return {socket_error("INVALID_JSON", "Invalid JSON: " + to_string(parsed.error()))};
    }
    if (!message.IsObject())
      return {socket_error("SESSION_ERROR", "a message is a JSON object"), close_code::kNormal};
    const std::optional<std::string> type = text_member(message, "type");
    if (type == "step") return {step(message)};
    if (type == "reset") return {reset(message)};
    if (type == "state") return {state(message)};
    if (type == "mcp") return {rpc(message)};
    if (type == "close") {
      if (const Problems extra = envelope(message, false); !extra.empty())
        return {validation_error(extra, {})};
      return {"", close_code::kNormal};
    }
    return {socket_error("UNKNOWN_TYPE", "Unknown message type: " + type.value_or("(none)").substr(0, 100) +
                                             "; known: reset, step, state, mcp, close")};
  }

 private:
  void begin() {
    full_ = false;
    if (service_.draining()) {
      refuse("the server is stopping and takes no new sessions");
      return;
    }
    try {
      Result<std::shared_ptr<Session>> opened =
          service_.pool().open({environment_, client_, environment_.max_steps});
      if (opened) {
        session_ = *opened;
        session_->attached = 1;
        owned_ = true;
        return;
      }
      full_ = server_is_full(opened.error());
      service_.metrics().count_refusal("capacity");
      const std::string numbers = capacity_json(service_, opened.error());
      refusal_ = socket_error("CAPACITY_REACHED", error_reason(opened.error()),
                              numbers.substr(1, numbers.size() - 2));
    } catch (const std::exception& error) {
      refusal_ = socket_error("FACTORY_ERROR", error.what());
    }
  }

  void attach(const std::string& session_id) {
    std::shared_ptr<Session> found;
    if (is_session_id(session_id)) found = service_.pool().peek(session_id);
    if (!found || &found->environment != &environment_) {
      return refuse("Unknown session_id: " + session_id.substr(0, 100));
    }
    int none = 0;
    if (!found->attached.compare_exchange_strong(none, 1)) {
      return refuse("session " + found->id + " already has a WebSocket");
    }
    if (found->closing || found->closed) {
      found->attached = 0;
      return refuse("Unknown session_id: " + session_id.substr(0, 100));
    }
    session_ = std::move(found);
  }

  // Only newer clients name a session; they read an error that comes unasked.
  void refuse(const std::string& why) {
    refusal_ = socket_error("SESSION_ERROR", why);
    speaks_first_ = true;
  }

  // The envelope's problems: only type and data may stand in it.
  static Problems envelope(const rapidjson::Value& message, bool takes_data) {
    Problems problems;
    for (const auto& [name, value] : message.GetObject()) {
      const std::string_view key(name.GetString(), name.GetStringLength());
      if (key == "type" || (takes_data && key == "data")) continue;
      problems.push_back({"extra_forbidden", std::string(key.substr(0, 100)),
                          "Extra inputs are not permitted", shown_input(value)});
    }
    return problems;
  }

  static const rapidjson::Value* data_of(const rapidjson::Value& message, bool required, Problems& problems) {
    const auto data = message.FindMember("data");
    if (data == message.MemberEnd()) {
      if (required) problems.push_back({"missing", "data", "Field required", shown_input(message)});
      return nullptr;
    }
    if (data->value.IsObject()) return &data->value;
    problems.push_back({"dict_type", "data", "Input should be a valid dictionary", shown_input(data->value)});
    return nullptr;
  }

  static std::string observation(std::string_view result) {
    constexpr std::string_view kHead = R"({"type":"observation","data":)";
    std::string out;
    out.reserve(kHead.size() + result.size() + 1);
    out += kHead;
    out += result;
    out += '}';
    return out;
  }

  std::string step(const rapidjson::Value& message) {
    Problems problems = envelope(message, true);
    const rapidjson::Value* data = data_of(message, true, problems);
    if (!problems.empty()) return validation_error(problems, {});
    Action action;
    problems = read_action(*data, action);
    if (!problems.empty()) return validation_error(problems, {"data"});
    const Lease lease(session_, service_.pool().clock());
    if (!lease) return busy();
    if (lease->closed) return socket_error("EXECUTION_ERROR", "the session is closed");
    if (lost_)
      return socket_error("EXECUTION_ERROR",
                          "an answer came too late and the episode was lost with it: send a reset first");
    const Result<std::string> result = play_action(service_, *lease, action);
    return result ? observation(*result) : socket_error("EXECUTION_ERROR", error_reason(result.error()));
  }

  std::string reset(const rapidjson::Value& message) {
    Problems problems = envelope(message, true);
    const rapidjson::Value* data = data_of(message, false, problems);
    if (!problems.empty()) return validation_error(problems, {});
    TaskChoice choice;
    std::optional<std::string> episode_id;
    if (data != nullptr) {
      problems = read_row(*data, choice);
      check_name(*data, "episode_id", service_.limits().name_bytes, episode_id, problems);
      if (!problems.empty()) return validation_error(problems, {"data"});
    }
    const Lease lease(session_, service_.pool().clock());
    if (!lease) return busy();
    if (lease->closed) return socket_error("EXECUTION_ERROR", "the session is closed");
    const Result<StepResult> first = service_.reset(*lease, choice, episode_id);
    if (first) lost_ = false;
    return first ? observation(result_json(*lease, *first))
                 : socket_error("EXECUTION_ERROR", error_reason(first.error()));
  }

  std::string state(const rapidjson::Value& message) {
    if (const Problems extra = envelope(message, false); !extra.empty()) return validation_error(extra, {});
    const Lease lease(session_, service_.pool().clock());
    if (!lease) return busy();
    return JsonObject().text("type", "state").raw("data", state_json(*lease)).end();
  }

  std::string rpc(const rapidjson::Value& message) {
    Problems problems = envelope(message, true);
    const rapidjson::Value* data = data_of(message, true, problems);
    if (!problems.empty()) return validation_error(problems, {});
    return JsonObject()
        .text("type", "mcp")
        .raw("data", answer_rpc(*data, {service_, environment_, client_, session_->id}))
        .end();
  }

  static std::string busy() {
    return socket_error("EXECUTION_ERROR", "another request is playing the session");
  }

  Service& service_;
  const HostedEnvironment& environment_;
  const EnvironmentCounters& counters_;
  const std::string client_;
  std::shared_ptr<Session> session_;
  bool owned_ = false;
  bool lost_ = false;          // the episode went on without its player
  bool full_ = false;          // no session was free
  bool speaks_first_ = false;  // the refusal does not wait for a message
  std::string refusal_;
};

}  // namespace

std::unique_ptr<SocketHandler> openenv_socket(Service& service, const HostedEnvironment& environment,
                                              const std::string& client, const std::string& session_id) {
  return std::make_unique<OpenEnvSocket>(service, environment, client, session_id);
}

}  // namespace lodestep::harness
