// `lodestep rollout`: groups of parallel episodes, every step recorded, credit on every step.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <thread>

#include "base/text.h"
#include "graph/estimator.h"
#include "harness/credit.h"
#include "harness/internal/args.h"
#include "harness/internal/commands.h"
#include "harness/internal/environment_args.h"
#include "harness/internal/interrupt.h"
#include "harness/internal/settings.h"
#include "harness/internal/whole_file.h"
#include "harness/runner.h"
#include "harness/summary.h"

namespace lodestep::harness {
namespace {

// What decides a run's bytes; kept in the recording so that --resume needs nothing else.
struct RolloutOptions {
  EnvironmentArgs environment;
  std::int64_t groups = 16, group_size = 8, max_steps = 0, seed = 0;
  std::string policy = "mixed:0.5";
  std::string estimators = "evihb,graphgpo,gigpo,grpo";
  std::string preset;
  std::string matcher = "exact";
  std::string tasks_file, split;
  bool filter_equal_groups = false;  // dynamic sampling: groups without signal are sampled again
  std::int64_t max_tries = 10;
  std::string branch;  // where failed episodes are forked; empty: nowhere
  std::int64_t suffixes = 8;
  std::string graph_store;  // graphgpo's memory; empty: none
  double half_life = 0;
  Settings settings;

  std::vector<std::string> estimator_names() const {
    std::vector<std::string> names;
    for (const std::string_view name : ::lodestep::split(estimators, ',')) names.emplace_back(trim(name));
    return names;
  }
};

// Settings as text in the recording: "key=value" lines (a value holds no newline on a command line).
std::string settings_text(const Settings& settings) {
  std::string out;
  for (const auto& [key, value] : settings) out += key + "=" + value + "\n";
  return out;
}

Settings parse_settings(const std::string& text) {
  Settings settings;
  for (const std::string_view line : ::lodestep::split(text, '\n')) {
    if (const Result<std::pair<std::string, std::string>> setting = parse_setting(line))
      settings.push_back(*setting);
  }
  return settings;
}

RunInfo run_info(const RolloutOptions& options, const EnvFactory& factory,
                 const std::vector<std::string>& tasks) {
  return {{"program", "lodestep " LODESTEP_VERSION},
          {"env", factory.name()},
          {"env_version", std::to_string(factory.version())},
          {"data", options.environment.data},
          {"data_digest", to_hex(factory.data_digest())},
          {"settings", settings_text(options.settings)},
          {"groups", std::to_string(options.groups)},
          {"group_size", std::to_string(options.group_size)},
          {"max_steps", std::to_string(options.max_steps)},
          {"seed", std::to_string(options.seed)},
          {"policy", options.policy},
          {"estimators", options.estimators},
          {"preset", options.preset},
          {"matcher", options.matcher},
          {"graph_store", options.graph_store},
          {"half_life", json_number(options.half_life)},
          {"branch", options.branch},
          {"suffixes", std::to_string(options.suffixes)},
          {"max_tries", options.filter_equal_groups ? std::to_string(options.max_tries) : "0"},
          {"tasks", join(tasks, "\n")}};
}

Status take_from(const RunInfo& info, const std::string& path, RolloutOptions& options) {
  const auto text = [&](const char* key) {
    const auto found = info.find(key);
    return found == info.end() ? std::string() : found->second;
  };
  const auto number = [&](const char* key, std::int64_t& target) {
    const std::optional<std::int64_t> value = parse_int(text(key));
    if (value) target = *value;
    return value.has_value();
  };
  if (text("env") != options.environment.name) {
    return Error{ErrorCode::kInvalidArgument, "the recording is of '" + text("env") + "'", path, ""};
  }
  if (!number("groups", options.groups) || !number("group_size", options.group_size) ||
      !number("max_steps", options.max_steps) || !number("seed", options.seed)) {
    return Error{ErrorCode::kBadData, "the recording was not made by 'rollout'", path,
                 "it cannot be resumed"};
  }
  options.filter_equal_groups = number("max_tries", options.max_tries) && options.max_tries > 0;
  options.graph_store = text("graph_store");
  options.half_life = parse_double(text("half_life")).value_or(0);
  options.branch = text("branch");
  number("suffixes", options.suffixes);
  options.environment.data = text("data");
  options.settings = parse_settings(text("settings"));
  options.policy = text("policy");
  options.estimators = text("estimators");
  options.preset = text("preset");
  options.matcher = text("matcher");
  return {};
}

Result<std::vector<std::string>> choose_tasks(const RolloutOptions& options, const EnvFactory& factory,
                                              Io& io) {
  if (options.tasks_file.empty()) {
    const std::string split = options.split.empty() ? factory.splits().front() : options.split;
    const std::int64_t tries = options.filter_equal_groups ? options.max_tries : 1;
    return draw_tasks(factory, split, static_cast<std::size_t>(options.groups * tries),
                      static_cast<std::uint64_t>(options.seed));
  }
  Result<std::string> text = read_input(options.tasks_file, io);
  if (!text) return text.error();
  std::vector<std::string> tasks;
  for (const std::string_view line : ::lodestep::split(*text, '\n')) {
    if (!trim(line).empty()) tasks.emplace_back(trim(line));
  }
  if (tasks.empty())
    return Error{ErrorCode::kBadData, "no task in the file", options.tasks_file, "one id a line"};
  return tasks;
}

// Groups first..last-1 whose finished episodes all have the same total reward.
std::vector<std::size_t> equal_groups(const Recording& recording, std::size_t first, std::size_t last) {
  std::map<std::size_t, std::set<double>> scores;
  for (std::size_t group = first; group < last; ++group) scores[group];
  for (const EpisodeRecord& episode : recording.episodes) {
    if (episode.group >= first && episode.group < last && episode.status == EpisodeStatus::kFinished) {
      scores[episode.group].insert(episode.total_reward());
    }
  }
  std::vector<std::size_t> equal;
  for (const auto& [group, values] : scores) {
    if (values.size() <= 1) equal.push_back(group);
  }
  return equal;
}

void add_times(const RunTimes& more, RunTimes& total) {
  total.policy += more.policy;
  total.stepping += more.stepping;
  total.keys += more.keys;
  total.recording += more.recording;
}

// Plays batch after batch of groups until enough of them have a signal. As in the reference, kept groups add
// up over the tries and the last try is kept whole.
Result<RunTimes> play_batches(RunPlan plan, const RolloutOptions& options, const Policy& policy,
                              const std::string& path, Recorder& recorder, const RunHooks& hooks,
                              const std::set<std::pair<std::size_t, std::size_t>>& done) {
  if (!options.filter_equal_groups) return run_groups(plan, policy, recorder, hooks, done);
  const auto batch = static_cast<std::size_t>(options.groups);
  RunTimes total;
  std::vector<std::string> filtered;
  std::size_t kept = 0;
  for (std::size_t first = 0; first < plan.tasks.size() && kept < batch; first += batch) {
    plan.first = first;
    plan.last = first + batch;
    const Result<RunTimes> times = run_groups(plan, policy, recorder, hooks, done);
    if (!times) return times.error();
    add_times(*times, total);
    if (hooks.stop()) return total;
    const Result<Recording> recording = read_recording(path);
    if (!recording) return recording.error();
    const std::vector<std::size_t> equal = equal_groups(*recording, first, plan.last);
    kept += batch - equal.size();
    if (plan.last < plan.tasks.size()) {
      for (const std::size_t group : equal) filtered.push_back(std::to_string(group));
    }
  }
  if (Status status = recorder.set_info(kFilteredGroups, join(filtered, ",")); !status) return status.error();
  return total;
}

// Forks failed episodes of a recording that is complete otherwise.
Result<RunTimes> play_branches(const RunPlan& plan, const RolloutOptions& options, const Policy& policy,
                               const std::string& path, Recorder& recorder, const RunHooks& hooks,
                               const std::set<std::pair<std::size_t, std::size_t>>& done) {
  const Result<BranchRule> rule =
      read_branch_rule(options.branch, static_cast<std::size_t>(options.suffixes));
  if (!rule) return rule.error();
  const Result<Recording> recording = read_recording(path);
  if (!recording) return recording.error();
  const std::size_t budget = static_cast<std::size_t>(options.groups) * plan.group_size * plan.max_steps;
  BranchPlan branches{
      *recording, choose_branches(*recording, *rule, plan.tasks.size(), plan.max_steps, budget, plan.seed),
      rule->suffixes};
  if (Status status = recorder.set_info(kBranches, to_text(branches.branches)); !status)
    return status.error();
  return run_branches(plan, branches, policy, recorder, hooks, done);
}

struct CreditTimes {
  double matching = 0;
  std::vector<std::pair<std::string, double>> estimators;
};

Result<CreditTimes> store_credit(const Recording& recording, const RolloutOptions& options,
                                 const RoutedSettings& routed, int threads, Recorder& recorder, Io& io) {
  CreditTimes times;
  if (recording.steps() == 0) return times;
  const Result<CreditBatch> batch = make_batch(recording, options.matcher, routed.matcher);
  if (!batch) return batch.error();
  times.matching = batch->match_seconds;
  for (const std::string& name : options.estimator_names()) {
    CreditRequest request;
    request.estimator = name;
    request.preset = options.preset;
    if (const auto own = routed.estimators.find(name); own != routed.estimators.end())
      request.settings = own->second;
    request.matcher = options.matcher;
    request.matcher_settings = routed.matcher;
    request.threads = threads;
    if (name == "graphgpo" || name == "graphgpo-paper") {
      request.graph_store = options.graph_store;
      request.half_life = options.half_life;
    }
    Result<Credited> credited = credit_batch(*batch, request);
    if (!credited) return credited.error();
    for (const std::string& note : credited->notes) {
      if (times.estimators.empty() || note.starts_with("graph store")) io.err << "note: " << note << '\n';
    }
    if (times.estimators.empty()) {
      for (const std::string& warning : credited->credit.summary.warnings)
        io.err << "warning: " << warning << '\n';
    }
    times.estimators.emplace_back(name, credited->credit_seconds);
    if (Status status = recorder.add_estimate(credited->estimate); !status) return status.error();
  }
  return times;
}

// A batch with what a recording has: options, and estimators that want more, are tried on it before anything
// is played.
graph::Batch one_step() {
  graph::Batch batch;
  batch.add({.next_state = 1, .action = 0, .admissible_count = 1, .turns_left = 1});
  batch.keys = batch.next_keys = {{0}, {0}, {0}};  // stage, relevant, exact
  return batch;
}

std::string times_text(const RunTimes& run, const CreditTimes& credit) {
  std::string out =
      fmt::format("  {:<28}policy {:.3f}, stepping {:.3f}, keys {:.3f}, recording {:.3f}, matching {:.3f}",
                  "seconds", run.policy, run.stepping, run.keys, run.recording, credit.matching);
  for (const auto& [name, seconds] : credit.estimators) out += fmt::format(", {} {:.3f}", name, seconds);
  return out + "\n";
}

std::string times_json(const RunTimes& run, const CreditTimes& credit) {
  std::string out =
      fmt::format("{{\"policy\":{},\"stepping\":{},\"keys\":{},\"recording\":{},\"matching\":{}",
                  json_number(run.policy), json_number(run.stepping), json_number(run.keys),
                  json_number(run.recording), json_number(credit.matching));
  for (const auto& [name, seconds] : credit.estimators) {
    out += "," + json_quote("credit:" + name) + ":" + json_number(seconds);
  }
  return out + "}";
}

}  // namespace

Result<int> run_rollout(const std::vector<std::string>& words, Io& io) {
  InterruptGuard interrupt;
  Args args("rollout", "Runs groups of parallel episodes, records every step and attaches credit to each.");
  RolloutOptions options;
  std::string out = "run.db";
  std::string resume;
  std::int64_t threads = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  bool json = false;
  args.positional("ENV", options.environment.name, "environment, see 'lodestep envs'").required();
  args.option("--data", options.environment.data,
              "data of the environment; its embedded default when left out");
  args.option("--groups", options.groups, "number of groups, one task each").range(1, 1000000);
  args.option("--group-size", options.group_size, "episodes of each group").range(1, 100000);
  args.option("--max-steps", options.max_steps, "step budget; 0 = the environment's default")
      .range(0, 1000000);
  args.option("--policy", options.policy,
              "random, gold, mixed:E, confused:P, script:FILE, openai:URL[,model=NAME,...]");
  args.option("--estimator", options.estimators, "credit estimators, separated by commas");
  args.option("--preset", options.preset, "released or paper, for the estimators that have them");
  args.option("--matcher", options.matcher, "state matcher");
  args.option("--tasks", options.tasks_file, "file of task ids, one a line, one group each");
  args.option("--split", options.split, "task list to draw from; the default one when left out");
  args.flag("--filter-equal-groups", options.filter_equal_groups,
            "sample again in place of groups whose episodes all score the same (dynamic sampling)");
  args.option("--max-tries", options.max_tries, "batches that are sampled at most; the last is kept whole")
      .range(1, 1000);
  args.option("--graph-store", options.graph_store,
              "file that remembers each task's graph from batch to batch, for graphgpo");
  args.option("--half-life", options.half_life,
              "batches after which a stored edge counts half; 0 = for ever");
  args.option("--branch", options.branch,
              "then fork a failed episode of each group: random, first-mistake, uncertain:K");
  args.option("--branches", options.suffixes, "with --branch: tries from each fork").range(1, 100000);
  args.option("--seed", options.seed, "decides tasks and all chance").range(0, INT64_MAX);
  args.option("--out", out, "recording to write (SQLite)");
  args.option("--threads", threads, "threads; no byte of the result depends on it").range(1, 4096);
  args.option("--resume", resume, "recording to continue; everything else comes from it");
  args.flag("--json", json, "the summary as one JSON document");
  args.settings(options.settings, "option of environment, matcher or estimator");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;

  const EnvType* type = find_environment_type(options.environment.name);
  if (type == nullptr) return open_environment(options.environment.name, {}).error();
  std::set<std::pair<std::size_t, std::size_t>> done;
  RunInfo previous;
  if (!resume.empty()) {
    for (const char* flag :
         {"--data", "--groups", "--group-size", "--max-steps", "--policy", "--estimator", "--preset",
          "--matcher", "--tasks", "--split", "--filter-equal-groups", "--max-tries", "--branch", "--branches",
          "--graph-store", "--half-life", "--seed", "--out", "--set"}) {
      if (args.given(flag)) {
        return Error{ErrorCode::kInvalidArgument, std::string(flag) + " cannot go with --resume",
                     "lodestep rollout", "the recording says how the run goes on"};
      }
    }
    Result<Recording> recording = read_recording(resume);
    if (!recording) return recording.error();
    previous = recording->info;
    if (Status status = take_from(previous, resume, options); !status) return status.error();
    for (const EpisodeRecord& episode : recording->episodes) done.insert({episode.group, episode.member});
    out = resume;
  }
  if (options.filter_equal_groups && !options.tasks_file.empty()) {
    return Error{ErrorCode::kInvalidArgument, "--filter-equal-groups cannot go with --tasks",
                 "lodestep rollout", "it draws other tasks in place of those without signal; name a --split"};
  }
  if (args.given("--branches") && options.branch.empty()) {
    return Error{ErrorCode::kInvalidArgument, "--branches goes with --branch", "lodestep rollout",
                 "--branch random, first-mistake or uncertain:K"};
  }
  if (!options.branch.empty()) {
    if (const auto rule = read_branch_rule(options.branch, 1); !rule) return rule.error();
  }
  if (options.max_steps == 0) options.max_steps = static_cast<std::int64_t>(type->default_max_steps);

  // Everything that can be refused is refused before the first file is made.
  Result<RoutedSettings> routed =
      route_settings(options.settings, type, options.matcher, options.estimator_names());
  if (!routed) return routed.error();
  for (const std::string& name : options.estimator_names()) {
    const Settings& own = routed->estimators[name];
    if (const Result<graph::Credit> tried =
            graph::estimate({.estimator = name, .preset = options.preset, .settings = own}, one_step());
        !tried) {
      return tried.error();
    }
  }
  if (const Result<CreditBatch> probe = make_batch({}, options.matcher, routed->matcher); !probe)
    return probe.error();
  Result<std::shared_ptr<const EnvFactory>> factory =
      open_environment(options.environment.name, {options.environment.data, routed->environment});
  if (!factory) return factory.error();
  Result<std::unique_ptr<Policy>> policy = make_policy(options.policy);
  if (!policy) return policy.error();

  RunPlan plan;
  plan.factory = *factory;
  if (resume.empty()) {
    Result<std::vector<std::string>> tasks = choose_tasks(options, **factory, io);
    if (!tasks) return tasks.error();
    plan.tasks = std::move(*tasks);
    if (!options.tasks_file.empty()) options.groups = static_cast<std::int64_t>(plan.tasks.size());
  } else {
    if (previous["data_digest"] != to_hex((*factory)->data_digest()) ||
        previous["env_version"] != std::to_string((*factory)->version())) {
      return Error{ErrorCode::kBadData, "environment or data have changed since the recording was begun",
                   resume, "resume with the same version and data"};
    }
    for (const std::string_view task : ::lodestep::split(previous["tasks"], '\n'))
      plan.tasks.emplace_back(task);
  }
  plan.group_size = static_cast<std::size_t>(options.group_size);
  plan.max_steps = static_cast<std::size_t>(options.max_steps);
  plan.seed = static_cast<std::uint64_t>(options.seed);
  plan.threads = static_cast<std::size_t>(threads);

  Result<std::unique_ptr<Recorder>> recorder =
      resume.empty() ? create_recording(out, run_info(options, **factory, plan.tasks)) : open_recording(out);
  if (!recorder) return recorder.error();

  const bool terminal = &io.err != &io.out && isatty(STDERR_FILENO) != 0;
  const std::size_t total = static_cast<std::size_t>(options.groups) * plan.group_size;
  RunHooks hooks;
  hooks.stop = [&] { return interrupt.requested(); };
  hooks.progress = [&](std::size_t finished) {
    if (terminal) io.err << '\r' << finished << " of " << total << " episodes " << std::flush;
  };
  Result<RunTimes> times = play_batches(plan, options, **policy, out, **recorder, hooks, done);
  if (times && !options.branch.empty() && !interrupt.requested()) {
    const Result<RunTimes> more = play_branches(plan, options, **policy, out, **recorder, hooks, done);
    if (!more) return more.error();
    add_times(*more, *times);
  }
  if (terminal) io.err << '\n';
  if (!times) return times.error();
  if (interrupt.requested()) {
    io.err << "interrupted; continue with: lodestep rollout " << options.environment.name << " --resume "
           << out << '\n';
    return interrupt.exit_status();
  }
  Result<Recording> recording = read_recording(out);
  if (!recording) return recording.error();
  const Result<CreditTimes> credit =
      store_credit(*recording, options, *routed, static_cast<int>(threads), **recorder, io);
  if (!credit) return credit.error();
  const Summary summary = summarize(*recording);
  if (json) {
    std::string document = to_json(summary);
    document.pop_back();
    io.out << document << ",\"recording\":" << json_quote(out)
           << ",\"seconds\":" << times_json(*times, *credit) << "}\n";
    return 0;
  }
  io.out << fmt::format("{} x {} episodes of {}, policy {}, at most {} steps\n", summary.groups,
                        plan.group_size, options.environment.name, options.policy, plan.max_steps)
         << to_text(summary) << times_text(*times, *credit) << "\nrecorded in " << out << ". Look further:\n"
         << "  lodestep report " << out << "\n  lodestep export " << out << " --format csv --out steps.csv\n"
         << "  lodestep play " << options.environment.name
         << (options.environment.data.empty() ? "" : " --data " + options.environment.data) << " --task "
         << plan.tasks.front() << "\n  lodestep view " << out << '\n';
  return 0;
}

}  // namespace lodestep::harness
