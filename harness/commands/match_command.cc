// `lodestep match`: keys for observations that anyone recorded, and how well they agree with the truth.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <ostream>
#include <set>

#include "base/text.h"
#include "harness/internal/args.h"
#include "harness/internal/commands.h"
#include "harness/internal/match_bench.h"
#include "harness/internal/whole_file.h"
#include "harness/labelled_pages.h"
#include "harness/match_measures.h"
#include "harness/matchers.h"

namespace lodestep::harness {
namespace {

using canonicalizer::Matching;
using canonicalizer::PageView;

constexpr std::string_view kGiven = "given";

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

std::string agreement_json(const LabelAgreement& labels) {
  return "{" +
         report_json(labels.pairs, labels.groups, labels.graph ? &*labels.graph : nullptr,
                     labels.group_names) +
         (labels.order ? ",\"cross_batch\":" + cross_batch_json(*labels.order) : "") + "}";
}

void print_measure(std::ostream& err, const char* name, double value, double low, double high) {
  char line[128];
  std::snprintf(line, sizeof line, "  %-24s %8.5f  [%.5f, %.5f]\n", name, value, low, high);
  err << line;
}

void print_agreement(const LabelAgreement& labels, std::ostream& err) {
  const auto measures = [&](const canonicalizer::Agreement& pairs, const GraphAgreement GraphReport::*graph) {
    return measures_of(pairs, labels.graph ? &(*labels.graph.*graph) : nullptr);
  };
  const Measures pooled = measures(labels.pairs.pooled, &GraphReport::pooled);
  const Measures low = measures(labels.pairs.low, &GraphReport::low);
  const Measures high = measures(labels.pairs.high, &GraphReport::high);
  err << "agreement with the truth over " << labels.groups.size() << " groups (95 % interval over groups):\n";
  for (std::size_t i = 0; i < pooled.size(); ++i) {
    print_measure(err, pooled[i].first, pooled[i].second, low[i].second, high[i].second);
  }
  if (labels.order) {
    print_measure(err, "cross_batch_consistency", labels.order->consistency, labels.order->interval.low,
                  labels.order->interval.high);
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

}  // namespace

Result<int> run_match(const std::vector<std::string>& words, Io& io) {
  Args args("match", "Gives each observation the key of its state, by the matcher of your choice.");
  std::string in;
  std::string name = "exact";
  std::string model;
  bool json = false;
  Settings settings;
  MatchBenchWords bench;
  args.option("--in", in,
              "JSON lines {\"group\":text,\"episode\":text,\"t\":int,\"text\":text,\"actions\":[text]?,"
              "\"action\":text?,\"truth\":text?,\"success\":bool?,\"task\":text?,\"key\":text?}; - is "
              "standard input");
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
  args.option("--noise", bench.noise, "with --bench: only these kinds, separated by semicolons");
  args.option("--embedder", bench.embedder, "with --bench: URL of an endpoint, for two more matchers");
  args.option("--embedding-model", bench.model, "with --bench: the endpoint's model");
  args.option("--svg", bench.svg, "with --bench: file for the plot");
  args.option(
      "--matcher", name,
      join(matchers().names(), ", ") + ", or given: the lines' own \"key\"; with --bench, this one alone");
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
    bench.settings = settings;
    if (args.given("--matcher")) bench.matcher = name;
    return run_match_bench(bench, json, io);
  }
  const bool given = name == kGiven;
  if (given && !(settings.empty() && model.empty())) {
    return Error{ErrorCode::kInvalidArgument, "--matcher given has no options and no model", "lodestep match",
                 "the keys are those of the lines"};
  }
  Result<std::unique_ptr<canonicalizer::Matcher>> matcher = matchers().make(given ? "exact" : name, settings);
  if (!matcher) {
    Error error = matcher.error();
    if (error.hint.starts_with("known: ")) error.hint += ", given";
    return error;
  }
  if (!model.empty()) {
    if (Status loaded = load_model(**matcher, model); !loaded) return loaded.error();
  }

  const Result<LabelledPages> pages = read_pages(in, io);
  if (!pages) return pages.error();
  for (const auto& [field, count] : pages->unknown_fields) {
    const std::string near = nearest_word(field, kPageFields);
    io.err << "lodestep: note: field \"" << field << "\" is not used"
           << (near.empty() ? "" : "; did you mean \"" + near + "\"?") << '\n';
  }

  const std::vector<PageView> views = pages->views();
  const auto start = std::chrono::steady_clock::now();
  const Result<Matching> matching = given ? given_keys(*pages) : (*matcher)->match(views);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!matching) return matching.error();
  if (!model.empty()) {
    if (Status saved = write_whole_file(model, (*matcher)->save()); !saved) return saved.error();
  }

  const double micros = views.empty() ? 0 : seconds * 1e6 / static_cast<double>(views.size());
  const Result<std::optional<LabelAgreement>> labels = compare_with_labels(*pages, *matching);
  if (!labels) return labels.error();
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
    io.out << "}" << (*labels ? ",\"agreement\":" + agreement_json(**labels) : "") << ",\"keys\":["
           << join(keys, ",") << "]}\n";
  } else {
    for (const std::string& key : keys) io.out << "{\"key\":" << key << "}\n";
    char cost[160];
    std::snprintf(cost, sizeof cost, "%zu views, %.2f us each, %llu comparisons made, %llu avoided\n",
                  views.size(), micros, static_cast<unsigned long long>(matching->cost.comparisons),
                  static_cast<unsigned long long>(matching->cost.avoided));
    io.err << cost;
    if (*labels) print_agreement(**labels, io.err);
  }
  for (const canonicalizer::GroupFailure& failure : matching->failed) {
    io.err << "lodestep: error: group " << failure.group << " has no keys: " << to_string(failure.error)
           << '\n';
  }
  return matching->failed.empty() ? 0 : 1;
}

}  // namespace lodestep::harness
