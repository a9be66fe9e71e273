// The native dialect /v1: its table of routes, and which requests are soon done. Each family of routes has a
// file of its own, native_*.cc.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "harness/server/groups.h"
#include "harness/server/internal/native_parts.h"

namespace lodestep::harness {
namespace {

HttpResponse no_handshake(const Call&) {
  return native_error(400, "NO_HANDSHAKE",
                      "a WebSocket handshake is wanted here: 'Upgrade: websocket' and 'Connection: Upgrade'");
}

const std::vector<Route>& routes() {
  static const std::vector<Route> list = [] {
    std::vector<Route> all{{"GET", "/stream", &no_handshake}};
    for (const auto& family : {session_routes(), batch_routes(), group_routes(), credit_routes(),
                               recording_routes(), list_routes()})
      all.insert(all.end(), family.begin(), family.end());
    return all;
  }();
  return list;
}

}  // namespace

HttpResponse native_http(const Call& call, const std::vector<std::string>& path) {
  return dispatch(routes(), call, path, [](int status, std::string_view code, std::string_view message) {
    return native_error(status, code, message);
  });
}

bool native_is_quick(Service& service, std::string_view target, std::string_view body) {
  constexpr std::string_view kSessions = "/v1/sessions/", kGroups = "/v1/groups/", kStep = "/step";
  constexpr std::size_t kMostBytes = 65536;
  if (body.size() > kMostBytes || !target.ends_with(kStep)) return false;
  const std::string_view path = target.substr(0, target.size() - kStep.size());
  if (path.starts_with(kSessions)) {
    if (!service.steps_are_quick(1)) return false;
    const std::shared_ptr<Session> session = service.pool().peek(std::string(path.substr(kSessions.size())));
    return !session || session->busy == 0;
  }
  if (!path.starts_with(kGroups)) return false;
  const auto commas = static_cast<std::size_t>(std::count(body.begin(), body.end(), ','));
  if (!service.steps_are_quick(commas + 1)) return false;
  const std::shared_ptr<GroupSet> set = service.groups().find(std::string(path.substr(kGroups.size())));
  return !set || std::unique_lock(set->playing, std::try_to_lock).owns_lock();
}

}  // namespace lodestep::harness
