// How many pairs of pages that must not be merged each matcher merges.
//   bench_lookalikes [URL CACHE]      # with an endpoint's embeddings too, kept in a file
#include <cstdio>
#include <iostream>

#include "harness/matchers.h"
#include "tests/support/lookalikes.h"

namespace {

using namespace lodestep;

struct Choice {
  std::string label, matcher;
  Settings settings;
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<test::Lookalike> pairs = test::lookalikes();
  std::vector<Choice> choices{
      {"exact", "exact", {}},
      {"rules", "rules", {}},
      {"lexical .95", "lexical", {{"guard", "none"}}},
      {"lexical .99, guard", "lexical", {{"threshold", "0.99"}}},
      {"embedding (hash) .95", "embedding", {{"threshold", "0.95"}, {"guard", "none"}}},
      {"embedding (hash) .99, guard", "embedding", {}},
      {"robust", "robust", {}},
      {"robust, typos=on", "robust", {{"typos", "on"}}}};
  if (argc > 2) {
    const Settings endpoint{{"embedder", argv[1]}, {"cache", argv[2]}, {"timeout", "600"}};
    choices.push_back({"embedding (endpoint) .95", "embedding", endpoint});
    choices.back().settings.insert(choices.back().settings.end(), {{"threshold", "0.95"}, {"guard", "none"}});
    choices.push_back({"embedding (endpoint) .99, guard", "embedding", endpoint});
  }
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> actions;
  for (std::size_t p = 0; p < pairs.size(); ++p) names.push_back("pair " + std::to_string(p));
  for (const test::Lookalike& pair : pairs) {
    actions.push_back(test::actions_on(pair.a));
    actions.push_back(test::actions_on(pair.b));
  }
  // The first two views of each group are the pair; six more of the same pages show that neither is a slip.
  std::vector<canonicalizer::PageView> views;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    for (int i = 0; i < 8; ++i) {
      canonicalizer::PageView view;
      view.group = names[p];
      view.trajectory = i % 2 == 0 ? "a" : "b";
      view.t = i;
      view.text = i % 2 == 0 ? pairs[p].a : pairs[p].b;
      view.actions = actions[2 * p + (i % 2 == 0 ? 0 : 1)];
      views.push_back(view);
    }
  }
  std::printf("| matcher | merged of %zu |\n| --- | --- |\n", pairs.size());
  for (const Choice& choice : choices) {
    const auto matcher = harness::matchers().make(choice.matcher, choice.settings);
    if (!matcher) return std::cerr << matcher.error() << '\n', 2;
    const auto matching = (*matcher)->match(views);
    if (!matching) return std::cerr << matching.error() << '\n', 1;
    if (!matching->failed.empty()) return std::cerr << matching->failed.front().error << '\n', 1;
    int merged = 0;
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      merged += matching->keys[8 * p] == matching->keys[8 * p + 1] ? 1 : 0;
    }
    std::printf("| %s | %d |\n", choice.label.c_str(), merged);
  }
}
