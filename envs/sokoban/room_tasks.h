// Generated rooms as tasks: what `gen/6x6/b1/s17` means, and which rooms make up the splits.
//   std::optional<RoomSpec> spec = ...; std::optional<RoomName> name = parse_room_name("gen/6x6/b1/s17");
//   Result<std::string> id = tasks.id(0, 3);   // the fourth task of "train"
// Threads: immutable once made; id() makes about two rooms for "train" and four for the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envs/sokoban/generator.h"

namespace lodestep::sokoban {

// The part of a room's specification that its task id spells out.
struct RoomName {
  int rows = 0;
  int cols = 0;
  int boxes = 0;
  std::uint32_t seed = 0;
};
std::optional<RoomName> parse_room_name(std::string_view id);  // nullopt: not of the form gen/RxC/bB/sS
std::string room_name(const RoomSpec& spec, std::uint32_t seed);

// Where the seeds of the task lists come from.
enum class SeedRule {
  kList,     // task i: the first of seeds 1000 i to 1000 i + 999 whose room is of the split
  kDerived,  // from (base seed, split, iteration, place in the batch): the first drawn seed whose room is of
             // the split
  kVerl,  // verl-agent's own draws from numpy's generator seeded with the base seed; content is not looked at
};

class RoomTasks {
 public:
  // `wanted` leaves rooms out of the lists (not by the rule kVerl).
  RoomTasks(const RoomSpec& spec, SeedRule rule, std::uint32_t base_seed, std::size_t batch,
            LevelFilter wanted);

  // "train", "valid", "test" ("train", "valid" by the rule kVerl). A room belongs to one split by its content
  // alone: half of all rooms to train, a quarter each to valid and test. So two lists never share a room,
  // whatever seeds they come from.
  const std::vector<std::string>& splits() const { return splits_; }
  std::size_t size(std::size_t split) const;
  // Fails when no seed of the task gives a room that belongs there.
  Result<std::string> id(std::size_t split, std::size_t index) const;

 private:
  RoomSpec spec_;
  SeedRule rule_;
  std::uint32_t base_seed_;
  std::size_t batch_;
  LevelFilter wanted_;
  std::vector<std::string> splits_;
  std::vector<std::vector<std::uint32_t>> drawn_;  // per split, by the rule kVerl
};

// 0 train, 1 valid, 2 test.
std::size_t split_of_content(const Level& level);

}  // namespace lodestep::sokoban
