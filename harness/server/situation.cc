#include "harness/server/internal/situation.h"

#include <cmath>

#include "base/text.h"
#include "harness/server/internal/json_text.h"

namespace lodestep::harness {

bool is_done(const Session& session, const StepResult& result) { return result.done() || session.episode.truncated(); }

std::string reward_json(double reward) { return std::isfinite(reward) ? python_repr(reward) : "null"; }

std::string image_json(const Image& image) {
  return JsonObject().count("width", image.width).count("height", image.height).text("rgb", base64_encode(image.rgb)).end();
}

std::string details_json(const Details& details) {
  std::string out = "{";
  for (const auto& [name, value] : details) {
    if (out.size() > 1) out += ',';
    out += json_quote(name) + ":" + value;
  }
  return out + "}";
}

Shown shown_situation(const Session& session) {
  if (session.record) return {session.record->last.admissible, session.record->last.keys.exact};
  const Environment& environment = session.episode.environment();
  return {environment.admissible_actions(), environment.state_keys().exact};
}

std::string result_json(const Session& session, const StepResult& result) {
  const Environment& environment = session.episode.environment();
  const bool truncated = session.episode.truncated();
  const Shown shown = shown_situation(session);
  JsonObject observation;
  observation.text("text", result.observation.text)
      .raw("available_actions", json_array(shown.actions))
      .text("state_key", shown.state_key)
      .boolean("terminated", result.done())
      .boolean("truncated", truncated);
  if (result.observation.image) observation.raw("image", image_json(*result.observation.image));
  JsonObject metadata;
  metadata.boolean("terminated", result.done())
      .boolean("truncated", truncated)
      .boolean("action_valid", result.action_valid)
      .text("outcome", outcome_name(result.outcome))
      .count("step_count", session.episode.steps())
      .text("episode_id", session.episode_id)
      .text("session_id", session.id)
      .text("task_id", session.episode.task().id)
      .count("seed", session.episode.task().seed)
      .raw("info", details_json(environment.details()));
  return JsonObject()
      .raw("observation", observation.end())
      .raw("reward", reward_json(result.reward))
      .boolean("done", is_done(session, result))
      .raw("metadata", metadata.end())
      .end();
}

}  // namespace lodestep::harness
