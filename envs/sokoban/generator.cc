#include "envs/sokoban/generator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

#include "base/check.h"
#include "base/rng.h"
#include "envs/sokoban/key_table.h"

namespace lodestep::sokoban {
namespace {

constexpr int kGymDepth = 300;
constexpr std::size_t kMaxExplored = 300'000;

struct Step {
  int row;
  int col;
};
constexpr std::array<Step, 4> kWalkSteps{{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}};  // not the order of play
constexpr std::array<Step, 4> kPlaySteps{{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}};

constexpr std::array<std::array<std::uint8_t, 9>, 5> kMasks{{
    {0, 0, 0, 1, 1, 1, 0, 0, 0},
    {0, 1, 0, 0, 1, 0, 0, 1, 0},
    {0, 0, 0, 1, 1, 0, 0, 1, 0},
    {0, 0, 0, 1, 1, 0, 1, 1, 0},
    {0, 0, 0, 0, 1, 1, 0, 1, 0},
}};

// The two generators and what was asked of them.
struct Dice {
  explicit Dice(std::uint32_t seed) : python(seed), numpy(seed) {}

  double random() {
    ++draws.random;
    return python.random();
  }
  std::size_t sample(std::size_t n) {
    ++draws.sample;
    return python.below(n);
  }
  int randint(int low, int high) {
    ++draws.randint;
    return static_cast<int>(python.randint(low, high));
  }
  std::size_t choice(std::size_t n) {
    ++draws.choice;
    return python.below(n);
  }
  std::size_t np_randint(std::size_t n) {
    ++draws.np_randint;
    return numpy.below(n);
  }

  PythonRandom python;
  NumpyRandomState numpy;
  DrawCounts draws;
};

// Depth-first reverse play: the player walks backwards and pulls boxes off their targets; the position that
// scores best by (changes of the pulled box) * (displacement of all boxes) becomes the room.
class ReversePlay {
 public:
  ReversePlay(const RoomSpec& spec, const Grid& fixed)
      : gym_(spec.generator == Generator::kGym), boxes_(spec.boxes), fixed_(fixed) {
    for (std::size_t d = 0; d < 4; ++d) offset_[d] = kPlaySteps[d].row * spec.cols + kPlaySteps[d].col;
    cols_ = spec.cols;
    numbers_.resize(fixed.size() * 6);
    for (std::size_t i = 0; i < numbers_.size(); ++i) numbers_[i] = zobrist_number(i);
  }

  // `state`: every box on its target with label kBox. Keeps the best position in best_*.
  void run(const Grid& state, int player, int depth) {
    state_ = state;
    player_ = player;
    targets_.clear();
    uncovered_ = 0;
    key_ = {};
    for (std::size_t cell = 0; cell < state.size(); ++cell) {
      if (state[cell] == kBox) targets_.push_back(static_cast<int>(cell));
      flip(static_cast<int>(cell), state[cell]);
    }
    box_at_ = targets_;
    displacement_ = 0;
    explored_.clear();
    path_.clear();
    best_score_ = -1;
    visit(0, -1, depth);
  }

  std::size_t explored() const { return explored_.size(); }
  const std::vector<int>& targets() const { return targets_; }

  int best_score_ = -1;
  Grid best_state_;
  int best_player_ = 0;
  int best_displacement_ = 0;
  std::vector<int> best_boxes_;  // of the targets, in their order
  std::vector<int> best_path_;

 private:
  void flip(int cell, std::uint8_t label) {
    toggle(key_, numbers_[static_cast<std::size_t>(cell) * 6 + label]);
  }
  void set(int cell, std::uint8_t label) {
    std::uint8_t& now = state_[static_cast<std::size_t>(cell)];
    flip(cell, now);
    flip(cell, label);
    uncovered_ += (label == kTarget ? 1 : 0) - (now == kTarget ? 1 : 0);
    now = label;
  }
  std::uint8_t fixed(int cell) const { return fixed_[static_cast<std::size_t>(cell)]; }
  std::uint8_t state(int cell) const { return state_[static_cast<std::size_t>(cell)]; }
  int displaced(std::size_t k) const {
    return std::abs(targets_[k] / cols_ - box_at_[k] / cols_) +
           std::abs(targets_[k] % cols_ - box_at_[k] % cols_);
  }

  void visit(int swaps, int last, int ttl) {
    --ttl;
    if (ttl <= 0 || explored_.size() >= kMaxExplored || !explored_.insert(key_, 0).second) return;
    const int score = uncovered_ == boxes_ ? swaps * displacement_ : 0;
    if (score > best_score_) {
      best_score_ = score;
      best_state_ = state_;
      best_player_ = player_;
      best_displacement_ = displacement_;
      best_boxes_ = box_at_;
      best_path_ = path_;
    }
    for (int d = 0; d < 4; ++d) play(d, /*pulls=*/true, swaps, last, ttl);
    if (!gym_) return;
    // Without a box to leave behind these moves repeat those above, whose positions are known by now.
    for (int d = 0; d < 4; ++d) play(d, /*pulls=*/false, swaps, last, ttl);
  }

  void play(int d, bool pulls, int swaps, int last, int ttl) {
    const int old = player_;
    const int next = old + offset_[static_cast<std::size_t>(d)];
    const std::uint8_t ahead = state(next);
    if (ahead != kFloor && ahead != kTarget) return;
    const int behind = old - offset_[static_cast<std::size_t>(d)];
    const std::uint8_t label = state(behind);
    const bool box = label == kBox || label == kBoxOnTarget;
    if (!pulls && !box) return;
    const bool pulled = box && pulls;
    path_.push_back(pulls ? d : d + 4);
    player_ = next;
    set(next, kPlayer);
    set(old, pulled ? std::uint8_t{kBoxOnTarget} : fixed(old));
    if (!pulled) {
      visit(swaps, last, ttl);
    } else {
      set(behind, fixed(behind));
      const auto k =
          static_cast<std::size_t>(std::find(box_at_.begin(), box_at_.end(), behind) - box_at_.begin());
      const int before = displacement_;
      displacement_ -= displaced(k);
      box_at_[k] = old;
      displacement_ += displaced(k);
      const int box_pulled = static_cast<int>(k);
      // gym-sokoban forgets to hand the pulled box down, so every pull counts as a change.
      visit(box_pulled != last ? swaps + 1 : swaps, gym_ ? last : box_pulled, ttl);
      box_at_[k] = behind;
      displacement_ = before;
      set(behind, label);
    }
    set(old, kPlayer);
    set(next, ahead);
    player_ = old;
    path_.pop_back();
  }

  bool gym_;
  int boxes_;
  int cols_ = 0;
  const Grid& fixed_;
  std::array<int, 4> offset_{};
  std::vector<Hash128> numbers_;
  Grid state_;
  Hash128 key_;
  int player_ = 0;
  int uncovered_ = 0;  // cells that are kTarget now
  int displacement_ = 0;
  std::vector<int> targets_;
  std::vector<int> box_at_;  // cell of each target's box
  std::vector<int> path_;
  KeyTable explored_;  // labels 3 and 4 differ: a box that came back is not a box that stayed
};

Grid dig_floor(const RoomSpec& spec, int steps, Dice& dice) {
  Grid room(static_cast<std::size_t>(spec.rows * spec.cols), kWall);
  Step direction = kWalkSteps[dice.sample(4)];
  int row = dice.randint(1, spec.rows - 1);
  int col = dice.randint(1, spec.cols - 1);
  for (int step = 0; step < steps; ++step) {
    if (dice.random() < 0.35) direction = kWalkSteps[dice.sample(4)];
    row = std::clamp(row + direction.row, 1, spec.rows - 2);
    col = std::clamp(col + direction.col, 1, spec.cols - 2);
    const auto& mask = kMasks[dice.sample(kMasks.size())];
    for (int i = 0; i < 9; ++i) {
      if (mask[static_cast<std::size_t>(i)] == 0) continue;
      room[static_cast<std::size_t>((row - 1 + i / 3) * spec.cols + col - 1 + i % 3)] = kFloor;
    }
  }
  for (int cell = 0; cell < spec.rows * spec.cols; ++cell) {
    const int r = cell / spec.cols;
    const int c = cell % spec.cols;
    if (r == 0 || c == 0 || r == spec.rows - 1 || c == spec.cols - 1)
      room[static_cast<std::size_t>(cell)] = kWall;
  }
  return room;
}

// The cell of the n-th floor cell, row by row; -1 when there are fewer.
int nth_floor(const Grid& room, std::size_t n) {
  for (std::size_t cell = 0; cell < room.size(); ++cell) {
    if (room[cell] == kFloor && n-- == 0) return static_cast<int>(cell);
  }
  return -1;
}

// verl-agent's last touch: the player strays up to three cells.
int stray(const RoomSpec& spec, const Grid& fixed, Grid& state, int player, int displacement, Dice& dice) {
  const double likely = displacement == 1 ? 0.8 : 0.5;
  if (dice.random() > likely) return player;
  std::vector<int> occupied{player};
  for (int moves = 1;; ++moves) {
    std::array<int, 4> open{};
    std::size_t count = 0;
    for (const Step& step : kPlaySteps) {
      const int cell = player + step.row * spec.cols + step.col;
      const std::uint8_t code = state[static_cast<std::size_t>(cell)];
      if (code != kFloor && code != kTarget) continue;
      if (std::find(occupied.begin(), occupied.end(), cell) != occupied.end()) continue;
      open[count++] = cell;
    }
    if (count == 0) return player;
    const int to = open[dice.choice(count)];
    state[static_cast<std::size_t>(player)] = fixed[static_cast<std::size_t>(player)];
    state[static_cast<std::size_t>(to)] = kPlayer;
    player = to;
    occupied.push_back(to);
    if (moves == 3 || dice.random() > 0.5) return player;
  }
}

RoomTrial try_room(const RoomSpec& spec, Dice& dice) {
  RoomTrial trial;
  const int steps = spec.steps > 0 ? spec.steps : static_cast<int>(1.7 * (spec.rows + spec.cols));
  const int depth = spec.generator == Generator::kGym ? kGymDepth : spec.depth;
  const auto finish = [&](RoomFailure failure) {
    trial.failure = failure;
    trial.draws = dice.draws;
    trial.words_python = dice.python.words_given();
    trial.words_numpy = dice.numpy.words_given();
    return trial;
  };
  Grid fixed(static_cast<std::size_t>(spec.rows * spec.cols));
  ReversePlay play(spec, fixed);
  do {
    if (trial.attempts == spec.tries) return finish(RoomFailure::kScoreZero);
    ++trial.attempts;
    Grid room = dig_floor(spec, steps, dice);
    const auto floor = static_cast<std::size_t>(std::count(room.begin(), room.end(), kFloor));
    if (floor <= static_cast<std::size_t>(spec.boxes) + 1) return finish(RoomFailure::kTooSmall);
    const int player = nth_floor(room, dice.np_randint(floor));
    room[static_cast<std::size_t>(player)] = kPlayer;
    for (int box = 0; box < spec.boxes; ++box) {
      const std::size_t left = floor - 1 - static_cast<std::size_t>(box);
      room[static_cast<std::size_t>(nth_floor(room, dice.np_randint(left)))] = kTarget;
    }
    fixed = room;
    fixed[static_cast<std::size_t>(player)] = kFloor;
    std::replace(room.begin(), room.end(), std::uint8_t{kTarget}, std::uint8_t{kBox});
    play.run(room, player, depth);
    trial.explored.push_back(static_cast<int>(play.explored()));
  } while (play.best_displacement_ == 0);

  Grid state = play.best_state_;
  std::replace(state.begin(), state.end(), std::uint8_t{kBoxOnTarget}, std::uint8_t{kBox});
  int player = play.best_player_;
  if (spec.generator == Generator::kVerl) {
    player = stray(spec, fixed, state, player, play.best_displacement_, dice);
  }
  for (std::size_t k = 0; k < play.targets().size(); ++k) {
    trial.box_mapping.emplace_back(play.targets()[k], play.best_boxes_[k]);
  }
  trial.reverse_actions = play.best_path_;
  trial.level = Level{spec.rows, spec.cols, fixed, std::move(state), player, spec.boxes};
  return finish(RoomFailure::kNone);
}

// SipHash-c-d of Aumasson and Bernstein 2012 with c = 1, d = 3 and an all-zero key.
std::uint64_t siphash13(std::string_view text) {
  std::array<std::uint64_t, 4> v{0x736f6d6570736575ULL, 0x646f72616e646f6dULL, 0x6c7967656e657261ULL,
                                 0x7465646279746573ULL};
  const auto round = [&v] {
    v[0] += v[1];
    v[1] = std::rotl(v[1], 13) ^ v[0];
    v[0] = std::rotl(v[0], 32);
    v[2] += v[3];
    v[3] = std::rotl(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = std::rotl(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = std::rotl(v[1], 17) ^ v[2];
    v[2] = std::rotl(v[2], 32);
  };
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * (i % 8));
    if (i % 8 != 7) continue;
    v[3] ^= word;
    round();
    v[0] ^= word;
    word = 0;
  }
  word |= static_cast<std::uint64_t>(text.size()) << 56;
  v[3] ^= word;
  round();
  v[0] ^= word;
  v[2] ^= 0xff;
  for (int i = 0; i < 3; ++i) round();
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

std::vector<std::uint32_t> draw_seeds(std::uint32_t seed, std::size_t count, std::int64_t low,
                                      std::int64_t high) {
  NumpyRandomState numpy(seed);
  std::vector<std::uint32_t> seeds(count);
  for (std::uint32_t& drawn : seeds) drawn = static_cast<std::uint32_t>(numpy.randint(low, high));
  return seeds;
}

}  // namespace

Status check_spec(const RoomSpec& spec) {
  const auto within = [](int value, int low, int high) { return value >= low && value <= high; };
  const auto bad = [](const std::string& what) { return Error{ErrorCode::kInvalidArgument, what, "", ""}; };
  if (!within(spec.rows, 4, 30) || !within(spec.cols, 4, 30))
    return bad("rooms have 4 to 30 rows and columns");
  if (!within(spec.boxes, 1, 20)) return bad("rooms have 1 to 20 boxes");
  if (!within(spec.steps, 0, 10'000)) return bad("the walk has 1 to 10000 steps");
  if (!within(spec.depth, 1, 990)) return bad("the reverse play has a depth of 1 to 990");
  if (!within(spec.tries, 1, 1000)) return bad("a seed is tried 1 to 1000 times");
  return {};
}

const char* room_failure_text(RoomFailure failure) {
  switch (failure) {
    case RoomFailure::kNone: return "made";
    case RoomFailure::kScoreZero: return "no box could be displaced";
    case RoomFailure::kTooSmall: return "not enough free cells";
  }
  return "made";
}

RoomTrial generate_room(const RoomSpec& spec, std::uint32_t seed) {
  Dice dice(seed);
  return try_room(spec, dice);
}

Result<Room> make_room(const RoomSpec& spec, std::uint32_t seed) {
  if (Status status = check_spec(spec); !status) return status.error();
  Room room;
  room.seed = seed;
  Dice dice(seed);
  for (;;) {
    RoomTrial trial = try_room(spec, dice);
    if (trial.failure == RoomFailure::kNone) {
      room.level = std::move(trial.level);
      return room;
    }
    room.failures.emplace_back(room.seed, trial.failure);
    if (room.failures.size() > kMaxRetries) {
      return Error{ErrorCode::kInvalidArgument,
                   "no room of " + std::to_string(spec.rows) + "x" + std::to_string(spec.cols) + " with " +
                       std::to_string(spec.boxes) + " boxes after " + std::to_string(kMaxRetries) +
                       " retries: " + room_failure_text(trial.failure),
                   "seed " + std::to_string(seed), "ask for a larger room or fewer boxes"};
    }
    if (spec.generator == Generator::kVerl) {
      room.seed = retry_seed(room.seed);
      dice = Dice(room.seed);
    }
  }
}

std::uint32_t retry_seed(std::uint32_t seed) {
  auto hash = static_cast<std::int64_t>(siphash13(std::to_string(seed)));
  if (hash == -1) hash = -2;  // CPython keeps -1 for errors
  const std::uint64_t size =
      hash < 0 ? 0 - static_cast<std::uint64_t>(hash) : static_cast<std::uint64_t>(hash);
  return static_cast<std::uint32_t>(size & 0xffffffffU);
}

std::vector<std::uint32_t> train_seeds(std::uint32_t seed, std::size_t count) {
  return draw_seeds(seed, count, 0, 65535);
}

std::vector<std::uint32_t> valid_seeds(std::uint32_t seed, std::size_t count) {
  return draw_seeds(seed, count, 65536, 4294967295);
}

}  // namespace lodestep::sokoban
