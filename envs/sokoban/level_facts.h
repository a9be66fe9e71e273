// A level with everything that follows from it, computed once and shared by all episodes that play it.
//   std::shared_ptr<const LevelFacts> facts = cache.get("small.xsb#3", load);
//   const DistanceTable* table = facts->table();   // first call: searches; nullptr: too large
// Threads: safe. The cache owns the facts of the levels used last; episodes keep theirs alive.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "envs/environment.h"
#include "envs/sokoban/search.h"

namespace lodestep::sokoban {

// How a position stands. A function of the position alone, so the same for every episode and machine.
struct Outlook {
  Verdict verdict = Verdict::kGaveUp;
  std::optional<int> distance;     // d*, when it is known exactly
  std::optional<Direction> first;  // first move of a solution; a shortest one when distance is known
};

class LevelFacts {
 public:
  LevelFacts(Level level, Details origin)
      : level_(std::move(level)), map_(level_), digest_(content_digest(level_)), origin_(std::move(origin)) {}
  LevelFacts(const LevelFacts&) = delete;

  const Level& level() const { return level_; }
  const LevelMap& map() const { return map_; }
  const Hash128& digest() const { return digest_; }
  const Details& origin() const { return origin_; }  // where a generated level came from; for details()
  const DistanceTable* table() const;                // nullptr when it would need more than kTableEntries
  // Out of the table; where there is none, by searches within kOptimalNodes and then, for any solution,
  // kAnyNodes positions: up to seconds for each new position.
  Outlook outlook(const Grid& cells) const;
  std::size_t table_bytes() const { return table_bytes_; }  // 0 until table() was called

 private:
  static constexpr std::size_t kOptimalNodes = 200'000;
  static constexpr std::size_t kAnyNodes = 200'000;
  static constexpr std::size_t kOutlooks = 10'000;  // searched positions that are remembered

  Level level_;
  LevelMap map_;
  Hash128 digest_;
  Details origin_;
  mutable std::once_flag once_;
  mutable std::optional<DistanceTable> table_;
  mutable std::atomic<std::size_t> table_bytes_{0};
  mutable std::mutex mutex_;
  mutable std::map<Grid, Outlook> outlooks_;
};

class LevelCache {
 public:
  using Loader = std::function<Result<std::shared_ptr<const LevelFacts>>(const std::string& id)>;
  // The facts of a task's level; the loader runs at most once for levels in use.
  Result<std::shared_ptr<const LevelFacts>> get(const std::string& id, const Loader& load);

 private:
  static constexpr std::size_t kKept = 64;                // levels kept though no episode plays them,
  static constexpr std::size_t kKeptBytes = 512'000'000;  // and at most so much for their tables
  std::mutex mutex_;
  std::list<std::pair<std::string, std::shared_ptr<const LevelFacts>>> recent_;  // the latest first
  std::unordered_map<std::string, std::weak_ptr<const LevelFacts>, ContainerHash, std::equal_to<>> known_;
  std::size_t sweep_at_ = 4 * kKept;  // size of known_ at which ended entries are dropped
};

}  // namespace lodestep::sokoban
