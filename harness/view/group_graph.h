// The state graph of one group as a picture: nodes, marks, places. What the viewer and the plots draw.
//   for (const GroupGraph& graph : group_graphs(recording, recording.estimates[0])) draw(graph);
// Threads: pure functions of const data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/recording.h"

namespace lodestep::harness {

struct GroupNode {
  std::int64_t id = 0;  // the estimate's node number
  std::optional<double>
      distance;            // fewest observed steps to success; none: no success was observed from here
  std::size_t visits = 0;  // steps taken from it, and episodes that ended in it
  bool start = false;
  bool success = false;
  bool dead = false;  // no way to success: the environment says so, or an episode failed here for good
  bool open = false;  // no success observed, and an action here or further on was never tried
  int column = 0;     // left to right: towards success, or away from the start where none was observed
  double shift =
      0;  // to the right within the column, below 1: nodes of a crowded column stand in several lines
  double row = 0;  // top to bottom, nodes with equal column and shift at least 1 apart
};

struct GroupEdge {
  std::size_t from = 0, to = 0;  // indices into GroupGraph::nodes
  std::size_t count = 0;         // steps that took it
  double advantage = 0;          // their mean
};

struct GroupGraph {
  std::size_t group = 0;  // EpisodeRecord::group
  std::vector<GroupNode> nodes;
  std::vector<GroupEdge> edges;
  // One entry per recorded step of the group, in (member, t) order: index of the node before and after it;
  // none where the step took no part or its next state is unknown.
  std::vector<std::optional<std::size_t>> from, to;
  int columns = 0;
  double rows = 0;
};

// One graph per group of the recording, from the node columns of an estimate, which must have them.
std::vector<GroupGraph> group_graphs(const Recording& recording, const Estimate& estimate);

// Whether the estimate says which node each step left.
bool has_nodes(const Estimate& estimate);

// The part of an advantage that compares steps where the estimator has one, else all of it.
double step_signal(const Estimate& estimate, std::size_t row);

// Fills column, shift and row of every node.
void place_nodes(GroupGraph& graph);

// How often success followed a visit, against the value omega^distance that the graph gives the node.
struct CalibrationBin {
  double low = 0, high = 0;  // of the value; the last bin contains its upper end
  std::size_t visits = 0;    // (episode, node) pairs
  double mean_value = 0;
  double success_rate = 0;
  double rate_low = 0, rate_high = 0;  // Wilson 95 % interval
};
std::vector<CalibrationBin> calibration(const Recording& recording, const std::vector<GroupGraph>& graphs,
                                        double omega, std::size_t bins);

// 95 % Wilson score interval of a share.
struct Interval {
  double low = 0, high = 1;
};
Interval wilson_interval(std::size_t successes, std::size_t trials);

}  // namespace lodestep::harness
