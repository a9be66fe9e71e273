// Transitions remembered from batch to batch, per task, in a SQLite file.
//   Result<GraphStore> store = GraphStore::open("graphs.db");
//   Result<Remembered> old = store->recall(*steps, /*half_life=*/10);   // fills steps->batch.past
//   ... estimate ...
//   Status kept = store->remember(*steps, *credit);
// Threads: one. Tasks and states are found by their JSON, so batches may come from any program. An edge
// counts half after `half_life` batches without being seen, and is left out below a sixteenth.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "graph/estimator.h"
#include "harness/steps_jsonl.h"

namespace lodestep::harness {

struct Remembered {
  std::size_t edges = 0;     // of this batch's tasks that are recalled
  std::size_t faded = 0;     // too old to count
  std::int64_t batches = 0;  // that the store has seen
};

class GraphStore {
 public:
  // Makes the file when there is none. Fails on a file that is no graph store.
  static Result<GraphStore> open(const std::string& path);
  GraphStore(GraphStore&&) noexcept;
  ~GraphStore();

  // half_life in batches; 0: nothing fades.
  Result<Remembered> recall(StepFile& steps, double half_life);
  // Adds the batch's edges, all or none.
  Status remember(const StepFile& steps, const graph::Credit& credit);

 private:
  struct Impl;
  explicit GraphStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lodestep::harness
