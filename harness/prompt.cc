#include "harness/prompt.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "harness/internal/json.h"

namespace lodestep::harness {
namespace {

constexpr std::string_view kBorder = "=== later turns ===";

const std::vector<std::string>& places() {
  static const std::vector<std::string> known{
      "task_description", "current_observation", "admissible_actions", "available_actions",
      "step_count",       "current_step",        "history_length",     "action_history"};
  return known;
}

Status check_places(std::string_view text, const std::string& where, std::size_t first_line) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{' && text[i] != '}') continue;
    if (i + 1 < text.size() && text[i + 1] == text[i]) {
      ++i;
      continue;
    }
    const std::size_t close = text[i] == '{' ? text.find('}', i) : std::string_view::npos;
    const std::string name(close == std::string_view::npos ? std::string_view()
                                                           : text.substr(i + 1, close - i - 1));
    if (std::find(places().begin(), places().end(), name) == places().end()) {
      const auto line = first_line + static_cast<std::size_t>(std::count(
                                         text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n'));
      return Error{ErrorCode::kBadData,
                   close == std::string_view::npos ? "a single brace in the template"
                                                   : "unknown place '{" + name + "}' in the template",
                   where + ", line " + std::to_string(line),
                   "places: " + join(places(), ", ") + "; {{ and }} are braces"};
    }
    i = close;
  }
  return {};
}

std::string fill(std::string_view text, const std::map<std::string, std::string, std::less<>>& values) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((text[i] == '{' || text[i] == '}') && i + 1 < text.size() && text[i + 1] == text[i]) {
      out += text[i++];
    } else if (text[i] == '{') {
      const std::size_t close = text.find('}', i);
      out += values.find(text.substr(i + 1, close - i - 1))->second;
      i = close;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// A detail that is one JSON string; empty when there is none.
std::string text_detail(const Details& details, const std::string& name) {
  const auto found = details.find(name);
  if (found == details.end()) return "";
  const Result<rapidjson::Document> value = parse_json(found->second, name);
  return value && value->IsString() ? std::string(value->GetString(), value->GetStringLength())
                                    : std::string();
}

// WebShop's form: a search if there is a search bar, then everything that can be clicked, in page order.
std::vector<std::string> shop_actions(const Details& details) {
  std::vector<std::string> actions;
  const auto found = details.find("available_actions");
  if (found == details.end()) return actions;
  const Result<rapidjson::Document> value = parse_json(found->second, "available_actions");
  if (!value || !value->IsObject()) return actions;
  if (const auto bar = value->FindMember("has_search_bar"); bar != value->MemberEnd() && bar->value.IsTrue())
    actions.emplace_back("search[<your query>]");
  if (const auto list = value->FindMember("clickables");
      list != value->MemberEnd() && list->value.IsArray()) {
    for (const auto& item : list->value.GetArray()) {
      if (item.IsString())
        actions.push_back("click[" + std::string(item.GetString(), item.GetStringLength()) + "]");
    }
  }
  return actions;
}

const char* const kThink =
    "Think first, between <think> and </think>: what you know, what is missing, which action helps most. "
    "Then give exactly one action between <action> and </action>.";

PromptTemplate household_words() {
  const std::string ask =
      std::string("You may choose one of these actions:\n[{admissible_actions}]\n\n") + kThink + "\n";
  return {
      "You are the hands and eyes of a household helper and act through short text commands.\nWhat you see: "
      "{current_observation}\n" +
          ask,
      "You are the hands and eyes of a household helper and act through short text commands. Your job: "
      "{task_description}\n"
      "So far you have done {step_count} step(s). The last {history_length}, with what you saw before "
      "each:\n{action_history}\n"
      "This is step {current_step}. What you see: {current_observation}\n" +
          ask};
}

PromptTemplate shop_words() {
  const std::string ask = std::string("Possible actions:\n[\n{available_actions}\n]\n\n") + kThink + "\n";
  return {
      "You are shopping on a website for somebody who asked: {task_description}\nThe page shows: "
      "{current_observation}\n" +
          ask,
      "You are shopping on a website for somebody who asked: {task_description}\n"
      "So far you have done {step_count} step(s). The last {history_length}, with the page before "
      "each:\n{action_history}\n"
      "This is step {current_step}. The page shows: {current_observation}\n" +
          ask};
}

PromptTemplate sokoban_words() {
  const std::string ask = std::string(
                              "You can walk and push up, down, left or right; boxes cannot be pulled. All "
                              "boxes must end on targets.\n") +
                          kThink + "\n";
  return {"You are solving a Sokoban board.\nThe board now:\n{current_observation}\n" + ask,
          "You are solving a Sokoban board. Moves so far: {step_count}. The last {history_length}, with the "
          "board before each:\n"
          "{action_history}\nThis is move {current_step}. The board now:\n{current_observation}\n" +
              ask};
}

PromptTemplate general_words() {
  const std::string ask = std::string("Possible actions:\n[{admissible_actions}]\n\n") + kThink + "\n";
  return {"Your task: {task_description}\nWhat you see: {current_observation}\n" + ask,
          "Your task: {task_description}\nSteps so far: {step_count}. The last "
          "{history_length}:\n{action_history}\n"
          "This is step {current_step}. What you see: {current_observation}\n" +
              ask};
}

}  // namespace

Result<PromptTemplate> parse_prompt_template(std::string_view text, const std::string& where) {
  if (!is_valid_utf8(text)) return Error{ErrorCode::kBadData, "the template is not valid UTF-8", where, ""};
  PromptTemplate words{std::string(text), std::string(text)};
  std::size_t later_line = 1;
  std::size_t border = std::string_view::npos;
  for (std::size_t at = text.find(kBorder); at != std::string_view::npos; at = text.find(kBorder, at + 1)) {
    const std::size_t end = at + kBorder.size();
    if ((at == 0 || text[at - 1] == '\n') && (end == text.size() || text[end] == '\n')) {
      border = at;
      break;
    }
  }
  if (border != std::string_view::npos) {
    words.first = std::string(text.substr(0, border == 0 ? 0 : border - 1));
    words.later = std::string(text.substr(std::min(text.size(), border + kBorder.size() + 1)));
    later_line += static_cast<std::size_t>(
                      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(border), '\n')) +
                  1;
  }
  if (Status status = check_places(words.first, where, 1); !status) return status.error();
  if (Status status = check_places(words.later, where, later_line); !status) return status.error();
  return words;
}

std::string format_prompt(const PromptTemplate& words, const PromptStyle& style,
                          const PromptMaterial& material) {
  std::string actions;
  for (std::size_t i = 0; i < material.actions.size(); ++i) {
    if (i > 0) actions += style.between_actions;
    actions += style.before_action + material.actions[i] + style.after_action;
  }
  const std::size_t turns = material.history.size();
  const std::size_t shown = std::min(turns, style.history_length);
  std::string history;
  for (std::size_t i = turns - shown; i < turns; ++i) {
    const std::string number = std::to_string(i + 1);
    if (!history.empty()) history += '\n';
    std::string action = material.history[i].second;
    if (style.capital_actions && !action.empty() && action[0] >= 'a' && action[0] <= 'z')
      action[0] = static_cast<char>(action[0] - 'a' + 'A');
    history += "[Observation " + number + ": '" + material.history[i].first + "', Action " + number + ": '" +
               action + "']";
  }
  const std::map<std::string, std::string, std::less<>> values{
      {"task_description", material.task},       {"current_observation", material.observation},
      {"admissible_actions", actions},           {"available_actions", actions},
      {"step_count", std::to_string(turns)},     {"current_step", std::to_string(turns + 1)},
      {"history_length", std::to_string(shown)}, {"action_history", history}};
  if (shown == 0) return fill(words.first, values);
  std::string prompt = fill(words.later, values);
  if (style.most_code_points > 0 && code_points(prompt) > style.most_code_points)
    return fill(words.first, values);
  return prompt;
}

const PromptProfile& prompt_profile(std::string_view environment) {
  static const PromptProfile household{
      {"'", "'", "\n ", {"help"}, 2, false, 0}, {{}, "", 30, true}, household_words()};
  static const PromptProfile shop{{"'", "',", "\n", {}, 2, false, 13000}, {{}, "", 20, true}, shop_words()};
  static const PromptProfile sokoban{{"'", "'", "\n ", {}, 2, true, 0},
                                     {{"up", "down", "left", "right", "still"}, "still", 0, false},
                                     sokoban_words()};
  static const PromptProfile general{
      {"'", "'", "\n ", {}, 2, false, 0}, {{}, "", 30, false}, general_words()};
  if (environment == "alfworld") return household;
  if (environment == "webshop") return shop;
  if (environment == "sokoban") return sokoban;
  return general;
}

std::string shown_observation(const std::string& observation, const std::string& task) {
  static constexpr std::string_view kBetween = " [SEP] ";
  const std::string marked = std::string(kBetween) + std::string(trim(task)) + std::string(kBetween);
  const std::size_t found = observation.find(marked);
  if (task.empty() || found == std::string::npos) return observation;
  std::string shown = "'";
  std::string_view rest = std::string_view(observation).substr(found + marked.size());
  for (;;) {
    const std::size_t end = rest.find(kBetween);
    shown += rest.substr(0, end);
    shown += '\'';
    if (end == std::string_view::npos) return shown;
    shown += std::string(kBetween) + "'";
    rest.remove_prefix(end + kBetween.size());
  }
}

PromptMaterial prompt_material(const Turn& turn, const PromptStyle& style) {
  PromptMaterial material;
  const Details details = turn.environment.details();
  material.task = text_detail(details, "goal");
  if (material.task.empty()) material.task = text_detail(details, "instruction_text");
  material.observation = shown_observation(turn.now.observation, material.task);
  material.actions = shop_actions(details);
  if (material.actions.empty()) {
    for (const std::string& action : turn.now.admissible) {
      const std::vector<std::string>& hidden = style.hidden_actions;
      if (std::find(hidden.begin(), hidden.end(), action) == hidden.end()) material.actions.push_back(action);
    }
  }
  for (const StepRecord& step : turn.history)
    material.history.emplace_back(shown_observation(step.before.observation, material.task), step.action);
  return material;
}

}  // namespace lodestep::harness
