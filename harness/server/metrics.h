// Counters of the server, written in the Prometheus text format.
//   metrics.of("sokoban").steps += 1;  std::string page = metrics.text();
// Threads: safe. prometheus-cpp does the work, behind this header.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace lodestep::harness {

// The counters of one environment, found once.
struct EnvironmentCounters {
  std::atomic<std::uint64_t> resets{0}, steps{0}, nanoseconds{0};
  std::atomic<int> unproven{200};  // quick steps still to come before its steps count as quick
};

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  EnvironmentCounters& of(const std::string& environment);  // made at the first call; lives as long as this
  void count_episode(const std::string& environment,
                     const char* end);                         // success, failure, truncated, abandoned
  void count_request(const std::string& dialect, int status);  // HTTP
  void count_refusal(const char* reason);                      // capacity, unauthorized, ...
  // Read at every scrape.
  void set_gauge(const std::string& name, const std::string& help, std::function<double()> value);
  std::string text();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lodestep::harness
