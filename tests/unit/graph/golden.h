// Golden credit cases as batches: one case of golden/credit in, a batch, a request and its expected columns
// out.
//   for (const GoldenCase& c : golden_cases("golden/credit/gigpo.json")) check(c);
// Threads: one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/estimator.h"

namespace lodestep::test {

struct GoldenGraph {
  std::vector<graph::Id> state;  // ids of the batch
  std::vector<double> distance;
};

struct GoldenCase {
  std::string name;
  graph::Request request;
  graph::Batch batch;
  std::vector<std::string> texts;  // of each state id; arrays of integers as Python's tuples print
  std::map<std::string, std::vector<double>> exact, expected;  // expected_f64 (or the paper's), float32
  std::map<std::string, std::vector<std::size_t>> rounding_sensitive;
  std::vector<GoldenGraph> graphs;
  std::vector<graph::Id> node_of_state, node_of_next;  // states that stand for each row's
};

// Empty when the shared data is missing (a skip is printed).
std::vector<GoldenCase> golden_cases(const std::string& file);

}  // namespace lodestep::test
