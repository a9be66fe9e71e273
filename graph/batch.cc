#include "graph/batch.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace lodestep::graph {
namespace {

template <typename T>
[[gnu::noinline]] void put(std::vector<T>& column, std::size_t rows, T value, T fallback) {
  if (column.size() < rows) column.resize(rows, fallback);
  column.push_back(value);
}

// Runs for every column of every row. Most columns are empty and stay so: for them it is one comparison.
template <typename T, typename Value>
void append(std::vector<T>& column, std::size_t rows, Value value, Value fallback) {
  // A NaN equals nothing, yet is the default of a number that is not known.
  if (column.empty() && (value == fallback || (value != value && fallback != fallback))) return;
  put(column, rows, static_cast<T>(value), static_cast<T>(fallback));
}

template <typename T>
T at(const std::vector<T>& column, std::size_t row, T fallback) {
  return column.empty() ? fallback : column[row];
}

bool flag_at(const std::vector<std::uint8_t>& column, std::size_t row, bool fallback) {
  return column.empty() ? fallback : column[row] != 0;
}

Error bad_batch(const std::string& message, const std::string& where) {
  return Error{ErrorCode::kInvalidArgument, message, where, ""};
}

std::string row_name(std::size_t row) { return "row " + std::to_string(row); }

// The numeric columns with their names, for the checks that concern each alike.
template <typename Visit>
void visit_numbers(const Batch& batch, Visit visit) {
  visit("reward", batch.reward);
  visit("episode_reward", batch.episode_reward);
  visit("cost", batch.cost);
  visit("value", batch.value);
  visit("log_ratio", batch.log_ratio);
  visit("energy", batch.energy);
  visit("answer_logprob", batch.answer_logprob_before);
  visit("answer_logprob", batch.answer_logprob_after);
}

Status check_lengths(const Batch& batch) {
  const std::size_t rows = batch.rows();
  Status status;
  const auto check = [&](const char* name, std::size_t length, bool optional) {
    if (length == rows || (optional && length == 0) || !status) return;
    status = bad_batch(std::string("column '") + name + "' has " + std::to_string(length) +
                           " entries, the batch " + std::to_string(rows) + " rows",
                       name);
  };
  check("episode", batch.episode.size(), false);
  check("t", batch.t.size(), false);
  check("state", batch.state.size(), false);
  check("next_state", batch.next_state.size(), false);
  check("action", batch.action.size(), true);
  visit_numbers(batch, [&](const char* name, const auto& column) { check(name, column.size(), true); });
  check("next_value", batch.next_value.size(), true);
  check("admissible_count", batch.admissible_count.size(), true);
  check("tokens", batch.tokens.size(), true);
  check("turns_left", batch.turns_left.size(), true);
  check("reward_known", batch.reward_known.size(), true);
  check("episode_reward_known", batch.episode_reward_known.size(), true);
  check("valid", batch.valid.size(), true);
  check("active", batch.active.size(), true);
  check("success", batch.success.size(), true);
  check("done", batch.done.size(), true);
  check("truncated", batch.truncated.size(), true);
  check("infrastructure_failure", batch.infrastructure_failure.size(), true);
  check("exact_state", batch.exact_state.size(), true);
  for (const auto& level : batch.keys) check("keys", level.size(), false);
  for (const auto& level : batch.next_keys) check("next_keys", level.size(), false);
  return status;
}

Status check_ids(const Batch& batch) {
  const auto check = [](const char* name, const std::vector<Id>& column, Id lowest) -> Status {
    for (std::size_t row = 0; row < column.size(); ++row) {
      if (column[row] < lowest) {
        return bad_batch(std::string(name) + " id " + std::to_string(column[row]) + " is negative",
                         row_name(row));
      }
    }
    return {};
  };
  if (Status s = check("task", batch.task, 0); !s) return s;
  if (Status s = check("episode", batch.episode, 0); !s) return s;
  if (Status s = check("state", batch.state, 0); !s) return s;
  if (Status s = check("next_state", batch.next_state, kNone); !s) return s;
  if (Status s = check("exact_state", batch.exact_state, 0); !s) return s;
  for (const PastEdge& edge : batch.past) {
    if (edge.task < 0 || edge.state < 0 || edge.next_state < 0 || !(edge.cost >= 0 && edge.cost <= 1e100)) {
      return bad_batch("a past edge has a negative id or cost", "past");
    }
  }
  for (const Prior& prior : batch.priors) {
    if (prior.task < 0 || !(prior.share >= 0 && prior.share <= 1) ||
        !(prior.distance >= 0 && prior.distance <= 1e100))
      return bad_batch("a prior has a negative task, a share beyond 0 to 1, or a bad distance", "priors");
  }
  return check("action", batch.action, kNone);
}

Status check_numbers(const Batch& batch) {
  Status status;
  visit_numbers(batch, [&](const char* name, const std::vector<double>& column) {
    for (std::size_t row = 0; status && row < column.size(); ++row) {
      // The limit keeps sums of squares finite.
      if (!(std::abs(column[row]) <= 1e100)) {
        status = bad_batch(std::string(name) + " is not a finite number below 1e100", row_name(row));
      } else if (&column == &batch.cost && column[row] < 0) {
        status = bad_batch("cost is negative: no shortest path exists", row_name(row));
      }
    }
  });
  for (std::size_t row = 0; status && row < batch.next_value.size(); ++row) {
    if (std::abs(batch.next_value[row]) > 1e100) {
      status = bad_batch("next_value is not a finite number below 1e100", row_name(row));
    }
  }
  return status;
}

Status check_unique(const Batch& batch) {
  // Recordings come episode by episode in time order; only others pay for the set.
  struct Key {
    Id task, episode;
    std::int32_t t;
  };
  const auto less = [](const Key& a, const Key& b) {
    if (a.task != b.task) return a.task < b.task;
    return a.episode != b.episode ? a.episode < b.episode : a.t < b.t;
  };
  std::vector<std::uint32_t> order(batch.rows());
  for (std::size_t row = 0; row < order.size(); ++row) order[row] = static_cast<std::uint32_t>(row);
  const auto key = [&](std::uint32_t row) { return Key{batch.task[row], batch.episode[row], batch.t[row]}; };
  const auto before = [&](std::uint32_t a, std::uint32_t b) { return less(key(a), key(b)); };
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::stable_sort(order.begin(), order.end(), before);
  }
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (!before(order[i - 1], order[i])) {
      return bad_batch("the same task, episode and step as row " + std::to_string(order[i - 1]) +
                           ": copies would count twice in every statistic",
                       row_name(order[i]));
    }
  }
  return {};
}

}  // namespace

void Batch::add(const Step& s) {
  const std::size_t n = rows();
  const Step d;
  task.push_back(s.task);
  episode.push_back(s.episode);
  t.push_back(s.t);
  state.push_back(s.state);
  next_state.push_back(s.next_state);
  append(action, n, s.action, d.action);
  append(reward, n, s.reward, d.reward);
  append(episode_reward, n, s.episode_reward, d.episode_reward);
  append(cost, n, s.cost, d.cost);
  append(value, n, s.value, d.value);
  append(next_value, n, s.next_value, d.next_value);
  append(log_ratio, n, s.log_ratio, d.log_ratio);
  append(energy, n, s.energy, d.energy);
  append(answer_logprob_before, n, s.answer_logprob[0], d.answer_logprob[0]);
  append(answer_logprob_after, n, s.answer_logprob[1], d.answer_logprob[1]);
  append(tokens, n, s.tokens, d.tokens);
  append(admissible_count, n, s.admissible_count, d.admissible_count);
  append(turns_left, n, s.turns_left, d.turns_left);
  append(reward_known, n, s.reward_known, d.reward_known);
  append(episode_reward_known, n, s.episode_reward_known, d.episode_reward_known);
  append(valid, n, s.valid, d.valid);
  append(active, n, s.active, d.active);
  append(success, n, s.success, d.success);
  append(done, n, s.done, d.done);
  append(truncated, n, s.truncated, d.truncated);
  append(infrastructure_failure, n, s.infrastructure_failure, d.infrastructure_failure);
}

Step Batch::step(std::size_t row) const {
  Step s;
  s.task = task[row];
  s.episode = episode[row];
  s.t = t[row];
  s.state = state[row];
  s.next_state = next_state[row];
  s.action = at(action, row, s.action);
  s.reward = at(reward, row, s.reward);
  s.episode_reward = at(episode_reward, row, s.episode_reward);
  s.cost = at(cost, row, s.cost);
  s.value = at(value, row, s.value);
  s.next_value = at(next_value, row, s.next_value);
  s.log_ratio = at(log_ratio, row, s.log_ratio);
  s.energy = at(energy, row, s.energy);
  s.answer_logprob[0] = at(answer_logprob_before, row, 0.0);
  s.answer_logprob[1] = at(answer_logprob_after, row, 0.0);
  s.tokens = at(tokens, row, s.tokens);
  s.admissible_count = at(admissible_count, row, s.admissible_count);
  s.turns_left = at(turns_left, row, s.turns_left);
  s.reward_known = flag_at(reward_known, row, s.reward_known);
  s.episode_reward_known = flag_at(episode_reward_known, row, s.episode_reward_known);
  s.valid = flag_at(valid, row, s.valid);
  s.active = flag_at(active, row, s.active);
  s.success = flag_at(success, row, s.success);
  s.done = flag_at(done, row, s.done);
  s.truncated = flag_at(truncated, row, s.truncated);
  s.infrastructure_failure = flag_at(infrastructure_failure, row, s.infrastructure_failure);
  return s;
}

Status validate(const Batch& batch) {
  if (Status s = check_lengths(batch); !s) return s;
  if (Status s = check_ids(batch); !s) return s;
  if (Status s = check_numbers(batch); !s) return s;
  return check_unique(batch);
}

}  // namespace lodestep::graph
