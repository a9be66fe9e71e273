#include "harness/server/internal/situation.h"

#include <cmath>

#include "base/text.h"
#include "harness/server/internal/json_text.h"

namespace lodestep::harness {

bool is_done(const Session& session, const StepResult& result) {
  return result.done() || session.episode.truncated();
}

std::string reward_json(double reward) { return std::isfinite(reward) ? python_repr(reward) : "null"; }

std::string image_json(const Image& image) {
  return JsonObject()
      .count("width", image.width)
      .count("height", image.height)
      .text("rgb", base64_encode(image.rgb))
      .end();
}

std::string details_json(const Details& details) {
  std::string out = "{";
  for (const auto& [name, value] : details) {
    if (out.size() > 1) out += ',';
    out += json_quote(name) + ":" + value;
  }
  return out + "}";
}

Shown::Shown(const Session& session) {
  if (session.record) {
    recorded_ = &session.record->last;
    return;
  }
  const Environment& environment = session.episode.environment();
  actions_ = environment.admissible_actions();
  state_key_ = environment.state_keys().exact;
}

void append_result(std::string& out, const Session& session, const StepResult& result,
                   std::string_view more) {
  const bool truncated = session.episode.truncated();
  const Shown shown(session);
  JsonWriter json(out);
  json.open();
  json.open("observation")
      .text("text", result.observation.text)
      .texts("available_actions", shown.actions())
      .text("state_key", shown.state_key())
      .boolean("terminated", result.done())
      .boolean("truncated", truncated);
  if (result.observation.image) json.raw("image", image_json(*result.observation.image));
  json.close()
      .raw("reward", reward_json(result.reward))
      .boolean("done", is_done(session, result))
      .open("metadata")
      .boolean("terminated", result.done())
      .boolean("truncated", truncated)
      .boolean("action_valid", result.action_valid)
      .text("outcome", outcome_name(result.outcome))
      .count("step_count", session.episode.steps())
      .text("episode_id", session.episode_id)
      .text("session_id", session.id)
      .text("task_id", session.episode.task().id)
      .count("seed", session.episode.task().seed)
      .open("info");
  for (const auto& [name, value] : session.episode.environment().details()) json.raw(name, value);
  json.close().close();
  out += more;
  out += '}';
}

std::string result_json(const Session& session, const StepResult& result) {
  std::string out;
  out.reserve(1024);
  append_result(out, session, result);
  return out;
}

}  // namespace lodestep::harness
