// The batch against the plain environment: same levels, same actions, equal rewards, ends and boards.
#include "envs/sokoban/batch.h"
#include "base/rng.h"
#include "envs/sokoban/board.h"
#include "envs/sokoban/generator.h"
#include "envs/sokoban/level_pack.h"
#include "envs/sokoban/render.h"
#include "tests/support/fuzz.h"
#include "tests/unit/sokoban/support.h"

namespace lodestep::sokoban {
namespace {

struct Results {
  explicit Results(std::size_t n) : rewards(n), terminated(n), truncated(n) {}
  BatchOutput out() { return {rewards.data(), terminated.data(), truncated.data(), nullptr}; }
  std::vector<float> rewards;
  std::vector<std::uint8_t> terminated, truncated;
};

std::vector<Level> random_levels() {
  std::vector<Level> levels;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    RoomSpec spec;
    spec.rows = 5 + static_cast<int>(seed % 4);
    spec.cols = 5 + static_cast<int>(seed % 5);
    spec.boxes = 1 + static_cast<int>(seed % 3);
    levels.push_back(make_room(spec, seed)->level);
  }
  const LevelPack small = LevelPack::small();
  for (std::size_t i = 0; i < small.size(0); ++i) levels.push_back(small.find(small.id(0, i))->level);
  return levels;
}

// The view of a level in play, padded with wall to the batch's size.
Grid padded(const Level& level, const Grid& cells, int rows, int cols) {
  Grid out(static_cast<std::size_t>(rows * cols), kWall);
  const Grid codes = view(level.fixed, cells);
  for (int row = 0; row < level.rows; ++row) {
    std::copy_n(codes.begin() + row * level.cols, level.cols, out.begin() + row * cols);
  }
  return out;
}

// One board of the plain environment under the batch's rules for budgets and resets.
struct Plain {
  std::unique_ptr<Environment> env;
  std::size_t level = 0;
  std::uint32_t steps = 0;
  bool ended = false;
};

void differential(BatchActions actions, BatchRewards rewards, Autoreset autoreset, bool bound) {
  const std::vector<Level> levels = random_levels();
  const TempFolder folder("sokoban-batch");
  std::string file;
  for (const Level& level : levels)
    file += to_xsb(level.rows, level.cols, view(level.fixed, level.start)) + "\n";
  const Settings settings{{"actions", actions == BatchActions::kGym ? "gym" : "verl"},
                          {"rewards", rewards == BatchRewards::kGym ? "gym" : "sparse"}};
  auto factory = *open_environment("sokoban", {folder.write("all.xsb", file), settings});
  const std::size_t n = 33;
  const BatchConfig config{n, 25, autoreset, actions, rewards};
  Batch batch = *Batch::make(levels, config);
  std::vector<std::uint8_t> planes(n * batch.observation_bytes(ObservationKind::kPlanes));
  if (bound) batch.bind_planes(planes.data());
  std::vector<Plain> plain(n);
  const auto reset = [&](std::size_t i, std::size_t level) {
    plain[i].env = factory->make();
    REQUIRE(plain[i].env->reset({"sokoban", "all.xsb#" + std::to_string(level), 0}).ok());
    plain[i].level = level;
    plain[i].steps = 0;
    plain[i].ended = false;
  };
  for (std::size_t i = 0; i < n; ++i) reset(i, i);
  Stream dice(Hasher().add("batch").add_u64(static_cast<std::uint64_t>(autoreset)).finish());
  Results results(n);
  std::vector<std::uint8_t> acts(n), final_planes(planes.size()),
      codes(n * batch.observation_bytes(ObservationKind::kCodes)), fresh(planes.size());
  int ends = 0;
  for (int t = 0; t < test::fuzz_rounds(400); ++t) {
    for (std::size_t i = 0; i < n; ++i) {
      acts[i] = static_cast<std::uint8_t>(dice.below(actions == BatchActions::kGym ? 9 : 5));
      const std::optional<std::string> gold = dice.below(3) > 0 ? plain[i].env->gold_action() : std::nullopt;
      if (gold) acts[i] = static_cast<std::uint8_t>(std::stoi(*gold));
    }
    BatchOutput out = results.out();
    out.final_observation = final_planes.data();
    REQUIRE(batch.step(acts.data(), out).ok());
    batch.write(ObservationKind::kCodes, codes.data(), 0, n);
    batch.write(ObservationKind::kPlanes, fresh.data(), 0, n);
    if (bound) REQUIRE(planes == fresh);
    for (std::size_t i = 0; i < n; ++i) {
      Plain& one = plain[i];
      float reward = 0;
      bool terminated = false;
      bool truncated = false;
      if (one.ended && autoreset == Autoreset::kNextStep) {
        reset(i, (one.level + n) % levels.size());
      } else if (one.ended) {
        terminated = one.env->observe().done();
        truncated = !terminated;
      } else {
        const StepResult result = one.env->step(std::to_string(acts[i]));
        reward = static_cast<float>(result.reward);
        terminated = result.done();
        truncated = ++one.steps >= config.max_steps && !terminated;
        one.ended = terminated || truncated;
        ends += one.ended ? 1 : 0;
        if (one.ended && autoreset == Autoreset::kSameStep) reset(i, (one.level + n) % levels.size());
      }
      INFO("step " << t << " board " << i << " level " << one.level);
      REQUIRE(results.rewards[i] == reward);
      REQUIRE(results.terminated[i] == (terminated ? 1 : 0));
      REQUIRE(results.truncated[i] == (truncated ? 1 : 0));
      REQUIRE(batch.level_of(i) == one.level);
      const Level& level = levels[one.level];
      Board board(&level);
      REQUIRE(board.place(cells_of(*one.env)).ok());
      const std::size_t size = batch.observation_bytes(ObservationKind::kCodes);
      REQUIRE(Grid(codes.begin() + static_cast<std::ptrdiff_t>(i * size),
                   codes.begin() + static_cast<std::ptrdiff_t>((i + 1) * size)) ==
              padded(level, board.cells(), batch.rows(), batch.cols()));
    }
  }
  CHECK(ends > 100);
}

TEST_CASE("differential fuzz: batch and plain environment agree on every step", "[fuzz]") {
  for (const BatchActions actions : {BatchActions::kVerl, BatchActions::kGym}) {
    for (const Autoreset mode : {Autoreset::kNextStep, Autoreset::kSameStep}) {
      differential(actions, BatchRewards::kGym, mode, true);
    }
  }
  differential(BatchActions::kVerl, BatchRewards::kSparse, Autoreset::kNextStep, false);
}

TEST_CASE("boards that ended stay without autoreset, until they are given a level") {
  const std::vector<Level> levels{*level_from_rows({"#####", "#@$.#", "#####"}),
                                  *level_from_rows({"######", "#@ $.#", "######"})};
  Batch batch = *Batch::make(levels, {1, 5, Autoreset::kDisabled, BatchActions::kVerl, BatchRewards::kGym});
  Results results(1);
  const std::uint8_t right = 4;
  REQUIRE(batch.step(&right, results.out()).ok());
  CHECK(results.rewards[0] == 10.9F);
  CHECK(results.terminated[0] == 1);
  REQUIRE(batch.step(&right, results.out()).ok());
  CHECK(results.rewards[0] == 0.0F);
  CHECK(results.terminated[0] == 1);
  batch.reset_board(0, 1);
  CHECK(batch.level_of(0) == 1);
  REQUIRE(batch.step(&right, results.out()).ok());
  CHECK(results.terminated[0] == 0);
}

TEST_CASE("same-step resets keep the last position for whoever asks") {
  const std::vector<Level> levels{*level_from_rows({"#####", "#@$.#", "#####"})};
  Batch batch = *Batch::make(levels, {1, 5, Autoreset::kSameStep, BatchActions::kVerl, BatchRewards::kGym});
  Results results(1);
  std::vector<std::uint8_t> last(batch.observation_bytes(ObservationKind::kPlanes));
  BatchOutput out = results.out();
  out.final_observation = last.data();
  const std::uint8_t right = 4;
  REQUIRE(batch.step(&right, out).ok());
  CHECK(last[2 * 15 + 8] == 1);  // the box stands on the target
  CHECK(batch.steps_of(0) == 0);
}

TEST_CASE("observations: one-hot, codes and colours tell the same; bad actions and batches are refused") {
  const std::vector<Level> levels{*level_from_rows({"#######", "#+ $.*#", "#  $  #", "#######"})};
  Batch batch = *Batch::make(levels, {2, 5, Autoreset::kNextStep, BatchActions::kVerl, BatchRewards::kGym});
  const std::size_t size = batch.observation_bytes(ObservationKind::kCodes);
  std::vector<std::uint8_t> codes(2 * size), hot(14 * size), rgb(6 * size);
  batch.write(ObservationKind::kCodes, codes.data(), 0, 2);
  batch.write(ObservationKind::kOneHot, hot.data(), 0, 2);
  batch.write(ObservationKind::kTinyRgb, rgb.data(), 0, 2);
  CHECK(Grid(codes.begin(), codes.begin() + static_cast<std::ptrdiff_t>(size)) ==
        view(levels[0].fixed, levels[0].start));
  const Image image = tiny_image(levels[0], levels[0].start, 1);
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t code = 0; code < 7; ++code) REQUIRE(hot[code * size + j] == (codes[j] == code ? 1 : 0));
    for (std::size_t k = 0; k < 3; ++k)
      REQUIRE(rgb[3 * j + k] == static_cast<std::uint8_t>(image.rgb[3 * j + k]));
  }
  Results results(2);
  const std::uint8_t odd[] = {0, 5};
  CHECK(to_string(batch.step(odd, results.out()).error()) == "action 5 is not 0 to 4 (board 1)");
  CHECK_FALSE(Batch::make({}, {}).ok());
  CHECK_FALSE(Batch::make({*level_from_rows({"####", "#@*#", "####"})}, {}).ok());
}

}  // namespace
}  // namespace lodestep::sokoban
