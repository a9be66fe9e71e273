// What the files of the AgentGym dialect share: reading requests, numbered environments, wording errors.
// Errors of play are HTTP 200 with {"error":...}, as those clients expect; only a body that cannot be read is
// a 422.
//   GymBody body(call); const std::int64_t id = body.whole("id"); if (body.refused) return *body.refused;
// Threads: pure but for the sessions it plays.
#pragma once

#include <rapidjson/document.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/server/internal/dialects.h"
#include "harness/server/internal/task_fields.h"
#include "harness/server/session_pool.h"

namespace lodestep::harness {

HttpResponse agentgym_error(int status, std::string_view code, std::string_view message);
HttpResponse gym_refusal(const FieldProblem& problem, const std::string& place);  // 422
HttpResponse told(std::string_view message);  // a refusal that these clients read from a 200
HttpResponse no_place(const Error& error);    // no environment could be opened

// The body of a POST; the caller checks `refused` first.
struct GymBody {
  rapidjson::Document json;
  std::optional<HttpResponse> refused;

  explicit GymBody(const Call& call);
  std::int64_t whole(const char* name);
  std::optional<std::int64_t> optional_whole(const char* name);
  std::string text(const char* name);

 private:
  void miss(const char* name);
  void refuse(const FieldProblem& problem);
};

// The id of a GET; the reply when it is absent or no number.
std::optional<HttpResponse> read_query_id(const Call& call, const char* name, std::int64_t& id);

// Environments by number. Their sessions live in the same pool under names that no other dialect can say.
std::string pool_id(const HostedEnvironment& environment, std::int64_t number);
Result<std::pair<std::int64_t, std::shared_ptr<Session>>> open_numbered(const Call& call,
                                                                        const HostedEnvironment& environment);
SessionPool::Found find_numbered(const Call& call, std::int64_t number);
std::string unknown_number(const SessionPool::Found& found, std::int64_t number);
HttpResponse create_numbered(const Call& call);
HttpResponse close_numbered(const Call& call, const char* name);
HttpResponse close_id(const Call& call);  // where the number is called "id"
// A GET that shows a running game.
HttpResponse show_numbered(const Call& call, std::string (*text)(const Session&));
HttpResponse list_numbers(const Call& call);
HttpResponse greet(const Call& call);

// How many games of the first split, and of all others together, the clients count through.
struct ListSizes {
  std::size_t first = ~std::size_t{0}, others = ~std::size_t{0};
};
// The N-th task when all splits are laid end to end: the fixed list that these clients count through.
Result<TaskChoice> nth_task(const HostedEnvironment& environment, std::int64_t n, const ListSizes& sizes);

std::string actions_of(const Session& session);  // as a JSON list
std::string page_text(const Session& session);

// The tables of the other files.
const std::vector<Route>& agentgym_alfworld_routes();
const std::vector<Route>& agentgym_webshop_routes();
const std::vector<Route>& agentgym_game_routes();

}  // namespace lodestep::harness
