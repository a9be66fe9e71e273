// Steps that anyone recorded, one JSON object a line, and their credit as JSON lines.
//   Result<StepFile> steps = read_steps("steps.jsonl", UnknownFields::kRefuse, io);
//   Result<graph::Credit> credit = graph::estimate(request, steps->batch);
//   std::string out = credit_lines(*steps, *credit);
// Threads: one per call. The fields are those of docs/credit.md. Errors name the file and the line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/interner.h"
#include "base/result.h"
#include "graph/batch.h"
#include "graph/estimator.h"
#include "harness/command.h"

namespace lodestep::harness {

enum class UnknownFields { kRefuse, kIgnore };

struct StepFile {
  graph::Batch batch;                 // one row a line, in input order
  Interner tasks, episodes;           // names as JSON values: "u0" with its quotes, or a number
  Interner states;                    // states as JSON values: a text with its quotes, or [1,2,3]
  std::vector<std::string> where;     // of each row, for messages: "steps.jsonl line 3"
  std::vector<graph::Id> state_hash;  // numbers of the rows' true state hashes; empty when none was given
};

// Fails on malformed JSON, missing or mistyped fields, numbers that are not finite, an episode whose
// episode_reward changes from line to line, and on a second line with the same task, episode and t.
Result<StepFile> read_steps(const std::string& path, UnknownFields unknown, Io& io);

// Rows that left a field to be filled in from the rest of their episode; 1: left out.
struct LeftOut {
  std::vector<std::uint8_t> next_state, episode_reward;
};
// Fills them in: the next state is the state of the episode's next active step, the episode reward the sum.
// Fails on a second row with the same task, episode and t, and where an episode is given two different
// rewards.
Status complete_steps(StepFile& steps, const LeftOut& left_out);

// The state as Python prints it, for matchers: the text itself, or "(1, 2, 3)".
std::string state_text(const StepFile& steps, graph::Id state);
bool is_text_state(const StepFile& steps, graph::Id state);

// One line a step: task, episode, t, step_return, step_advantage, episode_advantage, advantage, group, node,
// next_node (null where there is none), and weight where the estimator gives one.
std::string credit_lines(const StepFile& steps, const graph::Credit& credit);
// {"task":{"nodes":[...],"edges":[...],"goal":7}}
std::string graphs_json(const StepFile& steps, const graph::Credit& credit);

}  // namespace lodestep::harness
