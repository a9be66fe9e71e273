#include "graph/estimator.h"

#include <algorithm>

#include "base/text.h"
#include "graph/estimator_list.h"
#include "graph/parts.h"

namespace lodestep::graph {
namespace {

// The one list, in the order of the documentation.
const std::vector<Estimator>& all() {
  static const std::vector<Estimator> kAll{
      evihb(),
      evih(),
      evi(),
      graphgpo(),
      gigpo(),
      hgpo(),
      grpo(),
      grpo_passk(),
      rloo(),
      episode_norm(),
      reinforce_plus_plus_baseline(),
      reinforce_plus_plus(),
      gagpo(),
      gae(),
      otb(),
      trace(),
      vimpo(),
  };
  return kAll;
}

Error unknown(const std::string& kind, const std::string& name, const std::vector<std::string>& known) {
  const std::string near = nearest_word(name, known);
  return Error{ErrorCode::kInvalidArgument,
               "unknown " + kind + " '" + name + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"),
               "--" + kind, known.empty() ? "it has none" : "known: " + join(known, ", ")};
}

struct Alias {
  std::string name, preset;
};

// Names that estimators also go by.
Alias meaning_of(std::string_view name) {
  if (name == "graphgpo-paper") return {"graphgpo", "paper"};
  if (name == "reinforce_plus_plus") return {"reinforce++", ""};
  if (name == "reinforce++_baseline" || name == "reinforce++-baseline")
    return {"reinforce_plus_plus_baseline", ""};
  return {std::string(name), ""};
}

struct Resolved {
  const Estimator* estimator = nullptr;
  Options options;
};

Result<Resolved> resolve(const Request& request) {
  const Alias meant = meaning_of(request.estimator);
  if (!meant.preset.empty() && !request.preset.empty() && request.preset != meant.preset) {
    return Error{
        ErrorCode::kInvalidArgument,
        request.estimator + " is " + meant.name + " with preset " + meant.preset + ", not " + request.preset,
        "--preset", ""};
  }
  const std::string& name = meant.name;
  const std::string& preset = meant.preset.empty() ? request.preset : meant.preset;
  Resolved resolved;
  std::vector<std::string> known;
  for (const Estimator& estimator : all()) {
    known.push_back(estimator.info.name);
    if (estimator.info.name == name) resolved.estimator = &estimator;
  }
  if (!resolved.estimator) return unknown("estimator", name, known);
  Settings settings;
  if (!preset.empty()) {
    const auto& presets = resolved.estimator->presets;
    const auto found =
        std::find_if(presets.begin(), presets.end(), [&](const auto& p) { return p.first == preset; });
    if (found == presets.end()) {
      std::vector<std::string> names;
      for (const auto& p : presets) names.push_back(p.first);
      return unknown("preset", preset, names);
    }
    settings = found->second;
  }
  settings.insert(settings.end(), request.settings.begin(), request.settings.end());
  Result<Options> options = Options::parse(name, resolved.estimator->info.options, settings);
  if (!options) return options.error();
  resolved.options = *std::move(options);
  return resolved;
}

void count_singletons(Credit& credit) {
  std::vector<std::uint32_t> members;
  for (Id g : credit.group) {
    if (g == kNone) continue;
    if (static_cast<std::size_t>(g) >= members.size()) members.resize(static_cast<std::size_t>(g) + 1);
    ++members[static_cast<std::size_t>(g)];
  }
  credit.summary.singleton_rows =
      static_cast<std::size_t>(std::count(members.begin(), members.end(), std::uint32_t{1}));
}

bool knows(const Estimator& estimator, const std::string& option) {
  const auto& options = estimator.info.options;
  return std::any_of(options.begin(), options.end(), [&](const OptionSpec& o) { return o.name == option; });
}

// Says who voted in the episode statistics, and hands out the weights that were asked for.
void state_votes(const Work& work, Credit& credit) {
  OptionReader read(work.options);
  const Votes votes = read_episode_term(read, {}).votes;
  credit.summary.statistics = votes == Votes::kRows ? "steps" : "trajectories";
  if (!read.is("weights", "trajectories")) return;
  credit.weight.resize(work.rows(), 1);
  for (std::size_t e = 0; e < work.episodes(); ++e) {
    const std::span<const Row> rows = work.rows_of_episode[e];
    for (Row row : rows) credit.weight[row] /= static_cast<double>(rows.size());
  }
}

}  // namespace

Result<Credit> estimate(const Request& request, const Batch& batch) {
  Result<Resolved> resolved = resolve(request);
  if (!resolved) return resolved.error();
  if (Status s = validate(batch); !s) return s.error();
  Credit credit;
  const Estimator& estimator = *resolved->estimator;
  const Work work =
      make_work(batch, resolved->options, request.matcher, request.threads, estimator.needs, credit.summary);
  if (Status s = estimator.run(work, credit); !s) return s.error();
  count_singletons(credit);
  if (knows(estimator, "stats")) state_votes(work, credit);
  return credit;
}

std::vector<EstimatorInfo> estimators() {
  std::vector<EstimatorInfo> infos;
  for (const Estimator& estimator : all()) infos.push_back(estimator.info);
  return infos;
}

std::optional<EstimatorInfo> find_estimator(std::string_view name) {
  for (const Estimator& estimator : all()) {
    if (estimator.info.name == meaning_of(name).name) return estimator.info;
  }
  return std::nullopt;
}

Result<Options> resolve_options(const Request& request) {
  Result<Resolved> resolved = resolve(request);
  if (!resolved) return resolved.error();
  return std::move(resolved->options);
}

}  // namespace lodestep::graph
