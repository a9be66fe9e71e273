#include "harness/match_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/check.h"
#include "base/text.h"
#include "canonicalizer/rules.h"
#include "harness/credit.h"
#include "harness/match_measures.h"

namespace lodestep::harness {
namespace {

using canonicalizer::Agreement;

Hash128 page_truth(const Situation& now) {
  Hasher hasher;
  hasher.add(now.observation);
  for (const std::string& action : now.admissible) hasher.add(action);
  return hasher.finish();
}

template <typename Visit>
void for_each_situation(const Recording& recording, Visit visit) {
  for (const EpisodeRecord& episode : recording.episodes) {
    for (std::size_t t = 0; t < episode.steps.size(); ++t) visit(episode, t, episode.steps[t].before);
    visit(episode, episode.steps.size(), episode.last);
  }
}

template <typename Change>
Recording changed(const Recording& recording, Change change) {
  Recording out = recording;
  for (EpisodeRecord& episode : out.episodes) {
    for (std::size_t t = 0; t < episode.steps.size(); ++t) change(episode, t, episode.steps[t].before);
    change(episode, episode.steps.size(), episode.last);
  }
  return out;
}

struct Evaluated {
  std::vector<std::uint32_t> keys;  // per situation
  std::vector<graph::Id> tasks;     // per step
  graph::Credit credit;
  double microseconds = 0;
};

// The episode's part is left out of the advantages: no matcher touches it, and it would hide what one does.
Result<Evaluated> evaluate(const Recording& recording, const std::string& matcher, const Settings& settings) {
  Result<CreditBatch> batch = make_batch(recording, matcher, settings);
  if (!batch) return batch.error();
  Result<Credited> credited =
      credit_batch(*batch, {.estimator = "graphgpo", .settings = {{"episode_w", "0"}}, .matcher = matcher});
  if (!credited) return credited.error();
  const std::size_t views = batch->matching.keys.size();
  return Evaluated{canonicalizer::number_by_first_appearance(batch->matching.keys),
                   std::move(batch->batch.task), std::move(credited->credit),
                   views == 0 ? 0 : batch->match_seconds * 1e6 / static_cast<double>(views)};
}

// What is compared with, of one batch: the truth's number of every situation, its state of every step, and
// the credit of the graph made of them.
struct Reference {
  Evaluated truth;
  std::vector<Hash128> states;
  std::vector<PlacedStep> placed() const { return placed_steps(truth.credit, truth.tasks, states); }
};

Result<Reference> reference(const Recording& recording) {
  Result<Evaluated> truth = evaluate(recording, "true", {});
  if (!truth) return truth.error();
  std::vector<Hash128> states;
  for (const EpisodeRecord& episode : recording.episodes) {
    for (const StepRecord& step : episode.steps) states.push_back(hash128(step.before.keys.exact));
  }
  return Reference{*std::move(truth), std::move(states)};
}

// A batch with its two truths.
struct Batch {
  Recording clean;
  Reference world, page;
};

Result<Batch> with_truths(const Recording& recording) {
  Result<Reference> world = reference(recording);
  if (!world) return world.error();
  Result<Reference> page =
      reference(changed(recording, [](const EpisodeRecord&, std::size_t, Situation& now) {
        now.keys.exact = to_hex(page_truth(now));
      }));
  if (!page) return page.error();
  return Batch{recording, *std::move(world), *std::move(page)};
}

// The batch's pages under a kind of noise.
Result<Recording> disturbed(const Recording& clean, std::uint64_t number, const NoiseSetting& setting,
                            const Replay& replay) {
  Result<Recording> shown =
      setting.environment.empty() ? Result<Recording>(clean) : replay(clean, setting.environment);
  if (!shown || setting.plan.kind == PageNoise::kNone) return shown;
  return changed(*shown, [&](const EpisodeRecord& episode, std::size_t t, Situation& now) {
    Hasher key;
    key.add("page noise").add(setting.name).add_u64(number);
    key.add_u64(episode.group).add_u64(episode.member).add_u64(t);
    now.observation = disturb_page(now.observation, setting.plan, Stream(key.finish()));
  });
}

AgainstTruth against(const Evaluated& first, const Evaluated& second, std::span<const std::uint32_t> groups,
                     const Reference& one, const Reference& two) {
  AgainstTruth out;
  out.counts = canonicalizer::count_pairs(groups, first.keys, one.truth.keys);
  out.pairs = canonicalizer::measure_agreement(out.counts);
  out.graph = compare_graphs(first.credit, one.truth.credit, first.tasks);
  out.order = cross_batch_consistency(placed_steps(first.credit, first.tasks, one.states),
                                      placed_steps(second.credit, second.tasks, two.states));
  return out;
}

std::string percent(double share) { return std::isnan(share) ? "-" : fmt::format("{:.2f}", 100 * share); }

}  // namespace

std::vector<NoiseSetting> default_noise_settings(bool environment_has_noise) {
  const auto own = [](const char* density, const char* most, const char* noise) {
    return Settings{{"ads", density}, {"max_ads", most}, {"noise", noise}};
  };
  std::vector<NoiseSetting> settings{{"clean", {}}};
  const std::pair<const char*, const char*> amounts[] = {
      {"0.3", "1"}, {"0.3", "3"}, {"0.6", "1"}, {"0.6", "3"}};
  for (const auto& [density, most] : amounts) {
    const std::string name = std::string("ads (") + density + ", " + most + ")";
    if (environment_has_noise) {
      settings.push_back({name, {}, own(density, most, "ads")});
    } else {
      settings.push_back(
          {name, {PageNoise::kAds, *parse_double(density), static_cast<std::uint32_t>(*parse_uint(most))}});
    }
  }
  settings.push_back({"ads never seen (0.6, 3)", {PageNoise::kUnseenAds, 0.6, 3}});
  if (environment_has_noise) {
    for (const char* noise : {"counter", "timestamp", "banner", "reorder", "hard", "unique", "typos"}) {
      settings.push_back({noise, {}, own("0.6", "1", noise)});
    }
    settings.push_back({"mixed", {}, own("0.6", "3", "mixed")});
    settings.push_back({"numbers", {PageNoise::kNumbers, 1, 1}});
    settings.push_back({"mixed and typos", {PageNoise::kMixed, 0.6, 3}, own("0.6", "1", "typos")});
    return settings;
  }
  settings.push_back({"counter", {PageNoise::kCounter, 0.6, 1}});
  settings.push_back({"time", {PageNoise::kTime, 0.6, 1}});
  settings.push_back({"banner", {PageNoise::kBanner, 0.6, 1}});
  settings.push_back({"numbers", {PageNoise::kNumbers, 1, 1}});
  settings.push_back({"mixed", {PageNoise::kMixed, 0.6, 3}});
  settings.push_back({"reorder", {PageNoise::kReorder, 0.3, 1}});
  settings.push_back({"unique", {PageNoise::kUnique, 0.6, 1}});
  settings.push_back({"typos", {PageNoise::kTypos, 0.01, 1}});
  return settings;
}

std::vector<MatcherChoice> default_matchers(const std::string& environment) {
  const std::vector<std::string> sets = canonicalizer::RuleSet::names();
  const bool has_rules = std::find(sets.begin(), sets.end(), environment) != sets.end();
  return {{"true (the world's key)", "true", {}},
          {"exact", "exact", {}},
          {"rules", "rules", {{"rules", has_rules ? environment : "default"}}},
          {"lexical .95 (as released)", "lexical", {{"guard", "none"}}},
          {"lexical .99, guard", "lexical", {{"threshold", "0.99"}}},
          {"embedding (hash) .99", "embedding", {}},
          {"robust", "robust", {}},
          {"robust, typos=on", "robust", {{"typos", "on"}}}};
}

Result<Experiment> run_match_experiment(const PlayedBatches& batches,
                                        const std::vector<NoiseSetting>& settings,
                                        const std::vector<MatcherChoice>& matchers, const Replay& replay,
                                        const std::function<void(const std::string&)>& progress) {
  Experiment out;
  out.episodes = batches.first.episodes.size();
  out.steps = batches.first.steps();
  std::vector<std::uint32_t> groups;  // per situation
  for_each_situation(batches.first, [&](const EpisodeRecord& episode, std::size_t, const Situation&) {
    groups.push_back(static_cast<std::uint32_t>(episode.group));
    out.groups = std::max(out.groups, episode.group + 1);
  });
  Result<Batch> one = with_truths(batches.first);
  if (!one) return one.error();
  Result<Batch> two = with_truths(batches.second);
  if (!two) return two.error();
  out.page_order = cross_batch_consistency(one->page.placed(), two->page.placed());
  out.world_order = cross_batch_consistency(one->world.placed(), two->world.placed());

  for (const NoiseSetting& setting : settings) {
    const Result<Recording> first = disturbed(one->clean, 0, setting, replay);
    if (!first) return first.error();
    const Result<Recording> second = disturbed(two->clean, 1, setting, replay);
    if (!second) return second.error();
    for (const MatcherChoice& matcher : matchers) {
      if (progress) progress(setting.name + ": " + matcher.label);
      ExperimentRow row;
      row.setting = setting.name;
      row.matcher = matcher.label;
      const Result<Evaluated> found = evaluate(*first, matcher.matcher, matcher.settings);
      const Result<Evaluated> again = evaluate(*second, matcher.matcher, matcher.settings);
      if (!found || !again) {
        row.failure = to_string(found ? again.error() : found.error());
      } else {
        row.page = against(*found, *again, groups, one->page, two->page);
        row.world = against(*found, *again, groups, one->world, two->world);
        row.microseconds = found->microseconds;
      }
      out.rows.push_back(std::move(row));
    }
  }
  return out;
}

std::string experiment_table(const Experiment& experiment) {
  std::string out = fmt::format(
      "{}: {} groups, {} episodes, {} steps. In %; 95 % intervals over groups in brackets; against the "
      "page's "
      "truth unless said. Cross-batch consistency of the true graphs: {} (page), {} (world).\n\n"
      "| noise | matcher | false merges | recall | F1 | keys a state | node reuse (truth) | coverage | sign "
      "agreement | Spearman | Pearson | distance error mean / max | unreached (truth; one only) | "
      "cross-batch "
      "| world: false merges / recall / sign / Spearman / distance error / cross-batch | us a view |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      experiment.environment, experiment.groups, experiment.episodes, experiment.steps,
      percent(experiment.page_order.consistency), percent(experiment.world_order.consistency));
  std::string last;
  for (const ExperimentRow& row : experiment.rows) {
    const std::string setting = row.setting == last ? "" : row.setting;
    last = row.setting;
    if (!row.failure.empty()) {
      out += fmt::format("| {} | {} | {} |\n", setting, row.matcher, row.failure);
      continue;
    }
    const auto interval = [](double low, double high) {
      return " [" + percent(low) + ", " + percent(high) + "]";
    };
    const auto pairs = [&](double Agreement::*field) {
      return percent(row.page.pairs.pooled.*field) +
             interval(row.page.pairs.low.*field, row.page.pairs.high.*field);
    };
    const GraphAgreement& graph = row.page.graph.pooled;
    const GraphAgreement& low = row.page.graph.low;
    const GraphAgreement& high = row.page.graph.high;
    const Agreement& page = row.page.pairs.pooled;
    const AgainstTruth& world = row.world;
    out += fmt::format(
        "| {} | {} | {} | {} | {} | {:.2f} | {} ({}) | {} | {} | {:.3f} [{:.3f}, {:.3f}] | {:.3f} | ",
        setting, row.matcher, pairs(&Agreement::false_merge_rate), pairs(&Agreement::recall),
        percent(page.f1), page.clusters_per_state, percent(page.node_reuse), percent(page.true_node_reuse),
        percent(graph.coverage), percent(graph.sign) + interval(low.sign, high.sign), graph.spearman,
        low.spearman, high.spearman, graph.pearson);
    out +=
        fmt::format("{:.3f} / {:.0f} | {} ({}; {}) | {} | {} / {} / {} / {:.3f} / {:.3f} / {} | {:.2f} |\n",
                    graph.distance_mean, graph.distance_max, percent(graph.unreached),
                    percent(graph.true_unreached), percent(graph.reach_differs),
                    percent(row.page.order.consistency) +
                        interval(row.page.order.interval.low, row.page.order.interval.high),
                    percent(world.pairs.pooled.false_merge_rate), percent(world.pairs.pooled.recall),
                    percent(world.graph.pooled.sign), world.graph.pooled.spearman,
                    world.graph.pooled.distance_mean, percent(world.order.consistency), row.microseconds);
  }
  return out;
}

std::string experiment_json(const Experiment& experiment) {
  std::vector<std::string> names;
  for (std::size_t group = 0; group < experiment.groups; ++group) names.push_back(std::to_string(group));
  std::string out = fmt::format(
      R"({{"environment":{},"groups":{},"episodes":{},"steps":{},"true_cross_batch":{{"page":{},"world":{}}},"rows":[)",
      json_quote(experiment.environment), experiment.groups, experiment.episodes, experiment.steps,
      cross_batch_json(experiment.page_order), cross_batch_json(experiment.world_order));
  const auto against = [&](const AgainstTruth& truth) {
    return "{" + report_json(truth.pairs, truth.counts, &truth.graph, names) +
           ",\"cross_batch\":" + cross_batch_json(truth.order) + "}";
  };
  for (std::size_t i = 0; i < experiment.rows.size(); ++i) {
    const ExperimentRow& row = experiment.rows[i];
    out += fmt::format(R"({}{{"noise":{},"matcher":{},)", i > 0 ? "," : "", json_quote(row.setting),
                       json_quote(row.matcher));
    if (!row.failure.empty()) {
      out += "\"failure\":" + json_quote(row.failure) + "}";
      continue;
    }
    out += fmt::format(R"("page":{},"world":{},"microseconds_per_view":{}}})", against(row.page),
                       against(row.world), json_number(row.microseconds));
  }
  return out + "]}\n";
}

std::string experiment_svg(const Experiment& experiment) {
  static constexpr const char* kColours[] = {"#6b7280", "#0891b2", "#dc2626", "#ea580c",
                                             "#7c3aed", "#16a34a", "#84cc16", "#be185d"};
  std::vector<std::string> settings;
  std::vector<std::string> matchers;
  for (const ExperimentRow& row : experiment.rows) {
    if (std::find(settings.begin(), settings.end(), row.setting) == settings.end())
      settings.push_back(row.setting);
    if (std::find(matchers.begin(), matchers.end(), row.matcher) == matchers.end())
      matchers.push_back(row.matcher);
  }
  constexpr double kLeft = 60, kTop = 56, kHeight = 170, kGap = 60, kStep = 58;
  const double width = kLeft + kStep * static_cast<double>(settings.size()) + 20;
  const double height = kTop + 2 * kHeight + kGap + 130;
  std::string out = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}" font-family="sans-serif" font-size="11">)"
      "\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height);
  out += fmt::format(
      "<text x=\"{}\" y=\"18\" font-size=\"14\">{}: matchers under noise, against the page's truth</text>\n",
      kLeft, experiment.environment);
  for (std::size_t m = 0; m < matchers.size(); ++m) {
    const double x = kLeft + static_cast<double>(m) * (width - kLeft) / static_cast<double>(matchers.size());
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"28\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{:.1f}\" "
        "y=\"37\">{}</text>\n",
        x, kColours[m % std::size(kColours)], x + 14, matchers[m]);
  }
  const std::pair<const char*, double Agreement::*> panels[] = {
      {"recall, %", &Agreement::recall}, {"false merges, %", &Agreement::false_merge_rate}};
  for (std::size_t p = 0; p < 2; ++p) {
    const double top = kTop + static_cast<double>(p) * (kHeight + kGap);
    out += fmt::format("<text x=\"{}\" y=\"{:.1f}\">{}</text>\n", kLeft, top - 4, panels[p].first);
    for (int tick = 0; tick <= 4; ++tick) {
      const double y = top + kHeight * (1 - tick / 4.0);
      out += fmt::format(
          "<line x1=\"{}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#e5e7eb\"/><text x=\"{}\" "
          "y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
          kLeft, y, width - 20, y, kLeft - 6, y + 4, tick * 25);
    }
    for (const ExperimentRow& row : experiment.rows) {
      if (!row.failure.empty()) continue;
      const auto s =
          static_cast<double>(std::find(settings.begin(), settings.end(), row.setting) - settings.begin());
      const auto m = static_cast<std::size_t>(std::find(matchers.begin(), matchers.end(), row.matcher) -
                                              matchers.begin());
      const double bar = (kStep - 10) / static_cast<double>(matchers.size());
      const double share = row.page.pairs.pooled.*(panels[p].second);
      out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
                         kLeft + kStep * s + 5 + bar * static_cast<double>(m), top + kHeight * (1 - share),
                         bar, std::max(0.5, kHeight * share), kColours[m % std::size(kColours)]);
    }
  }
  for (std::size_t s = 0; s < settings.size(); ++s) {
    const double x = kLeft + kStep * (static_cast<double>(s) + 0.5);
    const double y = kTop + 2 * kHeight + kGap + 12;
    out += fmt::format(
        "<text x=\"{0:.1f}\" y=\"{1:.1f}\" text-anchor=\"end\" transform=\"rotate(-40 {0:.1f} "
        "{1:.1f})\">{2}</text>\n",
        x, y, settings[s]);
  }
  return out + "</svg>\n";
}

}  // namespace lodestep::harness
