// The group's graph: one transition graph per task from the rows that take part, merged by the matcher.
//   Result<GroupGraph> graph = build_graphs(work, SuccessRule::kFlag, Costs::kSupplied);
//   graph->tasks[task].distance[graph->next_node[row]]
// Threads: built in parallel over tasks, const afterwards. Private to this room.
#pragma once

#include <vector>

#include "graph/option_reader.h"
#include "graph/working.h"

namespace lodestep::graph {

// Who succeeded: an episode with a `success` flag, or one with a positive sum of rewards (the released code).
// Its last step then leads to the goal. A step whose next state is Batch::goal_state does so in any case.
enum class SuccessRule { kFlag, kPositiveReward };
enum class Costs { kUnit, kSupplied };

struct GroupGraph {
  std::vector<Id> node;       // per row: node number within its task; kNone for rows that take no part
  std::vector<Id> next_node;  // per row: kNone also where the next state is not known
  std::vector<TransitionGraph> tasks;
  std::size_t successes = 0;  // episodes
};

std::vector<OptionSpec> graph_options();  // success, costs, similarity, similarity_threshold
SuccessRule read_success(const OptionReader& read);
Costs read_costs(const OptionReader& read);

// Episodes that succeeded by the rule.
std::vector<std::uint8_t> successful_episodes(const Work& work, SuccessRule rule);
// next_state of each row, with the goal in place where an episode succeeded. The goal is the last state id.
std::vector<Id> next_states(const Work& work, SuccessRule rule, Id& goal);

// Fails when the matcher does.
Result<GroupGraph> build_graphs(const Work& work, SuccessRule rule, Costs costs);

// Moves the graph's columns into the answer.
void take_graph(GroupGraph& graph, Credit& credit);

}  // namespace lodestep::graph
