#include "envs/alfworld_bridge/planner.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "base/hash.h"

namespace lodestep::alfworld {
namespace {

constexpr std::size_t kFar = 1000000;

// A lower bound on the commands still needed: fetch, treat and deliver the cheapest goal objects.
class Estimate {
 public:
  explicit Estimate(const TaskView& view) : view_(view) {
    for (const Id receptacle : view.receptacles()) target_places_.push_back(view.location_of(receptacle));
  }

  std::size_t operator()(const World& world) const {
    if (world.won() || !view_.known() || view_.objects().empty()) return 0;
    const Id hand = view_.held(world);
    const std::vector<Id>& wanted = view_.objects();
    const bool useful = hand == kNone || std::find(wanted.begin(), wanted.end(), hand) != wanted.end();
    if (!useful && view_.put_places(hand).empty()) return kFar;  // it can never leave the hand again
    return std::max<std::size_t>(1, view_.wanted() > 0 ? deliver(world) : light(world));
  }

 private:
  struct Source {
    Id place = kNone;
    Id receptacle = kNone;
    bool closed = false;
  };

  std::vector<Source> sources(const World& world, Id object) const {
    std::vector<Source> found;
    for (const Id receptacle : view_.holders(world, object)) {
      found.push_back({view_.location_of(receptacle), receptacle, view_.is_closed(world, receptacle)});
    }
    return found;
  }

  // Commands to get rid of what the hand holds on the way from one place to another.
  std::size_t drop(Id hand, Id from, Id to) const {
    if (hand == kNone) return 0;
    const std::vector<Id>& places = view_.put_places(hand);
    const auto takes = [&](Id place) {
      return std::find(places.begin(), places.end(), place) != places.end();
    };
    return takes(from) || takes(to) ? 1 : 2;
  }

  // Commands until the object is ready, in hand or out of it, and where that leaves the agent.
  std::size_t treat(const World& world, Id object, Id& place) const {
    std::size_t cost = 0;
    for (const TaskView::Status& status : view_.statuses()) {
      if (!status.required || view_.has(world, status.predicate, object)) continue;
      if (status.tools.empty()) return kFar;
      const bool here = std::find(status.tools.begin(), status.tools.end(), place) != status.tools.end();
      cost += here ? 1 : 2;
      if (!here) place = status.tools.size() == 1 ? status.tools[0] : kNone;
    }
    return cost;
  }

  // From `place`, hands as they are: this object ready and in this receptacle.
  std::size_t one(const World& world, Id object, std::size_t target, Id place, bool free_hands) const {
    const Id receptacle = view_.receptacles()[target];
    const Id target_place = target_places_[target];
    const bool inside = view_.is_in(world, object, receptacle);
    if (inside && view_.is_ready(world, object)) return 0;
    const auto put = [&](Id from) {
      return 1U + (from == target_place ? 0U : 1U) + (view_.is_closed(world, receptacle) ? 1U : 0U);
    };
    const Id hand = view_.held(world);
    if (hand == object) {
      Id at = place;
      const std::size_t treated = treat(world, object, at);
      if (treated == kFar) return kFar;
      return treated + (inside ? 0 : at == kNone ? 1U : put(at));
    }
    std::size_t best = kFar;
    for (const Source& source : sources(world, object)) {
      std::size_t cost = 1U + (source.place == place ? 0U : 1U) + (source.closed ? 1U : 0U);
      if (!free_hands) cost += drop(hand, place, source.place);
      Id at = source.place;
      const std::size_t treated = treat(world, object, at);
      if (treated == kFar) return kFar;
      cost += treated;
      if (!inside || source.receptacle == receptacle) {
        std::size_t last = at == kNone ? 1U : put(at);
        if (source.receptacle == receptacle && source.closed && last > 1) --last;  // it is open by then
        cost += last;
      }
      best = std::min(best, cost);
    }
    return best;
  }

  std::size_t deliver(const World& world) const {
    const Id here = view_.location(world);
    std::size_t best = kFar;
    for (std::size_t t = 0; t < target_places_.size(); ++t) {
      std::vector<std::size_t> first, later;
      for (const Id object : view_.objects()) {
        first.push_back(one(world, object, t, here, false));
        later.push_back(one(world, object, t, target_places_[t], true));
      }
      if (view_.wanted() == 1) {
        best = std::min(best, *std::min_element(first.begin(), first.end()));
        continue;
      }
      // One after the other; what both may share (an open door) is taken off once.
      for (std::size_t i = 0; i < first.size(); ++i) {
        for (std::size_t k = 0; k < first.size(); ++k) {
          if (i == k || first[i] == kFar || later[k] == kFar) continue;
          const std::size_t shared = (first[i] > 0 && later[k] > 0)
                                         ? (view_.is_closed(world, view_.receptacles()[t]) ? 2U : 1U)
                                         : 0U;
          const std::size_t sum = first[i] + later[k];
          best = std::min(best, sum > shared ? sum - shared : 0);
        }
      }
    }
    return best;
  }

  std::size_t light(const World& world) const {
    const Id here = view_.location(world);
    const Id hand = view_.held(world);
    std::size_t best = kFar;
    for (const Id lamp : view_.lamps()) {
      for (const Id stand : view_.holders(world, lamp)) {
        const Id lamp_place = view_.location_of(stand);
        const std::size_t use = view_.is_used(world, lamp) ? 0 : 1;
        for (const Id object : view_.objects()) {
          if (object == hand) {
            best = std::min(best, use + (here == lamp_place ? 0U : 1U));
            continue;
          }
          for (const Source& source : sources(world, object)) {
            const std::size_t fetch = 1U + (source.place == here ? 0U : 1U) + (source.closed ? 1U : 0U) +
                                      drop(hand, here, source.place);
            best = std::min(best, fetch + use + (source.place == lamp_place ? 0U : 1U));
          }
        }
      }
    }
    return best;
  }

  const TaskView& view_;
  std::vector<Id> target_places_;
};

struct Node {
  std::vector<std::uint64_t> bits;
  std::size_t parent = 0;
  Id command = kNone;
  std::size_t steps = 0;
};

struct Open {
  std::size_t total = 0;  // steps + estimate
  std::size_t ahead = 0;  // estimate: nearer ones first
  std::size_t node = 0;   // older ones first
  bool operator>(const Open& other) const {
    if (total != other.total) return total > other.total;
    if (ahead != other.ahead) return ahead > other.ahead;
    return node > other.node;
  }
};

Hash128 hash_of(const std::vector<std::uint64_t>& bits) {
  return hash128({reinterpret_cast<const char*>(bits.data()), bits.size() * sizeof(bits[0])});
}

}  // namespace

std::optional<std::vector<Id>> find_plan(const TaskView& view, const World& world, std::size_t node_limit) {
  if (world.won()) return std::vector<Id>();
  const Game& game = world.game();
  const Estimate estimate(view);
  std::vector<Node> nodes{{world.bits(), 0, kNone, 0}};
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  std::unordered_map<Hash128, std::size_t, ContainerHash> best{
      {hash_of(world.bits()), 0}};  // steps; looked up only
  const std::size_t least = estimate(world);
  if (least >= kFar) return std::nullopt;
  open.push({least, least, 0});
  World now = world;
  World next = world;
  std::vector<Id> commands;
  while (!open.empty()) {
    const std::size_t at = open.top().node;
    open.pop();
    now.set_bits(nodes[at].bits);
    if (now.won()) {
      std::vector<Id> plan;
      for (std::size_t i = at; i != 0; i = nodes[i].parent) plan.push_back(nodes[i].command);
      std::reverse(plan.begin(), plan.end());
      return plan;
    }
    if (best.at(hash_of(nodes[at].bits)) < nodes[at].steps) continue;
    const std::size_t steps = nodes[at].steps + 1;
    now.commands(commands);
    for (const Id command : commands) {
      const Id row = game.command_rows[command];
      if (game.rows[row].effects == 0) continue;  // changes nothing
      next.set_bits(nodes[at].bits);
      next.play(command);
      const Hash128 hash = hash_of(next.bits());
      const auto [known, fresh] = best.emplace(hash, steps);
      if (!fresh) {
        if (known->second <= steps) continue;
        known->second = steps;
      }
      const std::size_t ahead = estimate(next);
      if (ahead >= kFar) continue;
      if (nodes.size() >= node_limit) return std::nullopt;
      open.push({steps + ahead, ahead, nodes.size()});
      nodes.push_back({next.bits(), at, command, steps});
    }
  }
  return std::nullopt;
}

}  // namespace lodestep::alfworld
