#include "envs/alfworld_bridge/game.h"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <mutex>

namespace lodestep::alfworld {
namespace {

constexpr std::size_t kMaxRulebooks = 64;  // kept for later games; games in use keep their own anyway

// Domain and grammar, compiled once per process for each content.
Result<std::shared_ptr<const Rulebook>> rulebook(const std::string& domain, const std::string& grammar,
                                                 const std::string& path) {
  static std::mutex mutex;
  static std::vector<std::shared_ptr<const Rulebook>> known;
  const auto find = [&]() -> std::shared_ptr<const Rulebook> {
    for (const std::shared_ptr<const Rulebook>& rules : known) {
      if (rules->domain_text == domain && rules->grammar_text == grammar) return rules;
    }
    return nullptr;
  };
  {
    const std::lock_guard lock(mutex);
    if (std::shared_ptr<const Rulebook> rules = find()) return rules;
  }
  auto rules = std::make_shared<Rulebook>();
  Result<Domain> parsed = parse_domain(domain, path + ": pddl_domain");
  if (!parsed) return parsed.error();
  rules->domain = std::move(*parsed);
  Result<Grammar> text = parse_grammar(grammar, rules->domain, path + ": grammar");
  if (!text) return text.error();
  rules->grammar = std::move(*text);
  rules->domain_text = domain;
  rules->grammar_text = grammar;
  const std::lock_guard lock(mutex);
  if (std::shared_ptr<const Rulebook> first = find()) return first;  // another thread was quicker
  if (known.size() >= kMaxRulebooks) known.clear();
  known.push_back(rules);
  return std::shared_ptr<const Rulebook>(std::move(rules));
}

template <typename T>
std::size_t bytes(const std::vector<T>& items) {
  return items.capacity() * sizeof(T);
}

}  // namespace

Result<GameFile> parse_game_file(std::string_view text, const std::string& path) {
  rapidjson::Document json;
  std::string buffer(text);
  // The file's own text is unpacked in place; the iterative parser bounds the stack.
  json.ParseInsitu<rapidjson::kParseIterativeFlag>(buffer.data());
  if (json.HasParseError()) {
    return Error{
        ErrorCode::kBadData,
        std::string("not a game file, not JSON: ") + rapidjson::GetParseError_En(json.GetParseError()),
        path + " byte " + std::to_string(json.GetErrorOffset()), ""};
  }
  if (!json.IsObject())
    return Error{ErrorCode::kBadData, "not a game file: expected a JSON object", path, ""};
  GameFile file;
  for (const auto& [name, target] : {std::pair<const char*, std::string*>{"pddl_domain", &file.domain},
                                     {"grammar", &file.grammar},
                                     {"pddl_problem", &file.problem}}) {
    const auto member = json.FindMember(name);
    if (member == json.MemberEnd() || !member->value.IsString()) {
      return Error{ErrorCode::kBadData, std::string("the game file has no text '") + name + "'", path, ""};
    }
    target->assign(member->value.GetString(), member->value.GetStringLength());
  }
  if (const auto member = json.FindMember("solvable"); member != json.MemberEnd()) {
    if (!member->value.IsBool())
      return Error{ErrorCode::kBadData, "'solvable' must be true or false", path, ""};
    file.has_solvable = true;
    file.solvable = member->value.GetBool();
  }
  if (const auto member = json.FindMember("walkthrough");
      member != json.MemberEnd() && !member->value.IsNull()) {
    if (!member->value.IsArray())
      return Error{ErrorCode::kBadData, "'walkthrough' must be a list of commands", path, ""};
    for (const auto& command : member->value.GetArray()) {
      if (!command.IsString())
        return Error{ErrorCode::kBadData, "'walkthrough' must be a list of commands", path, ""};
      file.walkthrough.emplace_back(command.GetString(), command.GetStringLength());
    }
  }
  return file;
}

Result<std::shared_ptr<const Game>> compile_game(const GameFile& file, const std::string& path) {
  const SplitGrammar grammar = split_task(file.grammar);
  Result<std::shared_ptr<const Rulebook>> rules = rulebook(file.domain, grammar.frame, path);
  if (!rules) return rules.error();
  const std::string where = path + ": pddl_problem";
  Result<Problem> problem = parse_problem(file.problem, (*rules)->domain, where);
  if (!problem) return problem.error();
  auto game = std::make_shared<Game>();
  game->rules = *rules;
  Hasher digest;
  digest.add(file.domain).add(file.grammar).add(file.problem);
  for (const std::string& command : file.walkthrough) digest.add(command);
  game->digest = digest.finish();
  game->task_text = grammar.task;
  game->walkthrough = file.walkthrough;
  if (Status status = ground(**rules, *problem, where, *game); !status) return status.error();
  if (game->goal_at.size() == 1) {
    return Error{ErrorCode::kUnsupported, "no sequence of commands can reach the goal of this game", where,
                 "the text engine cannot put things into movable containers"};
  }
  // The goal in words: "Your task is to: put ..." says it after the colon.
  constexpr std::string_view kLead = "Your task is to: ";
  std::string_view goal = game->task_text;
  if (goal.empty()) {
    const std::size_t lead = game->start_text.find(kLead);
    if (lead != std::string::npos) goal = std::string_view(game->start_text).substr(lead);
  }
  if (const std::size_t colon = goal.find(": "); colon != std::string_view::npos)
    goal.remove_prefix(colon + 2);
  while (!goal.empty() && (goal.back() == ' ' || goal.back() == '\n')) goal.remove_suffix(1);
  game->goal_text = std::string(goal);
  for (TextPool* pool : {&game->ids, &game->names, &game->pieces}) pool->shrink();
  for (std::vector<Id>* list : {&game->codes, &game->goal, &game->dependents, &game->command_rows})
    list->shrink_to_fit();
  game->rows.shrink_to_fit();
  game->types.shrink_to_fit();
  game->atoms.args.shrink_to_fit();
  game->command_pieces.shrink_to_fit();
  return std::shared_ptr<const Game>(std::move(game));
}

Result<std::shared_ptr<const Game>> load_game(std::string_view text, const std::string& path) {
  Result<GameFile> file = parse_game_file(text, path);
  if (!file) return file.error();
  return compile_game(*file, path);
}

Id Game::find_command(std::string_view text) const {
  const std::size_t mask = command_slots.size() - 1;
  for (std::size_t at = ContainerHash()(text) & mask; command_slots[at] != kNone; at = (at + 1) & mask) {
    if (command(command_slots[at]) == text) return command_slots[at];
  }
  return kNone;
}

std::size_t Game::memory_bytes() const {
  std::size_t total =
      sizeof(*this) + ids.memory_bytes() + names.memory_bytes() + pieces.memory_bytes() + bytes(types) +
      bytes(atoms.args) + bytes(atoms.range) + bytes(atoms.slots) + bytes(removed_at) +
      bytes(command_pieces) + bytes(command_slots) + bytes(command_rows) + bytes(rows) + bytes(codes) +
      bytes(pivot_masks) + bytes(free_rows) + bytes(dependents_at) + bytes(dependents) + bytes(goal_at) +
      bytes(goal) + bytes(goal_atoms) + bytes(start_bits) + bytes(start_ready) + bytes(start_unmet) +
      start_text.capacity() + task_text.capacity() + goal_text.capacity() + bytes(walkthrough) + bytes(forms);
  for (const std::string& command : walkthrough)
    total += command.capacity() > 15 ? command.capacity() + 1 : 0;
  for (const Wide& wide : wides) total += sizeof(wide) + bytes(wide.need_true) + bytes(wide.need_false);
  return total;
}

}  // namespace lodestep::alfworld
