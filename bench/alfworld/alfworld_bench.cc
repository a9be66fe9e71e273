// Speed and memory of the native ALFWorld engine.
//   bench_alfworld [GAME.tw-pddl | DATA_ROOT] [GAMES]
// Without a path it plays the embedded household games. Prints one line a measurement, each with its
// unit, in processor time of one core. LODESTEP_PYTHON names an interpreter with textworld and alfworld: then
// the original is timed beside it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/text.h"
#include "envs/alfworld_bridge/alfworld_env.h"
#include "envs/alfworld_bridge/bridge/python_worker.h"
#include "envs/alfworld_bridge/game_store.h"

namespace {

using namespace lodestep;
using namespace lodestep::alfworld;

// Processor seconds of this thread: other work on the machine does not count.
double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds_since(double start) { return now() - start; }

std::size_t resident_bytes() {
  std::ifstream status("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  status >> total >> resident;
  return resident * 4096;
}

void line(const char* name, double value, const char* unit) {
  std::printf("%-44s %14.1f %s\n", name, value, unit);
}

int run(int argc, char** argv) {
  const std::string data = argc > 1 ? argv[1] : "";
  const std::size_t wanted = argc > 2 ? std::stoul(argv[2]) : 100;
  Result<std::unique_ptr<GameStore>> store = GameStore::open({data, {}, true});
  if (!store) {
    std::fprintf(stderr, "%s\n", to_string(store.error()).c_str());
    return 2;
  }
  std::vector<std::string> files;
  for (std::size_t i = 0; i < (*store)->entries().size() && files.size() < wanted; ++i) {
    const std::size_t spread = i * (*store)->entries().size() / wanted % (*store)->entries().size();
    const Result<std::string> bytes =
        (*store)->read((*store)->entries()[wanted < (*store)->entries().size() ? spread : i]);
    if (bytes) files.push_back(*bytes);
  }
  const std::size_t memory_before = resident_bytes();
  std::vector<std::shared_ptr<const Game>> games;
  const double load_start = now();
  for (const std::string& file : files) {
    Result<std::shared_ptr<const Game>> game = load_game(file, "bench");
    if (!game) {
      std::fprintf(stderr, "%s\n", to_string(game.error()).c_str());
      return 1;
    }
    games.push_back(*game);
  }
  line("load of a game file", seconds_since(load_start) / static_cast<double>(files.size()) * 1e6, "us");
  std::size_t tables = 0;
  std::size_t largest = 0;
  for (const auto& game : games) {
    tables += game->memory_bytes();
    largest = std::max(largest, game->memory_bytes());
  }
  line("memory of a loaded game: tables",
       static_cast<double>(tables) / static_cast<double>(games.size()) / 1024, "KiB");
  line("memory of the largest loaded game", static_cast<double>(largest) / 1024, "KiB");
  line("memory of a loaded game: resident growth",
       static_cast<double>(resident_bytes() - memory_before) / static_cast<double>(games.size()) / 1024,
       "KiB");

  const double reset_start = now();
  std::vector<World> worlds;
  for (const auto& game : games) worlds.emplace_back(game);
  std::size_t episode = 0;
  for (const World& world : worlds) episode += world.memory_bytes();
  line("memory of a live episode", static_cast<double>(episode) / static_cast<double>(worlds.size()) / 1024,
       "KiB");
  for (int i = 0; i < 200; ++i) {
    for (World& world : worlds) world.restart();
  }
  line("reset of a loaded game", seconds_since(reset_start) / static_cast<double>(worlds.size() * 201) * 1e6,
       "us");

  // A random walk: observation and sorted admissible list as text, at every step.
  const std::size_t steps = 2000000;
  for (const bool text : {true, false}) {
    for (World& world : worlds) world.restart();
    Stream dice(hash128("bench"));
    std::vector<std::uint32_t> draws(65536);
    for (std::uint32_t& draw : draws) draw = static_cast<std::uint32_t>(dice.next() >> 32);
    std::string reply;
    std::vector<Id> ids;
    std::string typed;
    std::string text_block;                                 // all texts of a list, one after the other
    std::vector<std::pair<std::size_t, std::size_t>> list;  // begin and length of each
    std::size_t letters = 0;
    std::size_t offered = 0;
    const double start = now();
    for (std::size_t i = 0; i < steps; ++i) {
      World& world = worlds[i / 50 % worlds.size()];
      if (i % 50 == 0) {
        world.restart();
        world.commands(ids);
      }
      const Id command = ids[draws[i % draws.size()] % ids.size()];
      reply.clear();
      if (text) {
        typed.clear();
        world.game().command(command).append_to(typed);
        world.step(typed, reply);
      } else {
        world.play(command);
      }
      world.commands(ids);
      offered += ids.size();
      if (text) {
        list.clear();
        text_block.clear();
        for (const Id id : ids) {
          const std::size_t begin = text_block.size();
          world.game().command(id).append_to(text_block);
          list.emplace_back(begin, text_block.size() - begin);
        }
        letters += reply.size() + list.back().second;
      }
    }
    const double seconds = seconds_since(start);
    line(text ? "steps with observation and sorted list as text" : "steps with the list as numbers",
         static_cast<double>(steps) / seconds, "steps/s");
    std::printf("  (%zu letters, %.1f commands offered on average)\n", letters,
                static_cast<double>(offered) / static_cast<double>(steps));
  }

  // The same through the plain interface, which copies every text.
  Result<std::shared_ptr<const EnvFactory>> factory = env_type().open({data, {{"refused", "skip"}}});
  if (!factory) return 1;
  auto env = (*factory)->make();
  Stream dice(hash128("bench"));
  const std::size_t plain_steps = 300000;
  const std::string split = (*factory)->splits().front();
  const std::size_t count = std::min<std::size_t>(*(*factory)->task_count(split), 50);
  for (std::size_t i = 0; i < count; ++i) {  // games in the cache
    if (!env->reset({"alfworld", *(*factory)->task_id(split, i), 0}).ok()) return 1;
  }
  const double start = now();
  std::size_t at = 0;
  for (std::size_t i = 0; i < plain_steps; ++i) {
    if (i % 50 == 0 && !env->reset({"alfworld", *(*factory)->task_id(split, at++ % count), 0}).ok()) return 1;
    const std::vector<std::string> actions = env->admissible_actions();
    env->step(actions[dice.below(actions.size())]);
  }
  line("steps through Environment (copies)", static_cast<double>(plain_steps) / seconds_since(start),
       "steps/s");

  // The original beside it, where an interpreter that has its packages is named. It runs in a process of its
  // own, so this is elapsed time.
  const char* python = std::getenv("LODESTEP_PYTHON");
  if (python == nullptr) return 0;
  Result<std::unique_ptr<PythonWorker>> original = PythonWorker::start(python, 300);
  if (!original) {
    std::fprintf(stderr, "%s\n", to_string(original.error()).c_str());
    return 1;
  }
  const std::string path = (std::filesystem::temp_directory_path() / "lodestep_bench.tw-pddl").string();
  std::ofstream(path, std::ios::binary) << files[0];
  const auto wall = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  const double reset_at = wall();
  Result<PythonReply> reply = (*original)->reset(path);
  line("the original: reset", (wall() - reset_at) * 1e6, "us");
  const double steps_at = wall();
  const int original_steps = 20;
  for (int i = 0; i < original_steps && reply; ++i)
    reply = (*original)->step(reply->admissible[dice.below(reply->admissible.size())]);
  line("the original: steps", original_steps / (wall() - steps_at), "steps/s");
  std::remove(path.c_str());
  return reply ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
