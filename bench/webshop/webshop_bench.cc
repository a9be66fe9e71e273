// WebShop's speed and memory on one core, in processor time.
//   bench_webshop [catalogue.db [steps|sessions|search]]      without a catalogue (or -): our own generated
//   shop
// Inputs: text_rich pages, 15-step walks over 200 goals; 100,000 made-up products for the search. Expected
// output: one line a figure; all step figures count the same walks, so their mix is stated.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "envs/factory.h"
#include "envs/webshop/analyzer.h"
#include "envs/webshop/sample_shop.h"

namespace {

using namespace lodestep;

// Seconds of processor time of this process: other work on the machine does not count.
double now() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// The actions of one walk, drawn once so that the timed loop does nothing but step: every fifth step is a
// search, the rest opens items, sub-pages and options.
std::vector<std::string> draw_walk(Environment& env, const std::string& task, Stream dice) {
  std::vector<std::string> walk;
  if (!env.reset({"webshop", task, 0}).ok()) return walk;
  const std::string instruction = env.admissible_actions().back();
  std::string query = instruction;
  for (int t = 0; t < 15; ++t) {
    // No query comes twice: the instruction grows by a word.
    std::string action = query;
    if (t % 5 == 0) query.insert(query.size() - 1, " w" + std::to_string(dice.below(100000)));
    if (t % 5 != 0) {
      std::vector<std::string> actions = env.admissible_actions();
      std::erase_if(actions, [](const std::string& a) {
        return a == "click[buy now]" || a == "click[back to search]" || a == "click[next >]";
      });
      if (!actions.empty()) action = actions[dice.below(actions.size())];
    }
    env.step(action);
    walk.push_back(std::move(action));
  }
  return walk;
}

void bench_steps(const EnvFactory& factory) {
  const std::size_t tasks = std::min<std::size_t>(200, *factory.task_count("train"));
  std::vector<std::string> ids;
  std::vector<std::vector<std::string>> walks;
  const auto env = factory.make();
  std::size_t searches = 0, steps = 0;
  for (std::size_t i = 0; i < tasks; ++i) {
    ids.push_back(*factory.task_id("train", i));
    walks.push_back(draw_walk(*env, ids.back(), Stream(hash128(ids.back()))));
    for (const std::string& action : walks.back()) searches += action.starts_with("search") ? 1 : 0;
    steps += walks.back().size();
  }
  std::printf("mix: %zu steps, %.0f %% searches, text_rich\n", steps,
              100.0 * static_cast<double>(searches) / static_cast<double>(steps));
  struct Run {
    const char* name;
    std::size_t members;  // of a group: they ask alike; each group has a query of its own
    bool keys;
  };
  for (const Run& run :
       {Run{"steps, every query new", 1, false}, Run{"steps, groups of 8 that ask alike", 8, false},
        Run{"steps with keys and hash, groups of 8", 8, true}}) {
    std::size_t done = 0, bytes = 0, group = 0;
    std::string query;
    const double start = now();
    while (now() - start < 1.0) {
      for (std::size_t i = 0; i < tasks; ++i, ++group) {
        for (std::size_t member = 0; member < run.members; ++member) {
          (void)env->reset({"webshop", ids[i], 0});
          for (const std::string& action : walks[i]) {
            const bool search = action.starts_with("search");
            // A word that no product has leaves the ranking, and so the walk, as it is.
            if (search) query = action.substr(0, action.size() - 1) + " z" + std::to_string(group) + "]";
            bytes += env->step(search ? query : action).observation.text.size();
            if (run.keys) bytes += env->state_keys().exact.size() + env->true_state_hash().low % 2;
          }
          done += walks[i].size();
        }
      }
    }
    std::printf("%s: %.0f /s (one core, resets included, %zu bytes a step)\n", run.name,
                static_cast<double>(done) / (now() - start), bytes / done);
  }
}

void bench_sessions(const EnvFactory& factory) {
  const std::size_t count = 10000;
  const std::size_t tasks = *factory.task_count("train");
  std::vector<std::unique_ptr<Environment>> sessions;
  const std::size_t before = resident_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    sessions.push_back(factory.make());
    (void)sessions.back()->reset({"webshop", *factory.task_id("train", i % tasks), 0});
    sessions.back()->step(sessions.back()->admissible_actions().back());
  }
  std::printf("memory: %zu bytes a session (10,000 open, each after a search)\n",
              (resident_bytes() - before) / count);
  sessions.clear();
  const std::size_t level = resident_bytes();
  const auto env = factory.make();
  for (std::size_t i = 0; i < 10000; ++i) {
    (void)env->reset({"webshop", *factory.task_id("train", i % tasks), 0});
    for (int t = 0; t < 3; ++t) env->step(*env->gold_action());
  }
  std::printf("growth: %.1f MB over 10,000 episodes\n",
              (static_cast<double>(resident_bytes()) - static_cast<double>(level)) / 1e6);
}

void bench_search() {
  double start = now();
  const auto made = webshop::make_catalogue(webshop::make_products(100'000, 1), hash128("bench"));
  const webshop::Catalogue& shop = *made;
  std::printf("catalogue of 100,000 made-up products: built in %.2f s\n", now() - start);
  std::vector<double> times;
  for (std::uint32_t i = 0; i < 100'000 && times.size() < 300; i += 97) {
    const auto instruction = shop.products()[i].instruction();
    if (!instruction) continue;
    start = now();
    const auto hits =
        shop.index().search({webshop::analyze(*instruction), 50, shop.products().size()}, shop.asin_ranks());
    times.push_back((now() - start) * 1e3);
    if (!hits || hits->empty()) std::printf("no hits for %s\n", std::string(*instruction).c_str());
  }
  std::sort(times.begin(), times.end());
  std::printf("search over 100,000 products: median %.2f ms, 99 %% %.2f ms (instructions as queries)\n",
              times[times.size() / 2], times[times.size() * 99 / 100]);
}

}  // namespace

int main(int argc, char** argv) {
  const double start = now();
  const std::string data = argc > 1 && std::string_view(argv[1]) != "-" ? argv[1] : "";
  const std::string_view part = argc > 2 ? argv[2] : "";
  const auto factory = open_environment("webshop", {data, {}});
  if (!factory) {
    std::fprintf(stderr, "%s\n", to_string(factory.error()).c_str());
    return 1;
  }
  std::printf("start: %.1f ms\n", (now() - start) * 1e3);
  if (part.empty() || part == "steps") bench_steps(**factory);
  if (part.empty() || part == "sessions") bench_sessions(**factory);
  if (part.empty() || part == "search") bench_search();
  return 0;
}
