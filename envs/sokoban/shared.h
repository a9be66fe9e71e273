// What all Sokoban episodes of one factory share: the rules chosen by --set, and the levels by task id.
//   auto facts = shared->facts("gen/6x6/b1/s17");
//   auto env = make_environment(shared);
// Threads: safe once set up. Private to this room: sokoban_factory.cc fills it, sokoban_env.cc plays with it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "envs/environment.h"
#include "envs/sokoban/level_facts.h"
#include "envs/sokoban/level_pack.h"
#include "envs/sokoban/render.h"
#include "envs/sokoban/room_tasks.h"

namespace lodestep::sokoban {

constexpr std::uint32_t kVersion = 1;  // raise it when any output byte can change

enum class Rewards { kGym, kSparse };
enum class Actions { kWords, kGym, kVerl };
enum class AfterDone { kStop, kContinue };
enum class Pictures { kNone, kTiny, kTiles };

struct Rules {
  Rewards rewards = Rewards::kGym;
  Actions actions = Actions::kWords;
  AfterDone after_done = AfterDone::kStop;
  bool distance = false;  // distance_to_goal in the details
  Pictures pictures = Pictures::kNone;
  std::uint32_t tiny_scale = 1;  // pixels a cell of kTiny
  bool enlarge = false;
};

struct Shared {
  Rules rules;
  TileSet tiles = TileSet::builtin();
  RoomSpec room;                  // of generated tasks; size and boxes come from the task id
  std::optional<LevelPack> data;  // of --data
  LevelPack small = LevelPack::small();
  std::optional<RoomTasks> rooms;  // the task lists, when they are generated
  mutable LevelCache cache;

  // The level of any task id: FILE#N of --data or of the embedded levels, or a generated room. An unknown id
  // is an error that shows the forms.
  Result<std::shared_ptr<const LevelFacts>> facts(const std::string& id) const;
};

std::unique_ptr<Environment> make_environment(std::shared_ptr<const Shared> shared);

}  // namespace lodestep::sokoban
