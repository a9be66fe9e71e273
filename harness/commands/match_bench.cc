#include "harness/internal/match_bench.h"

#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "harness/credit.h"
#include "harness/internal/settings.h"
#include "harness/internal/whole_file.h"
#include "harness/match_experiment.h"
#include "harness/policy.h"
#include "harness/recorder.h"
#include "harness/runner.h"

namespace lodestep::harness {
namespace {

// The episodes once more, action by action, under settings that change how pages look.
Result<Recording> play_again(const Recording& recording, const EnvironmentArgs& environment,
                             const Settings& extra) {
  EnvironmentArgs changed = environment;
  changed.settings.insert(changed.settings.end(), extra.begin(), extra.end());
  Result<std::shared_ptr<const EnvFactory>> factory = changed.open();
  if (!factory) return factory.error();
  Recording out = recording;
  const std::unique_ptr<Environment> env = (*factory)->make();
  for (EpisodeRecord& episode : out.episodes) {
    if (Status reset = env->reset(episode.task); !reset) return reset.error();
    for (StepRecord& step : episode.steps) {
      Situation now = situation_of(*env);
      LODESTEP_CHECK(now.keys.exact == step.before.keys.exact, now.keys.exact, step.before.keys.exact);
      step.before = std::move(now);
      env->step(step.action);
    }
    episode.last = situation_of(*env);
  }
  return out;
}

// The choices with these names, all of them where none is named.
template <typename Choice>
Result<std::vector<Choice>> named(const std::vector<Choice>& all, const std::string& names,
                                  const std::string Choice::*name, const char* option) {
  if (names.empty()) return all;
  std::vector<Choice> out;
  for (const std::string_view wanted : split(names, ';')) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Choice& choice) { return choice.*name == trim(wanted); });
    if (found == all.end()) {
      std::vector<std::string> known;
      for (const Choice& choice : all) known.push_back(choice.*name);
      return Error{ErrorCode::kInvalidArgument, "unknown \"" + std::string(wanted) + "\"", option,
                   "known: " + join(known, "; ")};
    }
    out.push_back(*found);
  }
  return out;
}

struct Plays {
  RunPlan plan;
  std::unique_ptr<Policy> policy;
};

Result<Plays> plan_of(const MatchBenchWords& words, const EnvType& type, const EnvironmentArgs& environment) {
  Result<std::shared_ptr<const EnvFactory>> factory = environment.open();
  if (!factory) return factory.error();
  const std::string split = words.split.empty() ? (*factory)->splits().front() : words.split;
  Result<std::vector<std::string>> tasks = draw_tasks(
      **factory, split, static_cast<std::size_t>(words.groups), static_cast<std::uint64_t>(words.seed));
  if (!tasks) return tasks.error();
  Result<std::unique_ptr<Policy>> policy = make_policy(words.policy);
  if (!policy) return policy.error();
  Plays plays{{}, *std::move(policy)};
  plays.plan.factory = *factory;
  plays.plan.tasks = *tasks;
  plays.plan.group_size = static_cast<std::size_t>(words.group_size);
  plays.plan.max_steps =
      words.max_steps > 0 ? static_cast<std::size_t>(words.max_steps) : type.default_max_steps;
  plays.plan.seed = static_cast<std::uint64_t>(words.seed);
  return plays;
}

Result<Recording> play(const Plays& plays, std::uint64_t seed) {
  RunPlan plan = plays.plan;
  plan.seed = seed;
  MemoryRecorder recorder(RunInfo{{"env", plan.factory->name()}});
  if (Result<RunTimes> played = run_groups(plan, *plays.policy, recorder, {}); !played) return played.error();
  return recorder.take();
}

}  // namespace

Result<int> run_match_bench(const MatchBenchWords& words, bool json, Io& io) {
  const EnvType* type = find_environment_type(words.environment.name);
  if (type == nullptr) return open_environment(words.environment.name, {}).error();
  Result<RoutedSettings> routed = route_settings(words.settings, type, words.matcher, {});
  if (!routed) return routed.error();
  EnvironmentArgs environment = words.environment;
  environment.settings = routed->environment;

  const auto is_noise = [](const OptionSpec& option) { return option.name == "ads"; };
  const bool own_noise = std::any_of(type->options.begin(), type->options.end(), is_noise);
  const Result<std::vector<NoiseSetting>> noise =
      named(default_noise_settings(own_noise), words.noise, &NoiseSetting::name, "--noise");
  if (!noise) return noise.error();
  std::vector<MatcherChoice> chosen = default_matchers(words.environment.name);
  if (!words.matcher.empty()) {
    if (const Result<CreditBatch> probe = make_batch({}, words.matcher, routed->matcher); !probe) {
      return probe.error();
    }
    chosen = {{words.matcher, words.matcher, routed->matcher}};
  }
  if (!words.embedder.empty()) {
    Settings endpoint{{"embedder", words.embedder}};
    if (!words.model.empty()) endpoint.emplace_back("model", words.model);
    Settings released = endpoint;
    released.insert(released.end(), {{"threshold", "0.95"}, {"guard", "none"}});
    chosen.push_back({"embedding (endpoint) .95, no guard", "embedding", released});
    chosen.push_back({"embedding (endpoint) .99", "embedding", endpoint});
  }
  const Result<Plays> plays = plan_of(words, *type, environment);
  if (!plays) return plays.error();
  Result<Recording> first = play(*plays, plays->plan.seed);
  if (!first) return first.error();
  Result<Recording> second = play(*plays, plays->plan.seed + 1);
  if (!second) return second.error();

  Result<Experiment> experiment = run_match_experiment(
      {*std::move(first), *std::move(second)}, *noise, chosen,
      [&](const Recording& clean, const Settings& extra) { return play_again(clean, environment, extra); },
      [&](const std::string& now) { io.err << now << '\n'; });
  if (!experiment) return experiment.error();
  experiment->environment = words.environment.name;
  if (!words.svg.empty()) {
    if (Status written = write_whole_file(words.svg, experiment_svg(*experiment)); !written)
      return written.error();
  }
  io.out << (json ? experiment_json(*experiment) : experiment_table(*experiment));
  return 0;
}

}  // namespace lodestep::harness
