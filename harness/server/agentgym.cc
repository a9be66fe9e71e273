// The AgentGym dialect: three small HTTP interfaces, one per family of clients. Errors of play are HTTP 200
// with
// {"error":...}, as those clients expect; only a body that cannot be read is a 422.
#include <rapidjson/document.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "harness/internal/json.h"
#include "harness/server/internal/dialects.h"
#include "harness/server/internal/json_text.h"
#include "harness/server/internal/situation.h"
#include "harness/server/internal/task_fields.h"

namespace lodestep::harness {
namespace {

HttpResponse agentgym_error(int status, std::string_view, std::string_view message) {
  return json_response(status, JsonObject().text("detail", message).end());
}

HttpResponse unprocessable(const FieldProblem& problem, const std::string& place) {
  return json_response(422, JsonObject().raw("detail", problems_json({problem}, {place})).end());
}

// A refusal that these clients read from a 200.
HttpResponse told(std::string_view message) {
  return json_response(200, JsonObject().text("error", message).end());
}

// Their sessions live in the same pool under names that no other dialect can say.
std::string pool_id(const HostedEnvironment& environment, std::int64_t number) {
  return "agentgym/" + environment.name + "/" + std::to_string(number);
}

// ---- reading ----

// The body of a POST; the caller checks `refused` first.
struct Body {
  rapidjson::Document json;
  std::optional<HttpResponse> refused;

  explicit Body(const Call& call) {
    Result<rapidjson::Document> parsed = parse_json_object(call.request.body, "");
    if (parsed) {
      json.Swap(*parsed);
    } else {
      refused = unprocessable({"json_invalid", "", error_reason(parsed.error()), "{}"}, "body");
    }
  }

  std::int64_t whole(const char* name) {
    const auto found = json.FindMember(name);
    if (found == json.MemberEnd()) return miss(name), 0;
    if (found->value.IsInt64()) return found->value.GetInt64();
    refuse({"int_type", name, "Input should be a valid integer", shown_input(found->value)});
    return 0;
  }

  std::optional<std::int64_t> optional_whole(const char* name) {
    const auto found = json.FindMember(name);
    if (found == json.MemberEnd() || found->value.IsNull()) return std::nullopt;
    return whole(name);
  }

  std::string text(const char* name) {
    const auto found = json.FindMember(name);
    if (found == json.MemberEnd()) return miss(name), "";
    if (found->value.IsString()) return {found->value.GetString(), found->value.GetStringLength()};
    refuse({"string_type", name, "Input should be a valid string", shown_input(found->value)});
    return "";
  }

 private:
  void miss(const char* name) { refuse({"missing", name, "Field required", shown_input(json)}); }
  void refuse(const FieldProblem& problem) {
    if (!refused) refused = unprocessable(problem, "body");
  }
};

// The id of a GET; the reply when it is absent or no number.
std::optional<HttpResponse> read_query_id(const Call& call, const char* name, std::int64_t& id) {
  const std::optional<std::string> text = call.target.parameter(name);
  if (!text) return unprocessable({"missing", name, "Field required", "null"}, "query");
  const std::optional<std::int64_t> number = parse_int(*text);
  if (!number)
    return unprocessable(
        {"int_parsing", name, "Input should be a valid integer", json_quote(text->substr(0, 100))}, "query");
  id = *number;
  return std::nullopt;
}

// ---- sessions ----

Result<std::pair<std::int64_t, std::shared_ptr<Session>>> open_numbered(
    const Call& call, const HostedEnvironment& environment) {
  if (call.service.draining())
    return Error{ErrorCode::kUnavailable, "the server is stopping and takes no new environments", "", ""};
  for (int attempt = 0; attempt < 100; ++attempt) {
    const auto number = static_cast<std::int64_t>(random_bits() % 0x7fffffffULL);
    // No step budget: the originals have none, their clients count for themselves.
    Result<std::shared_ptr<Session>> opened =
        call.service.pool().open({environment, call.request.client, 0, pool_id(environment, number)});
    if (opened) return std::make_pair(number, *opened);
    if (opened.error().code == ErrorCode::kUnavailable) {
      call.service.metrics().count_refusal("capacity");
      return opened.error();
    }
  }
  return Error{ErrorCode::kUnavailable, "no free environment number", "", ""};
}

SessionPool::Found find(const Call& call, std::int64_t number) {
  return call.service.pool().find(pool_id(call.environment, number));
}

std::string unknown(const SessionPool::Found& found, std::int64_t number) {
  const bool busy = found.fate == SessionPool::Fate::kBusy;
  return (busy ? "another request is playing id " : "unknown or closed id ") + std::to_string(number);
}

HttpResponse full(const Error& error) {
  HttpResponse response =
      json_response(capacity_status(error), JsonObject().text("error", error_reason(error)).end());
  response.full = server_is_full(error);
  return response;
}

// How many games of the first split, and of all others together, the clients count through.
struct ListSizes {
  std::size_t first, others;
};
constexpr ListSizes kAll{~std::size_t{0}, ~std::size_t{0}};
constexpr ListSizes kAlfworldGames{2420, 200};  // training, then test

// The N-th task when all splits are laid end to end: the fixed list that these clients count through.
Result<TaskChoice> nth_task(const HostedEnvironment& environment, std::int64_t n, const ListSizes& sizes) {
  const EnvFactory& factory = *environment.factory;
  std::size_t before = 0;
  std::size_t room = sizes.first;
  for (const std::string& split : factory.splits()) {
    const Result<std::size_t> count = factory.task_count(split);
    if (!count) return count.error();
    const std::size_t taken = std::min(*count, room);
    if (n >= 0 && static_cast<std::uint64_t>(n) - before < taken) {
      return TaskChoice{0, split, static_cast<std::uint64_t>(n) - before, {}};
    }
    room = before == 0 ? sizes.others : room - taken;
    before += taken;
  }
  return Error{
      ErrorCode::kNotFound,
      "index " + std::to_string(n) + " is out of range: there are " + std::to_string(before) + " tasks", "",
      ""};
}

HttpResponse close_by(const Call& call, const char* name) {
  Body body(call);
  const std::int64_t id = body.refused ? 0 : body.whole(name);
  if (body.refused) return *body.refused;
  return json_response(200, call.service.pool().close(pool_id(call.environment, id)) ? "true" : "false");
}

HttpResponse greet(const Call&) { return json_response(200, "\"ok\""); }

HttpResponse create_object(const Call& call) {
  const auto opened = open_numbered(call, call.environment);
  if (!opened) return full(opened.error());
  return json_response(200, JsonObject().raw("id", std::to_string(opened->first)).end());
}

// ---- alfworld ----

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

std::string actions_of(const Session& session) {
  return json_array(session.episode.environment().admissible_actions());
}

// FOLDER/TRIAL of the game: the last two parts of its path.
std::string task_type(const std::string& task_id) {
  std::vector<std::string_view> parts = split(task_id, '/');
  if (!parts.empty() && parts.back().starts_with("game.tw-pddl")) parts.pop_back();
  if (parts.size() < 2) return task_id;
  return std::string(parts[parts.size() - 2]) + "/" + std::string(parts.back());
}

HttpResponse alfworld_reset(const Call& call) {
  Body body(call);
  if (body.refused) return *body.refused;
  const std::int64_t id = body.whole("id");
  const std::int64_t game = body.whole("game");
  const std::string world = body.text("world_type");
  if (body.refused) return *body.refused;
  const SessionPool::Found found = find(call, id);
  const Lease& session = found.lease;
  if (!session) return told(unknown(found, id));
  if (world != "Text" && world != "Embody" && world != "Hybrid") {
    return told("unknown world_type '" + world + "'; known: Text, Embody, Hybrid");
  }
  const Result<TaskChoice> choice = nth_task(call.environment, game, kAlfworldGames);
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
  Body body(call);
  if (body.refused) return *body.refused;
  const std::int64_t id = body.whole("id");
  const std::string action = body.text("action");
  if (body.refused) return *body.refused;
  const SessionPool::Found found = find(call, id);
  const Lease& session = found.lease;
  if (!session) return told(unknown(found, id));
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

// A GET that shows a running game.
HttpResponse show(const Call& call, std::string (*text)(const Session&)) {
  std::int64_t id = 0;
  if (auto refused = read_query_id(call, "id", id)) return *refused;
  const SessionPool::Found found = find(call, id);
  const Lease& session = found.lease;
  if (!session) return told(unknown(found, id));
  if (!session->episode.started()) return told("nothing to show before reset");
  return json_response(200, text(*session));
}

HttpResponse alfworld_actions(const Call& call) { return show(call, &actions_of); }

HttpResponse alfworld_observation(const Call& call) {
  return show(call, [](const Session& session) { return json_quote(alfworld_text(session)); });
}

HttpResponse alfworld_detail(const Call& call) {
  return show(call, [](const Session& session) {
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

// ---- webshop ----

std::string detail_of(const Session& session, const std::string& name, const std::string& otherwise) {
  const Details details = session.episode.environment().details();
  const auto found = details.find(name);
  return found == details.end() ? otherwise : found->second;
}

std::string page_text(const Session& session) {
  return session.episode.environment().observe().observation.text;
}

HttpResponse no_shop(const SessionPool::Found& found, std::int64_t id) {
  return agentgym_error(found.fate == SessionPool::Fate::kBusy ? 409 : 404, "", unknown(found, id));
}

// These clients read pages as "[SEP]" text, whatever the server shows others.
HttpResponse webshop_create(const Call& call) {
  const Result<const HostedEnvironment*> shop = call.service.variant(call.environment, {{"mode", "text"}});
  if (!shop) return full(shop.error());
  const auto opened = open_numbered(call, **shop);
  if (!opened) return full(opened.error());
  // As in the original, a new shop is open at once, with any goal.
  const Lease session(opened->second, call.service.pool().clock());
  const Result<StepResult> first = call.service.reset(*session, {});
  if (!first) return full(first.error());
  session->actions.clear();
  return json_response(200, std::to_string(opened->first));
}

HttpResponse webshop_reset(const Call& call) {
  Body body(call);
  if (body.refused) return *body.refused;
  const std::int64_t id = body.whole("env_idx");
  const std::optional<std::int64_t> number = body.optional_whole("session_id");
  if (body.refused) return *body.refused;
  const SessionPool::Found found = find(call, id);
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
  Body body(call);
  if (body.refused) return *body.refused;
  const std::int64_t id = body.whole("env_idx");
  const std::string action = body.text("action");
  if (body.refused) return *body.refused;
  const SessionPool::Found found = find(call, id);
  const Lease& session = found.lease;
  if (!session) return no_shop(found, id);
  const Result<StepResult> result = call.service.step(*session, action);
  if (!result) return full(result.error());
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
  const SessionPool::Found found = find(call, id);
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
  const SessionPool::Found found = find(call, id);
  const Lease& session = found.lease;
  if (!session) return no_shop(found, id);
  const Result<std::string> url = shown_as(call, *session, "url");
  if (!url) return full(url.error());
  const Result<std::string> html = shown_as(call, *session, "html");
  if (!html) return full(html.error());
  return json_response(200, JsonObject()
                                .text("url", *url)
                                .text("html", *html)
                                .raw("instruction_text", detail_of(*session, "instruction_text", "\"\""))
                                .end());
}

HttpResponse list_numbers(const Call& call) {
  const std::string prefix = "agentgym/" + call.environment.name + "/";
  std::vector<std::int64_t> numbers;
  call.service.pool().for_each([&](Session& session) {
    if (!session.id.starts_with(prefix)) return;
    if (const auto number = parse_int(std::string_view(session.id).substr(prefix.size())))
      numbers.push_back(*number);
  });
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::string> out;
  for (const std::int64_t number : numbers) out.push_back(std::to_string(number));
  return json_response(200, json_list(out));
}

// Closing twice is no mistake; closing what never was is.
HttpResponse webshop_close(const Call& call) {
  Body body(call);
  const std::int64_t id = body.refused ? 0 : body.whole("env_idx");
  if (body.refused) return *body.refused;
  if (!call.service.pool().close(pool_id(call.environment, id))) {
    const SessionPool::Found found = find(call, id);
    if (found.fate == SessionPool::Fate::kUnknown) return no_shop(found, id);
  }
  return json_response(200, "true");
}

// ---- sokoban and other games by id ----

std::string game_json(const Session& session, const StepResult& result) {
  return JsonObject()
      .text("observation", result.observation.text)
      .raw("reward", reward_json(result.reward))
      .raw("score", reward_json(session.score))
      .boolean("done", is_done(session, result))
      .end();
}

HttpResponse game_reset(const Call& call) {
  Body body(call);
  if (body.refused) return *body.refused;
  const std::int64_t id = body.whole("id");
  const std::int64_t index = body.whole("data_idx");
  if (body.refused) return *body.refused;
  const SessionPool::Found found = find(call, id);
  const Lease& session = found.lease;
  if (!session) return told(unknown(found, id));
  const Result<TaskChoice> choice = nth_task(call.environment, index, kAll);
  if (!choice) return told(error_reason(choice.error()));
  const Result<StepResult> first = call.service.reset(*session, *choice);
  if (!first) return told(error_reason(first.error()));
  return json_response(200, game_json(*session, *first));
}

HttpResponse game_step(const Call& call) {
  Body body(call);
  if (body.refused) return *body.refused;
  const std::int64_t id = body.whole("id");
  const std::string action = body.text("action");
  if (body.refused) return *body.refused;
  const SessionPool::Found found = find(call, id);
  const Lease& session = found.lease;
  if (!session) return told(unknown(found, id));
  if (!session->episode.started()) return told("step before reset");
  if (session->episode.ended()) return told("the game is done: reset it first");
  const Result<StepResult> result = call.service.step(*session, action);
  if (!result) return told(error_reason(result.error()));
  return json_response(200, game_json(*session, *result));
}

HttpResponse game_observation(const Call& call) {
  return show(call, [](const Session& session) { return json_quote(page_text(session)); });
}

HttpResponse game_actions(const Call& call) { return show(call, &actions_of); }

HttpResponse close_id(const Call& call) { return close_by(call, "id"); }

const std::vector<Route>& alfworld_routes() {
  static const std::vector<Route> list{
      {"GET", "/", &greet},
      {"POST", "/create", &create_object},
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

const std::vector<Route>& webshop_routes() {
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

const std::vector<Route>& game_routes() {
  static const std::vector<Route> list{
      {"GET", "/", &greet},
      {"POST", "/create", &create_object},
      {"POST", "/reset", &game_reset},
      {"POST", "/step", &game_step},
      {"GET", "/observation", &game_observation},
      {"GET", "/available_actions", &game_actions},
      {"GET", "/list_envs", &list_numbers},
      {"POST", "/close", &close_id},
  };
  return list;
}

}  // namespace

// Another status than 200 would make these clients send the step again.
HttpResponse agentgym_late(std::string_view message) { return told(message); }

HttpResponse agentgym_http(const Call& call, const std::vector<std::string>& path) {
  const std::vector<Route>& routes = call.environment.name == "alfworld"  ? alfworld_routes()
                                     : call.environment.name == "webshop" ? webshop_routes()
                                                                          : game_routes();
  return dispatch(routes, call, path, &agentgym_error);
}

}  // namespace lodestep::harness
