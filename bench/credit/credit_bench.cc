// Time from texts in memory to advantages, on batches like those of the three environments and beyond.
//   bench_credit [THREADS]            # one line a batch: rows, milliseconds, rows a second
//   bench_credit --write 16 8 50 600 > steps.jsonl   # the same batch for credit_twin.py
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/interner.h"
#include "base/rng.h"
#include "base/text.h"
#include "graph/estimator.h"

namespace {

using namespace lodestep;

struct Recorded {
  int task = 0, episode = 0, t = 0;
  std::string state, next;
  double reward = 0, episode_reward = 0;
};

// Walks on a line of places with a goal at its end; half of the attempts arrive. Texts of about `characters`.
std::vector<Recorded> make_steps(int tasks, int episodes, int turns, std::size_t characters) {
  std::vector<Recorded> steps;
  for (int task = 0; task < tasks; ++task) {
    const auto text = [&](int place) {
      Stream words(Hasher()
                       .add_u64(static_cast<std::uint64_t>(task))
                       .add_u64(static_cast<std::uint64_t>(place))
                       .finish());
      std::string out =
          "You are at place " + std::to_string(place) + " of house " + std::to_string(task) + ".";
      while (out.size() < characters) out += ' ' + std::to_string(words.below(100000));
      return out;
    };
    const int last = turns * 2 / 3;
    for (int episode = 0; episode < episodes; ++episode) {
      Stream dice(Hasher()
                      .add("walk")
                      .add_u64(static_cast<std::uint64_t>(task))
                      .add_u64(static_cast<std::uint64_t>(episode))
                      .finish());
      const std::size_t first = steps.size();
      bool won = false;
      for (int t = 0, place = 0; t < turns && !won; ++t) {
        const int next = std::max(0, place + (dice.unit() < (episode % 2 == 0 ? 0.9 : 0.5) ? 1 : -1));
        won = next >= last;
        steps.push_back({task, episode, t, text(place), won ? "success" : text(next), won ? 10.0 : 0.0, 0});
        place = next;
      }
      for (std::size_t i = first; i < steps.size(); ++i) steps[i].episode_reward = won ? 10 : 0;
    }
  }
  return steps;
}

graph::Batch intern(const std::vector<Recorded>& steps) {
  constexpr std::size_t kAhead = 4;
  Interner states;
  graph::Batch batch;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Recorded& s = steps[i];
    graph::Step row{.task = s.task, .episode = s.episode, .t = s.t};
    if (i + kAhead < steps.size()) {
      Interner::prefetch(steps[i + kAhead].state);
      Interner::prefetch(steps[i + kAhead].next);
    }
    row.state = states.intern(s.state);
    row.next_state = states.intern(s.next);
    row.reward = s.reward;
    row.episode_reward = s.episode_reward;
    batch.add(row);
  }
  batch.goal_state = states.find("success");
  return batch;
}

struct Times {
  double intern = 1e9, estimate = 1e9, total = 1e9;
};

Times measure(const std::vector<Recorded>& steps, const std::string& estimator, int threads) {
  using Clock = std::chrono::steady_clock;
  const auto milliseconds = [](Clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
  };
  Times best;
  for (int round = 0; round < 5; ++round) {
    const auto start = Clock::now();
    const graph::Batch batch = intern(steps);
    const auto interned = Clock::now();
    const auto credit = graph::estimate({.estimator = estimator, .threads = threads}, batch);
    const auto end = Clock::now();
    if (!credit || credit->advantage.size() != steps.size()) std::abort();
    best.intern = std::min(best.intern, milliseconds(interned - start));
    best.estimate = std::min(best.estimate, milliseconds(end - interned));
    best.total = std::min(best.total, milliseconds(end - start));
  }
  return best;
}

void write(const std::vector<Recorded>& steps) {
  for (const Recorded& s : steps) {
    std::printf(
        "{\"task\":\"u%d\",\"episode\":\"e%d\",\"t\":%d,\"state\":%s,\"next_state\":%s,\"reward\":%g,"
        "\"episode_reward\":%g}\n",
        s.task, s.episode, s.t, json_quote(s.state).c_str(), json_quote(s.next).c_str(), s.reward,
        s.episode_reward);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6 && std::string(argv[1]) == "--write") {
    write(make_steps(std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]),
                     static_cast<std::size_t>(std::atoi(argv[5]))));
    return 0;
  }
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  struct Size {
    const char* name;
    int tasks, episodes, turns;
    std::size_t characters;
  };
  const Size sizes[] = {{"ALFWorld-like", 16, 8, 50, 600},
                        {"WebShop-like", 16, 8, 15, 1500},
                        {"scale", 64, 16, 50, 600},
                        {"a quarter of a million rows", 400, 16, 50, 60},
                        {"a million rows", 1600, 16, 50, 60}};
  std::printf("%d thread(s); milliseconds, best of 5, texts in memory to advantages\n", threads);
  for (const Size& size : sizes) {
    const auto steps = make_steps(size.tasks, size.episodes, size.turns, size.characters);
    for (const char* estimator : {"graphgpo", "gigpo", "evihb"}) {
      const Times times = measure(steps, estimator, threads);
      std::printf("%-28s %-9s %8zu rows  intern %8.2f  estimate %8.2f  total %8.2f  (%.0f rows/s)\n",
                  size.name, estimator, steps.size(), times.intern, times.estimate, times.total,
                  static_cast<double>(steps.size()) / times.total * 1000);
    }
  }
}
