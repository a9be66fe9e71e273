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

namespace lodestep::harness {
namespace {

using canonicalizer::Agreement;
using canonicalizer::AgreementReport;

constexpr double kZero = 1e-9;  // advantages below this have no sign

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

// What is compared: the truth's numbers for every situation, and the credit of the graph made of them.
struct Reference {
  std::vector<std::uint32_t> truths;
  graph::Credit credit;
};

struct Evaluated {
  std::vector<std::uint32_t> keys;
  graph::Credit credit;
  double microseconds = 0;
};

Result<Evaluated> evaluate(const Recording& recording, const std::string& matcher, const Settings& settings) {
  Result<CreditBatch> batch = make_batch(recording, matcher, settings);
  if (!batch) return batch.error();
  Result<Credited> credited = credit_batch(*batch, {.estimator = "graphgpo", .matcher = matcher});
  if (!credited) return credited.error();
  const std::size_t views = batch->matching.keys.size();
  return Evaluated{canonicalizer::number_by_first_appearance(batch->matching.keys),
                   std::move(credited->credit),
                   views == 0 ? 0 : batch->match_seconds * 1e6 / static_cast<double>(views)};
}

Result<Reference> reference(const Recording& recording) {
  Result<Evaluated> truth = evaluate(recording, "true", {});
  if (!truth) return truth.error();
  return Reference{std::move(truth->keys), std::move(truth->credit)};
}

int sign_of(double x) { return x > kZero ? 1 : x < -kZero ? -1 : 0; }

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const double n = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : std::nan("");
}

// Ranks from 1, equal values sharing their mean rank.
std::vector<double> ranks_of(const std::vector<double>& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return x[i] < x[j]; });
  std::vector<double> ranks(x.size());
  for (std::size_t from = 0; from < order.size();) {
    std::size_t to = from + 1;
    while (to < order.size() && x[order[to]] == x[order[from]]) ++to;
    for (std::size_t k = from; k < to; ++k) ranks[order[k]] = 0.5 * static_cast<double>(from + to + 1);
    from = to;
  }
  return ranks;
}

struct Place {
  double distance = 0;
  bool reached = false;
};

Place place_of(const graph::Credit& credit, std::size_t task, std::size_t row) {
  const graph::Id node = credit.node[row];
  if (node == graph::kNone || task >= credit.graphs.size()) return {};
  const graph::TransitionGraph& graph = credit.graphs[task];
  const auto at = static_cast<std::size_t>(node);
  return {graph.distance[at], graph.reached[at] != 0};
}

// `groups`: per row, the task's number.
GraphAgreement compare_graphs(const graph::Credit& found, const graph::Credit& truth,
                              const std::vector<std::uint32_t>& groups) {
  GraphAgreement out;
  const std::size_t rows = found.advantage.size();
  if (rows == 0) return out;
  const std::size_t group_count = groups.back() + 1;
  std::vector<double> same(group_count), all(group_count);
  double both = 0, differs = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    all[groups[row]] += 1;
    same[groups[row]] += sign_of(found.advantage[row]) == sign_of(truth.advantage[row]) ? 1 : 0;
    const Place mine = place_of(found, groups[row], row);
    const Place real = place_of(truth, groups[row], row);
    differs += mine.reached != real.reached ? 1 : 0;
    if (!mine.reached || !real.reached) continue;
    both += 1;
    const double error = std::fabs(mine.distance - real.distance);
    out.distance_mean += error;
    out.distance_max = std::max(out.distance_max, error);
  }
  const auto share_over = [&](std::span<const std::size_t> drawn) {
    double hits = 0, tries = 0;
    for (const std::size_t group : drawn) {
      hits += same[group];
      tries += all[group];
    }
    return hits / tries;
  };
  std::vector<std::size_t> every(group_count);
  std::iota(every.begin(), every.end(), std::size_t{0});
  out.sign = share_over(every);
  out.sign_interval = canonicalizer::bootstrap_interval(group_count, share_over);
  out.spearman = correlation(ranks_of(found.advantage), ranks_of(truth.advantage));
  out.pearson = correlation(found.advantage, truth.advantage);
  out.distance_mean = both > 0 ? out.distance_mean / both : 0;
  out.reach_differs = differs / static_cast<double>(rows);
  return out;
}

double coverage_of(const graph::Credit& credit) {
  double nodes = 0, reached = 0;
  for (const graph::TransitionGraph& graph : credit.graphs) {
    for (std::size_t node = 0; node < graph.nodes(); ++node) {
      if (graph.visits[node] == 0) continue;
      nodes += 1;
      reached += graph.reached[node] != 0 ? 1 : 0;
    }
  }
  return nodes > 0 ? reached / nodes : 0;
}

std::string percent(double share) { return fmt::format("{:.2f}", 100 * share); }

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
    for (const char* noise :
         {"counter", "timestamp", "banner", "mixed", "reorder", "hard", "unique", "typos"}) {
      settings.push_back({noise, {}, own("0.6", "1", noise)});
    }
    settings.push_back({"mixed without typos (0.6, 3)", {PageNoise::kMixed, 0.6, 3}});
    settings.push_back({"numbers", {PageNoise::kNumbers, 1, 1}});
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
  return {{"exact", "exact", {}},
          {"rules", "rules", {{"rules", has_rules ? environment : "default"}}},
          {"lexical .95 (as released)", "lexical", {{"guard", "none"}}},
          {"lexical .99, guard", "lexical", {{"threshold", "0.99"}}},
          {"embedding (hash) .99", "embedding", {}},
          {"robust", "robust", {}},
          {"robust, typos=on", "robust", {{"typos", "on"}}}};
}

Result<Experiment> run_match_experiment(const Recording& recording, const std::vector<NoiseSetting>& settings,
                                        const std::vector<MatcherChoice>& matchers, const Replay& replay,
                                        const std::function<void(const std::string&)>& progress) {
  Experiment out;
  out.episodes = recording.episodes.size();
  out.steps = recording.steps();
  std::vector<std::uint32_t> view_groups;  // per situation
  std::vector<std::uint32_t> row_groups;   // per step
  for_each_situation(recording, [&](const EpisodeRecord& episode, std::size_t t, const Situation&) {
    view_groups.push_back(static_cast<std::uint32_t>(episode.group));
    if (t < episode.steps.size()) row_groups.push_back(static_cast<std::uint32_t>(episode.group));
    out.groups = std::max(out.groups, episode.group + 1);
  });

  Result<Reference> world = reference(recording);
  if (!world) return world.error();
  Result<Reference> page =
      reference(changed(recording, [](const EpisodeRecord&, std::size_t, Situation& now) {
        now.keys.exact = to_hex(page_truth(now));
      }));
  if (!page) return page.error();

  for (const NoiseSetting& setting : settings) {
    Recording noisy;
    if (setting.environment.empty()) {
      noisy = changed(recording, [&](const EpisodeRecord& episode, std::size_t t, Situation& now) {
        const Hash128 key = Hasher()
                                .add("page noise")
                                .add(setting.name)
                                .add_u64(episode.group)
                                .add_u64(episode.member)
                                .add_u64(t)
                                .finish();
        now.observation = disturb_page(now.observation, setting.plan, Stream(key));
      });
    } else {
      Result<Recording> played = replay(recording, setting.environment);
      if (!played) return played.error();
      noisy = *std::move(played);
    }
    for (const MatcherChoice& matcher : matchers) {
      if (progress) progress(setting.name + ": " + matcher.label);
      ExperimentRow row;
      row.setting = setting.name;
      row.matcher = matcher.label;
      const Result<Evaluated> found = evaluate(noisy, matcher.matcher, matcher.settings);
      if (!found) {
        row.failure = to_string(found.error());
        out.rows.push_back(row);
        continue;
      }
      const auto agreement = [&](const Reference& truth) {
        return canonicalizer::measure_agreement(
            canonicalizer::count_pairs(view_groups, found->keys, truth.truths));
      };
      row.page = agreement(*page);
      row.world = agreement(*world);
      row.page_graph = compare_graphs(found->credit, page->credit, row_groups);
      row.world_graph = compare_graphs(found->credit, world->credit, row_groups);
      row.coverage = coverage_of(found->credit);
      row.microseconds = found->microseconds;
      out.rows.push_back(row);
    }
  }
  return out;
}

std::string experiment_table(const Experiment& experiment) {
  std::string out = fmt::format(
      "{}: {} groups, {} episodes, {} steps. In %; intervals of 95 % over groups in brackets.\n\n"
      "| noise | matcher | false merges | recall | node reuse (page truth) | sign agreement | Spearman | "
      "distance error "
      "mean / max | coverage | against the world: false merges / recall / sign | us a step |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      experiment.environment, experiment.groups, experiment.episodes, experiment.steps);
  std::string last;
  for (const ExperimentRow& row : experiment.rows) {
    const std::string setting = row.setting == last ? "" : row.setting;
    last = row.setting;
    if (!row.failure.empty()) {
      out += fmt::format("| {} | {} | {} |\n", setting, row.matcher, row.failure);
      continue;
    }
    const auto with_interval = [&](double Agreement::*field) {
      return percent(row.page.pooled.*field) + " [" + percent(row.page.low.*field) + ", " +
             percent(row.page.high.*field) + "]";
    };
    out += fmt::format(
        "| {} | {} | {} | {} | {} ({}) | {} [{}, {}] | {:.3f} | {:.3f} / {:.0f} | {} | {} / {} / {} | {:.2f} "
        "|\n",
        setting, row.matcher, with_interval(&Agreement::false_merge_rate), with_interval(&Agreement::recall),
        percent(row.page.pooled.node_reuse), percent(row.page.pooled.true_node_reuse),
        percent(row.page_graph.sign), percent(row.page_graph.sign_interval.low),
        percent(row.page_graph.sign_interval.high), row.page_graph.spearman, row.page_graph.distance_mean,
        row.page_graph.distance_max, percent(row.coverage), percent(row.world.pooled.false_merge_rate),
        percent(row.world.pooled.recall), percent(row.world_graph.sign), row.microseconds);
  }
  return out;
}

std::string experiment_json(const Experiment& experiment) {
  std::string out = fmt::format(R"({{"environment":{},"groups":{},"episodes":{},"steps":{},"rows":[)",
                                json_quote(experiment.environment), experiment.groups, experiment.episodes,
                                experiment.steps);
  const auto measures = [](const Agreement& agreement, const GraphAgreement& graph) {
    const std::pair<const char*, double> fields[] = {
        {"pairwise_precision", agreement.precision},
        {"pairwise_recall", agreement.recall},
        {"pairwise_f1", agreement.f1},
        {"false_merge_rate", agreement.false_merge_rate},
        {"split_rate", agreement.split_rate},
        {"clusters_per_true_state", agreement.clusters_per_state},
        {"node_reuse_rate", agreement.node_reuse},
        {"true_node_reuse_rate", agreement.true_node_reuse},
        {"sign_agreement", graph.sign},
        {"spearman", graph.spearman},
        {"pearson", graph.pearson},
        {"distance_error_mean", graph.distance_mean},
        {"distance_error_max", graph.distance_max},
        {"reach_differs", graph.reach_differs}};
    std::string text = "{";
    for (const auto& [name, value] : fields) {
      text += (text.size() > 1 ? "," : "") + json_quote(name) + ":" + json_number(value);
    }
    return text + "}";
  };
  for (std::size_t i = 0; i < experiment.rows.size(); ++i) {
    const ExperimentRow& row = experiment.rows[i];
    out += fmt::format(R"({}{{"noise":{},"matcher":{},)", i > 0 ? "," : "", json_quote(row.setting),
                       json_quote(row.matcher));
    if (!row.failure.empty()) {
      out += "\"failure\":" + json_quote(row.failure) + "}";
      continue;
    }
    out += fmt::format(R"("page":{},"world":{},"coverage":{},"microseconds_per_step":{}}})",
                       measures(row.page.pooled, row.page_graph), measures(row.world.pooled, row.world_graph),
                       json_number(row.coverage), json_number(row.microseconds));
  }
  return out + "]}\n";
}

std::string experiment_svg(const Experiment& experiment) {
  static constexpr const char* kColours[] = {"#6b7280", "#0891b2", "#dc2626",
                                             "#ea580c", "#7c3aed", "#16a34a", "#84cc16", "#be185d"};
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
      const double share = row.page.pooled.*(panels[p].second);
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
