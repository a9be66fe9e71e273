#include "harness/policy.h"

#include <fstream>
#include <map>

#include "base/text.h"
#include "harness/internal/json.h"
#include "harness/openai_policy.h"
#include "harness/state_policy.h"

namespace lodestep::harness {
namespace {

// A policy of the state alone, played turn by turn.
class TurnPolicy final : public Policy {
 public:
  explicit TurnPolicy(std::unique_ptr<StatePolicy> policy) : policy_(std::move(policy)) {}

  Result<std::optional<Decision>> act(const Turn& turn) const override {
    Stream dice = turn.dice;
    std::optional<std::string> action =
        policy_->choose({turn.now.admissible, [&] { return turn.environment.gold_action(); }}, dice);
    if (!action) return std::optional<Decision>();
    return std::optional<Decision>(std::move(*action));
  }

 private:
  std::unique_ptr<StatePolicy> policy_;
};

class ScriptPolicy final : public Policy {
 public:
  static Result<std::unique_ptr<Policy>> load(const std::string& path) {
    std::ifstream file(path);
    if (!file) return Error{ErrorCode::kNotFound, "no such file, or not readable", path, ""};
    auto policy = std::make_unique<ScriptPolicy>();
    std::string line;
    for (std::size_t number = 1; std::getline(file, line); ++number) {
      const std::string_view word = trim(line);
      if (word.empty()) continue;
      if (word.front() != '{') {
        policy->everybody_.emplace_back(word);
        continue;
      }
      const std::string where = path + ", line " + std::to_string(number);
      Result<rapidjson::Document> json = parse_json_object(word, where);
      if (!json) return json.error();
      const std::optional<std::string> task = text_member(*json, "task");
      const auto actions = json->FindMember("actions");
      if (!task || actions == json->MemberEnd() || !actions->value.IsArray()) {
        return Error{ErrorCode::kBadData, "a script line needs 'task' (text) and 'actions' (array)", where,
                     ""};
      }
      std::vector<std::string> list;
      for (const auto& action : actions->value.GetArray()) {
        if (!action.IsString()) return Error{ErrorCode::kBadData, "an action is not text", where, ""};
        list.emplace_back(action.GetString(), action.GetStringLength());
      }
      policy->by_task_[*task] = std::move(list);
    }
    return std::unique_ptr<Policy>(std::move(policy));
  }

  Result<std::optional<Decision>> act(const Turn& turn) const override {
    const auto own = by_task_.find(turn.task.id);
    const std::vector<std::string>& actions = own == by_task_.end() ? everybody_ : own->second;
    if (turn.history.size() >= actions.size()) return std::optional<Decision>();
    return std::optional<Decision>(actions[turn.history.size()]);
  }

 private:
  std::vector<std::string> everybody_;
  std::map<std::string, std::vector<std::string>> by_task_;
};

}  // namespace

Result<std::unique_ptr<Policy>> make_policy(const std::string& spec) {
  const std::size_t colon = spec.find(':');
  const std::string kind = spec.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : spec.substr(colon + 1);
  if (kind == "script" && !rest.empty()) return ScriptPolicy::load(rest);
  if (kind == "openai" && !rest.empty()) return make_openai_policy(rest);
  Result<std::unique_ptr<StatePolicy>> policy = make_state_policy(spec);
  if (policy) return std::unique_ptr<Policy>(std::make_unique<TurnPolicy>(std::move(*policy)));
  if (policy.error().code != ErrorCode::kNotFound) return policy.error();
  return Error{ErrorCode::kInvalidArgument, "unknown policy '" + spec + "'", "--policy",
               "known policies: random, gold, mixed:E, confused:P, script:FILE, openai:URL"};
}

}  // namespace lodestep::harness
