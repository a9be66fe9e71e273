#include "envs/sokoban/search.h"

#include <algorithm>
#include <queue>

#include "base/check.h"
#include "envs/sokoban/key_table.h"

namespace lodestep::sokoban {
namespace {

constexpr char kWalk[] = {'u', 'd', 'l', 'r'};
constexpr char kPush[] = {'U', 'D', 'L', 'R'};

Direction opposite(Direction direction) { return static_cast<Direction>(static_cast<int>(direction) ^ 1); }

int player_square(const LevelMap& map, const Grid& cells) {
  return map.square_of(static_cast<int>(std::find(cells.begin(), cells.end(), kPlayer) - cells.begin()));
}

class Search {
 public:
  Search(const LevelMap& map, const SearchLimits& limits)
      : map_(map),
        limits_(limits),
        width_(map.targets().size()),
        occupied_(static_cast<std::size_t>(map.squares())),
        walk_(static_cast<std::size_t>(map.squares())) {}

  SearchResult run(const Grid& cells) {
    SearchResult result;
    std::vector<int> boxes = map_.boxes_in(cells);
    if (!map_.sound() || boxes.size() != width_ || map_.frozen(boxes) || !map_.assignment(boxes)) {
      result.verdict = Verdict::kImpossible;
      return result;
    }
    add(player_square(map_, cells), boxes, 0, kNone);
    while (!open_.empty()) {
      const Entry entry = open_.top();
      open_.pop();
      if (nodes_[entry.node].closed || nodes_[entry.node].cost != entry.cost) continue;
      nodes_[entry.node].closed = true;
      boxes.assign(boxes_of(entry.node), boxes_of(entry.node) + width_);
      if (boxes == map_.targets()) {
        result.verdict = Verdict::kSolved;
        result.moves = path_to(entry.node);
        return result;
      }
      if (result.nodes == limits_.nodes) return result;
      ++result.nodes;
      expand(entry.node, boxes);
    }
    result.verdict = Verdict::kImpossible;
    return result;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Node {
    int cost;  // moves from the start
    std::uint32_t parent;
    std::int16_t player;
    bool closed;
  };
  struct Entry {
    int estimate;  // cost + weight * bound
    int cost;
    std::uint32_t node;
    // The least estimate first, then the deepest, then the oldest: a total order, the same everywhere.
    bool operator<(const Entry& other) const {
      if (estimate != other.estimate) return estimate > other.estimate;
      if (cost != other.cost) return cost < other.cost;
      return node > other.node;
    }
  };

  const std::int16_t* boxes_of(std::uint32_t node) const { return &box_store_[node * width_]; }

  void add(int player, const std::vector<int>& boxes, int cost, std::uint32_t parent) {
    Hash128 key = zobrist_number(2 * static_cast<std::uint64_t>(player) + 1);
    for (const int box : boxes) toggle(key, zobrist_number(2 * static_cast<std::uint64_t>(box)));
    const auto fresh = static_cast<std::uint32_t>(nodes_.size());
    const auto [known, inserted] = table_.insert(key, fresh);
    const std::uint32_t node = *known;
    if (!inserted && (node == kNone || nodes_[node].cost <= cost)) return;
    if (inserted && parent != kNone && map_.frozen(boxes)) {
      *known = kNone;
      return;
    }
    const std::optional<int> bound = map_.assignment(boxes);
    if (!bound) {
      *known = kNone;
      return;
    }
    if (inserted) {
      nodes_.push_back({cost, parent, static_cast<std::int16_t>(player), false});
      for (const int box : boxes) box_store_.push_back(static_cast<std::int16_t>(box));
    } else {
      nodes_[node].cost = cost;
      nodes_[node].parent = parent;
      nodes_[node].closed = false;  // with a weight above 1 a closed node may improve
    }
    open_.push({cost + limits_.weight * *bound, cost, node});
  }

  // Walking distances from a square among the boxes in occupied_; kFar where there is no way.
  void walk_from(int player) {
    std::fill(walk_.begin(), walk_.end(), kFar);
    queue_.clear();
    queue_.push_back(player);
    walk_[static_cast<std::size_t>(player)] = 0;
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      for (const Direction direction : kDirections) {
        const int to = map_.next(queue_[i], direction);
        if (to < 0 || occupied_[static_cast<std::size_t>(to)] != 0 ||
            walk_[static_cast<std::size_t>(to)] != kFar) {
          continue;
        }
        walk_[static_cast<std::size_t>(to)] =
            static_cast<std::uint16_t>(walk_[static_cast<std::size_t>(queue_[i])] + 1);
        queue_.push_back(to);
      }
    }
  }

  void occupy(const std::vector<int>& boxes, std::uint8_t value) {
    for (const int box : boxes) occupied_[static_cast<std::size_t>(box)] = value;
  }

  void expand(std::uint32_t node, const std::vector<int>& boxes) {
    occupy(boxes, 1);
    walk_from(nodes_[node].player);
    std::vector<int> pushed;
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      for (const Direction direction : kDirections) {
        const int to = map_.next(boxes[k], direction);
        const int from = map_.next(boxes[k], opposite(direction));
        if (to < 0 || from < 0 || !map_.live(to) || occupied_[static_cast<std::size_t>(to)] != 0) continue;
        const std::uint16_t steps = walk_[static_cast<std::size_t>(from)];
        if (steps == kFar) continue;
        pushed = boxes;
        pushed[k] = to;
        std::sort(pushed.begin(), pushed.end());
        add(boxes[k], pushed, nodes_[node].cost + steps + 1, node);
      }
    }
    occupy(boxes, 0);
  }

  std::string path_to(std::uint32_t node) {
    std::string reversed;
    for (; nodes_[node].parent != kNone; node = nodes_[node].parent) {
      const std::uint32_t parent = nodes_[node].parent;
      const std::vector<int> before(boxes_of(parent), boxes_of(parent) + width_);
      occupy(before, 1);
      walk_from(nodes_[parent].player);
      // The player stands where the pushed box was, and the box went one square on.
      const int player = nodes_[node].player;
      int at = -1;
      for (const Direction direction : kDirections) {
        const int from = map_.next(player, opposite(direction));
        const int to = map_.next(player, direction);
        if (at >= 0 || from < 0 || to < 0 || walk_[static_cast<std::size_t>(from)] == kFar) continue;
        std::vector<int> after = before;
        *std::find(after.begin(), after.end(), player) = to;
        std::sort(after.begin(), after.end());
        if (!std::equal(after.begin(), after.end(), boxes_of(node))) continue;
        reversed += kPush[static_cast<int>(direction)];
        at = from;
      }
      LODESTEP_CHECK(at >= 0, player);
      while (at != nodes_[parent].player) {
        for (const Direction direction : kDirections) {
          const int back = map_.next(at, opposite(direction));
          if (back < 0 || walk_[static_cast<std::size_t>(back)] + 1 != walk_[static_cast<std::size_t>(at)])
            continue;
          reversed += kWalk[static_cast<int>(direction)];
          at = back;
          break;
        }
      }
      occupy(before, 0);
    }
    return {reversed.rbegin(), reversed.rend()};
  }

  const LevelMap& map_;
  SearchLimits limits_;
  std::size_t width_;  // boxes
  std::vector<std::uint8_t> occupied_;
  std::vector<std::uint16_t> walk_;
  std::vector<int> queue_;
  std::vector<Node> nodes_;
  std::vector<std::int16_t> box_store_;  // width_ squares a node
  KeyTable table_;                       // position -> node, kNone: dead
  std::priority_queue<Entry> open_;
};

}  // namespace

SearchResult search(const LevelMap& map, const Grid& cells, const SearchLimits& limits) {
  return Search(map, limits).run(cells);
}

Direction direction_of(char letter) {
  const auto at = std::string_view("udlrUDLR").find(letter);
  LODESTEP_CHECK(at != std::string_view::npos, letter);
  return kDirections[at % 4];
}

std::optional<std::string> shortest_solution(const LevelMap& map, const DistanceTable& table,
                                             const Grid& cells) {
  int player = player_square(map, cells);
  std::vector<int> boxes = map.boxes_in(cells);
  std::string moves;
  std::uint16_t left = table.at(player, boxes);
  if (left == kFar) return std::nullopt;
  while (left > 0) {
    bool moved = false;
    for (const Direction direction : kDirections) {
      const int to = map.next(player, direction);
      if (to < 0) continue;
      std::vector<int> after = boxes;
      const auto box = std::find(after.begin(), after.end(), to);
      const bool push = box != after.end();
      if (push) {
        const int beyond = map.next(to, direction);
        if (beyond < 0 || std::find(boxes.begin(), boxes.end(), beyond) != boxes.end()) continue;
        *box = beyond;
        std::sort(after.begin(), after.end());
      }
      if (table.at(to, after) != left - 1) continue;
      moves += push ? kPush[static_cast<int>(direction)] : kWalk[static_cast<int>(direction)];
      player = to;
      boxes = std::move(after);
      --left;
      moved = true;
      break;
    }
    LODESTEP_CHECK(moved, left);
  }
  return moves;
}

}  // namespace lodestep::sokoban
