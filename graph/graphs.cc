#include "graph/graphs.h"

#include <algorithm>

#include "base/hash.h"

namespace lodestep::graph {
namespace {

// Finds an edge by its ends and cost; open addressing, since a map per task would cost more than the rest.
class EdgeTable {
 public:
  explicit EdgeTable(std::size_t edges) {
    std::size_t size = 16;
    while (size < 2 * edges) size *= 2;
    slots_.assign(size, kNone);
  }

  // One more step over the edge.
  void count(TransitionGraph& graph, Id from, Id to, double cost) { ++find(graph, from, to, cost).count; }
  // An edge that no step of the batch took, unless one did.
  void remember(TransitionGraph& graph, Id from, Id to, double cost) { find(graph, from, to, cost); }

 private:
  Edge& find(TransitionGraph& graph, Id from, Id to, double cost) {
    const std::uint64_t ends = (static_cast<std::uint64_t>(from) << 32) | static_cast<std::uint32_t>(to);
    std::size_t slot = ContainerHash()(ends) & (slots_.size() - 1);
    for (; slots_[slot] != kNone; slot = (slot + 1) & (slots_.size() - 1)) {
      Edge& edge = graph.edges[static_cast<std::size_t>(slots_[slot])];
      if (edge.from == from && edge.to == to && edge.cost == cost) return edge;
    }
    slots_[slot] = static_cast<Id>(graph.edges.size());
    return graph.edges.emplace_back(Edge{from, to, cost, 0});
  }

  std::vector<Id> slots_;
};

// Per worker: which node a state has in the task at hand. As long as all states, cleared by its users.
struct Scratch {
  std::vector<Id> node_of_state;
  std::vector<Id> touched;
};

class TaskBuilder {
 public:
  TaskBuilder(const Work& work, const std::vector<Id>& next, Id goal, Costs costs, GroupGraph& out,
              Scratch& scratch)
      : work_(work), next_(next), goal_(goal), costs_(costs), out_(out), scratch_(scratch) {}

  Status build(std::size_t task) {
    TransitionGraph& graph = out_.tasks[task];
    graph.task = static_cast<Id>(task);
    const std::span<const Row> rows = work_.rows_of_task[task];
    if (rows.empty()) return {};
    if (Status s = number_nodes(graph, task); !s) return s;
    EdgeTable table(rows.size() + work_.past_of_task[task].size());
    for (Row row : rows) {
      out_.node[row] = node_of(work_.batch.state[row]);
      ++graph.visits[static_cast<std::size_t>(out_.node[row])];
      if (next_[row] == kNone) continue;
      out_.next_node[row] = node_of(next_[row]);
      table.count(graph, out_.node[row], out_.next_node[row],
                  costs_ == Costs::kSupplied ? work_.cost(row) : 1);
    }
    for (Row e : work_.episodes_of_task[task]) {
      const Id last = out_.next_node[work_.rows_of_episode[e].back()];
      if (last != kNone) ++graph.visits[static_cast<std::size_t>(last)];
    }
    for (Row i : work_.past_of_task[task]) {
      const PastEdge& past = work_.batch.past[i];
      table.remember(graph, node_of(past.state), node_of(past.next_state),
                     costs_ == Costs::kSupplied ? past.cost : 1);
    }
    graph.goal = node_of(goal_);
    for (Id state : scratch_.touched) scratch_.node_of_state[static_cast<std::size_t>(state)] = kNone;
    scratch_.touched.clear();
    measure(graph);
    return {};
  }

 private:
  Id& node_of(Id state) { return scratch_.node_of_state[static_cast<std::size_t>(state)]; }

  void meet(TransitionGraph& graph, Id state) {
    if (node_of(state) != kNone) return;
    node_of(state) = static_cast<Id>(graph.state.size());
    scratch_.touched.push_back(state);
    graph.state.push_back(state);
  }

  // A row's state comes before its next state, and the goal last of all: the order decides similarity.
  Status number_nodes(TransitionGraph& graph, std::size_t task) {
    for (Row row : work_.rows_of_task[task]) {
      meet(graph, work_.batch.state[row]);
      if (next_[row] != kNone) meet(graph, next_[row]);
    }
    for (Row i : work_.past_of_task[task]) {
      meet(graph, work_.batch.past[i].state);
      meet(graph, work_.batch.past[i].next_state);
    }
    meet(graph, goal_);
    if (work_.matcher) {
      if (Status s = merge(graph); !s) return s;
    }
    graph.visits.assign(graph.nodes(), 0);
    return {};
  }

  Status merge(TransitionGraph& graph) {
    const Result<std::vector<Id>> stands_for = work_.matcher(graph.state);
    if (!stands_for) return stands_for.error();
    LODESTEP_CHECK(stands_for->size() == graph.nodes(), stands_for->size(), graph.nodes());
    std::vector<Id> kept;
    for (std::size_t i = 0; i < stands_for->size(); ++i) {
      const Id state = graph.state[i];
      const Id representative = (*stands_for)[i];
      if (representative == state) {
        node_of(state) = static_cast<Id>(kept.size());
        kept.push_back(state);
      } else {
        node_of(state) = node_of(representative);
      }
    }
    graph.state = std::move(kept);
    return {};
  }

  const Work& work_;
  const std::vector<Id>& next_;
  Id goal_;
  Costs costs_;
  GroupGraph& out_;
  Scratch& scratch_;
};

}  // namespace

std::vector<OptionSpec> graph_options() {
  return {
      {"success",
       "flag",
       "flag: the success column; positive: the sum of an episode's rewards is above 0",
       {"flag", "positive", "reward>0"}},
      {"costs", "supplied", "cost of a step: its cost column, or 1", {"supplied", "unit"}},
      {"similarity", "false", "true: states of a task that are alike are one node", {}},
      {"similarity_threshold", "0.95", "how alike, from 0 to 1", {}},
  };
}

SuccessRule read_success(const OptionReader& read) {
  return read.is("success", "flag") ? SuccessRule::kFlag : SuccessRule::kPositiveReward;
}

Costs read_costs(const OptionReader& read) {
  return read.is("costs", "unit") ? Costs::kUnit : Costs::kSupplied;
}

std::vector<std::uint8_t> successful_episodes(const Work& work, SuccessRule rule) {
  std::vector<std::uint8_t> successful(work.episodes(), 0);
  for (std::size_t e = 0; e < work.episodes(); ++e) {
    const std::span<const Row> rows = work.rows_of_episode[e];
    successful[e] = rule == SuccessRule::kPositiveReward
                        ? work.episode_reward(rows.back()) > 0
                        : std::any_of(rows.begin(), rows.end(), [&](Row row) { return work.success(row); });
  }
  return successful;
}

std::vector<Id> next_states(const Work& work, SuccessRule rule, Id& goal) {
  goal = work.batch.goal_state != kNone ? work.batch.goal_state : static_cast<Id>(work.states);
  std::vector<Id> next = work.batch.next_state;
  const std::vector<std::uint8_t> successful = successful_episodes(work, rule);
  for (std::size_t e = 0; e < work.episodes(); ++e) {
    if (successful[e]) next[work.rows_of_episode[e].back()] = goal;
  }
  return next;
}

Result<GroupGraph> build_graphs(const Work& work, SuccessRule rule, Costs costs) {
  GroupGraph out;
  Id goal = kNone;
  const std::vector<Id> next = next_states(work, rule, goal);
  out.node.assign(work.rows(), kNone);
  out.next_node.assign(work.rows(), kNone);
  out.tasks.resize(work.tasks);
  for (std::size_t e = 0; e < work.episodes(); ++e) {
    out.successes += next[work.rows_of_episode[e].back()] == goal ? 1 : 0;
  }
  std::vector<Status> built(work.tasks);
  std::vector<Scratch> scratch(static_cast<std::size_t>(std::max(work.threads, 1)));
  for_each_block(work.tasks, work.threads, 1, [&](std::size_t begin, std::size_t end, std::size_t worker) {
    Scratch& own = scratch[worker];
    own.node_of_state.resize(work.states + 1, kNone);
    for (std::size_t task = begin; task < end; ++task) {
      built[task] = TaskBuilder(work, next, goal, costs, out, own).build(task);
    }
  });
  for (const Status& status : built) {
    if (!status) return status.error();
  }
  return out;
}

void take_graph(GroupGraph& graph, Credit& credit) {
  credit.node = std::move(graph.node);
  credit.next_node = std::move(graph.next_node);
  credit.graphs = std::move(graph.tasks);
  credit.summary.successes = graph.successes;
}

}  // namespace lodestep::graph
