#include "graph/estimator.h"

#include <algorithm>

#include "base/text.h"
#include "graph/estimator_list.h"

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
  };
  return kAll;
}

Error unknown(const std::string& kind, const std::string& name, const std::vector<std::string>& known) {
  const std::string near = nearest_word(name, known);
  return Error{ErrorCode::kInvalidArgument,
               "unknown " + kind + " '" + name + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"),
               "--" + kind, known.empty() ? "it has none" : "known: " + join(known, ", ")};
}

struct Resolved {
  const Estimator* estimator = nullptr;
  Options options;
};

Result<Resolved> resolve(const Request& request) {
  std::string name = request.estimator;
  std::string preset = request.preset;
  if (name == "graphgpo-paper") {
    name = "graphgpo";
    if (!preset.empty() && preset != "paper") {
      return Error{ErrorCode::kInvalidArgument, "graphgpo-paper is graphgpo with preset paper, not " + preset,
                   "--preset", ""};
    }
    preset = "paper";
  }
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
  return credit;
}

std::vector<EstimatorInfo> estimators() {
  std::vector<EstimatorInfo> infos;
  for (const Estimator& estimator : all()) infos.push_back(estimator.info);
  return infos;
}

std::optional<EstimatorInfo> find_estimator(std::string_view name) {
  for (const Estimator& estimator : all()) {
    if (estimator.info.name == (name == "graphgpo-paper" ? "graphgpo" : name)) return estimator.info;
  }
  return std::nullopt;
}

Result<Options> resolve_options(const Request& request) {
  Result<Resolved> resolved = resolve(request);
  if (!resolved) return resolved.error();
  return std::move(resolved->options);
}

}  // namespace lodestep::graph
