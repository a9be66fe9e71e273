// The AgentGym dialect: one small HTTP interface per family of clients, each in a file of its own,
// agentgym_*.cc.
#include <string>
#include <vector>

#include "harness/server/internal/agentgym_parts.h"

namespace lodestep::harness {

// Another status than 200 would make these clients send the step again.
HttpResponse agentgym_late(std::string_view message) { return told(message); }

HttpResponse agentgym_http(const Call& call, const std::vector<std::string>& path) {
  const std::vector<Route>& routes = call.environment.name == "alfworld"  ? agentgym_alfworld_routes()
                                     : call.environment.name == "webshop" ? agentgym_webshop_routes()
                                                                          : agentgym_game_routes();
  return dispatch(routes, call, path, &agentgym_error);
}

}  // namespace lodestep::harness
