// AgentGym's interface of games by id, such as Sokoban.
#include <string>
#include <vector>

#include "base/text.h"
#include "harness/server/internal/agentgym_parts.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/situation.h"

namespace lodestep::harness {
namespace {

std::string game_json(const Session& session, const StepResult& result) {
  return JsonObject()
      .text("observation", result.observation.text)
      .raw("reward", reward_json(result.reward))
      .raw("score", reward_json(session.score))
      .boolean("done", is_done(session, result))
      .end();
}

HttpResponse game_reset(const Call& call) {
  GymBody body(call);
  if (body.refused) return *body.refused;
  const std::int64_t id = body.whole("id");
  const std::int64_t index = body.whole("data_idx");
  if (body.refused) return *body.refused;
  const SessionPool::Found found = find_numbered(call, id);
  const Lease& session = found.lease;
  if (!session) return told(unknown_number(found, id));
  const Result<TaskChoice> choice = nth_task(call.environment, index, {});
  if (!choice) return told(error_reason(choice.error()));
  const Result<StepResult> first = call.service.reset(*session, *choice);
  if (!first) return told(error_reason(first.error()));
  return json_response(200, game_json(*session, *first));
}

HttpResponse game_step(const Call& call) {
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
  return json_response(200, game_json(*session, *result));
}

HttpResponse game_observation(const Call& call) {
  return show_numbered(call, [](const Session& session) { return json_quote(page_text(session)); });
}

HttpResponse game_actions(const Call& call) { return show_numbered(call, &actions_of); }

}  // namespace

const std::vector<Route>& agentgym_game_routes() {
  static const std::vector<Route> list{
      {"GET", "/", &greet},
      {"POST", "/create", &create_numbered},
      {"POST", "/reset", &game_reset},
      {"POST", "/step", &game_step},
      {"GET", "/observation", &game_observation},
      {"GET", "/available_actions", &game_actions},
      {"GET", "/list_envs", &list_numbers},
      {"POST", "/close", &close_id},
  };
  return list;
}

}  // namespace lodestep::harness
