// Every golden case of the released estimators and of the paper's formula, to the last digit that is
// promised.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/sequence_matcher.h"
#include "base/text.h"
#include "golden.h"

using namespace lodestep;
using namespace lodestep::test;

namespace {

bool near(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

// difflib's first-fit clustering, plainly: the product's own matcher is tested against it elsewhere.
graph::Matcher plain_matcher(const GoldenCase& c, double threshold) {
  return [&c, threshold](std::span<const graph::Id> states) -> Result<std::vector<graph::Id>> {
    std::vector<graph::Id> out, representatives;
    for (graph::Id state : states) {
      const auto text = *decode_utf8(c.texts[static_cast<std::size_t>(state)]);
      const auto found = std::find_if(representatives.begin(), representatives.end(), [&](graph::Id r) {
        const auto other = *decode_utf8(c.texts[static_cast<std::size_t>(r)]);
        const double shorter = static_cast<double>(std::min(text.size(), other.size()));
        if (2 * shorter < threshold * static_cast<double>(text.size() + other.size())) return false;
        return sequence_ratio(text, other) >= threshold;
      });
      out.push_back(found == representatives.end() ? state : *found);
      if (found == representatives.end()) representatives.push_back(state);
    }
    return out;
  };
}

void check_column(const GoldenCase& c, const std::string& name, const std::vector<double>& got) {
  const auto exact = c.exact.find(name);
  if (exact == c.exact.end()) return;
  INFO(c.name << " " << name);
  REQUIRE(got.size() == exact->second.size());
  const std::vector<double>& released = c.expected.at(name);
  const auto marks = c.rounding_sensitive.find(name);
  for (std::size_t row = 0; row < got.size(); ++row) {
    INFO("row " << row << " got " << got[row] << " expected " << exact->second[row]);
    REQUIRE(near(got[row], exact->second[row], 1e-9));
    const bool marked = marks != c.rounding_sensitive.end() &&
                        std::find(marks->second.begin(), marks->second.end(), row) != marks->second.end();
    if (!marked) REQUIRE(near(got[row], released[row], 1e-6));
  }
}

std::vector<double> as_numbers(const std::vector<graph::Id>& ids) { return {ids.begin(), ids.end()}; }

void check_graphs(const GoldenCase& c, const graph::Credit& credit) {
  if (c.graphs.empty()) return;
  REQUIRE(credit.graphs.size() == c.graphs.size());
  for (std::size_t task = 0; task < c.graphs.size(); ++task) {
    REQUIRE(credit.graphs[task].state == c.graphs[task].state);
    REQUIRE(credit.graphs[task].distance == c.graphs[task].distance);
  }
  for (std::size_t row = 0; row < c.batch.rows(); ++row) {
    const auto& graph = credit.graphs[static_cast<std::size_t>(c.batch.task[row])];
    REQUIRE(graph.state[static_cast<std::size_t>(credit.node[row])] == c.node_of_state[row]);
    REQUIRE(graph.state[static_cast<std::size_t>(credit.next_node[row])] == c.node_of_next[row]);
  }
}

void check_file(const std::string& file) {
  for (GoldenCase& c : golden_cases(file)) {
    INFO(c.name);
    const auto options = graph::resolve_options(c.request);
    REQUIRE(options.status().ok());
    for (const auto& [key, value] : c.request.settings) {
      if (key == "similarity" && value == "true") {
        c.request.matcher = plain_matcher(c, *options->number("similarity_threshold", 0, 1));
      }
    }
    const auto credit = graph::estimate(c.request, c.batch);
    REQUIRE(credit.status().ok());
    check_graphs(c, *credit);
    check_column(c, "step_return", credit->step_return);  // what is compared is less the penalty
    check_column(c, "step_advantage", credit->step_advantage);
    check_column(c, "episode_advantage", credit->episode_advantage);
    check_column(c, "groups", as_numbers(credit->group));
    check_column(c, "advantage", credit->advantage);
  }
}

}  // namespace

TEST_CASE("graphgpo equals the released code") { check_file("golden/credit/graphgpo.json.zst"); }
TEST_CASE("graphgpo equals the paper's formula") { check_file("golden/credit/graphgpo_paper.json"); }
TEST_CASE("gigpo equals the released code") { check_file("golden/credit/gigpo.json"); }
TEST_CASE("hgpo equals the released code") { check_file("golden/credit/hgpo.json"); }
TEST_CASE("grpo, rloo and company equal the released code") {
  check_file("golden/credit/baselines.json.zst");
}
