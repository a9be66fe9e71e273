// `lodestep match`: keys for observations that anyone recorded, and how well they agree with the truth.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <fstream>
#include <map>
#include <ostream>
#include <set>

#include "base/text.h"
#include "canonicalizer/agreement.h"
#include "harness/internal/args.h"
#include "harness/internal/commands.h"
#include "harness/internal/environment_args.h"
#include "harness/internal/json_lines.h"
#include "harness/internal/whole_file.h"
#include "harness/match_experiment.h"
#include "harness/matchers.h"
#include "harness/policy.h"
#include "harness/recorder.h"
#include "harness/runner.h"

namespace lodestep::harness {
namespace {

using canonicalizer::Agreement;
using canonicalizer::AgreementReport;
using canonicalizer::Matching;
using canonicalizer::PageView;

struct Row {
  std::string group, episode, text;
  std::int64_t t = 0;
  std::optional<std::vector<std::string>> actions;
  std::optional<std::string> action;  // taken from here
  std::optional<std::string> truth, truth_relevant, truth_stage;
};

const std::vector<std::string> kFields{"group", "episode",        "t",          "text", "actions", "action",
                                       "truth", "truth_relevant", "truth_stage"};

Error wrong(const std::string& what, const std::string& where) {
  return {ErrorCode::kBadData, what, where, ""};
}

Status optional_text(const rapidjson::Value& row, const char* name, const std::string& where,
                     std::optional<std::string>& out) {
  const auto member = row.FindMember(name);
  if (member == row.MemberEnd() || member->value.IsNull()) return {};
  if (!member->value.IsString()) return wrong("\"" + std::string(name) + "\" must be text", where);
  out.emplace(member->value.GetString(), member->value.GetStringLength());
  return {};
}

Result<Row> parse_row(const rapidjson::Value& json, const std::string& where) {
  Row row;
  for (const auto& [name, target] :
       {std::pair("group", &row.group), std::pair("episode", &row.episode), std::pair("text", &row.text)}) {
    Result<std::string> text = required_text(json, name, where);
    if (!text) return text.error();
    *target = *std::move(text);
  }
  const auto t = json.FindMember("t");
  if (t == json.MemberEnd()) return wrong("\"t\" is missing", where);
  if (!t->value.IsInt64()) return wrong("\"t\" must be an integer", where);
  row.t = t->value.GetInt64();
  const auto actions = json.FindMember("actions");
  if (actions != json.MemberEnd() && !actions->value.IsNull()) {
    if (!actions->value.IsArray()) return wrong("\"actions\" must be an array of texts", where);
    row.actions.emplace();
    for (const auto& action : actions->value.GetArray()) {
      if (!action.IsString()) return wrong("\"actions\" must be an array of texts", where);
      row.actions->emplace_back(action.GetString(), action.GetStringLength());
    }
  }
  for (const auto& [name, target] :
       {std::pair("action", &row.action), std::pair("truth", &row.truth),
        std::pair("truth_relevant", &row.truth_relevant), std::pair("truth_stage", &row.truth_stage)}) {
    if (Status read = optional_text(json, name, where, *target); !read) return read.error();
  }
  return row;
}

std::optional<std::string_view> view_of(const std::optional<std::string>& text) {
  return text ? std::optional<std::string_view>(*text) : std::nullopt;
}

std::vector<PageView> views_of(const std::deque<Row>& rows) {
  std::map<std::tuple<std::string_view, std::string_view, std::int64_t>, std::size_t> at;
  for (std::size_t i = 0; i < rows.size(); ++i) at[{rows[i].group, rows[i].episode, rows[i].t}] = i;
  std::vector<PageView> views;
  for (const Row& row : rows) {
    PageView view;
    view.group = row.group;
    view.trajectory = row.episode;
    view.t = row.t;
    view.text = row.text;
    if (row.actions) view.actions = std::span<const std::string>(*row.actions);
    const auto previous = at.find({row.group, row.episode, row.t - 1});
    if (previous != at.end()) {
      view.previous = previous->second;
      view.action_before = view_of(rows[previous->second].action);
    }
    view.truth = view_of(row.truth);
    view.truth_relevant = view_of(row.truth_relevant);
    view.truth_stage = view_of(row.truth_stage);
    views.push_back(view);
  }
  return views;
}

struct Field {
  const char* name;
  double Agreement::*value;
};
constexpr Field kMeasures[] = {{"pairwise_precision", &Agreement::precision},
                               {"pairwise_recall", &Agreement::recall},
                               {"pairwise_f1", &Agreement::f1},
                               {"false_merge_rate", &Agreement::false_merge_rate},
                               {"split_rate", &Agreement::split_rate},
                               {"clusters_per_true_state", &Agreement::clusters_per_state},
                               {"node_reuse_rate", &Agreement::node_reuse},
                               {"true_node_reuse_rate", &Agreement::true_node_reuse}};

struct Truth {
  std::vector<std::string> group_names;
  std::vector<canonicalizer::PairCounts> groups;
  AgreementReport report;
};

Truth compare_with_truth(const std::deque<Row>& rows, const Matching& matching) {
  Truth truth;
  std::map<std::string_view, std::uint32_t> group_numbers;
  std::map<std::string_view, std::uint32_t> truth_numbers;
  std::vector<std::uint32_t> groups;
  std::vector<std::uint32_t> truths;
  for (const Row& row : rows) {
    const auto [group, is_new] =
        group_numbers.try_emplace(row.group, static_cast<std::uint32_t>(group_numbers.size()));
    if (is_new) truth.group_names.push_back(row.group);
    groups.push_back(group->second);
    truths.push_back(truth_numbers.try_emplace(*row.truth, static_cast<std::uint32_t>(truth_numbers.size()))
                         .first->second);
  }
  truth.groups =
      canonicalizer::count_pairs(groups, canonicalizer::number_by_first_appearance(matching.keys), truths);
  truth.report = canonicalizer::measure_agreement(truth.groups);
  return truth;
}

// One JSON value a view: its key, null where its group has failed.
std::vector<std::string> keys_json(const std::vector<PageView>& views, const Matching& matching) {
  std::set<std::string_view> failed;
  for (const canonicalizer::GroupFailure& failure : matching.failed) failed.insert(failure.group);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < views.size(); ++i) {
    keys.push_back(failed.contains(views[i].group) ? "null" : "\"" + to_hex(matching.keys[i]) + "\"");
  }
  return keys;
}

std::string measures_json(const Agreement& agreement) {
  std::string out = "{";
  for (const Field& field : kMeasures) {
    if (out.size() > 1) out += ',';
    out += json_quote(field.name) + ":" + json_number(agreement.*(field.value));
  }
  return out + "}";
}

std::string agreement_json(const Truth& truth) {
  std::string out = "{\"pooled\":" + measures_json(truth.report.pooled) +
                    ",\"interval_95\":{\"low\":" + measures_json(truth.report.low) +
                    ",\"high\":" + measures_json(truth.report.high) + "},\"groups\":[";
  for (std::size_t g = 0; g < truth.groups.size(); ++g) {
    const canonicalizer::PairCounts& counts = truth.groups[g];
    if (g > 0) out += ',';
    out += "{\"group\":" + json_quote(truth.group_names[g]) + ",\"views\":" + std::to_string(counts.views) +
           ",\"nodes\":" + std::to_string(counts.nodes) +
           ",\"true_states\":" + std::to_string(counts.true_states) +
           ",\"measures\":" + measures_json(canonicalizer::agreement_of(counts)) + "}";
  }
  return out + "]}";
}

void print_agreement(const Truth& truth, std::ostream& err) {
  err << "agreement with the truth over " << truth.groups.size() << " groups (95 % interval over groups):\n";
  for (const Field& field : kMeasures) {
    char line[128];
    std::snprintf(line, sizeof line, "  %-24s %8.5f  [%.5f, %.5f]\n", field.name,
                  truth.report.pooled.*(field.value), truth.report.low.*(field.value),
                  truth.report.high.*(field.value));
    err << line;
  }
}

Status load_model(canonicalizer::Matcher& matcher, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};  // a new model: written at the end
  const std::string saved{std::istreambuf_iterator<char>(file), {}};
  if (Status loaded = matcher.load(saved); !loaded) {
    Error error = loaded.error();
    error.where = path;
    return error;
  }
  return {};
}

// ---------------------------------------------------------------- the noise experiment

struct BenchWords {
  EnvironmentArgs environment;
  std::string split, policy = "mixed:0.5", svg, embedder;
  std::int64_t groups = 16, group_size = 8, max_steps = 0, seed = 0;
};

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

Result<int> run_bench(const BenchWords& words, bool json, Io& io) {
  Result<std::shared_ptr<const EnvFactory>> factory = words.environment.open();
  if (!factory) return factory.error();
  const EnvType* type = find_environment_type(words.environment.name);
  LODESTEP_CHECK(type != nullptr, words.environment.name);
  const std::string split = words.split.empty() ? (*factory)->splits().front() : words.split;
  Result<std::vector<std::string>> tasks = draw_tasks(
      **factory, split, static_cast<std::size_t>(words.groups), static_cast<std::uint64_t>(words.seed));
  if (!tasks) return tasks.error();
  Result<std::unique_ptr<Policy>> policy = make_policy(words.policy);
  if (!policy) return policy.error();
  RunPlan plan;
  plan.factory = *factory;
  plan.tasks = *tasks;
  plan.group_size = static_cast<std::size_t>(words.group_size);
  plan.max_steps = words.max_steps > 0 ? static_cast<std::size_t>(words.max_steps) : type->default_max_steps;
  plan.seed = static_cast<std::uint64_t>(words.seed);
  MemoryRecorder recorder(RunInfo{});
  if (Result<RunTimes> played = run_groups(plan, **policy, recorder, {}); !played) return played.error();
  const Recording recording = recorder.take();

  const auto is_noise = [](const OptionSpec& option) { return option.name == "ads"; };
  const bool own_noise = std::any_of(type->options.begin(), type->options.end(), is_noise);
  std::vector<MatcherChoice> chosen = default_matchers(words.environment.name);
  if (!words.embedder.empty()) {
    chosen.push_back({"embedding (endpoint) .99", "embedding", {{"embedder", words.embedder}}});
  }
  Result<Experiment> experiment = run_match_experiment(
      recording, default_noise_settings(own_noise), chosen,
      [&](const Recording& clean, const Settings& extra) {
        return play_again(clean, words.environment, extra);
      },
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

}  // namespace

Result<int> run_match(const std::vector<std::string>& words, Io& io) {
  Args args("match", "Gives each observation the key of its state, by the matcher of your choice.");
  std::string in;
  std::string name = "exact";
  std::string model;
  bool json = false;
  Settings settings;
  BenchWords bench;
  args.option("--in", in,
              "JSON lines {\"group\":text,\"episode\":text,\"t\":int,\"text\":text,\"actions\":[text]?,"
              "\"action\":text?,\"truth\":text?}; - is standard input");
  args.option("--bench", bench.environment.name,
              "instead of --in: all matchers under all kinds of noise, on episodes of this environment");
  args.option("--data", bench.environment.data, "with --bench: data of the environment");
  args.option("--split", bench.split, "with --bench: task list");
  args.option("--groups", bench.groups, "with --bench").range(1, 100000);
  args.option("--group-size", bench.group_size, "with --bench").range(1, 100000);
  args.option("--max-steps", bench.max_steps, "with --bench: step budget; 0 = the environment's")
      .range(0, 1000000);
  args.option("--policy", bench.policy, "with --bench: who plays");
  args.option("--seed", bench.seed, "with --bench").range(0, INT64_MAX);
  args.option("--embedder", bench.embedder, "with --bench: URL of an endpoint, for one more matcher");
  args.option("--svg", bench.svg, "with --bench: file for the plot");
  args.option("--matcher", name, join(matchers().names(), ", "));
  args.option("--model", model, "what the matcher has learnt: read where it exists, written at the end");
  args.flag("--json", json, "one JSON document with keys, cost, notes and measures");
  args.settings(settings, "an option of the matcher; with --bench, of the environment");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  if (in.empty() == bench.environment.name.empty()) {
    return Error{ErrorCode::kInvalidArgument, "give either --in FILE or --bench ENV", "lodestep match",
                 "see 'lodestep match --help'"};
  }
  if (!bench.environment.name.empty()) {
    bench.environment.settings = settings;
    return run_bench(bench, json, io);
  }
  Result<std::unique_ptr<canonicalizer::Matcher>> matcher = matchers().make(name, settings);
  if (!matcher) return matcher.error();
  if (!model.empty()) {
    if (Status loaded = load_model(**matcher, model); !loaded) return loaded.error();
  }

  std::deque<Row> rows;
  std::map<std::string, std::size_t> unknown;
  Status read =
      for_each_json_line(in, io, [&](const rapidjson::Value& line, const std::string& where) -> Status {
        Result<Row> row = parse_row(line, where);
        if (!row) return row.error();
        for (const auto& member : line.GetObject()) {
          const std::string field(member.name.GetString(), member.name.GetStringLength());
          if (std::find(kFields.begin(), kFields.end(), field) == kFields.end()) ++unknown[field];
        }
        rows.push_back(*std::move(row));
        return {};
      });
  if (!read) return read.error();
  for (const auto& [field, count] : unknown) {
    const std::string near = nearest_word(field, kFields);
    io.err << "lodestep: note: field \"" << field << "\" is not used"
           << (near.empty() ? "" : "; did you mean \"" + near + "\"?") << '\n';
  }

  const std::vector<PageView> views = views_of(rows);
  const auto start = std::chrono::steady_clock::now();
  const Result<Matching> matching = (*matcher)->match(views);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!matching) return matching.error();
  if (!model.empty()) {
    if (Status saved = write_whole_file(model, (*matcher)->save()); !saved) return saved.error();
  }

  const double micros = views.empty() ? 0 : seconds * 1e6 / static_cast<double>(views.size());
  std::optional<Truth> truth;
  const auto knows_truth = [](const Row& row) { return row.truth.has_value(); };
  if (!rows.empty() && std::all_of(rows.begin(), rows.end(), knows_truth))
    truth = compare_with_truth(rows, *matching);
  const std::vector<std::string> keys = keys_json(views, *matching);
  for (const std::string& note : matching->notes) io.err << "lodestep: note: " << note << '\n';
  if (json) {
    io.out << "{\"matcher\":" << json_quote(name) << ",\"views\":" << views.size()
           << ",\"cost\":{\"comparisons\":" << matching->cost.comparisons
           << ",\"avoided\":" << matching->cost.avoided
           << ",\"microseconds_per_view\":" << json_number(micros)
           << "},\"notes\":" << json_array(matching->notes) << ",\"failed\":{";
    for (std::size_t i = 0; i < matching->failed.size(); ++i) {
      io.out << (i > 0 ? "," : "") << json_quote(matching->failed[i].group) << ":"
             << json_quote(to_string(matching->failed[i].error));
    }
    io.out << "}" << (truth ? ",\"agreement\":" + agreement_json(*truth) : "") << ",\"keys\":["
           << join(keys, ",") << "]}\n";
  } else {
    for (const std::string& key : keys) io.out << "{\"key\":" << key << "}\n";
    char cost[160];
    std::snprintf(cost, sizeof cost, "%zu views, %.2f us each, %llu comparisons made, %llu avoided\n",
                  views.size(), micros, static_cast<unsigned long long>(matching->cost.comparisons),
                  static_cast<unsigned long long>(matching->cost.avoided));
    io.err << cost;
    if (truth) print_agreement(*truth, io.err);
  }
  for (const canonicalizer::GroupFailure& failure : matching->failed) {
    io.err << "lodestep: error: group " << failure.group << " has no keys: " << to_string(failure.error)
           << '\n';
  }
  return matching->failed.empty() ? 0 : 1;
}

}  // namespace lodestep::harness
