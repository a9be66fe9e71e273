// Prompts for language models: a template with named places, filled from an episode.
//   Result<PromptTemplate> own = parse_prompt_template(text, "my-template.txt");
//   std::string prompt = format_prompt(*own, prompt_profile("alfworld").style, material);
// Threads: values and pure functions. How the material of an environment is written (lists, history)
// is its profile's; the words around it are the template's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "harness/answer.h"
#include "harness/policy.h"

namespace lodestep::harness {

// Two texts: for the first turn (or without history), and for later ones. Named places:
// {task_description} {current_observation} {admissible_actions} (or {available_actions}) in both;
// {step_count} turns so far, {current_step} one more, {history_length} turns shown, {action_history}
// in the later one. "{{" and "}}" stand for braces.
struct PromptTemplate {
  std::string first, later;
};

// A template file: the first text, a line "=== later turns ===", the later text. Without that line the
// one text serves all turns. The line break before the line and the one after it belong to it. Fails on
// an unknown place, naming the known ones and the line.
Result<PromptTemplate> parse_prompt_template(std::string_view text, const std::string& where);

struct PromptStyle {
  std::string before_action = "'", after_action = "'", between_actions = "\n ";
  std::vector<std::string> hidden_actions;  // never offered to the model
  std::size_t history_length = 2;           // turns shown; 0: the first text always
  bool capital_actions = false;             // past actions are shown with a capital letter
  std::size_t most_code_points = 0;         // longer prompts use the first text instead; 0: no limit
};

struct PromptMaterial {
  std::string task, observation;
  std::vector<std::string> actions;
  std::vector<std::pair<std::string, std::string>> history;  // observation, action taken on it; whole episode
};

std::string format_prompt(const PromptTemplate& words, const PromptStyle& style,
                          const PromptMaterial& material);

// What an environment needs to talk with a model.
struct PromptProfile {
  PromptStyle style;
  AnswerStyle answer;
  PromptTemplate words;  // our own
};

// By registered name; unknown environments get a general one.
const PromptProfile& prompt_profile(std::string_view environment);

// What a prompt shows of an observation: a shop page in plain text (" [SEP] " between its pieces) without the
// part that repeats the task, each piece in quotes; every other observation as it is.
std::string shown_observation(const std::string& observation, const std::string& task);

// The material of this turn: task sentence and action forms come from the environment's details.
PromptMaterial prompt_material(const Turn& turn, const PromptStyle& style);

}  // namespace lodestep::harness
