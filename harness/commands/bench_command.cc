// `lodestep bench`: our own speed on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <ostream>

#include "base/text.h"
#include "harness/credit.h"
#include "harness/internal/args.h"
#include "harness/internal/benchmarks.h"
#include "harness/internal/commands.h"
#include "harness/policy.h"
#include "harness/recorder.h"
#include "harness/runner.h"

namespace lodestep::harness {
namespace {

class Clock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

const std::vector<Benchmark>& benchmarks() {
  static const std::vector<Benchmark> list{
      {"rollout", "the main job: 16 Sokoban levels x 8 episodes, recorded, with credit", &bench_rollout},
      {"environments", "every environment's plain interface: resets and steps with text, actions and keys",
       &bench_environments},
      {"server", "steps over WebSocket, group steps, memory of idle sessions", &bench_server},
  };
  return list;
}

Result<std::vector<Measure>> bench_rollout() {
  constexpr int kRuns = 7;
  RunPlan plan;
  Result<std::shared_ptr<const EnvFactory>> factory = open_environment("sokoban", {});
  if (!factory) return factory.error();
  plan.factory = *factory;
  Result<std::vector<std::string>> tasks = draw_tasks(**factory, (*factory)->splits().front(), 16, 0);
  if (!tasks) return tasks.error();
  plan.tasks = *tasks;
  plan.group_size = 8;
  plan.max_steps = 15;
  const std::unique_ptr<Policy> policy = *make_policy("mixed:0.5");
  std::vector<double> whole;
  enum Stage { kPolicy, kStepping, kKeys, kRecording, kReading, kCredit, kStages };
  double stages[kStages] = {};
  std::size_t steps = 0;
  const std::string path =
      (std::filesystem::temp_directory_path() /
       fmt::format("lodestep-bench-{}.db", std::chrono::steady_clock::now().time_since_epoch().count()))
          .string();
  for (int run = 0; run < kRuns; ++run) {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
    Clock clock;
    Result<std::unique_ptr<Recorder>> recorder = create_recording(path, {{"env", "sokoban"}});
    if (!recorder) return recorder.error();
    const Result<RunTimes> times = run_groups(plan, *policy, **recorder, {});
    if (!times) return times.error();
    const Result<Recording> recording = read_recording(path);
    if (!recording) return recording.error();
    const Result<CreditBatch> batch = make_batch(*recording, "exact", {});
    if (!batch) return batch.error();
    const double before_credit = clock.seconds();
    for (const char* estimator : {"graphgpo", "gigpo", "grpo"}) {
      const Result<Credited> credited = credit_batch(*batch, {.estimator = estimator});
      if (!credited) return credited.error();
      if (Status status = (*recorder)->add_estimate(credited->estimate); !status) return status.error();
    }
    whole.push_back(clock.seconds());
    steps = recording->steps();
    stages[kPolicy] += times->policy;
    stages[kStepping] += times->stepping;
    stages[kKeys] += times->keys;
    stages[kRecording] += times->recording;
    stages[kReading] += before_credit - times->policy - times->stepping - times->keys - times->recording;
    stages[kCredit] += whole.back() - before_credit;
  }
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  double total = 0;
  for (const double seconds : whole) total += seconds;
  const double typical = median(whole);
  std::vector<Measure> out{
      {"rollout.episodes", 128 / typical, "episodes/s", "the whole job, one thread, median of 7 runs"},
      {"rollout.steps", static_cast<double>(steps) / typical, "steps/s",
       "the whole job, one thread, median of 7 runs"}};
  const char* names[kStages] = {
      "policy", "stepping", "keys", "recording", "reading and matching", "credit and storing it"};
  for (int i = 0; i < kStages; ++i)
    out.push_back(
        {std::string("rollout.share.") + names[i], 100 * stages[i] / total, "%", "of the job's time"});
  return out;
}

Result<std::vector<Measure>> bench_environments() {
  constexpr double kSeconds = 0.5;
  std::vector<Measure> out;
  for (const EnvType& type : environment_types()) {
    Result<std::shared_ptr<const EnvFactory>> factory = type.open({});
    if (!factory) return factory.error();
    const Result<std::vector<std::string>> tasks = draw_tasks(**factory, (*factory)->splits().front(), 16, 0);
    if (!tasks) return tasks.error();
    const auto environment = (*factory)->make();
    Stream dice(hash128(type.name));
    std::size_t resets = 0, steps = 0, bytes = 0;
    double reset_seconds = 0, step_seconds = 0;
    Clock clock;
    for (std::size_t i = 0; clock.seconds() < kSeconds; ++i) {
      const double begun = clock.seconds();
      if (Status status = environment->reset({type.name, (*tasks)[i % tasks->size()], i}); !status)
        return status.error();
      const double started = clock.seconds();
      reset_seconds += started - begun;
      ++resets;
      for (std::size_t t = 0; t < type.default_max_steps && !environment->observe().done(); ++t) {
        const std::vector<std::string> actions = environment->admissible_actions();
        const StepResult result =
            environment->step(actions.empty() ? "" : actions[dice.below(actions.size())]);
        bytes += result.observation.text.size() + environment->state_keys().exact.size();
        ++steps;
      }
      step_seconds += clock.seconds() - started;
    }
    out.push_back({type.name + ".resets", static_cast<double>(resets) / reset_seconds, "resets/s",
                   "16 tasks in turn, one thread"});
    out.push_back({type.name + ".steps", static_cast<double>(steps) / step_seconds, "steps/s",
                   fmt::format("random admissible actions, with text, action list and keys ({} bytes a step)",
                               bytes / std::max<std::size_t>(1, steps))});
  }
  return out;
}

Result<int> run_bench(const std::vector<std::string>& words, Io& io) {
  Args args("bench", "Measures our own speed on this machine.");
  std::vector<std::string> wanted;
  bool json = false;
  args.positionals("NAME", wanted, "benchmarks; all of them when none is named");
  args.flag("--json", json, "one JSON document");
  std::string list = "benchmarks:\n";
  std::vector<std::string> known;
  for (const Benchmark& benchmark : benchmarks()) {
    known.push_back(benchmark.name);
    list += fmt::format("  {:<14}{}\n", benchmark.name, benchmark.summary);
  }
  args.footer(list);
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  for (const std::string& name : wanted) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return Error{ErrorCode::kInvalidArgument, "unknown benchmark '" + name + "'", "lodestep bench",
                   "known benchmarks: " + join(known, ", ")};
    }
  }
  std::string document;
  for (const Benchmark& benchmark : benchmarks()) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), benchmark.name) == wanted.end()) continue;
    const Result<std::vector<Measure>> measures = benchmark.run();
    if (!measures) return measures.error();
    for (const Measure& m : *measures) {
      if (json) {
        document += fmt::format("{}{{\"name\":{},\"value\":{},\"unit\":{},\"counted\":{}}}",
                                document.empty() ? "" : ",", json_quote(m.name), json_number(m.value),
                                json_quote(m.unit), json_quote(m.counted));
      } else {
        io.out << fmt::format("{:<36}{:>14.1f} {:<12} {}\n", m.name, m.value, m.unit, m.counted)
               << std::flush;
      }
    }
  }
  if (json) io.out << "[" << document << "]\n";
  return 0;
}

}  // namespace lodestep::harness
