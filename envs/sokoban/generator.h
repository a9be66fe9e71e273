// Rooms from seeds, equal cell for cell to those of the two Python generators: gym-sokoban's and
// verl-agent's variant of it.
//   Result<Room> room = make_room({}, 17);            // the room of task gen/6x6/b1/s17
//   room->level, room->seed, room->failures
// Threads: pure functions. About 30 us for a 6x6 room with one box (bench/sokoban).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "envs/sokoban/level.h"

namespace lodestep::sokoban {

enum class Generator { kVerl, kGym };

struct RoomSpec {
  Generator generator = Generator::kVerl;
  int rows = 6;
  int cols = 6;
  int boxes = 1;
  int steps = 0;   // of the walk that digs the floor; 0: int(1.7 * (rows + cols)), as both originals
  int depth = 30;  // of the reverse play; kGym always plays to depth 300
  int tries = 4;   // new floors before a seed is given up
};
Status check_spec(const RoomSpec& spec);  // sizes 5 to 30, boxes 1 to 20, ...

// How often the Python code would have called each function of its two generators.
struct DrawCounts {
  int random = 0;
  int sample = 0;
  int randint = 0;
  int choice = 0;
  int np_randint = 0;
};

enum class RoomFailure { kNone, kScoreZero, kTooSmall };
const char* room_failure_text(RoomFailure failure);  // as in "2 of 4 ...: no box could be displaced"

// What one call of generate_room does with one seed. `level` is set only when failure is kNone.
struct RoomTrial {
  RoomFailure failure = RoomFailure::kNone;
  Level level;
  std::vector<std::pair<int, int>> box_mapping;  // cell of a target -> cell of its box; targets row by row
  std::vector<int> reverse_actions;              // of the reverse play that led to the room
  int attempts = 0;                              // floors dug
  std::vector<int> explored;                     // states of the reverse play, per attempt
  DrawCounts draws;
  std::uint64_t words_python = 0;  // 32-bit words taken from `random`
  std::uint64_t words_numpy = 0;   // and from `numpy.random`
};
RoomTrial generate_room(const RoomSpec& spec, std::uint32_t seed);

struct Room {
  Level level;
  std::uint32_t seed = 0;                                       // the seed that made the room
  std::vector<std::pair<std::uint32_t, RoomFailure>> failures;  // what was tried before
};
// The room of a seed by the originals' own rule for failures: verl-agent goes on with retry_seed, gym-sokoban
// with the same streams (its failures name the same seed again). Fails after kMaxRetries, naming the reason.
Result<Room> make_room(const RoomSpec& spec, std::uint32_t seed);
constexpr int kMaxRetries = 1000;

// abs(hash(str(seed))) % 2^32 of CPython 3.11 and later with PYTHONHASHSEED=0 (SipHash-1-3, key 0).
std::uint32_t retry_seed(std::uint32_t seed);

// The level seeds that verl-agent's vector environment draws for one reset after numpy.random.seed(seed):
// its training environment from 0..65534, its validation environment from 65536..4294967294.
std::vector<std::uint32_t> train_seeds(std::uint32_t seed, std::size_t count);
std::vector<std::uint32_t> valid_seeds(std::uint32_t seed, std::size_t count);

}  // namespace lodestep::sokoban
