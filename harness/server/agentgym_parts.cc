#include "harness/server/internal/agentgym_parts.h"

#include <algorithm>

#include "base/text.h"
#include "harness/internal/json.h"
#include "harness/server/internal/json_text.h"

namespace lodestep::harness {

HttpResponse agentgym_error(int status, std::string_view, std::string_view message) {
  return json_response(status, JsonObject().text("detail", message).end());
}

HttpResponse gym_refusal(const FieldProblem& problem, const std::string& place) {
  return json_response(422, JsonObject().raw("detail", problems_json({problem}, {place})).end());
}

HttpResponse told(std::string_view message) {
  return json_response(200, JsonObject().text("error", message).end());
}

GymBody::GymBody(const Call& call) {
  Result<rapidjson::Document> parsed = parse_json_object(call.request.body, "");
  if (parsed) {
    json.Swap(*parsed);
  } else {
    refused = gym_refusal({"json_invalid", "", error_reason(parsed.error()), "{}"}, "body");
  }
}

std::int64_t GymBody::whole(const char* name) {
  const auto found = json.FindMember(name);
  if (found == json.MemberEnd()) return miss(name), 0;
  if (found->value.IsInt64()) return found->value.GetInt64();
  refuse({"int_type", name, "Input should be a valid integer", shown_input(found->value)});
  return 0;
}

std::optional<std::int64_t> GymBody::optional_whole(const char* name) {
  const auto found = json.FindMember(name);
  if (found == json.MemberEnd() || found->value.IsNull()) return std::nullopt;
  return whole(name);
}

std::string GymBody::text(const char* name) {
  const auto found = json.FindMember(name);
  if (found == json.MemberEnd()) return miss(name), "";
  if (found->value.IsString()) return {found->value.GetString(), found->value.GetStringLength()};
  refuse({"string_type", name, "Input should be a valid string", shown_input(found->value)});
  return "";
}

void GymBody::miss(const char* name) { refuse({"missing", name, "Field required", shown_input(json)}); }

void GymBody::refuse(const FieldProblem& problem) {
  if (!refused) refused = gym_refusal(problem, "body");
}

std::optional<HttpResponse> read_query_id(const Call& call, const char* name, std::int64_t& id) {
  const std::optional<std::string> text = call.target.parameter(name);
  if (!text) return gym_refusal({"missing", name, "Field required", "null"}, "query");
  const std::optional<std::int64_t> number = parse_int(*text);
  if (!number)
    return gym_refusal(
        {"int_parsing", name, "Input should be a valid integer", json_quote(text->substr(0, 100))}, "query");
  id = *number;
  return std::nullopt;
}

std::string pool_id(const HostedEnvironment& environment, std::int64_t number) {
  return "agentgym/" + environment.name + "/" + std::to_string(number);
}

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

SessionPool::Found find_numbered(const Call& call, std::int64_t number) {
  return call.service.pool().find(pool_id(call.environment, number));
}

std::string unknown_number(const SessionPool::Found& found, std::int64_t number) {
  const bool busy = found.fate == SessionPool::Fate::kBusy;
  return (busy ? "another request is playing id " : "unknown or closed id ") + std::to_string(number);
}

HttpResponse no_place(const Error& error) {
  HttpResponse response =
      json_response(capacity_status(error), JsonObject().text("error", error_reason(error)).end());
  response.full = server_is_full(error);
  return response;
}

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

HttpResponse close_numbered(const Call& call, const char* name) {
  GymBody body(call);
  const std::int64_t id = body.refused ? 0 : body.whole(name);
  if (body.refused) return *body.refused;
  return json_response(200, call.service.pool().close(pool_id(call.environment, id)) ? "true" : "false");
}

HttpResponse greet(const Call&) { return json_response(200, "\"ok\""); }

HttpResponse create_numbered(const Call& call) {
  const auto opened = open_numbered(call, call.environment);
  if (!opened) return no_place(opened.error());
  return json_response(200, JsonObject().raw("id", std::to_string(opened->first)).end());
}

HttpResponse close_id(const Call& call) { return close_numbered(call, "id"); }

HttpResponse show_numbered(const Call& call, std::string (*text)(const Session&)) {
  std::int64_t id = 0;
  if (auto refused = read_query_id(call, "id", id)) return *refused;
  const SessionPool::Found found = find_numbered(call, id);
  const Lease& session = found.lease;
  if (!session) return told(unknown_number(found, id));
  if (!session->episode.started()) return told("nothing to show before reset");
  return json_response(200, text(*session));
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

std::string actions_of(const Session& session) {
  return json_array(session.episode.environment().admissible_actions());
}

std::string page_text(const Session& session) {
  return session.episode.environment().observe().observation.text;
}

}  // namespace lodestep::harness
