#include "envs/sokoban/batch.h"

#include <algorithm>
#include <cstring>

#include "envs/sokoban/board.h"
#include "envs/sokoban/render.h"

namespace lodestep::sokoban {
namespace {

constexpr std::array<std::uint8_t, 8> kCodeOfBits{kFloor, kWall, kTarget,      kWall,
                                                  kBox,   kWall, kBoxOnTarget, kWall};

}  // namespace

Result<Batch> Batch::make(const std::vector<Level>& levels, const BatchConfig& config) {
  const auto bad = [](const std::string& what) { return Error{ErrorCode::kInvalidArgument, what, "", ""}; };
  if (levels.empty() || config.boards == 0) return bad("a batch needs at least one level and one board");
  if (config.max_steps == 0) return bad("a batch needs a budget of at least one step");
  Batch batch;
  batch.config_ = config;
  for (std::size_t n = 0; n < levels.size(); ++n) {
    if (is_solved(levels[n])) return bad("level " + std::to_string(n) + " is already solved");
    batch.rows_ = std::max(batch.rows_, levels[n].rows);
    batch.cols_ = std::max(batch.cols_, levels[n].cols);
  }
  const auto cols = static_cast<std::size_t>(batch.cols_);
  // Room behind the cells for reading and writing them eight at a time.
  batch.stride_ = ((static_cast<std::size_t>(batch.rows_) + 2) * cols + 8 + 15) / 16 * 16;
  const int c = batch.cols_;
  batch.offsets_ = {0, -c, c, -1, 1, -c, c, -1, 1};
  for (const Level& level : levels) {
    Start start;
    start.cells.assign(batch.stride_, kWallBit);
    for (int row = 0; row < level.rows; ++row) {
      for (int col = 0; col < level.cols; ++col) {
        const auto at = static_cast<std::size_t>(row * level.cols + col);
        const std::uint8_t code = level.start[at];
        std::uint8_t bits = level.fixed[at] == kWall     ? kWallBit
                            : level.fixed[at] == kTarget ? kTargetBit
                                                         : std::uint8_t{0};
        if (code == kBox || code == kBoxOnTarget) bits |= kBoxBit;
        const std::size_t to = (static_cast<std::size_t>(row) + 1) * cols + static_cast<std::size_t>(col);
        start.cells[to] = bits;
        if (code == kPlayer) start.player = static_cast<std::uint16_t>(to);
        if (code == kBoxOnTarget) ++start.on_target;
      }
    }
    start.boxes = static_cast<std::int16_t>(level.boxes);
    batch.starts_.push_back(std::move(start));
  }
  for (int change = -1; change <= 1; ++change) {
    for (int solved = 0; solved <= 1; ++solved) {
      // Only sign of the change and equality with the number of boxes matter to the reward.
      const double gym = gym_reward(1, 1 + change, solved == 1 ? 1 + change : 9);
      const double sparse = solved == 1 ? 10.0 : 0.0;
      batch.rewards_[static_cast<std::size_t>(2 * (change + 1) + solved)] =
          static_cast<float>(config.rewards == BatchRewards::kGym ? gym : sparse);
    }
  }
  const std::size_t n = config.boards;
  batch.cells_.resize(n * batch.stride_);
  batch.play_.resize(n);
  batch.level_.resize(n);
  batch.next_.resize(n);
  for (std::size_t board = 0; board < n; ++board)
    batch.next_[board] = static_cast<std::uint32_t>(board % levels.size());
  batch.reset();
  return batch;
}

std::size_t Batch::observation_bytes(ObservationKind kind) const {
  const auto size = static_cast<std::size_t>(rows_) * static_cast<std::size_t>(cols_);
  switch (kind) {
    case ObservationKind::kCodes: return size;
    case ObservationKind::kPlanes: return 4 * size;
    case ObservationKind::kOneHot: return 7 * size;
    case ObservationKind::kTinyRgb: return 3 * size;
  }
  return size;
}

void Batch::start(std::size_t board) {
  const std::uint32_t level = next_[board];
  const Start& from = starts_[level];
  std::memcpy(&cells_[board * stride_], from.cells.data(), stride_);
  // Nothing is counted at first, as in the original: it does not look at the start.
  play_[board] = {0, from.player, from.boxes, from.on_target, 0, 0};
  level_[board] = level;
  next_[board] = static_cast<std::uint32_t>((level + config_.boards) % starts_.size());
  if (planes_ != nullptr) {
    const std::size_t bytes = observation_bytes(ObservationKind::kPlanes);
    write(ObservationKind::kPlanes, planes_ + board * bytes, board, 1);
  }
}

void Batch::reset() {
  for (std::size_t board = 0; board < boards(); ++board) start(board);
}

void Batch::reset_board(std::size_t board, std::size_t level) {
  set_next(board, level);
  start(board);
}

void Batch::set_next(std::size_t board, std::size_t level) {
  LODESTEP_CHECK(board < boards() && level < starts_.size(), board, level);
  next_[board] = static_cast<std::uint32_t>(level);
}

Status Batch::step(const std::uint8_t* actions, const BatchOutput& out, std::size_t first,
                   std::size_t count) {
  LODESTEP_CHECK(first <= boards() && count <= boards() - first, first, count);
  const std::uint8_t last = config_.actions == BatchActions::kGym ? 8 : 4;
  std::uint8_t greatest = 0;
  for (std::size_t i = 0; i < count; ++i) greatest = std::max(greatest, actions[i]);
  if (greatest > last) {
    const std::size_t at = static_cast<std::size_t>(
        std::find_if(actions, actions + count, [last](std::uint8_t action) { return action > last; }) -
        actions);
    return Error{ErrorCode::kInvalidArgument,
                 "action " + std::to_string(actions[at]) + " is not 0 to " + std::to_string(last),
                 "board " + std::to_string(first + at), ""};
  }
  if (planes_ != nullptr) {
    step_range<true>(actions, out, first, count);
  } else {
    step_range<false>(actions, out, first, count);
  }
  return {};
}

template <bool kBound>
void Batch::step_range(const std::uint8_t* actions, const BatchOutput& out, std::size_t first,
                       std::size_t count) {
  // Everything the loop needs, in locals: a store through a byte pointer could otherwise change any member.
  const BatchConfig config = config_;
  const BatchOutput to = out;
  const std::array<int, 9> offsets = offsets_;
  const std::array<float, 6> rewards = rewards_;
  const bool verl = config.actions == BatchActions::kVerl;
  const std::size_t stride = stride_;
  const std::size_t plane_bytes = observation_bytes(ObservationKind::kPlanes);
  const std::size_t plane = plane_bytes / 4;
  const auto margin = static_cast<std::size_t>(cols_);
  std::uint8_t* cells = cells_.data() + first * stride;
  Play* plays = play_.data() + first;
  for (std::size_t i = 0; i < count; ++i, cells += stride) {
    Play play = plays[i];
    if (play.ended != 0) {
      to.rewards[i] = 0;
      const bool next = config.autoreset == Autoreset::kNextStep;
      to.terminated[i] = !next && play.on_target == play.boxes ? 1 : 0;
      to.truncated[i] = !next && play.on_target != play.boxes ? 1 : 0;
      if (next) start(first + i);
      continue;
    }
    // No branch on what the board looks like: with random actions it would be guessed wrong.
    const std::uint8_t action = actions[i];
    const int offset = offsets[action];
    const int player = play.player;
    const int a = player + offset;
    const int b = a + offset;
    const unsigned ahead = cells[a];
    const unsigned beyond = cells[b];
    const unsigned box = (ahead >> 2) & static_cast<unsigned>(action <= 4);
    const unsigned pushed = box & ~((beyond >> 2) | beyond) & 1U;
    const unsigned moved = pushed | (~((ahead >> 2) | ahead) & 1U);
    cells[a] = static_cast<std::uint8_t>(ahead ^ (pushed << 2));
    cells[b] = static_cast<std::uint8_t>(cells[b] ^ (pushed << 2));  // read again: a is b when nothing moves
    const int there = player + static_cast<int>(moved) * offset;
    if constexpr (kBound) {
      std::uint8_t* planes = planes_ + (first + i) * plane_bytes;
      planes[3 * plane + static_cast<std::size_t>(player) - margin] = 0;
      planes[3 * plane + static_cast<std::size_t>(there) - margin] = 1;
      if (pushed != 0) {
        planes[2 * plane + static_cast<std::size_t>(a) - margin] = 0;
        planes[2 * plane + static_cast<std::size_t>(b) - margin] = 1;
      }
    }
    const int on =
        play.on_target + static_cast<int>(pushed & (beyond >> 1)) - static_cast<int>(pushed & (ahead >> 1));
    const bool looks = !(verl && action == 0);  // verl-agent's 0 looks at nothing
    const int before = looks ? play.counted : on;
    const int change = (on > before) - (on < before);
    const bool solved = on == play.boxes;
    to.rewards[i] = rewards[static_cast<std::size_t>(2 * (change + 1) + (solved ? 1 : 0))];
    const bool over = ++play.steps >= config.max_steps && !solved;
    to.terminated[i] = solved ? 1 : 0;
    to.truncated[i] = over ? 1 : 0;
    play.player = static_cast<std::uint16_t>(there);
    play.counted = static_cast<std::int16_t>(looks ? on : play.counted);
    play.on_target = static_cast<std::int16_t>(on);
    play.ended = solved || over ? 1 : 0;
    plays[i] = play;
    if (play.ended != 0 && config.autoreset == Autoreset::kSameStep) {
      if (to.final_observation != nullptr) {
        write(ObservationKind::kPlanes, to.final_observation + i * plane_bytes, first + i, 1);
      }
      start(first + i);
    }
  }
}

namespace {

// Writes `size` bytes, made eight at a time from eight cells; up to seven bytes behind are overwritten too,
// which the caller writes after it.
template <typename Function>
void fill_plane(std::uint8_t* out, const std::uint8_t* cells, std::size_t size, Function function) {
  for (std::size_t j = 0; j < size; j += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, cells + j, 8);
    word = function(word) & 0x0101010101010101ULL;
    std::memcpy(out + j, &word, 8);
  }
}

}  // namespace

void Batch::write(ObservationKind kind, std::uint8_t* out, std::size_t first, std::size_t count) const {
  const auto size = static_cast<std::size_t>(rows_) * static_cast<std::size_t>(cols_);
  const std::size_t bytes = observation_bytes(kind);
  for (std::size_t board = first; board < first + count; ++board, out += bytes) {
    const std::uint8_t* cells = &cells_[board * stride_] + cols_;
    const std::size_t player = play_[board].player - static_cast<std::size_t>(cols_);
    const std::uint8_t player_code = (cells[player] & kTargetBit) != 0 ? kPlayerOnTarget : kPlayer;
    switch (kind) {
      case ObservationKind::kCodes:
        for (std::size_t j = 0; j < size; ++j) out[j] = kCodeOfBits[cells[j]];
        out[player] = player_code;
        break;
      case ObservationKind::kPlanes:
        fill_plane(out, cells, size, [](std::uint64_t w) { return w; });
        fill_plane(out + size, cells, size, [](std::uint64_t w) { return w >> 1; });
        fill_plane(out + 2 * size, cells, size, [](std::uint64_t w) { return w >> 2; });
        std::memset(out + 3 * size, 0, size);
        out[3 * size + player] = 1;
        break;
      case ObservationKind::kOneHot:
        fill_plane(out + kWall * size, cells, size, [](std::uint64_t w) { return w; });
        fill_plane(out + kFloor * size, cells, size, [](std::uint64_t w) { return ~(w | w >> 1 | w >> 2); });
        fill_plane(out + kTarget * size, cells, size, [](std::uint64_t w) { return w >> 1 & ~(w >> 2); });
        fill_plane(out + kBoxOnTarget * size, cells, size, [](std::uint64_t w) { return w >> 1 & w >> 2; });
        fill_plane(out + kBox * size, cells, size, [](std::uint64_t w) { return w >> 2 & ~(w >> 1); });
        std::memset(out + kPlayer * size, 0, 2 * size);
        out[kCodeOfBits[cells[player]] * size + player] = 0;
        out[player_code * size + player] = 1;
        break;
      case ObservationKind::kTinyRgb:
        for (std::size_t j = 0; j < size; ++j)
          std::memcpy(out + 3 * j, kTinyColours[kCodeOfBits[cells[j]]].data(), 3);
        std::memcpy(out + 3 * player, kTinyColours[player_code].data(), 3);
        break;
    }
  }
}

void Batch::bind_planes(std::uint8_t* planes) {
  planes_ = planes;
  if (planes != nullptr) write(ObservationKind::kPlanes, planes, 0, boards());
}

}  // namespace lodestep::sokoban
