// The OpenEnv dialect: its table of routes. Each family of routes has a file of its own, openenv_*.cc.
#include <string>
#include <vector>

#include "harness/server/internal/openenv_parts.h"

namespace lodestep::harness {
namespace {

std::vector<Route> all_routes(bool web) {
  std::vector<Route> all = openenv_play_routes();
  for (const Route& route : openenv_task_routes()) all.push_back(route);
  if (!web) return all;
  for (const Route& route : openenv_web_routes()) all.push_back(route);
  return all;
}

const std::vector<Route>& routes(bool web) {
  static const std::vector<Route> usual = all_routes(false), with_web = all_routes(true);
  return web ? with_web : usual;
}

}  // namespace

HttpResponse openenv_http(const Call& call, const std::vector<std::string>& path) {
  return dispatch(routes(call.service.config().web), call, path, &openenv_error);
}

HttpResponse openenv_late(std::string_view message, bool by_client) {
  return openenv_error(by_client ? 408 : 504, "", message);
}

}  // namespace lodestep::harness
