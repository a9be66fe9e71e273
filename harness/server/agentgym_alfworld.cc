// AgentGym's interface of ALFWorld.
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "harness/server/internal/agentgym_parts.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/situation.h"

namespace lodestep::harness {
namespace {

constexpr ListSizes kGames{2420, 200};  // training, then test

// The opening text without its welcome paragraph, single newlines between the others.
std::string opening_text(std::string_view text) {
  std::string out;
  bool first = true;
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    const bool welcome = first && (line.starts_with("-= Welcome") || line.starts_with("Welcome"));
    first = false;
    if (welcome) continue;
    if (!out.empty()) out += '\n';
    out += line;
  }
  return out;
}

// "You arrive at loc 12. On the desk ..." -> "On the desk ..."
std::string_view without_arrival(std::string_view text) {
  constexpr std::string_view kArrival = "You arrive at loc ";
  if (!text.starts_with(kArrival)) return text;
  std::size_t at = kArrival.size();
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at > kArrival.size() && text.substr(at, 2) == ". " ? text.substr(at + 2) : text;
}

std::string alfworld_text(const Session& session) {
  const std::string text = session.episode.environment().observe().observation.text;
  return session.episode.steps() == 0 ? opening_text(text) : std::string(without_arrival(text));
}

// FOLDER/TRIAL of the game: the last two parts of its path.
std::string task_type(const std::string& task_id) {
  std::vector<std::string_view> parts = split(task_id, '/');
  if (!parts.empty() && parts.back().starts_with("game.tw-pddl")) parts.pop_back();
  if (parts.size() < 2) return task_id;
  return std::string(parts[parts.size() - 2]) + "/" + std::string(parts.back());
}

HttpResponse alfworld_reset(const Call& call) {
  GymBody body(call);
  if (body.refused) return *body.refused;
  const std::int64_t id = body.whole("id");
  const std::int64_t game = body.whole("game");
  const std::string world = body.text("world_type");
  if (body.refused) return *body.refused;
  const SessionPool::Found found = find_numbered(call, id);
  const Lease& session = found.lease;
  if (!session) return told(unknown_number(found, id));
  if (world != "Text" && world != "Embody" && world != "Hybrid") {
    return told("unknown world_type '" + world + "'; known: Text, Embody, Hybrid");
  }
  const Result<TaskChoice> choice = nth_task(call.environment, game, kGames);
  if (!choice) return told(error_reason(choice.error()));
  const Result<StepResult> first = call.service.reset(*session, *choice);
  if (!first) return told(error_reason(first.error()));
  session->label = JsonObject().text("world_type", world).raw("game", std::to_string(game)).end();
  return json_response(200, JsonObject()
                                .raw("id", std::to_string(id))
                                .text("observation", alfworld_text(*session))
                                .raw("available_actions", actions_of(*session))
                                .text("task_type", task_type(session->episode.task().id))
                                .end());
}

HttpResponse alfworld_step(const Call& call) {
  GymBody body(call);
  if (body.refused) return *body.refused;
  const std::int64_t id = body.whole("id");
  const std::string action = body.text("action");
  if (body.refused) return *body.refused;
  const SessionPool::Found found = find_numbered(call, id);
  const Lease& session = found.lease;
  if (!session) return told(unknown_number(found, id));
  if (!session->episode.started()) return told("step before reset");
  if (session->episode.ended()) return told("the game is done: reset it first");
  const Result<StepResult> result = call.service.step(*session, action);
  if (!result) return told(error_reason(result.error()));
  session->last_reward = result->outcome == Outcome::kSuccess ? 1.0 : 0.0;
  return json_response(200, JsonObject()
                                .text("observation", alfworld_text(*session))
                                .raw("reward", reward_json(session->last_reward))
                                .raw("available_actions", actions_of(*session))
                                .boolean("done", is_done(*session, *result))
                                .end());
}

HttpResponse alfworld_actions(const Call& call) { return show_numbered(call, &actions_of); }

HttpResponse alfworld_observation(const Call& call) {
  return show_numbered(call, [](const Session& session) { return json_quote(alfworld_text(session)); });
}

HttpResponse alfworld_detail(const Call& call) {
  return show_numbered(call, [](const Session& session) {
    std::string out = session.label;
    out.pop_back();
    return out + "," +
           JsonObject()
               .text("observation", alfworld_text(session))
               .raw("available_actions", actions_of(session))
               .boolean("done", session.episode.ended())
               .raw("reward", reward_json(session.last_reward))
               .boolean("deleted", false)
               .end()
               .substr(1);
  });
}

}  // namespace

const std::vector<Route>& agentgym_alfworld_routes() {
  static const std::vector<Route> list{
      {"GET", "/", &greet},
      {"POST", "/create", &create_numbered},
      {"POST", "/reset", &alfworld_reset},
      {"POST", "/step", &alfworld_step},
      {"GET", "/available_actions", &alfworld_actions},
      {"GET", "/observation", &alfworld_observation},
      {"GET", "/detail", &alfworld_detail},
      {"POST", "/close", &close_id},
      {"GET", "/list_envs", &list_numbers},
  };
  return list;
}

}  // namespace lodestep::harness
