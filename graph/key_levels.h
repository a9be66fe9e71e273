// Key levels of back-off estimators: cells from one for all down to a state of a task, each inside a coarser
// one.
//   Result<std::vector<KeyLevel>> levels = read_levels(options.text("levels"), batch.keys.size());
//   const Cells cells = make_cells(work, *levels);
// Threads: functions of const data. Private to this room.
#pragma once

#include <string>
#include <vector>

#include "graph/working.h"

namespace lodestep::graph {

struct KeyLevel {
  enum class Scope { kBatch, kTask };
  Scope scope = Scope::kTask;
  Id key = kNone;     // which of Batch::keys; kNone: none, so one cell for the whole scope
  double weight = 0;  // how many visits the coarser level's value counts for
};

// "batch:0,batch.0:5,task.1:2": scope, key number where there is one, weight. "auto" fits the number of keys:
// for three (stage, relevant, exact) the levels that docs/credit.md measured, for one the task and the state.
// Fails on words that are none of these and on keys that the batch does not have.
Result<std::vector<KeyLevel>> read_levels(const std::string& text, std::size_t keys);

struct Cells {
  // Per level. A cell's number is unique within its level; parent[l][cell] is a cell of level l - 1.
  std::vector<std::vector<Id>> parent;
  std::vector<std::vector<double>> rows;  // steps taken from the cell
  std::vector<Id> of_state;               // per row: its cell at the finest level; kNone: takes no part
  // Per row: the finest known cell of where the step led, and its level. Without keys of the next state this
  // is the finest level that needs none.
  std::vector<Id> next_cell;
  std::vector<std::int32_t> next_level;  // -1: none known
};

Cells make_cells(const Work& work, const std::vector<KeyLevel>& levels);

}  // namespace lodestep::graph
