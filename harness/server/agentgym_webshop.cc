// AgentGym's interface of WebShop.
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "harness/server/internal/agentgym_parts.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/situation.h"

namespace lodestep::harness {
namespace {

std::string detail_of(const Session& session, const std::string& name, const std::string& otherwise) {
  const Details details = session.episode.environment().details();
  const auto found = details.find(name);
  return found == details.end() ? otherwise : found->second;
}

HttpResponse no_shop(const SessionPool::Found& found, std::int64_t id) {
  return agentgym_error(found.fate == SessionPool::Fate::kBusy ? 409 : 404, "", unknown_number(found, id));
}

// These clients read pages as "[SEP]" text, whatever the server shows others.
HttpResponse webshop_create(const Call& call) {
  const Result<const HostedEnvironment*> shop = call.service.variant(call.environment, {{"mode", "text"}});
  if (!shop) return no_place(shop.error());
  const auto opened = open_numbered(call, **shop);
  if (!opened) return no_place(opened.error());
  // As in the original, a new shop is open at once, with any goal.
  const Lease session(opened->second, call.service.pool().clock());
  const Result<StepResult> first = call.service.reset(*session, {});
  if (!first) return no_place(first.error());
  session->actions.clear();
  return json_response(200, std::to_string(opened->first));
}

HttpResponse webshop_reset(const Call& call) {
  GymBody body(call);
  if (body.refused) return *body.refused;
  const std::int64_t id = body.whole("env_idx");
  const std::optional<std::int64_t> number = body.optional_whole("session_id");
  if (body.refused) return *body.refused;
  const SessionPool::Found found = find_numbered(call, id);
  const Lease& session = found.lease;
  if (!session) return no_shop(found, id);
  TaskChoice choice;
  if (number) {
    choice.seed = 0;
    choice.task_id = "session/" + std::to_string(*number);
  }
  const Result<StepResult> first = call.service.reset(*session, choice);
  if (!first) return agentgym_error(400, "", error_reason(first.error()));
  session->actions.clear();
  return json_response(200, json_list({json_quote(first->observation.text), "null"}));
}

HttpResponse webshop_step(const Call& call) {
  GymBody body(call);
  if (body.refused) return *body.refused;
  const std::int64_t id = body.whole("env_idx");
  const std::string action = body.text("action");
  if (body.refused) return *body.refused;
  const SessionPool::Found found = find_numbered(call, id);
  const Lease& session = found.lease;
  if (!session) return no_shop(found, id);
  const Result<StepResult> result = call.service.step(*session, action);
  if (!result) return no_place(result.error());
  session->actions.push_back(action);
  return json_response(200, JsonObject()
                                .text("state", result->observation.text)
                                .raw("reward", reward_json(result->reward))
                                .boolean("done", is_done(*session, *result))
                                .null("info")
                                .end());
}

HttpResponse show_shop(const Call& call, std::string (*text)(const Session&)) {
  std::int64_t id = 0;
  if (auto refused = read_query_id(call, "env_idx", id)) return *refused;
  const SessionPool::Found found = find_numbered(call, id);
  const Lease& session = found.lease;
  if (!session) return no_shop(found, id);
  return json_response(200, text(*session));
}

HttpResponse webshop_observation(const Call& call) {
  return show_shop(call, [](const Session& session) { return json_quote(page_text(session)); });
}

HttpResponse webshop_instruction(const Call& call) {
  return show_shop(call,
                   [](const Session& session) { return detail_of(session, "instruction_text", "\"\""); });
}

HttpResponse webshop_actions(const Call& call) {
  return show_shop(call, [](const Session& session) {
    return detail_of(session, "available_actions", R"({"has_search_bar":false,"clickables":[]})");
  });
}

// The page as another mode shows it: the episode is played again in an environment of that mode.
Result<std::string> shown_as(const Call& call, const Session& session, const char* mode) {
  const Result<const HostedEnvironment*> shop = call.service.variant(call.environment, {{"mode", mode}});
  if (!shop) return shop.error();
  const std::unique_ptr<Environment> environment = (*shop)->factory->make();
  if (Status status = environment->reset(session.episode.task()); !status) return status.error();
  for (const std::string& action : session.actions) environment->step(action);
  return environment->observe().observation.text;
}

HttpResponse webshop_state(const Call& call) {
  std::int64_t id = 0;
  if (auto refused = read_query_id(call, "env_idx", id)) return *refused;
  const SessionPool::Found found = find_numbered(call, id);
  const Lease& session = found.lease;
  if (!session) return no_shop(found, id);
  const Result<std::string> url = shown_as(call, *session, "url");
  if (!url) return no_place(url.error());
  const Result<std::string> html = shown_as(call, *session, "html");
  if (!html) return no_place(html.error());
  return json_response(200, JsonObject()
                                .text("url", *url)
                                .text("html", *html)
                                .raw("instruction_text", detail_of(*session, "instruction_text", "\"\""))
                                .end());
}

// Closing twice is no mistake; closing what never was is.
HttpResponse webshop_close(const Call& call) {
  GymBody body(call);
  const std::int64_t id = body.refused ? 0 : body.whole("env_idx");
  if (body.refused) return *body.refused;
  if (!call.service.pool().close(pool_id(call.environment, id))) {
    const SessionPool::Found found = find_numbered(call, id);
    if (found.fate == SessionPool::Fate::kUnknown) return no_shop(found, id);
  }
  return json_response(200, "true");
}

}  // namespace

const std::vector<Route>& agentgym_webshop_routes() {
  static const std::vector<Route> list{
      {"GET", "/", &greet},
      {"POST", "/create", &webshop_create},
      {"POST", "/reset", &webshop_reset},
      {"POST", "/step", &webshop_step},
      {"GET", "/observation", &webshop_observation},
      {"GET", "/instruction_text", &webshop_instruction},
      {"GET", "/available_actions", &webshop_actions},
      {"GET", "/state", &webshop_state},
      {"GET", "/list_envs", &list_numbers},
      {"POST", "/close", &webshop_close},
  };
  return list;
}

}  // namespace lodestep::harness
