#include "harness/view/view_document.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <unordered_map>

#include "base/hash.h"
#include "base/text.h"
#include "harness/credit.h"
#include "harness/view/group_graph.h"

namespace lodestep::harness {
namespace {

// Appends JSON members; commas take care of themselves.
class Json {
 public:
  Json& key(std::string_view name) {
    text(name);
    out_ += ':';
    fresh_ = true;
    return *this;
  }
  Json& open(char bracket) {
    comma();
    out_ += bracket;
    fresh_ = true;
    return *this;
  }
  Json& close(char bracket) {
    out_ += bracket;
    fresh_ = false;
    return *this;
  }
  // '<' is written as an escape: the document stands inside a <script> element.
  Json& text(std::string_view value) {
    const std::string quoted = json_quote(value);
    comma();
    for (const char c : quoted) {
      if (c == '<') {
        out_ += "\\u003c";
      } else {
        out_ += c;
      }
    }
    fresh_ = false;
    return *this;
  }
  Json& number(std::size_t value) { return raw(std::to_string(value)); }
  Json& number(std::int64_t value) { return raw(std::to_string(value)); }
  Json& number(int value) { return raw(std::to_string(value)); }
  Json& number(bool value) { return raw(value ? "1" : "0"); }
  Json& number(double value) { return raw(json_number(value)); }
  template <typename T>
  Json& number(const std::optional<T>& value) {
    return value ? number(*value) : raw("null");
  }
  Json& raw(std::string_view value) {
    comma();
    out_ += value;
    fresh_ = false;
    return *this;
  }
  // A column: one number per item.
  template <typename Items, typename Value>
  Json& column(std::string_view name, const Items& items, Value value) {
    key(name).open('[');
    for (const auto& item : items) number(value(item));
    return close(']');
  }
  // The same of plain numbers; null instead of a list that holds nothing.
  template <typename T>
  Json& column_or_null(std::string_view name, const std::vector<std::optional<T>>& items) {
    const bool any =
        std::any_of(items.begin(), items.end(), [](const auto& item) { return item.has_value(); });
    if (!any) return key(name).raw("null");
    return column(name, items, [](const auto& item) { return item; });
  }
  std::string take() { return std::move(out_); }

 private:
  void comma() {
    if (!fresh_) out_ += ',';
    fresh_ = false;
  }
  std::string out_;
  bool fresh_ = true;
};

// Texts and lists of texts to dense numbers, by first appearance.
class Texts {
 public:
  std::size_t of(std::string_view text) {
    const auto [found, fresh] = number_of_.try_emplace(hash128(text), texts_.size());
    if (fresh) texts_.push_back(text);
    return found->second;
  }
  std::size_t list_of(const std::vector<std::string>& list) {
    Hasher hasher;
    for (const std::string& text : list) hasher.add(text);
    const auto [found, fresh] = list_of_.try_emplace(hasher.finish(), lists_.size());
    if (fresh) {
      lists_.emplace_back();
      for (const std::string& text : list) lists_.back().push_back(of(text));
    }
    return found->second;
  }
  void write(Json& json) const {
    json.key("texts").open('[');
    for (const std::string_view text : texts_) json.text(text);
    json.close(']').key("lists").open('[');
    for (const std::vector<std::size_t>& list : lists_) {
      json.open('[');
      for (const std::size_t text : list) json.number(text);
      json.close(']');
    }
    json.close(']');
  }

 private:
  std::vector<std::string_view> texts_;  // of the recording, which outlives this
  std::vector<std::vector<std::size_t>> lists_;
  std::unordered_map<Hash128, std::size_t, ContainerHash> number_of_, list_of_;
};

void write_situations(Json& json, const std::vector<const Situation*>& situations, Texts& texts) {
  json.column("observation", situations, [&](const Situation* s) { return texts.of(s->observation); });
  json.column("admissible", situations, [&](const Situation* s) { return texts.list_of(s->admissible); });
  json.column("exact", situations, [&](const Situation* s) { return texts.of(s->keys.exact); });
  json.column("relevant", situations, [&](const Situation* s) { return texts.of(s->keys.relevant); });
  json.column("stage", situations, [&](const Situation* s) { return texts.of(s->keys.stage); });
  // -1 stands for infinity, which JSON has not.
  json.column("distance", situations, [](const Situation* s) {
    return s->distance && std::isinf(*s->distance) ? std::optional<double>(-1) : s->distance;
  });
}

struct GroupRange {
  std::size_t id = 0;
  const std::string* task = nullptr;
};

void write_recording(Json& json, const Recording& recording, Texts& texts) {
  std::vector<GroupRange> groups;
  std::vector<std::size_t> group_of, first;
  std::vector<const Situation*> before, last;
  std::vector<const StepRecord*> steps;
  for (const EpisodeRecord& episode : recording.episodes) {
    if (groups.empty() || groups.back().id != episode.group)
      groups.push_back({episode.group, &episode.task.id});
    group_of.push_back(groups.size() - 1);
    first.push_back(steps.size());
    for (const StepRecord& step : episode.steps) {
      steps.push_back(&step);
      before.push_back(&step.before);
    }
    last.push_back(&episode.last);
  }
  const auto same = [](std::size_t value) { return value; };
  const std::vector<EpisodeRecord>& episodes = recording.episodes;
  json.key("groups").open('{');
  json.column("id", groups, [](const GroupRange& group) { return group.id; });
  json.column("task", groups, [&](const GroupRange& group) { return texts.of(*group.task); });
  json.close('}').key("episodes").open('{');
  json.column("group", group_of, same);
  json.column("member", episodes, [](const EpisodeRecord& e) { return e.member; });
  json.key("seed").open('[');
  for (const EpisodeRecord& e : episodes) json.text(std::to_string(e.task.seed));  // 64 bits: text in JSON
  json.close(']');
  json.column("status", episodes,
              [&](const EpisodeRecord& e) { return texts.of(episode_status_name(e.status)); });
  json.column("outcome", episodes, [&](const EpisodeRecord& e) { return texts.of(outcome_name(e.outcome)); });
  json.column("truncated", episodes, [](const EpisodeRecord& e) { return e.truncated; });
  json.column("failure", episodes, [&](const EpisodeRecord& e) { return texts.of(e.failure); });
  json.column("reward", episodes, [](const EpisodeRecord& e) { return e.total_reward(); });
  json.column("first", first, same);
  json.column("steps", episodes, [](const EpisodeRecord& e) { return e.steps.size(); });
  json.key("last").open('{');
  write_situations(json, last, texts);
  json.close('}').close('}').key("steps").open('{');
  write_situations(json, before, texts);
  json.column("action", steps, [&](const StepRecord* s) { return texts.of(s->action); });
  json.column("valid", steps, [](const StepRecord* s) { return s->valid; });
  json.column("reward", steps, [](const StepRecord* s) { return s->reward; });
  json.close('}');
}

int marks(const GroupNode& node) {
  return (node.start ? 1 : 0) | (node.success ? 2 : 0) | (node.dead ? 4 : 0) | (node.open ? 8 : 0);
}

void write_graphs(Json& json, const std::string& matcher, const std::vector<GroupGraph>& graphs) {
  json.open('{').key("matcher").text(matcher).key("groups").open('[');
  for (const GroupGraph& graph : graphs) {
    json.open('{').key("columns").number(graph.columns).key("rows").number(graph.rows);
    json.column("id", graph.nodes, [](const GroupNode& node) { return node.id; });
    json.column("distance", graph.nodes, [](const GroupNode& node) { return node.distance; });
    json.column("visits", graph.nodes, [](const GroupNode& node) { return node.visits; });
    json.column("marks", graph.nodes, [](const GroupNode& node) { return marks(node); });
    json.column("column", graph.nodes, [](const GroupNode& node) { return node.column; });
    json.column("shift", graph.nodes, [](const GroupNode& node) { return node.shift; });
    json.column("row", graph.nodes, [](const GroupNode& node) { return node.row; });
    for (const auto& [name, ends] : {std::pair("from", &graph.from), std::pair("to", &graph.to)}) {
      json.column(name, *ends, [](const auto& end) { return end; });
    }
    json.close('}');
  }
  json.close(']').close('}');
}

// Each estimate's graph, equal ones once.
struct Graphs {
  std::vector<const Estimate*> shown;  // whose node columns a graph is made from
  std::vector<std::size_t> of_estimate;
};

Graphs choose_graphs(const std::vector<Estimate>& estimates, const Estimate& fallback) {
  Graphs graphs;
  for (const Estimate& estimate : estimates) {
    if (!has_nodes(estimate)) continue;
    const auto equal = [&](const Estimate* other) {
      return other->matcher == estimate.matcher && other->node == estimate.node &&
             other->next_node == estimate.next_node;
    };
    if (std::none_of(graphs.shown.begin(), graphs.shown.end(), equal)) graphs.shown.push_back(&estimate);
  }
  if (graphs.shown.empty()) graphs.shown.push_back(&fallback);
  for (const Estimate& estimate : estimates) {
    std::size_t best = 0;  // an estimator without a graph is shown on the one of its matcher
    for (std::size_t g = graphs.shown.size(); g-- > 0;) {
      if (graphs.shown[g]->matcher == estimate.matcher) best = g;
    }
    for (std::size_t g = 0; g < graphs.shown.size(); ++g) {
      const Estimate& other = *graphs.shown[g];
      if (has_nodes(estimate) && other.matcher == estimate.matcher && other.node == estimate.node &&
          other.next_node == estimate.next_node) {
        best = g;
      }
    }
    graphs.of_estimate.push_back(best);
  }
  return graphs;
}

void write_estimate(Json& json, const Estimate& estimate, std::size_t graph) {
  json.open('{').key("name").text(estimate.name).key("estimator").text(estimate.estimator);
  json.key("matcher").text(estimate.matcher);
  json.key("settings").text(estimate.settings);
  json.key("graph").number(graph);
  json.column_or_null("step_return", estimate.step_return);
  json.column_or_null("step_advantage", estimate.step_advantage);
  json.column_or_null("episode_advantage", estimate.episode_advantage);
  json.column("advantage", estimate.advantage, [](double value) { return value; });
  json.column_or_null("comparison", estimate.group);
  json.close('}');
}

}  // namespace

Result<std::string> view_document(const std::string& name, const Recording& recording) {
  const std::size_t rows = recording.steps();
  bool any_nodes = false;
  for (const Estimate& estimate : recording.estimates) {
    if (estimate.advantage.size() != rows) {
      return Error{ErrorCode::kBadData,
                   "the estimate has " + std::to_string(estimate.advantage.size()) + " advantages for " +
                       std::to_string(rows) + " steps",
                   estimate.name, "recompute it with 'lodestep credit --run'"};
    }
    any_nodes = any_nodes || has_nodes(estimate);
  }
  Estimate fallback;
  fallback.matcher = "exact";
  fallback.node.resize(rows);
  fallback.next_node.resize(rows);
  fallback.advantage.resize(rows);
  if (!any_nodes && rows > 0) {
    Result<Credited> credited = credit_recording(recording, {});
    if (!credited) return credited.error();
    fallback = std::move(credited->estimate);
  }
  const Graphs graphs = choose_graphs(recording.estimates, fallback);

  Json json;
  Texts texts;
  json.open('{').key("format").text("lodestep-view/1").key("name").text(name).key("info").open('{');
  for (const auto& [key, value] : recording.info) json.key(key).text(value);
  json.close('}');
  write_recording(json, recording, texts);
  json.key("estimates").open('[');
  for (std::size_t i = 0; i < recording.estimates.size(); ++i) {
    write_estimate(json, recording.estimates[i], graphs.of_estimate[i]);
  }
  json.close(']').key("graphs").open('[');
  for (const Estimate* estimate : graphs.shown) {
    write_graphs(json, estimate->matcher, group_graphs(recording, *estimate));
  }
  json.close(']');
  texts.write(json);
  json.close('}');
  return json.take();
}

Result<std::string> view_recording(const std::string& path, const Recording& recording) {
  const Result<std::string> document =
      view_document(std::filesystem::path(path).filename().string(), recording);
  if (!document) return document.error();
  return view_page(*document);
}

}  // namespace lodestep::harness
