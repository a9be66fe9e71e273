// The WebSocket /v1/stream: any request of /v1 as a message, answered when it is done.
#include <rapidjson/document.h>
#include <rapidjson/encodedstream.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "harness/internal/json.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/native_parts.h"

namespace lodestep::harness {
namespace {

// Reads on until the member "path" of the outermost object has come.
struct PathFinder : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, PathFinder> {
  std::string path;
  bool Default() { return true; }
  bool StartObject() { return ++depth_, true; }
  bool StartArray() { return ++depth_, true; }
  bool EndObject(rapidjson::SizeType) { return --depth_, true; }
  bool EndArray(rapidjson::SizeType) { return --depth_, true; }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    is_path_ = depth_ == 1 && std::string_view(text, size) == "path";
    return true;
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    if (is_path_) path.assign(text, size);
    return !is_path_;
  }

 private:
  std::size_t depth_ = 0;
  bool is_path_ = false;
};

// The member "path" of a message; empty when it has none.
std::string path_of(std::string_view text) {
  rapidjson::MemoryStream bytes(text.data(), text.size());
  rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(bytes);
  rapidjson::Reader reader;
  PathFinder finder;
  (void)reader.Parse<rapidjson::kParseIterativeFlag>(stream, finder);  // broken text is refused elsewhere
  return finder.path;
}

class NativeSocket final : public SocketHandler {
 public:
  NativeSocket(Service& service, std::string client) : service_(service), client_(std::move(client)) {}

  bool is_quick(std::string_view text) const override {
    const std::size_t begin = text.find("/v1/");
    if (begin == std::string_view::npos) return false;
    return native_is_quick(service_, text.substr(begin, text.find('"', begin) - begin), text);
  }

  // Requests to one session or group keep their order, and so do batches.
  std::optional<std::string> lane(std::string_view text) const override {
    const std::optional<Target> target = parse_target(path_of(text));
    if (!target || target->path.size() < 3) return std::nullopt;
    const std::string& family = target->path[1];
    if (family == "batch") return family;
    if (family != "sessions" && family != "groups") return std::nullopt;
    return family + "/" + target->path[2];
  }

  std::size_t most_at_once() const override { return service_.limits().stream_requests; }

  SocketReply late(std::string_view text) const override {
    const Result<rapidjson::Document> message = parse_json_object(text, "message");
    const bool has_id = message && message->HasMember("id");
    return {answer(
        has_id ? to_json((*message)["id"]) : "null",
        native_error(504, "LATE",
                     "no answer in time (limit step_time), or a message before this one has none yet"))};
  }

  SocketReply on_message(std::string_view text) override {
    Result<rapidjson::Document> message = parse_json_object(text, "message");
    if (!message) return {answer("null", native_error(400, "BAD_REQUEST", error_reason(message.error())))};
    std::string id = "null";
    if (const auto member = message->FindMember("id"); member != message->MemberEnd())
      id = to_json(member->value);
    Body body(*message, {"id", "method", "path", "body"});
    const std::optional<std::string> path = body.text("path");
    const std::string method = body.text("method").value_or("POST");
    if (body.ok() && !path) body.refuse("a message needs the text member 'path', such as \"/v1/sessions\"");
    if (!body.ok()) return {answer(id, body.refusal())};
    const std::optional<Target> target = parse_target(*path);
    if (!target || target->path.empty() || target->path[0] != "v1")
      return {answer(id, native_error(404, "NOT_FOUND", "Not Found"))};
    const HttpRequest request{method, *path, "", client_};
    const Call call{service_, service_.default_environment(), request, *target, {}, body.member("body")};
    const HttpResponse response = native_http(call, {target->path.begin() + 1, target->path.end()});
    return {answer(id, response), 0, response.full};
  }

 private:
  // What is no JSON, such as the rows of a recording, comes as text.
  static std::string answer(const std::string& id, const HttpResponse& response) {
    JsonObject out(response.body.size() + id.size() + 64);
    out.raw("id", id).raw("status", std::to_string(response.status));
    if (response.content_type != "application/json") return out.text("body", response.body).end();
    return out.raw("body", response.body).end();
  }

  Service& service_;
  const std::string client_;
};

}  // namespace

std::unique_ptr<SocketHandler> native_socket(Service& service, const std::string& client) {
  return std::make_unique<NativeSocket>(service, client);
}

}  // namespace lodestep::harness
