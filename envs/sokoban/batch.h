// Thousands of boards stepped in place: struct of arrays, no allocation and no lock in a step.
//   Result<Batch> batch = Batch::make(levels, {.boards = 1024});
//   batch->step(actions, {rewards, terminated, truncated});   // one byte an action, one result a board
// Threads: ranges of boards that do not overlap may be stepped by different threads at once; everything else
// is one thread's. The batch owns its levels; buffers are the caller's. Same rules as the plain environment
// (a fuzzer holds them together).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "envs/sokoban/level.h"

namespace lodestep::sokoban {

// As Gymnasium's vector environments name them.
enum class Autoreset {
  kNextStep,  // the step after the end ignores its action and returns the next start, reward 0
  kSameStep,  // the step that ends already shows the next start; the last position goes to final_observation
  kDisabled,  // ended boards stay as they are, reward 0, until reset_board
};
enum class BatchActions {
  kVerl,  // 0 nothing, 1 to 4 push up, down, left, right
  kGym,   // and 5 to 8 move without pushing
};
enum class BatchRewards { kGym, kSparse };  // the schemes of the plain environment

// What one observation holds, in bytes, row by row.
enum class ObservationKind {
  kCodes,   // [rows][cols], codes 0 to 6
  kPlanes,  // [4][rows][cols], 0 or 1: walls, targets, boxes, player
  kOneHot,  // [7][rows][cols], 0 or 1, one plane a code
  kTinyRgb  // [rows][cols][3], gym-sokoban's colours
};

struct BatchConfig {
  std::size_t boards = 1;
  std::uint32_t max_steps = 120;  // every step counts; an unsolved board is then truncated
  Autoreset autoreset = Autoreset::kNextStep;
  BatchActions actions = BatchActions::kVerl;
  BatchRewards rewards = BatchRewards::kGym;
};

// One entry a board of the stepped range. Rewards are the doubles of the plain environment rounded to float.
struct BatchOutput {
  float* rewards = nullptr;
  std::uint8_t* terminated = nullptr;         // 1: solved by this step
  std::uint8_t* truncated = nullptr;          // 1: not solved, and the budget is used up
  std::uint8_t* final_observation = nullptr;  // kSameStep: kPlanes of boards that ended; may be nullptr
};

class Batch {
 public:
  // Levels smaller than the largest are padded with wall. Board i starts with level i % levels and goes on,
  // at each reset, to the level `boards` further on (modulo their number). Fails on no level, no board, or a
  // solved level.
  static Result<Batch> make(const std::vector<Level>& levels, const BatchConfig& config);

  std::size_t boards() const { return config_.boards; }
  int rows() const { return rows_; }
  int cols() const { return cols_; }
  std::size_t observation_bytes(ObservationKind kind) const;  // of one board

  void reset();                                            // all boards, to their next levels
  void reset_board(std::size_t board, std::size_t level);  // to a level by its number
  void set_next(std::size_t board, std::size_t level);     // used once, by the next reset of the board
  std::size_t level_of(std::size_t board) const { return level_[board]; }
  std::uint32_t steps_of(std::size_t board) const { return play_[board].steps; }

  // One action for each board in [first, first + count): `actions` and the output arrays have `count`
  // entries. Fails on an action out of range, naming its board, and then changes nothing.
  Status step(const std::uint8_t* actions, const BatchOutput& out, std::size_t first, std::size_t count);
  Status step(const std::uint8_t* actions, const BatchOutput& out) { return step(actions, out, 0, boards()); }

  // Writes the observations of [first, first + count), one behind the other.
  void write(ObservationKind kind, std::uint8_t* out, std::size_t first, std::size_t count) const;
  // From now on kPlanes of all boards are kept up to date in this buffer of boards() *
  // observation_bytes(kPlanes): a step then writes the few bytes that change. nullptr ends that.
  void bind_planes(std::uint8_t* planes);

 private:
  template <bool kBound>
  void step_range(const std::uint8_t* actions, const BatchOutput& out, std::size_t first, std::size_t count);
  void start(std::size_t board);

  // Cells of one board are bits, with a margin of one row above and below so that two steps ahead stay
  // inside.
  static constexpr std::uint8_t kWallBit = 1, kTargetBit = 2, kBoxBit = 4;
  struct Start {
    std::vector<std::uint8_t> cells;  // stride_ bytes
    std::uint16_t player = 0;         // index into them
    std::int16_t boxes = 0;
    std::int16_t on_target = 0;
  };

  // What changes in a step beside the cells, in one place: a step touches one line of it.
  struct Play {
    std::uint32_t steps = 0;
    std::uint16_t player = 0;  // index into the cells
    std::int16_t boxes = 0;
    std::int16_t on_target = 0;
    std::int16_t counted = 0;  // on_target at the last counted step
    std::uint32_t ended = 0;
  };

  BatchConfig config_;
  int rows_ = 0;
  int cols_ = 0;
  std::size_t stride_ = 0;
  std::array<int, 9> offsets_{};     // per action
  std::vector<Start> starts_;        // per level
  std::array<float, 6> rewards_{};   // [fewer, same, more boxes on targets][unsolved, solved]
  std::vector<std::uint8_t> cells_;  // boards * stride_
  std::vector<Play> play_;
  std::vector<std::uint32_t> level_, next_;
  std::uint8_t* planes_ = nullptr;
};

}  // namespace lodestep::sokoban
