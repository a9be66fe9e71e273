// Counters of the server, written in the Prometheus text format.
//   metrics.count_step("sokoban", seconds);  std::string page = metrics.text();
// Threads: safe. prometheus-cpp does the work, behind this header.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace lodestep::harness {

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void count_reset(const std::string& environment);
  void count_step(const std::string& environment, double seconds);
  void count_episode(const std::string& environment, const char* end);  // success, failure, truncated, abandoned
  void count_request(const std::string& dialect, int status);           // HTTP
  void count_refusal(const char* reason);                               // capacity, unauthorized, ...
  // Read at every scrape.
  void set_gauge(const std::string& name, const std::string& help, std::function<double()> value);
  std::string text();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lodestep::harness
