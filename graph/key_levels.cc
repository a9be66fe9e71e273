#include "graph/key_levels.h"

#include <algorithm>

#include "base/text.h"
#include "graph/pair_numbers.h"

namespace lodestep::graph {
namespace {

std::string automatic_levels(std::size_t keys) {
  if (keys == 1) return "task:0,task.0:0.3";
  if (keys == 3) return "batch:0,batch.0:5,task.0:10,task.1:1,task.2:1";
  std::string levels = "task:0";
  for (std::size_t key = 0; key < keys; ++key) levels += ",task." + std::to_string(key) + ":1";
  return levels;
}

// Keys of a row's next state, one per key number: as given, or those of the episode's next step, or of any
// step of the task from an equal state; kNone where none is known.
std::vector<std::vector<Id>> keys_after(const Work& work, const std::vector<std::vector<Id>>& keys) {
  if (!work.batch.next_keys.empty()) return work.batch.next_keys;
  if (work.batch.keys.empty()) return {work.batch.next_state};  // the state itself is the only key
  std::vector<Id> source(work.rows(), kNone);                   // a row whose keys are the wanted ones
  std::vector<Id> row_of_state(work.states, kNone);
  for (std::size_t task = 0; task < work.tasks; ++task) {
    const std::span<const Row> rows = work.rows_of_task[task];
    for (Row row : rows) {
      Id& known = row_of_state[static_cast<std::size_t>(work.batch.state[row])];
      if (known == kNone) known = static_cast<Id>(row);
    }
    for (Row row : rows) {
      const Id next = work.batch.next_state[row];
      if (next != kNone) source[row] = row_of_state[static_cast<std::size_t>(next)];
    }
    for (Row row : rows) row_of_state[static_cast<std::size_t>(work.batch.state[row])] = kNone;
  }
  for (std::size_t e = 0; e < work.episodes(); ++e) {
    const std::span<const Row> rows = work.rows_of_episode[e];
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      const Id next = work.batch.next_state[rows[i]];
      if (next == kNone || next == work.batch.state[rows[i + 1]])
        source[rows[i]] = static_cast<Id>(rows[i + 1]);
    }
  }
  std::vector<std::vector<Id>> after(keys.size(), std::vector<Id>(work.rows(), kNone));
  for (std::size_t key = 0; key < keys.size(); ++key) {
    for (std::size_t row = 0; row < work.rows(); ++row) {
      if (source[row] != kNone) after[key][row] = keys[key][static_cast<std::size_t>(source[row])];
    }
  }
  return after;
}

}  // namespace

Result<std::vector<KeyLevel>> read_levels(const std::string& text, std::size_t keys) {
  const std::string form = "a list such as batch:0,batch.0:5,task.1:1 (scope, key number, weight)";
  const std::string levels_text = text == "auto" ? automatic_levels(keys) : text;
  std::vector<KeyLevel> levels;
  for (std::string_view word : split(levels_text, ',')) {
    const auto refuse = [&](const std::string& why) {
      return Error{ErrorCode::kInvalidArgument, "key level '" + std::string(word) + "' " + why,
                   "--set levels=" + text, "expected " + form};
    };
    const std::vector<std::string_view> parts = split(word, ':');
    const std::optional<double> weight = parts.size() == 2 ? parse_double(parts[1]) : std::nullopt;
    if (!weight || *weight < 0 || *weight > 1e100) return refuse("is no SCOPE:WEIGHT");
    const std::vector<std::string_view> place = split(parts[0], '.');
    if (place.size() > 2 || (place[0] != "batch" && place[0] != "task"))
      return refuse("has no scope batch or task");
    KeyLevel level;
    level.scope = place[0] == "batch" ? KeyLevel::Scope::kBatch : KeyLevel::Scope::kTask;
    level.weight = *weight;
    if (place.size() == 2) {
      const std::optional<std::int64_t> key = parse_int(place[1]);
      if (!key || *key < 0 || *key >= static_cast<std::int64_t>(keys)) {
        return refuse("names a key that the steps do not have: they have " + std::to_string(keys));
      }
      level.key = static_cast<Id>(*key);
    }
    levels.push_back(level);
  }
  return levels;
}

Cells make_cells(const Work& work, const std::vector<KeyLevel>& levels) {
  const std::vector<std::vector<Id>> keys =
      work.batch.keys.empty() ? std::vector<std::vector<Id>>{work.batch.state} : work.batch.keys;
  const std::vector<std::vector<Id>> after = keys_after(work, keys);
  Cells cells;
  cells.of_state.assign(work.rows(), 0);
  cells.next_cell.assign(work.rows(), 0);
  cells.next_level.assign(work.rows(), static_cast<std::int32_t>(levels.size()) - 1);
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const KeyLevel& level = levels[l];
    const auto column = static_cast<std::size_t>(std::max(level.key, 0));
    PairNumbers scoped(2 * work.rows()), numbers(2 * work.rows());
    std::vector<Id> parent;
    std::vector<double> rows;
    // A level's cell: the coarser cell together with the level's own key, so that finer determines coarser.
    const auto cell = [&](Id coarser, Id task, Id key) {
      const Id own = scoped.of(level.scope == KeyLevel::Scope::kTask ? task : kNone, key);
      const Id number = numbers.of(coarser, own);
      if (static_cast<std::size_t>(number) == parent.size()) {
        parent.push_back(coarser);
        rows.push_back(0);
      }
      return number;
    };
    for (std::size_t row = 0; row < work.rows(); ++row) {
      if (work.task[row] == kNone) {
        cells.of_state[row] = cells.next_cell[row] = kNone;
        continue;
      }
      const Id key = level.key == kNone ? kNone : keys[column][row];
      cells.of_state[row] = cell(cells.of_state[row], work.task[row], key);
      rows[static_cast<std::size_t>(cells.of_state[row])] += 1;
      if (cells.next_level[row] + 1 < static_cast<std::int32_t>(levels.size()))
        continue;  // ended at a coarser level
      const Id next_key = level.key == kNone ? kNone : after[column][row];
      if (level.key != kNone && next_key == kNone) {
        cells.next_level[row] = static_cast<std::int32_t>(l) - 1;
      } else {
        cells.next_cell[row] = cell(cells.next_cell[row], work.task[row], next_key);
      }
    }
    cells.parent.push_back(std::move(parent));
    cells.rows.push_back(std::move(rows));
  }
  return cells;
}

}  // namespace lodestep::graph
