// The WebSocket /mcp: JSON-RPC alone, with a session of its own.
#include <string>
#include <utility>

#include "harness/server/internal/dialects.h"
#include "harness/server/internal/frames.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/mcp.h"

namespace lodestep::harness {
namespace {

class McpSocket final : public SocketHandler {
 public:
  McpSocket(Service& service, const HostedEnvironment& environment, std::string client)
      : service_(service), environment_(environment), client_(std::move(client)) {
    if (service_.draining()) {
      refusal_ = "the server is stopping and takes no new sessions";
      return;
    }
    Result<std::shared_ptr<Session>> opened =
        service_.pool().open({environment_, client_, environment_.max_steps});
    if (opened) {
      session_ = *opened;
      session_->attached = 1;
    } else {
      service_.metrics().count_refusal("capacity");
      refusal_ = error_reason(opened.error());
    }
  }
  ~McpSocket() override {
    if (session_) service_.pool().close(session_->id);
  }
  bool is_quick(std::string_view) const override { return false; }
  SocketReply late(std::string_view) const override {
    return {JsonObject()
                .text("jsonrpc", "2.0")
                .null("id")
                .raw("error", JsonObject()
                                  .raw("code", "-32000")
                                  .text("message", "no answer in time (limit step_time)")
                                  .end())
                .end()};
  }
  SocketReply on_message(std::string_view text) override {
    if (!session_) {
      return {JsonObject()
                  .text("jsonrpc", "2.0")
                  .null("id")
                  .raw("error", JsonObject().raw("code", "-32000").text("message", refusal_).end())
                  .end(),
              close_code::kNormal};
    }
    return {answer_rpc_text(text, {service_, environment_, client_, session_->id})};
  }

 private:
  Service& service_;
  const HostedEnvironment& environment_;
  const std::string client_;
  std::shared_ptr<Session> session_;
  std::string refusal_;
};

}  // namespace

std::unique_ptr<SocketHandler> mcp_socket(Service& service, const HostedEnvironment& environment,
                                          const std::string& client) {
  return std::make_unique<McpSocket>(service, environment, client);
}

}  // namespace lodestep::harness
