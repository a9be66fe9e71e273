// Sokoban's speed in one run: the batch (threads, sizes, kinds of observation), the plain environment, room
// generation and distance tables. `bench_sokoban [LEVEL_FILE] [--json]`; without a file, gym-sokoban's rooms
// of 10 x 10 with 4 boxes. sokoban_bench.py runs this program and the peers in Python on the same levels and
// actions.
//
// Single-threaded figures are taken by the processor time of the thread, so that other work on the machine
// counts little; with two threads by the clock on the wall. Every figure is the median of five repetitions.
// The sum of rewards is printed beside each batch figure: it is the same for every row of one size, since all
// of them play the same actions on the same levels.
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "envs/factory.h"
#include "envs/sokoban/batch.h"
#include "envs/sokoban/generator.h"
#include "envs/sokoban/level_pack.h"
#include "envs/sokoban/solver.h"

namespace lodestep::sokoban {
namespace {

double wall_seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double thread_seconds(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  work();
  return now() - start;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

bool json = false;
bool first_line = true;

void report(const std::string& name, double value, const std::string& unit, const std::string& note) {
  if (json) {
    std::printf("%s\n{\"name\":\"%s\",\"value\":%.17g,\"unit\":\"%s\"}", first_line ? "[" : ",", name.c_str(),
                value, unit.c_str());
    first_line = false;
  } else {
    std::printf("%-58s %14.1f %-8s %s\n", name.c_str(), value, unit.c_str(), note.c_str());
    std::fflush(stdout);
  }
}

enum class Observe { kNone, kBound, kPlanes, kOneHot, kTinyRgb };
constexpr const char* kObserve[] = {"state and reward only", "planes in place", "planes written",
                                    "one-hot written", "tiny RGB written"};

// Random actions over whole arrays; with two threads each owns half of the boards and waits for the other
// after every step, as one vector environment would.
void bench_batch(const std::vector<Level>& levels, std::size_t boards, std::size_t threads, Observe observe) {
  constexpr std::size_t kRounds = 16;  // sets of pre-drawn actions, used in turn
  const std::size_t steps = std::max<std::size_t>(120, 6'000'000 / boards);
  std::vector<std::uint8_t> actions(kRounds * boards);
  Stream dice(hash128("bench"));
  for (std::uint8_t& action : actions) action = static_cast<std::uint8_t>(1 + dice.below(4));
  std::vector<double> speeds;
  double sum = 0;
  for (int repetition = 0; repetition < 5; ++repetition) {
    Batch batch =
        *Batch::make(levels, {boards, 120, Autoreset::kSameStep, BatchActions::kVerl, BatchRewards::kGym});
    std::vector<float> rewards(boards);
    std::vector<std::uint8_t> terminated(boards), truncated(boards);
    const ObservationKind kind = observe == Observe::kOneHot    ? ObservationKind::kOneHot
                                 : observe == Observe::kTinyRgb ? ObservationKind::kTinyRgb
                                                                : ObservationKind::kPlanes;
    const std::size_t bytes = batch.observation_bytes(kind);
    std::vector<std::uint8_t> seen(observe == Observe::kNone ? 0 : boards * bytes);
    if (observe == Observe::kBound) batch.bind_planes(seen.data());
    std::vector<double> sums(threads);
    std::barrier<> together(static_cast<std::ptrdiff_t>(threads));
    const auto work = [&](std::size_t t) {
      const std::size_t first = boards * t / threads;
      const std::size_t count = boards * (t + 1) / threads - first;
      const BatchOutput out{&rewards[first], &terminated[first], &truncated[first], nullptr};
      double mine = 0;
      for (std::size_t s = 0; s < steps; ++s) {
        (void)batch.step(&actions[s % kRounds * boards + first], out, first, count).ok();
        if (observe >= Observe::kPlanes) batch.write(kind, &seen[first * bytes], first, count);
        mine += rewards[first];
        if (threads > 1) together.arrive_and_wait();
      }
      sums[t] = mine;
    };
    const double seconds = (threads == 1 ? thread_seconds : wall_seconds)([&] {
      std::vector<std::thread> others;
      for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work, t);
      work(0);
      for (std::thread& other : others) other.join();
    });
    speeds.push_back(static_cast<double>(boards * steps) / seconds);
    sum = sums[0];
  }
  report("batch, " + std::to_string(boards) + " boards, " + std::to_string(threads) + " thread" +
             (threads > 1 ? "s" : "") + ", " + kObserve[static_cast<int>(observe)],
         median(speeds) / 1e6, "M/s", "board 0 earned " + std::to_string(sum));
}

void bench_plain(const std::string& data, const std::vector<Level>& levels) {
  auto factory = data.empty() ? *open_environment("sokoban", {"", {{"generator", "gym"}}})
                              : *open_environment("sokoban", {data, {}});
  auto env = factory->make();
  const char* words[] = {"up", "down", "left", "right"};
  Stream dice(hash128("bench"));
  std::vector<double> speeds;
  for (int repetition = 0; repetition < 5; ++repetition) {
    std::size_t steps = 0;
    const double seconds = thread_seconds([&] {
      for (std::size_t episode = 0; episode < 200; ++episode) {
        const std::string id = data.empty() ? "gen/6x6/b1/s" + std::to_string(episode)
                                            : *factory->task_id("train", episode % levels.size());
        (void)env->reset({"sokoban", id, 0}).ok();
        for (int t = 0; t < 120 && !env->observe().done(); ++t, ++steps)
          (void)env->step(words[dice.below(4)]);
      }
    });
    speeds.push_back(static_cast<double>(steps) / seconds);
  }
  report("plain environment, text observation", median(speeds) / 1e6, "M/s", "120-step episodes");
}

void bench_rooms() {
  for (const int boxes : {1, 2}) {
    RoomSpec spec;
    spec.boxes = boxes;
    std::vector<double> each;
    std::size_t cells = 0;
    const double all = thread_seconds([&] {
      for (std::uint32_t seed = 0; seed < 65'535; ++seed) {
        each.push_back(thread_seconds([&] { cells += generate_room(spec, seed).level.start.size(); }));
      }
    });
    const std::string name = "room 6x6, " + std::to_string(boxes) + (boxes > 1 ? " boxes" : " box");
    report(name + ", median of 65,535 seeds", median(each) * 1e6, "us", std::to_string(cells) + " cells");
    report(name + ", all 65,535 seeds", all, "s", "");
  }
}

void bench_tables(const std::vector<Level>& levels) {
  std::vector<double> each;
  std::size_t live = 0;
  for (std::size_t n = 0; n < std::min<std::size_t>(levels.size(), 300); ++n) {
    each.push_back(thread_seconds([&] {
      const LevelMap map(levels[n]);
      const auto table = DistanceTable::build(map, kTableEntries);
      if (table) live += table->live_states();
    }));
  }
  report("distance table, median of " + std::to_string(each.size()) + " levels", median(each) * 1e3, "ms",
         std::to_string(live) + " live states");
  report("distance table, longest", *std::max_element(each.begin(), each.end()) * 1e3, "ms", "");
}

int run(const std::string& data) {
  std::vector<Level> levels;
  if (data.empty()) {
    RoomSpec spec{Generator::kGym, 10, 10, 4, 0, 300, 4};
    for (std::uint32_t seed = 0; levels.size() < 50; ++seed) levels.push_back(make_room(spec, seed)->level);
  } else {
    Result<LevelPack> pack = LevelPack::open(data, KeepSolved::kNo);
    if (!pack) {
      std::fprintf(stderr, "%s\n", to_string(pack.error()).c_str());
      return 2;
    }
    for (std::size_t i = 0; i < pack->size(0); ++i) levels.push_back(pack->find(pack->id(0, i))->level);
  }
  for (const std::size_t boards : {std::size_t{64}, std::size_t{1024}, std::size_t{16'384}}) {
    for (const std::size_t threads : {std::size_t{1}, std::size_t{2}}) {
      for (const Observe observe : {Observe::kNone, Observe::kBound, Observe::kPlanes})
        bench_batch(levels, boards, threads, observe);
    }
  }
  for (const Observe observe : {Observe::kOneHot, Observe::kTinyRgb}) bench_batch(levels, 1024, 1, observe);
  bench_plain(data, levels);
  bench_rooms();
  bench_tables(levels);
  if (json) std::printf("\n]\n");
  return 0;
}

}  // namespace
}  // namespace lodestep::sokoban

int main(int argc, char** argv) {
  std::string data;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      lodestep::sokoban::json = true;
    } else {
      data = argv[i];
    }
  }
  return lodestep::sokoban::run(data);
}
