#include "envs/sokoban/solver.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace lodestep::sokoban {
namespace {

constexpr std::size_t kTooMany = std::numeric_limits<std::size_t>::max();

std::size_t times(std::size_t a, std::size_t b) { return b != 0 && a > kTooMany / b ? kTooMany : a * b; }

// C(n, k), kTooMany when it does not fit.
std::size_t binomial(std::size_t n, std::size_t k) {
  if (k > n) return 0;
  std::size_t value = 1;
  for (std::size_t i = 1; i <= k; ++i) {
    const std::size_t product = times(value, n - k + i);
    if (product == kTooMany) return kTooMany;
    value = product / i;
  }
  return value;
}

bool is_box(std::uint8_t code) { return code == kBox || code == kBoxOnTarget; }

Direction opposite(Direction direction) { return static_cast<Direction>(static_cast<int>(direction) ^ 1); }

}  // namespace

LevelMap::LevelMap(const Level& level) : square_of_(level.fixed.size(), -1) {
  const int steps[] = {-level.cols, level.cols, -1, 1};
  std::vector<bool> seen(level.fixed.size());
  std::vector<int> open{level.player};
  seen[static_cast<std::size_t>(level.player)] = true;
  while (!open.empty()) {
    const int cell = open.back();
    open.pop_back();
    for (const int step : steps) {
      const auto to = static_cast<std::size_t>(cell + step);
      if (level.fixed[to] == kWall || seen[to]) continue;
      seen[to] = true;
      open.push_back(cell + step);
    }
  }
  for (std::size_t cell = 0; cell < seen.size(); ++cell) {
    if (seen[cell]) {
      square_of_[cell] = squares();
      if (level.fixed[cell] == kTarget) targets_.push_back(squares());
      cell_of_.push_back(static_cast<int>(cell));
    } else if (level.start[cell] == kBox) {
      sound_ = false;
    }
  }
  for (const int cell : cell_of_) {
    std::array<std::int16_t, 4> next{};
    for (std::size_t d = 0; d < 4; ++d) {
      next[d] = static_cast<std::int16_t>(square_of_[static_cast<std::size_t>(cell + steps[d])]);
    }
    next_.push_back(next);
  }
  live_.assign(cell_of_.size(), false);
  target_.assign(cell_of_.size(), false);
  for (const int target : targets_) target_[static_cast<std::size_t>(target)] = true;
  for (const int target : targets_) {
    std::vector<std::uint16_t> far(cell_of_.size(), kFar);
    std::vector<int> queue{target};
    far[static_cast<std::size_t>(target)] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const int box = queue[i];
      live_[static_cast<std::size_t>(box)] = true;
      for (const Direction pull : kDirections) {
        const int to = next(box, pull);
        if (to < 0 || next(to, pull) < 0 || far[static_cast<std::size_t>(to)] != kFar) continue;
        far[static_cast<std::size_t>(to)] =
            static_cast<std::uint16_t>(far[static_cast<std::size_t>(box)] + 1);
        queue.push_back(to);
      }
    }
    pushes_.push_back(std::move(far));
  }
}

std::vector<int> LevelMap::boxes_in(const Grid& cells) const {
  std::vector<int> boxes;
  for (int square = 0; square < squares(); ++square) {
    if (is_box(cells[static_cast<std::size_t>(cell_of(square))])) boxes.push_back(square);
  }
  return boxes;
}

// A box asked about counts as a wall (2) while its neighbours are asked: boxes that hold each other are held.
// When it turns out free, so does everything that was concluded from it; the trail says what.
bool LevelMap::held(int box, std::vector<std::uint8_t>& occupied, std::vector<int>& trail) const {
  const std::size_t mark = trail.size();
  occupied[static_cast<std::size_t>(box)] = 2;
  trail.push_back(box);
  const auto wall = [&](int square) { return square < 0 || occupied[static_cast<std::size_t>(square)] == 2; };
  const auto held_box = [&](int square) {
    return square >= 0 && occupied[static_cast<std::size_t>(square)] == 1 && held(square, occupied, trail);
  };
  for (const Direction axis : {Direction::kUp, Direction::kLeft}) {
    const int a = next(box, axis);
    const int b = next(box, opposite(axis));
    if (wall(a) || wall(b) || (!live(a) && !live(b)) || held_box(a) || held_box(b)) continue;
    for (; trail.size() > mark; trail.pop_back()) occupied[static_cast<std::size_t>(trail.back())] = 1;
    return false;
  }
  return true;
}

bool LevelMap::frozen(const std::vector<int>& boxes) const {
  std::vector<std::uint8_t> occupied(cell_of_.size(), 0);
  std::vector<int> trail;
  for (const int box : boxes) occupied[static_cast<std::size_t>(box)] = 1;
  for (const int box : boxes) {
    if (target_[static_cast<std::size_t>(box)]) continue;
    if (held(box, occupied, trail)) return true;
  }
  return false;
}

std::optional<int> LevelMap::assignment(const std::vector<int>& boxes) const {
  if (!sound_ || boxes.size() != targets_.size()) return std::nullopt;
  const std::size_t n = boxes.size();
  // The Hungarian method with potentials, one box after another; column 0 is a helper.
  constexpr int kNever = 1 << 20;
  std::vector<int> row_potential(n + 1), column_potential(n + 1);
  std::vector<std::size_t> matched(n + 1, 0);
  for (std::size_t i = 1; i <= n; ++i) {
    matched[0] = i;
    std::size_t column = 0;
    std::vector<int> least(n + 1, std::numeric_limits<int>::max());
    std::vector<std::size_t> from(n + 1, 0);
    std::vector<bool> used(n + 1, false);
    do {
      used[column] = true;
      const std::size_t row = matched[column];
      int delta = std::numeric_limits<int>::max();
      std::size_t best = 0;
      for (std::size_t j = 1; j <= n; ++j) {
        if (used[j]) continue;
        const std::uint16_t far = pushes(j - 1, boxes[row - 1]);
        const int cost = (far == kFar ? kNever : far) - row_potential[row] - column_potential[j];
        if (cost < least[j]) {
          least[j] = cost;
          from[j] = column;
        }
        if (least[j] < delta) {
          delta = least[j];
          best = j;
        }
      }
      for (std::size_t j = 0; j <= n; ++j) {
        if (used[j]) {
          row_potential[matched[j]] += delta;
          column_potential[j] -= delta;
        } else {
          least[j] -= delta;
        }
      }
      column = best;
    } while (matched[column] != 0);
    for (; column != 0; column = from[column]) matched[column] = matched[from[column]];
  }
  int sum = 0;
  for (std::size_t j = 1; j <= n; ++j) {
    const std::uint16_t far = pushes(j - 1, boxes[matched[j] - 1]);
    if (far == kFar) return std::nullopt;
    sum += far;
  }
  return sum;
}

std::size_t DistanceTable::entries(const LevelMap& map) {
  std::size_t live = 0;
  for (int square = 0; square < map.squares(); ++square) live += map.live(square) ? 1U : 0U;
  return times(binomial(live, map.targets().size()), static_cast<std::size_t>(map.squares()));
}

std::optional<DistanceTable> DistanceTable::build(const LevelMap& map, std::size_t max_entries) {
  const std::size_t size = entries(map);
  if (size > max_entries || size > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  DistanceTable table;
  table.squares_ = static_cast<std::size_t>(map.squares());
  std::vector<int> live;
  for (int square = 0; square < map.squares(); ++square) {
    table.live_index_.push_back(map.live(square) ? static_cast<int>(live.size()) : -1);
    if (map.live(square)) live.push_back(square);
  }
  const std::size_t boxes = map.targets().size();
  for (std::size_t k = 1; k <= boxes; ++k) {
    std::vector<std::uint32_t> row;
    for (std::size_t n = 0; n <= live.size(); ++n) {
      // Values past the table's size belong to no rank of it; they are only compared with.
      row.push_back(static_cast<std::uint32_t>(
          std::min<std::size_t>(binomial(n, k), std::numeric_limits<std::uint32_t>::max())));
    }
    table.choose_.push_back(std::move(row));
  }
  table.distance_.assign(size, kFar);
  if (!map.sound()) return table;

  const std::size_t squares = table.squares_;
  std::vector<std::uint8_t> occupied(squares, 0);
  std::vector<std::uint32_t> frontier;
  std::vector<std::uint32_t> next_frontier;
  {
    std::size_t rank = 0;
    for (std::size_t k = 0; k < boxes; ++k) {
      const int target = map.targets()[k];
      occupied[static_cast<std::size_t>(target)] = 1;
      rank += table.choose_[k][static_cast<std::size_t>(table.live_index_[static_cast<std::size_t>(target)])];
    }
    for (std::size_t player = 0; player < squares; ++player) {
      if (occupied[player] != 0) continue;
      table.distance_[rank * squares + player] = 0;
      frontier.push_back(static_cast<std::uint32_t>(rank * squares + player));
    }
    std::fill(occupied.begin(), occupied.end(), std::uint8_t{0});
  }
  table.live_states_ = frontier.size();

  std::vector<int> set(boxes);  // numbers of live squares, ascending
  std::vector<int> pulled(boxes);
  for (int depth = 1; !frontier.empty(); ++depth) {
    LODESTEP_CHECK(depth < kFar, depth);
    const auto reach = [&](std::size_t index) {
      if (table.distance_[index] != kFar) return;
      table.distance_[index] = static_cast<std::uint16_t>(depth);
      next_frontier.push_back(static_cast<std::uint32_t>(index));
    };
    for (const std::uint32_t index : frontier) {
      const std::size_t rank = index / squares;
      const int player = static_cast<int>(index % squares);
      std::size_t rest = rank;
      std::size_t limit = live.size();
      for (std::size_t k = boxes; k-- > 0;) {  // the greatest n below limit with C(n, k + 1) <= rest
        const auto& row = table.choose_[k];
        while (row[--limit] > rest) {
        }
        rest -= row[limit];
        set[k] = static_cast<int>(limit);
        occupied[static_cast<std::size_t>(live[limit])] = 1;
      }
      for (const Direction direction : kDirections) {
        const int before = map.next(player, opposite(direction));
        if (before < 0 || occupied[static_cast<std::size_t>(before)] != 0) continue;
        reach(rank * squares + static_cast<std::size_t>(before));
        const int ahead = map.next(player, direction);
        if (ahead < 0 || occupied[static_cast<std::size_t>(ahead)] == 0) continue;
        // The box ahead came from where the player is: same set with one member changed.
        const int gone = table.live_index_[static_cast<std::size_t>(ahead)];
        const int come = table.live_index_[static_cast<std::size_t>(player)];
        pulled = set;
        std::size_t k = 0;
        while (pulled[k] != gone) ++k;
        for (; k + 1 < boxes && pulled[k + 1] < come; ++k) pulled[k] = pulled[k + 1];
        for (; k > 0 && pulled[k - 1] > come; --k) pulled[k] = pulled[k - 1];
        pulled[k] = come;
        std::size_t new_rank = 0;
        for (std::size_t j = 0; j < boxes; ++j)
          new_rank += table.choose_[j][static_cast<std::size_t>(pulled[j])];
        reach(new_rank * squares + static_cast<std::size_t>(before));
      }
      for (const int box : set) occupied[static_cast<std::size_t>(live[static_cast<std::size_t>(box)])] = 0;
    }
    table.live_states_ += next_frontier.size();
    if (!next_frontier.empty()) table.greatest_ = depth;
    frontier.swap(next_frontier);
    next_frontier.clear();
  }
  return table;
}

std::uint16_t DistanceTable::at(int player, const std::vector<int>& boxes) const {
  if (player < 0 || boxes.size() != choose_.size()) return kFar;
  std::size_t rank = 0;
  for (std::size_t k = 0; k < boxes.size(); ++k) {
    const int live = live_index_[static_cast<std::size_t>(boxes[k])];
    if (live < 0) return kFar;
    rank += choose_[k][static_cast<std::size_t>(live)];
  }
  return distance_[rank * squares_ + static_cast<std::size_t>(player)];
}

std::optional<int> DistanceTable::distance(const LevelMap& map, const Grid& cells) const {
  const auto player = static_cast<int>(std::find(cells.begin(), cells.end(), kPlayer) - cells.begin());
  const std::uint16_t moves = at(map.square_of(player), map.boxes_in(cells));
  if (moves == kFar) return std::nullopt;
  return moves;
}

}  // namespace lodestep::sokoban
