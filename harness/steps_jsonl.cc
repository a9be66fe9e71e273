#include "harness/steps_jsonl.h"

#include <rapidjson/document.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>

#include "base/text.h"
#include "harness/internal/json.h"
#include "harness/internal/json_lines.h"

namespace lodestep::harness {
namespace {

using graph::Id;
using graph::Step;
using rapidjson::Value;

Error wrong(const std::string& what, const std::string& where, const std::string& hint = "") {
  return {ErrorCode::kBadData, what, where, hint};
}

// Reads one line's fields into a Step; the first error stays.
class LineReader {
 public:
  LineReader(StepFile& file, Interner& actions, Interner& keys, Interner& hashes, UnknownFields unknown)
      : file_(file), actions_(actions), keys_(keys), hashes_(hashes), unknown_(unknown) {}

  Status read(const Value& row, const std::string& where) {
    where_ = where;
    status_ = {};
    step_ = {};
    seen_ = {};
    row_keys_.clear();
    next_state_given_ = false;
    hash_ = graph::kNone;
    for (const auto& member : row.GetObject()) {
      const std::string_view name(member.name.GetString(), member.name.GetStringLength());
      const auto known = std::find_if(fields().begin(), fields().end(),
                                      [&](const Field& field) { return name == field.name; });
      if (known == fields().end()) {
        if (unknown_ == UnknownFields::kRefuse) refuse(std::string(name));
        continue;
      }
      const auto index = static_cast<std::size_t>(known - fields().begin());
      if (seen_[index]) fail("\"" + std::string(name) + "\" is there twice");
      seen_[index] = true;
      (this->*known->read)(known->name, member.value);
      if (!status_) return status_;
    }
    for (std::size_t i = 0; i < kRequired; ++i) {
      if (!seen_[i]) fail("\"" + std::string(fields()[i].name) + "\" is missing");
    }
    if (status_) store();
    return status_;
  }

  const LeftOut& left_out() const { return left_out_; }

 private:
  struct Field {
    const char* name;
    void (LineReader::*read)(const char* name, const Value& value);
  };
  static constexpr std::size_t kRequired = 4;
  static constexpr std::size_t kEpisodeReward = 6;
  static constexpr std::size_t kFields = 25;

  // The required ones first.
  static const std::vector<Field>& fields() {
    static const std::vector<Field> list{
        {"task", &LineReader::read_task},
        {"episode", &LineReader::read_episode},
        {"t", &LineReader::read_t},
        {"state", &LineReader::read_state},
        {"next_state", &LineReader::read_next_state},
        {"reward", &LineReader::read_reward},
        {"episode_reward", &LineReader::read_episode_reward},
        {"valid", &LineReader::read_flag<&Step::valid>},
        {"active", &LineReader::read_flag<&Step::active>},
        {"tokens", &LineReader::read_count<&Step::tokens>},
        {"success", &LineReader::read_flag<&Step::success>},
        {"done", &LineReader::read_flag<&Step::done>},
        {"truncated", &LineReader::read_flag<&Step::truncated>},
        {"action", &LineReader::read_action},
        {"keys", &LineReader::read_keys},
        {"turns_left", &LineReader::read_count<&Step::turns_left>},
        {"admissible_count", &LineReader::read_count<&Step::admissible_count>},
        {"cost", &LineReader::read_number<&Step::cost>},
        {"value", &LineReader::read_number<&Step::value>},
        {"next_value", &LineReader::read_number<&Step::next_value>},
        {"log_ratio", &LineReader::read_number<&Step::log_ratio>},
        {"energy", &LineReader::read_number<&Step::energy>},
        {"answer_logprob", &LineReader::read_answer_logprob},
        {"state_hash", &LineReader::read_state_hash},
        {"infrastructure_failure", &LineReader::read_flag<&Step::infrastructure_failure>},
    };
    LODESTEP_CHECK(list.size() == kFields, list.size());
    return list;
  }

  void fail(const std::string& what, const std::string& hint = "") {
    if (status_) status_ = wrong(what, where_, hint);
  }

  void refuse(const std::string& name) {
    std::vector<std::string> known;
    for (const Field& field : fields()) known.emplace_back(field.name);
    const std::string near = nearest_word(name, known);
    fail("unknown field \"" + name + "\"" + (near.empty() ? "" : "; did you mean \"" + near + "\"?"),
         "known fields: " + join(known, ", ") + "; --ignore-unknown skips the others");
  }

  // A name is text or a whole number, kept as its JSON so that 1 and "1" stay apart.
  std::optional<Id> name_id(const char* name, const Value& value, Interner& names) {
    if (value.IsString()) {
      return names.intern(json_quote(std::string_view(value.GetString(), value.GetStringLength())));
    }
    if (value.IsInt64()) return names.intern(std::to_string(value.GetInt64()));
    fail("\"" + std::string(name) + "\" must be text");
    return std::nullopt;
  }

  void read_task(const char* name, const Value& value) {
    step_.task = name_id(name, value, file_.tasks).value_or(0);
  }
  void read_episode(const char* name, const Value& value) {
    step_.episode = name_id(name, value, file_.episodes).value_or(0);
  }
  void read_action(const char* name, const Value& value) {
    if (!value.IsNull()) step_.action = name_id(name, value, actions_).value_or(0);
  }

  void read_t(const char* name, const Value& value) {
    if (!value.IsInt() || value.GetInt() < 0)
      return fail("\"" + std::string(name) + "\" must be a whole number from 0");
    step_.t = value.GetInt();
  }

  Id state_id(const char* name, const Value& value) {
    if (value.IsString()) {
      return file_.states.intern(json_quote(std::string_view(value.GetString(), value.GetStringLength())));
    }
    const bool integers = value.IsArray() &&
                          std::all_of(value.Begin(), value.End(), [](const Value& x) { return x.IsInt64(); });
    if (integers) return file_.states.intern(to_json(value));
    fail("\"" + std::string(name) + "\" must be text or an array of integers");
    return 0;
  }
  void read_state(const char* name, const Value& value) { step_.state = state_id(name, value); }
  void read_next_state(const char* name, const Value& value) {
    if (value.IsNull()) return;
    step_.next_state = state_id(name, value);
    next_state_given_ = true;
  }

  std::optional<double> number(const char* name, const Value& value) {
    if (value.IsNumber() && std::isfinite(value.GetDouble())) return value.GetDouble();
    fail("\"" + std::string(name) + "\" must be a finite number");
    return std::nullopt;
  }
  template <double Step::*member>
  void read_number(const char* name, const Value& value) {
    step_.*member = number(name, value).value_or(0);
  }
  void read_reward(const char* name, const Value& value) {
    step_.reward_known = !value.IsNull();
    if (step_.reward_known) step_.reward = number(name, value).value_or(0);
  }
  void read_episode_reward(const char* name, const Value& value) {
    step_.episode_reward_known = !value.IsNull();
    if (step_.episode_reward_known) step_.episode_reward = number(name, value).value_or(0);
  }
  template <bool Step::*member>
  void read_flag(const char* name, const Value& value) {
    if (!value.IsBool()) return fail("\"" + std::string(name) + "\" must be true or false");
    step_.*member = value.GetBool();
  }
  template <std::int32_t Step::*member>
  void read_count(const char* name, const Value& value) {
    if (!value.IsInt() || value.GetInt() < 0)
      return fail("\"" + std::string(name) + "\" must be a whole number from 0");
    step_.*member = value.GetInt();
  }
  void read_answer_logprob(const char* name, const Value& value) {
    if (!value.IsArray() || value.Size() != 2) {
      return fail("\"" + std::string(name) + "\" must be two numbers: [before, after]");
    }
    for (rapidjson::SizeType i = 0; i < 2; ++i) step_.answer_logprob[i] = number(name, value[i]).value_or(0);
  }
  void read_keys(const char* name, const Value& value) {
    if (!value.IsArray() || value.Empty())
      return fail("\"" + std::string(name) + "\" must be a list of texts, coarse to fine");
    for (const Value& key : value.GetArray()) {
      if (!key.IsString())
        return fail("\"" + std::string(name) + "\" must be a list of texts, coarse to fine");
      row_keys_.push_back(keys_.intern(std::string_view(key.GetString(), key.GetStringLength())));
    }
  }
  void read_state_hash(const char* name, const Value& value) {
    if (!value.IsString()) return fail("\"" + std::string(name) + "\" must be text");
    hash_ = hashes_.intern(std::string_view(value.GetString(), value.GetStringLength()));
  }

  void store() {
    const std::size_t row = file_.batch.rows();
    if (row > 0 && row_keys_.size() != file_.batch.keys.size()) {
      return fail("\"keys\" has " + std::to_string(row_keys_.size()) + " levels here and " +
                      std::to_string(file_.batch.keys.size()) + " before",
                  "give every line the same levels, or none");
    }
    file_.batch.keys.resize(row_keys_.size());
    for (std::size_t level = 0; level < row_keys_.size(); ++level) {
      file_.batch.keys[level].push_back(row_keys_[level]);
    }
    file_.batch.add(step_);
    file_.where.push_back(where_);
    left_out_.next_state.push_back(next_state_given_ ? 0 : 1);
    left_out_.episode_reward.push_back(seen_[kEpisodeReward] ? 0 : 1);
    if (hash_ != graph::kNone || !file_.state_hash.empty()) {
      file_.state_hash.resize(row, graph::kNone);
      file_.state_hash.push_back(hash_);
    }
  }

  StepFile& file_;
  Interner& actions_;
  Interner& keys_;
  Interner& hashes_;
  UnknownFields unknown_;
  std::string where_;
  Status status_;
  Step step_;
  std::array<bool, kFields> seen_{};
  std::vector<Id> row_keys_;
  Id hash_ = graph::kNone;
  bool next_state_given_ = false;
  LeftOut left_out_;
};

// Rows in (task, episode, t) order; a second row at one place is an error.
Result<std::vector<std::uint32_t>> order_rows(const StepFile& file) {
  const graph::Batch& batch = file.batch;
  std::vector<std::uint32_t> order(batch.rows());
  std::iota(order.begin(), order.end(), 0U);
  const auto key = [&](std::uint32_t row) {
    return std::tuple(batch.task[row], batch.episode[row], batch.t[row]);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (key(order[i - 1]) != key(order[i])) continue;
    return wrong("the same task, episode and t as in " + file.where[order[i - 1]], file.where[order[i]],
                 "a copy would count twice in every statistic; leave padding rows out");
  }
  return order;
}

// Fills next states and episode rewards that the lines left out, one episode at a time.
class EpisodeFiller {
 public:
  EpisodeFiller(StepFile& file, const LeftOut& left_out)
      : file_(file), batch_(file.batch), left_out_(left_out) {
    batch_.episode_reward.resize(batch_.rows(), 0);
    batch_.episode_reward_known.resize(batch_.rows(), 1);
  }

  Status fill(std::span<const std::uint32_t> rows) {
    link_states(rows);
    return fill_episode_reward(rows);
  }

 private:
  bool active(std::uint32_t row) const { return batch_.active.empty() || batch_.active[row] != 0; }

  void link_states(std::span<const std::uint32_t> rows) {
    Id next = graph::kNone;  // the state of the next active step
    for (std::size_t i = rows.size(); i-- > 0;) {
      const std::uint32_t row = rows[i];
      if (left_out_.next_state[row] != 0) batch_.next_state[row] = next;
      if (active(row)) next = batch_.state[row];
    }
  }

  Status fill_episode_reward(std::span<const std::uint32_t> rows) {
    std::optional<std::uint32_t> given;
    double sum = 0;
    bool known = true;
    for (std::uint32_t row : rows) {
      if (left_out_.episode_reward[row] == 0) {
        if (given && (batch_.episode_reward[*given] != batch_.episode_reward[row] ||
                      batch_.episode_reward_known[*given] != batch_.episode_reward_known[row])) {
          return wrong("\"episode_reward\" is not the one of " + file_.where[*given], file_.where[row],
                       "it is one number for the whole episode");
        }
        given = row;
      }
      if (!active(row)) continue;
      sum += batch_.reward.empty() ? 0 : batch_.reward[row];
      known = known && (batch_.reward_known.empty() || batch_.reward_known[row] != 0);
    }
    for (std::uint32_t row : rows) {
      batch_.episode_reward[row] = given ? batch_.episode_reward[*given] : sum;
      batch_.episode_reward_known[row] = given ? batch_.episode_reward_known[*given] : (known ? 1 : 0);
    }
    return {};
  }

  StepFile& file_;
  graph::Batch& batch_;
  const LeftOut& left_out_;
};

std::string number_or_null(const std::vector<double>& column, std::size_t row) {
  return column.empty() || std::isnan(column[row]) ? "null" : json_number(column[row]);
}

std::string id_or_null(const std::vector<Id>& column, std::size_t row) {
  return column.empty() || column[row] == graph::kNone ? "null" : std::to_string(column[row]);
}

}  // namespace

Result<StepFile> read_steps(const std::string& path, UnknownFields unknown, Io& io) {
  StepFile file;
  Interner actions, keys, hashes;
  LineReader reader(file, actions, keys, hashes, unknown);
  const Status read = for_each_json_line(
      path, io, [&](const Value& row, const std::string& where) { return reader.read(row, where); });
  if (!read) return read.error();
  if (!file.state_hash.empty()) file.state_hash.resize(file.batch.rows(), graph::kNone);
  file.batch.goal_state = file.states.find("\"success\"");
  if (Status completed = complete_steps(file, reader.left_out()); !completed) return completed.error();
  return file;
}

Status complete_steps(StepFile& steps, const LeftOut& left_out) {
  const Result<std::vector<std::uint32_t>> order = order_rows(steps);
  if (!order) return order.error();
  EpisodeFiller filler(steps, left_out);
  for (std::size_t begin = 0; begin < order->size();) {
    const std::uint32_t first = (*order)[begin];
    std::size_t end = begin;
    while (end < order->size() && steps.batch.task[(*order)[end]] == steps.batch.task[first] &&
           steps.batch.episode[(*order)[end]] == steps.batch.episode[first]) {
      ++end;
    }
    if (Status s = filler.fill(std::span(*order).subspan(begin, end - begin)); !s) return s;
    begin = end;
  }
  return {};
}

bool is_text_state(const StepFile& steps, Id state) { return steps.states.text(state).front() == '"'; }

std::string state_text(const StepFile& steps, Id state) {
  const std::string& json = steps.states.text(state);
  if (json.front() == '"') {
    const Result<rapidjson::Document> text = parse_json(json, "");
    LODESTEP_CHECK(text.ok(), json);
    return {text->GetString(), text->GetStringLength()};
  }
  std::string out = "(";
  for (char c : json.substr(1, json.size() - 2)) out += c == ',' ? ", " : std::string(1, c);
  const bool single = json.size() > 2 && json.find(',') == std::string::npos;
  return out + (single ? ",)" : ")");
}

std::string credit_lines(const StepFile& steps, const graph::Credit& credit) {
  const graph::Batch& batch = steps.batch;
  std::string out;
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    out += "{\"task\":" + steps.tasks.text(batch.task[row]) +
           ",\"episode\":" + steps.episodes.text(batch.episode[row]) +
           ",\"t\":" + std::to_string(batch.t[row]) +
           ",\"step_return\":" + number_or_null(credit.step_return, row) +
           ",\"step_advantage\":" + number_or_null(credit.step_advantage, row) +
           ",\"episode_advantage\":" + number_or_null(credit.episode_advantage, row) +
           ",\"advantage\":" + number_or_null(credit.advantage, row) +
           ",\"group\":" + id_or_null(credit.group, row) + ",\"node\":" + id_or_null(credit.node, row) +
           ",\"next_node\":" + id_or_null(credit.next_node, row);
    if (!credit.weight.empty()) out += ",\"weight\":" + number_or_null(credit.weight, row);
    out += "}\n";
  }
  return out;
}

std::string graphs_json(const StepFile& steps, const graph::Credit& credit) {
  const auto state_json = [&](Id state) {
    // The goal may be a node of its own, which no line names.
    return static_cast<std::size_t>(state) < steps.states.size() ? steps.states.text(state) : "\"success\"";
  };
  std::string out = "{";
  for (const graph::TransitionGraph& graph : credit.graphs) {
    if (graph.nodes() == 0) continue;
    if (out.size() > 1) out += ",\n";
    const std::string& task = steps.tasks.text(graph.task);
    out += (task.front() == '"' ? task : "\"" + task + "\"") + ":{\"nodes\":[";
    for (std::size_t v = 0; v < graph.nodes(); ++v) {
      out += (v > 0 ? "," : "") + ("{\"id\":" + std::to_string(v)) +
             ",\"state\":" + state_json(graph.state[v]) + ",\"distance\":" + json_number(graph.distance[v]) +
             ",\"reached\":" + (graph.reached[v] ? "true" : "false") +
             ",\"visits\":" + std::to_string(graph.visits[v]) + "}";
    }
    out += "],\"edges\":[";
    for (std::size_t i = 0; i < graph.edges.size(); ++i) {
      const graph::Edge& e = graph.edges[i];
      out += (i > 0 ? "," : "") + ("{\"from\":" + std::to_string(e.from)) +
             ",\"to\":" + std::to_string(e.to) + ",\"cost\":" + json_number(e.cost) +
             ",\"count\":" + std::to_string(e.count) + "}";
    }
    out += "],\"goal\":" + std::to_string(graph.goal) + "}";
  }
  return out + "}\n";
}

}  // namespace lodestep::harness
