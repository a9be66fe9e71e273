// Time of the matcher `lexical` on texts from a file, one a line; lexical_bench.py compares it with Python.
//   bench_lexical texts.txt 0.95
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#include "canonicalizer/registry.h"

int main(int argc, char** argv) {
  using namespace lodestep;
  using namespace lodestep::canonicalizer;
  if (argc != 3) return std::puts("usage: bench_lexical TEXTS THRESHOLD"), 2;
  std::ifstream file(argv[1]);
  std::vector<std::string> texts;
  for (std::string line; std::getline(file, line);) texts.push_back(line);
  std::vector<PageView> views(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    views[i].group = "g";
    views[i].text = texts[i];
  }
  const auto matcher = MatcherRegistry().make("lexical", {{"threshold", argv[2]}, {"guard", "none"}});
  if (!matcher) return std::cerr << matcher.error() << '\n', 2;
  double best = 1e9;
  Result<Matching> matching = Matching{};
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    matching = (*matcher)->match(views);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::cout << best << ' ' << matching->cost.comparisons << ' ' << matching->cost.avoided;
  for (const std::uint32_t cluster : number_by_first_appearance(matching->keys)) std::cout << ' ' << cluster;
  std::cout << '\n';
}
