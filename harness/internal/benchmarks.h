// The benchmarks of `lodestep bench`: our own speed, each figure with its unit and what was counted.
//   for (const Benchmark& benchmark : benchmarks()) benchmark.run(report);
// Threads: one benchmark at a time. Comparisons with peers and plain twins are programs in bench/.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace lodestep::harness {

struct Measure {
  std::string name;
  double value = 0;
  std::string unit;     // "steps/s", "ms", "%"
  std::string counted;  // what one unit of work was, and how it was measured
};

struct Benchmark {
  std::string name;
  std::string summary;
  Result<std::vector<Measure>> (*run)();
};

// The one list, in the order of the output.
const std::vector<Benchmark>& benchmarks();

Result<std::vector<Measure>> bench_rollout();
Result<std::vector<Measure>> bench_environments();
Result<std::vector<Measure>> bench_server();

}  // namespace lodestep::harness
