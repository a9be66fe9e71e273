#include "harness/labelled_pages.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.h"
#include "graph/estimator.h"
#include "harness/internal/json_lines.h"

namespace lodestep::harness {

using canonicalizer::Matching;
using canonicalizer::PageView;
using graph::Id;

const std::vector<std::string> kPageFields{"group",       "episode", "t",     "text",
                                           "actions",     "action",  "truth", "truth_relevant",
                                           "truth_stage", "task",    "key",   "success"};

namespace {

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

Result<LabelledPage> parse_row(const rapidjson::Value& json, const std::string& where) {
  LabelledPage row;
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
        std::pair("truth_relevant", &row.truth_relevant), std::pair("truth_stage", &row.truth_stage),
        std::pair("task", &row.task), std::pair("key", &row.key)}) {
    if (Status read = optional_text(json, name, where, *target); !read) return read.error();
  }
  const auto success = json.FindMember("success");
  if (success != json.MemberEnd() && !success->value.IsNull()) {
    if (!success->value.IsBool()) return wrong("\"success\" must be true or false", where);
    row.success = success->value.GetBool();
  }
  return row;
}

std::optional<std::string_view> view_of(const std::optional<std::string>& text) {
  return text ? std::optional<std::string_view>(*text) : std::nullopt;
}

// The steps that some pages tell of, as estimators read them; states are set afterwards.
struct Steps {
  graph::Batch batch;
  std::vector<std::size_t> page, next_page;  // per step; kNoPage: the page that it led to is not there
  std::vector<std::size_t> group;            // per task of the batch
  static constexpr std::size_t kNoPage = static_cast<std::size_t>(-1);
};

// In (group, episode, t) order. The last page of an episode is a step only where it names its action.
Result<Steps> steps_of(const LabelledPages& all, const std::vector<std::size_t>& used,
                       const std::vector<std::uint32_t>& group_of) {
  std::vector<std::size_t> order = used;
  const auto place = [&](std::size_t i) {
    const LabelledPage& page = all.pages[i];
    return std::tuple(group_of[i], std::string_view(page.episode), page.t);
  };
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return place(x) < place(y); });
  std::map<std::pair<std::uint32_t, std::string_view>, bool> success;
  for (const std::size_t i : order) {
    bool& so_far = success[{group_of[i], all.pages[i].episode}];
    so_far = so_far || all.pages[i].success.value_or(false);
  }
  Steps steps;
  std::map<std::uint32_t, Id> tasks;
  std::map<std::pair<std::uint32_t, std::string_view>, Id> episodes;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const LabelledPage& page = all.pages[order[k]];
    const std::uint32_t group = group_of[order[k]];
    const LabelledPage* next = k + 1 < order.size() ? &all.pages[order[k + 1]] : nullptr;
    const bool goes_on = next != nullptr && group_of[order[k + 1]] == group && next->episode == page.episode;
    if (goes_on && next->t == page.t) {
      return Error{ErrorCode::kBadData, "two lines for one observation",
                   "group " + page.group + ", episode " + page.episode + ", t " + std::to_string(page.t),
                   "one line an observation"};
    }
    if (!goes_on && !page.action) continue;
    const auto [task, is_new] = tasks.try_emplace(group, static_cast<Id>(tasks.size()));
    if (is_new) steps.group.push_back(group);
    graph::Step step;
    step.task = task->second;
    step.episode =
        episodes.try_emplace({group, page.episode}, static_cast<Id>(episodes.size())).first->second;
    step.t = static_cast<std::int32_t>(page.t);
    step.success = success[{group, page.episode}];
    step.episode_reward = step.success ? 1 : 0;
    steps.batch.add(step);
    steps.page.push_back(order[k]);
    steps.next_page.push_back(goes_on && next->t == page.t + 1 ? order[k + 1] : Steps::kNoPage);
  }
  return steps;
}

// The credit of the graph whose nodes are numbered by `state`, per page; the episode's part left out.
Result<graph::Credit> credit_of(const Steps& steps, const std::vector<std::uint32_t>& state) {
  graph::Batch batch = steps.batch;
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    batch.state[row] = static_cast<Id>(state[steps.page[row]]);
    const std::size_t next = steps.next_page[row];
    batch.next_state[row] = next == Steps::kNoPage ? graph::kNone : static_cast<Id>(state[next]);
  }
  return graph::estimate({.estimator = "graphgpo", .settings = {{"episode_w", "0"}, {"gamma", "0.8"}}},
                         batch);
}

// Steps of each pair of groups of one task, the pair's number as their task.
std::optional<CrossBatch> order_of(const LabelledPages& all, const Steps& steps,
                                   const graph::Credit& credit) {
  std::map<std::string_view, std::vector<Id>> batches;  // by task, the groups (tasks of the graph)
  std::vector<Hash128> truths;
  for (std::size_t row = 0; row < steps.page.size(); ++row) {
    const LabelledPage& page = all.pages[steps.page[row]];
    truths.push_back(hash128(*page.truth));
    if (!page.task) continue;
    std::vector<Id>& groups = batches[*page.task];
    if (groups.empty() || groups.back() != steps.batch.task[row]) groups.push_back(steps.batch.task[row]);
  }
  const std::vector<PlacedStep> placed = placed_steps(credit, steps.batch.task, truths);
  std::vector<PlacedStep> one, two;
  std::uint32_t pair = 0;
  const auto copy = [&](Id group, std::vector<PlacedStep>& out) {
    for (PlacedStep step : placed) {
      if (step.task != static_cast<std::uint32_t>(group)) continue;
      step.task = pair;
      out.push_back(step);
    }
  };
  for (const auto& [task, groups] : batches) {
    for (std::size_t a = 0; a < groups.size(); ++a) {
      for (std::size_t b = a + 1; b < groups.size(); ++b, ++pair) {
        copy(groups[a], one);
        copy(groups[b], two);
      }
    }
  }
  if (pair == 0) return std::nullopt;
  return cross_batch_consistency(one, two);
}

}  // namespace

std::vector<PageView> LabelledPages::views() const {
  std::map<std::tuple<std::string_view, std::string_view, std::int64_t>, std::size_t> at;
  for (std::size_t i = 0; i < pages.size(); ++i) at[{pages[i].group, pages[i].episode, pages[i].t}] = i;
  std::vector<PageView> views;
  for (const LabelledPage& page : pages) {
    PageView view;
    view.group = page.group;
    view.trajectory = page.episode;
    view.t = page.t;
    view.text = page.text;
    if (page.actions) view.actions = std::span<const std::string>(*page.actions);
    const auto previous = at.find({page.group, page.episode, page.t - 1});
    if (previous != at.end()) {
      view.previous = previous->second;
      view.action_before = view_of(pages[previous->second].action);
    }
    view.truth = view_of(page.truth);
    view.truth_relevant = view_of(page.truth_relevant);
    view.truth_stage = view_of(page.truth_stage);
    views.push_back(view);
  }
  return views;
}

Result<LabelledPages> read_pages(const std::string& path, Io& io) {
  LabelledPages out;
  Status read =
      for_each_json_line(path, io, [&](const rapidjson::Value& line, const std::string& where) -> Status {
        Result<LabelledPage> page = parse_row(line, where);
        if (!page) return page.error();
        for (const auto& member : line.GetObject()) {
          const std::string field(member.name.GetString(), member.name.GetStringLength());
          if (std::find(kPageFields.begin(), kPageFields.end(), field) == kPageFields.end()) {
            ++out.unknown_fields[field];
          }
        }
        out.pages.push_back(*std::move(page));
        return {};
      });
  if (!read) return read.error();
  return out;
}

Result<Matching> given_keys(const LabelledPages& pages) {
  Matching matching;
  for (const LabelledPage& page : pages.pages) {
    if (!page.key) {
      return Error{ErrorCode::kInvalidArgument, "a line has no \"key\"",
                   "group " + page.group + ", episode " + page.episode + ", t " + std::to_string(page.t),
                   "--matcher given takes the keys from the lines"};
    }
    matching.keys.push_back(Hasher().add(page.group).add(*page.key).finish());
  }
  return matching;
}

Result<std::optional<LabelAgreement>> compare_with_labels(const LabelledPages& all,
                                                          const Matching& matching) {
  const std::deque<LabelledPage>& pages = all.pages;
  const auto knows_truth = [](const LabelledPage& page) { return page.truth.has_value(); };
  if (pages.empty() || !std::all_of(pages.begin(), pages.end(), knows_truth)) {
    return std::optional<LabelAgreement>();
  }
  std::set<std::string_view> failed;
  for (const canonicalizer::GroupFailure& failure : matching.failed) failed.insert(failure.group);

  LabelAgreement out;
  std::map<std::string_view, std::uint32_t> group_numbers, truth_numbers;
  const std::vector<std::uint32_t> key_of = canonicalizer::number_by_first_appearance(matching.keys);
  std::vector<std::uint32_t> group_of(pages.size()), truth_of(pages.size());
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (failed.contains(pages[i].group)) continue;
    const auto [group, is_new] =
        group_numbers.try_emplace(pages[i].group, static_cast<std::uint32_t>(group_numbers.size()));
    if (is_new) out.group_names.push_back(pages[i].group);
    group_of[i] = group->second;
    truth_of[i] = truth_numbers.try_emplace(*pages[i].truth, static_cast<std::uint32_t>(truth_numbers.size()))
                      .first->second;
    used.push_back(i);
  }
  const auto chosen = [&](const std::vector<std::uint32_t>& of_page) {
    std::vector<std::uint32_t> column;
    for (const std::size_t i : used) column.push_back(of_page[i]);
    return column;
  };
  out.groups = canonicalizer::count_pairs(chosen(group_of), chosen(key_of), chosen(truth_of));
  out.pairs = canonicalizer::measure_agreement(out.groups);

  const auto tells = [](const LabelledPage& page) { return page.success.has_value(); };
  if (std::none_of(pages.begin(), pages.end(), tells)) return std::optional(std::move(out));
  const Result<Steps> steps = steps_of(all, used, group_of);
  if (!steps) return steps.error();
  const Result<graph::Credit> found = credit_of(*steps, key_of);
  if (!found) return found.error();
  const Result<graph::Credit> truth = credit_of(*steps, truth_of);
  if (!truth) return truth.error();
  out.graph = compare_graphs(*found, *truth, steps->batch.task);
  std::vector<GraphAgreement> groups(out.groups.size());  // a group without steps has no graph
  for (std::size_t task = 0; task < steps->group.size(); ++task) {
    groups[steps->group[task]] = out.graph->groups[task];
  }
  out.graph->groups = std::move(groups);
  out.order = order_of(all, *steps, *found);
  return std::optional(std::move(out));
}

}  // namespace lodestep::harness
