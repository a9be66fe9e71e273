#include "harness/server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "harness/server/limits.h"

namespace lodestep::harness {

std::size_t default_max_sessions() {
  const double bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  return std::clamp<std::size_t>(static_cast<std::size_t>(bytes / 2 / 100e3), 1000, 100000);
}

namespace {

// Counters of one family by their one or two label values, found without building label maps each time.
class CounterTable {
 public:
  CounterTable(prometheus::Registry& registry, const char* name, const char* help,
               std::vector<const char*> labels)
      : family_(prometheus::BuildCounter().Name(name).Help(help).Register(registry)),
        labels_(std::move(labels)) {}

  void add(const std::string& first, const std::string& second = {}, double amount = 1) {
    const std::lock_guard lock(mutex_);
    prometheus::Counter*& counter = counters_[{first, second}];
    if (counter == nullptr) {
      std::map<std::string, std::string> values{{labels_[0], first}};
      if (labels_.size() > 1) values[labels_[1]] = second;
      counter = &family_.Add(values);
    }
    counter->Increment(amount);
  }

 private:
  prometheus::Family<prometheus::Counter>& family_;
  std::vector<const char*> labels_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, prometheus::Counter*> counters_;
};

}  // namespace

struct Metrics::Impl {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& resets =
      prometheus::BuildCounter().Name("lodestep_resets_total").Help("episodes started").Register(registry);
  prometheus::Family<prometheus::Counter>& steps =
      prometheus::BuildCounter().Name("lodestep_steps_total").Help("steps played").Register(registry);
  prometheus::Family<prometheus::Counter>& step_seconds = prometheus::BuildCounter()
                                                              .Name("lodestep_step_seconds_total")
                                                              .Help("seconds spent in steps")
                                                              .Register(registry);
  CounterTable episodes{registry, "lodestep_episodes_total", "episodes ended", {"env", "end"}};
  CounterTable requests{
      registry, "lodestep_http_requests_total", "HTTP requests answered", {"dialect", "status"}};
  CounterTable refusals{registry, "lodestep_refusals_total", "requests refused by a limit", {"reason"}};
  struct Reading {
    prometheus::Gauge* gauge;
    std::function<double()> value;
  };
  std::mutex mutex;
  std::vector<Reading> readings;
  std::map<std::string, std::unique_ptr<EnvironmentCounters>> environments;
};

namespace {

// Brings a Prometheus counter up to a value that only grows.
void raise(prometheus::Counter& counter, double value) { counter.Increment(value - counter.Value()); }

}  // namespace

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

EnvironmentCounters& Metrics::of(const std::string& environment) {
  const std::lock_guard lock(impl_->mutex);
  std::unique_ptr<EnvironmentCounters>& counters = impl_->environments[environment];
  if (!counters) counters = std::make_unique<EnvironmentCounters>();
  return *counters;
}

void Metrics::count_episode(const std::string& environment, const char* end) {
  impl_->episodes.add(environment, end);
}
void Metrics::count_request(const std::string& dialect, int status) {
  impl_->requests.add(dialect, std::to_string(status));
}
void Metrics::count_refusal(const char* reason) { impl_->refusals.add(reason); }

void Metrics::set_gauge(const std::string& name, const std::string& help, std::function<double()> value) {
  prometheus::Gauge& gauge = prometheus::BuildGauge().Name(name).Help(help).Register(impl_->registry).Add({});
  const std::lock_guard lock(impl_->mutex);
  impl_->readings.push_back({&gauge, std::move(value)});
}

std::string Metrics::text() {
  {
    const std::lock_guard lock(impl_->mutex);
    for (const auto& [name, counters] : impl_->environments) {
      raise(impl_->resets.Add({{"env", name}}), static_cast<double>(counters->resets));
      raise(impl_->steps.Add({{"env", name}}), static_cast<double>(counters->steps));
      raise(impl_->step_seconds.Add({{"env", name}}), static_cast<double>(counters->nanoseconds) / 1e9);
    }
    for (const Impl::Reading& reading : impl_->readings) reading.gauge->Set(reading.value());
  }
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace lodestep::harness
