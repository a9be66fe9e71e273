// bench_server_load PORT PATH SESSIONS SECONDS PID MESSAGE: one line of JSON with the figures of that load.
#include <cstdlib>
#include <iostream>

#include "harness/server/load.h"

int main(int argc, char** argv) {
  if (argc != 7) {
    std::cerr << "usage: bench_server_load PORT PATH SESSIONS SECONDS PID MESSAGE\n";
    return 2;
  }
  lodestep::harness::LoadPlan plan;
  plan.port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  plan.path = argv[2];
  plan.sessions = static_cast<std::size_t>(std::atoi(argv[3]));
  plan.seconds = std::atof(argv[4]);
  plan.server_pid = std::atoi(argv[5]);
  plan.messages = {argv[6]};
  const auto load = lodestep::harness::run_load(plan);
  if (!load) {
    std::cerr << load.error() << '\n';
    return 1;
  }
  std::cout << "{\"steps_per_second\":" << static_cast<double>(load->steps) / load->seconds
            << ",\"server_cpu_us\":" << 1e6 * load->server_cpu_seconds / static_cast<double>(load->steps)
            << ",\"p50_ms\":" << load->p50_milliseconds << ",\"p99_ms\":" << load->p99_milliseconds << "}\n";
  return 0;
}
