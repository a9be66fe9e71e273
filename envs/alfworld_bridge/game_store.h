// Where games come from: a data root as folder or archive, one game file, or the embedded household
// games. Lists task ids by split and loads games, keeping the latest ones compiled.
//   Result<std::unique_ptr<GameStore>> store = GameStore::open({"json_2.1.1.tar.zst", {}, false});
//   Result<std::shared_ptr<const Playable>> game = (*store)->load("valid_seen/TYPE-.../trial_...");
// Threads: safe. Owns the list, archived game texts (compressed) and the cache of compiled games.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "envs/alfworld_bridge/task_view.h"

namespace lodestep::alfworld {

// A compiled game and what an environment wants to know beside it.
struct Playable {
  explicit Playable(std::shared_ptr<const Game> compiled) : game(compiled), view(std::move(compiled)) {}
  std::shared_ptr<const Game> game;
  TaskView view;
  std::string id;                           // task id
  std::string task_type;                    // by the folder's name, else by the goal's shape
  std::vector<Hash128> walkthrough_states;  // state i: before walkthrough command i; as far as it plays
};

Hash128 state_hash(const World& world);  // of the facts alone
std::shared_ptr<const Playable> make_playable(std::shared_ptr<const Game> game, const std::string& id);

class GameStore {
 public:
  struct Source {
    std::string path;                     // empty: the embedded games
    std::vector<std::string> task_types;  // empty: all
    bool skip_refused = false;            // leave out unsupported and unsolvable games instead of failing
  };
  struct Entry {
    std::string id;  // path of the game's folder relative to the data root
    std::string split;
    std::string path;     // for messages; of the file where there is one
    std::string packed;   // zstd; empty: read `path`
    std::string refusal;  // why it is left out; empty: it can be played
  };

  // Fails when nothing is there, on a game that cannot be played (naming it), and on damaged archives.
  static Result<std::unique_ptr<GameStore>> open(const Source& source);
  // The same, with everything that is there in entries(), however bad; for reports.
  static Result<std::unique_ptr<GameStore>> open_all(const std::string& path);

  const std::vector<std::string>& splits() const { return splits_; }  // the default one first
  const std::vector<Entry>& entries() const { return entries_; }      // sorted by id, refused ones too
  const std::vector<std::size_t>* split(
      std::string_view name) const;  // entries that can be played; null: unknown
  // Exact id; the file name after it and a missing split are forgiven where the id stays unique.
  const Entry* find(std::string_view id) const;

  Result<std::string> read(const Entry& entry) const;  // bytes of the game file
  Result<std::shared_ptr<const Playable>> load(std::string_view id) const;
  Hash128 digest() const;  // of all ids and contents; reads everything on first use

 private:
  struct Cache;
  GameStore();
  Status fill(const std::string& path);
  void finish();
  void select(const Source& source);

  std::vector<Entry> entries_;
  std::vector<std::string> splits_;
  std::vector<std::vector<std::size_t>> by_split_;
  std::shared_ptr<Cache> cache_;
};

// Why a game with this id is not offered; empty when nothing speaks against it.
std::string refusal_by_name(std::string_view id);
// The six task types of ALFWorld.
const std::vector<std::string>& task_types();

}  // namespace lodestep::alfworld
