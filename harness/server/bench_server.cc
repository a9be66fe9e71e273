// The benchmark `server`: steps over WebSocket, group steps in one message, memory of idle sessions.
#include <fmt/format.h>

#include "base/text.h"
#include "harness/internal/benchmarks.h"
#include "harness/server/load.h"

namespace lodestep::harness {
namespace {

constexpr std::size_t kMembers = 128;
constexpr std::size_t kIdle = 10000;

// A message of /v1/stream that steps all members of the group by turns up and down.
std::string group_step(const std::string& group, const char* action) {
  std::vector<std::string> actions(kMembers, action);
  return R"({"id":1,"path":"/v1/groups/)" + group + R"(/step","body":{"actions":)" + json_array(actions) +
         "}}";
}

}  // namespace

Result<std::vector<Measure>> bench_server() {
  std::vector<Measure> out;
  Result<ServerProcess> server =
      ServerProcess::start({"--env", "sokoban", "--max-steps", "0", "--max-sessions", "20000"});
  if (!server) return server.error();
  for (const std::size_t sessions : {1, 16, 128}) {
    LoadPlan plan;
    plan.port = server->port();
    plan.server_pid = server->pid();
    plan.sessions = sessions;
    const Result<LoadResult> load = run_load(plan);
    if (!load) return load.error();
    const auto steps = static_cast<double>(load->steps);
    const std::string name = fmt::format("server.websocket.{}", sessions);
    const std::string counted =
        fmt::format("Sokoban text steps, {} sessions, load generator on the same machine", sessions);
    out.push_back({name + ".steps", steps / load->seconds, "steps/s", counted});
    out.push_back({name + ".cpu", 1e6 * load->server_cpu_seconds / steps, "us",
                   "processor time of the server per step"});
    out.push_back({name + ".p50", load->p50_milliseconds, "ms", "request to whole reply"});
    out.push_back({name + ".p99", load->p99_milliseconds, "ms", "request to whole reply"});
  }
  {
    LoadPlan plan;
    plan.port = server->port();
    plan.server_pid = server->pid();
    plan.path = "/v1/stream";
    plan.reset = "";
    const Result<std::string> group = open_group(server->port(), kMembers);
    if (!group) return group.error();
    plan.messages = {group_step(*group, "up"), group_step(*group, "down")};
    const Result<LoadResult> load = run_load(plan);
    if (!load) return load.error();
    const double steps = static_cast<double>(load->steps * kMembers);
    out.push_back({"server.group.steps", steps / load->seconds, "member-steps/s",
                   fmt::format("one group of {} members, one message a step, one connection", kMembers)});
    out.push_back({"server.group.cpu", 1e6 * load->server_cpu_seconds / steps, "us",
                   "processor time of the server per member-step"});
  }
  // A server of its own: the group above has kept every step it played.
  Result<ServerProcess> idle_server = ServerProcess::start({"--env", "sokoban", "--max-sessions", "20000"});
  if (!idle_server) return idle_server.error();
  const double before = idle_server->memory_bytes();
  const Result<IdleSessions> idle = IdleSessions::open(idle_server->port(), kIdle);
  if (!idle) return idle.error();
  const double with = idle_server->memory_bytes();
  out.push_back({"server.idle_sessions.memory", with / 1e6, "MB",
                 fmt::format("resident, with {} idle WebSocket sessions", kIdle)});
  out.push_back({"server.idle_session.memory", (with - before) / 1e3 / static_cast<double>(kIdle), "kB",
                 "per idle session"});
  return out;
}

}  // namespace lodestep::harness
