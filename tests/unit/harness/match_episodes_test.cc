// `robust` on recorded episodes of every environment with text: its targets under noise, and the same keys
// whatever the order of groups and episodes.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "base/rng.h"
#include "canonicalizer/agreement.h"
#include "envs/factory.h"
#include "harness/credit.h"
#include "harness/page_noise.h"
#include "harness/policy.h"
#include "harness/recorder.h"
#include "harness/runner.h"

namespace lodestep::harness {
namespace {

Recording play(const std::string& name, const std::string& mode, std::size_t groups) {
  const Settings settings = mode.empty() ? Settings{} : Settings{{"mode", mode}};
  Result<std::shared_ptr<const EnvFactory>> factory = open_environment(name, {"", settings});
  REQUIRE(factory);
  Result<std::vector<std::string>> tasks = draw_tasks(**factory, (*factory)->splits().front(), groups, 5);
  REQUIRE(tasks);
  Result<std::unique_ptr<Policy>> policy = make_policy("mixed:0.5");
  REQUIRE(policy);
  RunPlan plan;
  plan.factory = *factory;
  plan.tasks = *tasks;
  plan.max_steps = 15;
  MemoryRecorder recorder(RunInfo{{"env", name}});
  REQUIRE(run_groups(plan, **policy, recorder, {}));
  return recorder.take();
}

// The page's truth takes the place of the world's, and noise that of the text.
Recording disturbed(Recording recording, PageNoise kind) {
  std::uint64_t number = 0;
  const auto change = [&](Situation& now) {
    Hasher truth;
    truth.add(now.observation);
    for (const std::string& action : now.admissible) truth.add(action);
    now.keys.exact = to_hex(truth.finish());
    const NoisePlan plan{.kind = kind, .density = kind == PageNoise::kNumbers ? 1.0 : 0.6, .most = 3};
    now.observation = disturb_page(now.observation, plan, Stream(Hasher().add_u64(++number).finish()));
  };
  for (EpisodeRecord& episode : recording.episodes) {
    for (StepRecord& step : episode.steps) change(step.before);
    change(episode.last);
  }
  return recording;
}

std::vector<Hash128> keys_of(const Recording& recording, const std::string& matcher) {
  const Result<CreditBatch> batch = make_batch(recording, matcher, {});
  REQUIRE(batch);
  return batch->matching.keys;
}

TEST_CASE("robust meets its targets on recorded episodes, in any order of groups and episodes") {
  const std::pair<const char*, const char*> worlds[] = {
      {"webshop", "text_rich"}, {"webshop", "text"}, {"alfworld", ""}, {"sokoban", ""}};
  for (const auto& [name, mode] : worlds) {
    const Recording clean = play(name, mode, 16);
    for (const PageNoise kind :
         {PageNoise::kNone, PageNoise::kAds, PageNoise::kUnseenAds, PageNoise::kCounter, PageNoise::kTime,
          PageNoise::kBanner, PageNoise::kNumbers, PageNoise::kMixed}) {
      INFO(name << " " << mode << " noise " << static_cast<int>(kind));
      Recording noisy = disturbed(clean, kind);
      const std::vector<Hash128> keys = keys_of(noisy, "robust");
      std::vector<std::uint32_t> groups;
      for (const EpisodeRecord& episode : noisy.episodes) {
        groups.insert(groups.end(), episode.steps.size() + 1, static_cast<std::uint32_t>(episode.group));
      }
      const canonicalizer::Agreement found =
          canonicalizer::measure_agreement(
              canonicalizer::count_pairs(groups, canonicalizer::number_by_first_appearance(keys),
                                         canonicalizer::number_by_first_appearance(keys_of(noisy, "true"))))
              .pooled;
      CHECK(found.false_merge_rate < 0.001);
      CHECK(found.recall > 0.99);
      CHECK(std::abs(found.node_reuse - found.true_node_reuse) < 0.01);

      std::map<std::pair<std::size_t, std::size_t>, std::vector<Hash128>> by_episode;
      std::size_t view = 0;
      for (const EpisodeRecord& episode : noisy.episodes) {
        for (std::size_t t = 0; t <= episode.steps.size(); ++t) {
          by_episode[{episode.group, episode.member}].push_back(keys[view++]);
        }
      }
      PythonRandom dice(3);
      dice.shuffle(noisy.episodes);
      const std::vector<Hash128> shuffled = keys_of(noisy, "robust");
      view = 0;
      bool equal = true;
      for (const EpisodeRecord& episode : noisy.episodes) {
        for (const Hash128& key : by_episode[{episode.group, episode.member}]) {
          equal = equal && key == shuffled[view++];
        }
      }
      CHECK(equal);
    }
  }
}

}  // namespace
}  // namespace lodestep::harness
