// Transitions remembered from batch to batch, per task, in a SQLite file.
//   Result<GraphStore> store = GraphStore::open("graphs.db");
//   Result<Remembered> old = store->recall(batch, names, /*half_life=*/10);   // fills batch.past and
//   batch.priors
//   ... estimate ...
//   Status kept = store->remember(names, *credit);
// Threads: one. Tasks and states are found by their names, so batches may come from any program that gives
// the same names. An edge counts half after `half_life` batches without being seen, and is left out below a
// sixteenth.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/interner.h"
#include "base/result.h"
#include "graph/estimator.h"

namespace lodestep::harness {

struct Remembered {
  std::size_t edges = 0;     // of this batch's tasks that are recalled
  std::size_t faded = 0;     // too old to count
  std::int64_t batches = 0;  // that the store has seen
};

// What the batch's numbers stand for.
struct BatchNames {
  std::vector<std::string> tasks;
  Interner& states;  // recalled ones are added
};

class GraphStore {
 public:
  // Makes the file when there is none. Fails on a file that is no graph store.
  static Result<GraphStore> open(const std::string& path);
  GraphStore(GraphStore&&) noexcept;
  ~GraphStore();

  // half_life in batches; 0: nothing fades.
  Result<Remembered> recall(graph::Batch& batch, BatchNames& names, double half_life);
  // Adds the batch's edges, all or none, and how many states that only they would have left without a way to
  // success had one by earlier batches.
  Status remember(const BatchNames& names, const graph::Credit& credit);

 private:
  struct Impl;
  explicit GraphStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// What was recalled, and how much of a graph rests on earlier batches alone, each in a line for a person.
std::string to_text(const Remembered& old);
std::string share_of_memory(const graph::Credit& credit);

}  // namespace lodestep::harness
