// Small decision processes with exact answers: distances from full coverage, probabilities by value iteration
// over every outcome in its right share, and by simulated rollouts.
#include <rapidjson/document.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "base/interner.h"
#include "base/rng.h"
#include "base/text.h"
#include "graph/estimator.h"
#include "tests/support/shared_data.h"

using namespace lodestep;
using graph::Batch;
using graph::Id;
using graph::Step;
using rapidjson::Value;

namespace {

struct Fraction {
  std::int64_t over = 0, under = 1;
  double value() const { return static_cast<double>(over) / static_cast<double>(under); }
};

Fraction fraction(const Value& text) {
  const std::string whole = text.GetString();
  const std::size_t slash = whole.find('/');
  if (slash == std::string::npos && !parse_int(whole))
    return {std::llround(*parse_double(whole) * 1e15), 1'000'000'000'000'000};
  return {*parse_int(whole.substr(0, slash)),
          slash == std::string::npos ? 1 : *parse_int(whole.substr(slash + 1))};
}

struct Outcome {
  Id state, action, next;
  double cost, probability;  // under the policy, given the state
  std::int64_t count;        // rows that give every outcome of the state its share
};

struct Mdp {
  std::string name;
  double omega;
  Interner states, actions;
  std::vector<Outcome> outcomes;
  std::map<Id, bool> terminal;
  const Value* expected;
};

Mdp read_mdp(const Value& m) {
  Mdp mdp;
  mdp.name = m["name"].GetString();
  mdp.omega = fraction(m["omega"]).value();
  mdp.states.intern("success");
  mdp.expected = &m["expected"];
  for (const auto& state : m["transitions"].GetObject()) {
    const Id s = mdp.states.intern(state.name.GetString());
    mdp.terminal[s] = state.value.ObjectEmpty();
    std::int64_t under = 1;
    std::vector<std::pair<Outcome, Fraction>> found;
    for (const auto& action : state.value.GetObject()) {
      const Fraction chosen = fraction(m["policy"][state.name.GetString()][action.name.GetString()]);
      for (const Value& o : action.value.GetArray()) {
        const Fraction p = fraction(o["p"]);
        const Fraction both{chosen.over * p.over, chosen.under * p.under};
        under = std::lcm(under, both.under);
        found.push_back(
            {{s, mdp.actions.intern(action.name.GetString()), mdp.states.intern(o["next"].GetString()),
              fraction(o["cost"]).value(), both.value(), 0},
             both});
      }
    }
    for (auto& [outcome, share] : found) {
      outcome.count = share.over * (under / share.under);
      mdp.outcomes.push_back(outcome);
    }
  }
  return mdp;
}

// One step an episode, each outcome as often as its share demands; and, when asked, one probe into every
// state.
Batch full_coverage(const Mdp& mdp, std::int32_t probe_turns) {
  Batch batch;
  Id episode = 0;
  const auto add = [&](Id state, Id action, Id next, double cost, std::int32_t turns) {
    const auto ended = mdp.terminal.find(next);
    batch.add({.task = 0,
               .episode = episode++,
               .state = state,
               .next_state = next,
               .action = action,
               .cost = cost,
               .turns_left = turns,
               .done = next == 0 || (ended != mdp.terminal.end() && ended->second)});
  };
  for (const Outcome& o : mdp.outcomes) {
    for (std::int64_t i = 0; i < o.count; ++i) add(o.state, o.action, o.next, o.cost, 1);
  }
  const auto states = static_cast<Id>(mdp.states.size());
  for (Id s = 0; probe_turns > 0 && s < states; ++s) add(states, s, s, 1, probe_turns);
  batch.goal_state = 0;
  return batch;
}

// What an estimator says each state is worth: the step return of the probe into it.
std::vector<double> worth(const Mdp& mdp, const std::string& estimator, const Settings& settings,
                          std::int32_t turns) {
  const Batch batch = full_coverage(mdp, turns);
  const auto credit = graph::estimate({.estimator = estimator, .settings = settings}, batch);
  INFO((credit.ok() ? "" : to_string(credit.error())));
  REQUIRE(credit.ok());
  return {credit->step_return.end() - static_cast<std::ptrdiff_t>(mdp.states.size()),
          credit->step_return.end()};
}

void check_states(const Mdp& mdp, const char* measure, const std::vector<double>& got) {
  for (const auto& state : (*mdp.expected)[measure].GetObject()) {
    INFO(mdp.name << ' ' << measure << ' ' << state.name.GetString());
    const auto id = static_cast<std::size_t>(mdp.states.find(state.name.GetString()));
    CHECK(got[id] == Approx(fraction(state.value).value()).margin(1e-9));
  }
}

std::vector<double> distances(const Mdp& mdp, const Batch& batch,
                              std::vector<std::uint8_t>* reached = nullptr) {
  const auto credit = graph::estimate({.estimator = "graphgpo"}, batch);
  REQUIRE(credit.ok());
  const graph::TransitionGraph& g = credit->graphs.at(0);
  std::vector<double> out(mdp.states.size(), -1);
  if (reached != nullptr) reached->assign(mdp.states.size(), 0);
  for (std::size_t v = 0; v < g.nodes(); ++v) {
    out[static_cast<std::size_t>(g.state[v])] = g.distance[v];
    if (reached != nullptr) (*reached)[static_cast<std::size_t>(g.state[v])] = g.reached[v];
  }
  return out;
}

// Episodes of the policy from one state: the share that succeeds.
double simulate(const Mdp& mdp, Id start, int episodes) {
  Stream dice(Hasher().add("mdp").add(mdp.name).add_u64(static_cast<std::uint64_t>(start)).finish());
  int successes = 0;
  for (int e = 0; e < episodes; ++e) {
    Id at = start;
    for (int t = 0; t < 2000 && at != 0; ++t) {
      double left = dice.unit();
      const Outcome* taken = nullptr;
      for (const Outcome& o : mdp.outcomes) {
        if (o.state != at) continue;
        taken = &o;
        left -= o.probability;
        if (left < 0) break;
      }
      if (taken == nullptr) break;  // an end for good
      at = taken->next;
    }
    successes += at == 0 ? 1 : 0;
  }
  return static_cast<double>(successes) / episodes;
}

std::optional<rapidjson::Document> document() {
  const auto text = test::read_shared("golden/credit/mdps.json");
  if (!text) {
    test::skip("golden/credit/mdps.json");
    return std::nullopt;
  }
  rapidjson::Document parsed;
  parsed.Parse<rapidjson::kParseFullPrecisionFlag>(text->data(), text->size());
  REQUIRE(!parsed.HasParseError());
  return parsed;
}

}  // namespace

TEST_CASE("decision processes: distances exactly, values by iteration") {
  const auto golden = document();
  if (!golden) return;
  for (const Value& m : (*golden)["mdps"].GetArray()) {
    const Mdp mdp = read_mdp(m);
    INFO(mdp.name);
    std::vector<std::uint8_t> reached;
    const std::vector<double> distance = distances(mdp, full_coverage(mdp, 0), &reached);
    for (const auto& state : m["expected"]["graph_distance_full_coverage"].GetObject()) {
      INFO(state.name.GetString());
      REQUIRE(distance[static_cast<std::size_t>(mdp.states.find(state.name.GetString()))] ==
              fraction(state.value).value());
    }
    for (const auto& state : m["expected"]["true_distance"].GetObject()) {
      const auto id = static_cast<std::size_t>(mdp.states.find(state.name.GetString()));
      REQUIRE(reached[id] == (state.value.IsNull() ? 0 : 1));
      if (!state.value.IsNull()) REQUIRE(distance[id] == fraction(state.value).value());
    }
    const std::string omega = json_number(mdp.omega);
    const Settings policy{{"transitions", "policy"},
                          {"gamma", omega},
                          {"r_succ", "1"},
                          {"costs", "unit"},
                          {"penalty_coef", "0"}};
    check_states(mdp, "discounted_success", worth(mdp, "graphgpo", policy, 1));
    check_states(mdp, "success_probability", worth(mdp, "evi", {{"discount", "1"}}, 1));
    for (const auto& state : m["expected"]["success_within"].GetObject()) {
      for (const auto& within : state.value.GetObject()) {
        INFO(state.name.GetString() << " within " << within.name.GetString());
        const auto turns = static_cast<std::int32_t>(*parse_int(within.name.GetString()));
        const auto id = static_cast<std::size_t>(mdp.states.find(state.name.GetString()));
        CHECK(worth(mdp, "evih", {}, turns + 1)[id] == Approx(fraction(within.value).value()).margin(1e-9));
      }
    }
  }
}

TEST_CASE("decision processes: simulated success lies in its interval") {
  const auto golden = document();
  if (!golden) return;
  for (const Value& m : (*golden)["mdps"].GetArray()) {
    const Mdp mdp = read_mdp(m);
    for (const auto& state : m["expected"]["success_probability"].GetObject()) {
      INFO(mdp.name << ' ' << state.name.GetString());
      const double p = fraction(state.value).value();
      const double got = simulate(mdp, mdp.states.find(state.name.GetString()), 2000);
      CHECK(std::abs(got - p) <= 4 * std::sqrt(p * (1 - p) / 2000) + 1e-12);
    }
  }
}

namespace {

// Episodes from every state, with the policy's actions or with any: full coverage, as rollouts would see it.
Batch rollouts(const Mdp& mdp, bool any_action, int episodes_per_state) {
  std::map<Id, std::vector<const Outcome*>> from;
  for (const Outcome& o : mdp.outcomes) from[o.state].push_back(&o);
  Batch batch;
  Id episode = 0;
  for (const auto& [start, unused] : from) {
    for (int i = 0; i < episodes_per_state; ++i, ++episode) {
      Stream dice(
          Hasher().add(mdp.name).add_u64(any_action).add_u64(static_cast<std::uint64_t>(episode)).finish());
      Id at = start;
      for (std::int32_t t = 0; t < 400 && from.contains(at); ++t) {
        const std::vector<const Outcome*>& choices = from[at];
        const Outcome* taken = choices[dice.below(choices.size())];
        double left = dice.unit();
        for (std::size_t c = 0; !any_action && c < choices.size() && left >= 0; ++c) {
          taken = choices[c];
          left -= taken->probability;
        }
        const auto ended = mdp.terminal.find(taken->next);
        const bool done = taken->next == 0 || (ended != mdp.terminal.end() && ended->second);
        batch.add({.task = 0,
                   .episode = episode,
                   .t = t,
                   .state = at,
                   .next_state = taken->next,
                   .action = taken->action,
                   .cost = taken->cost,
                   .done = done});
        at = taken->next;
      }
    }
  }
  batch.goal_state = 0;
  return batch;
}

// The mean of a column over the steps from each state: what the state is worth.
std::vector<double> means_by_state(const Mdp& mdp, const Batch& batch, const std::vector<double>& column) {
  std::vector<double> sum(mdp.states.size(), 0), count(mdp.states.size(), 0);
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    sum[static_cast<std::size_t>(batch.state[row])] += column[row];
    count[static_cast<std::size_t>(batch.state[row])] += 1;
  }
  for (std::size_t s = 0; s < sum.size(); ++s) sum[s] = count[s] > 0 ? sum[s] / count[s] : 0;
  return sum;
}

}  // namespace

TEST_CASE("decision processes: simulated rollouts give distances exactly, values within their intervals") {
  const auto golden = document();
  if (!golden) return;
  constexpr int kEpisodes = 2000;
  for (const Value& m : (*golden)["mdps"].GetArray()) {
    const Mdp mdp = read_mdp(m);
    INFO(mdp.name);
    const std::vector<double> distance = distances(mdp, rollouts(mdp, true, 100));
    for (const auto& state : m["expected"]["graph_distance_full_coverage"].GetObject()) {
      INFO(state.name.GetString());
      CHECK(distance[static_cast<std::size_t>(mdp.states.find(state.name.GetString()))] ==
            fraction(state.value).value());
    }
    const Batch batch = rollouts(mdp, false, kEpisodes);
    const auto within = [&](const char* measure, const std::string& estimator, const Settings& settings,
                            double unit) {
      const auto credit = graph::estimate({.estimator = estimator, .settings = settings}, batch);
      REQUIRE(credit.ok());
      const std::vector<double> got = means_by_state(mdp, batch, credit->step_return);
      for (const auto& state : m["expected"][measure].GetObject()) {
        INFO(measure << ' ' << state.name.GetString());
        const auto id = static_cast<std::size_t>(mdp.states.find(state.name.GetString()));
        const double p = fraction(state.value).value();
        if (mdp.terminal.contains(static_cast<Id>(id)) && mdp.terminal.at(static_cast<Id>(id))) continue;
        CHECK(std::abs(unit * got[id] - p) <= 4 * std::sqrt(p * (1 - p) / kEpisodes) + 1e-9);
      }
    };
    // A step's return is worth where it led; a state is worth one more discount.
    within("success_probability", "evi", {{"discount", "1"}}, 1);
    within("discounted_success", "graphgpo",
           {{"transitions", "policy"}, {"gamma", json_number(mdp.omega)}, {"r_succ", "1"}, {"costs", "unit"}},
           mdp.omega);
  }
}

TEST_CASE("decision processes: what was not observed, and what merging invents") {
  const auto golden = document();
  if (!golden) return;
  for (const Value& m : (*golden)["mdps"].GetArray()) {
    Mdp mdp = read_mdp(m);
    Batch batch;
    Id episode = 0;
    const char* measure = nullptr;
    if (m.HasMember("observed_edges")) {
      measure = "observed_distance";
      for (const Value& e : m["observed_edges"].GetArray()) {
        batch.add({.task = 0,
                   .episode = episode++,
                   .state = mdp.states.intern(e[0].GetString()),
                   .next_state = mdp.states.intern(e[1].GetString()),
                   .cost = e[2].GetDouble()});
      }
    } else if (m.HasMember("observation_of")) {
      measure = "merged_distance";
      const auto seen = [&](Id state) {
        const char* name = mdp.states.text(state).c_str();
        return m["observation_of"].HasMember(name) ? mdp.states.intern(m["observation_of"][name].GetString())
                                                   : state;
      };
      for (const Outcome& o : mdp.outcomes) {
        const Id from = seen(o.state), to = seen(o.next);
        batch.add({.task = 0, .episode = episode++, .state = from, .next_state = to, .cost = o.cost});
      }
    } else {
      continue;
    }
    batch.goal_state = 0;
    const std::vector<double> distance = distances(mdp, batch);
    for (const auto& state : m["expected"][measure].GetObject()) {
      INFO(mdp.name << ' ' << state.name.GetString());
      REQUIRE(distance[static_cast<std::size_t>(mdp.states.find(state.name.GetString()))] ==
              state.value.GetDouble());
    }
  }
}

TEST_CASE("the risky short cut: the best way on prefers it, the usual one does not") {
  const auto golden = document();
  if (!golden) return;
  for (const Value& m : (*golden)["mdps"].GetArray()) {
    if (m["name"] != "risky-shortcut") continue;
    const Mdp mdp = read_mdp(m);
    const auto edge = static_cast<std::size_t>(mdp.states.find("edge")),
               sure = static_cast<std::size_t>(mdp.states.find("a"));
    const Settings plain{{"gamma", "0.5"}, {"r_succ", "1"}};
    Settings expected = plain, policy = plain;
    expected.emplace_back("transitions", "expected");
    policy.emplace_back("transitions", "policy");
    const auto best = worth(mdp, "graphgpo", plain, 1);
    const auto on_average = worth(mdp, "graphgpo", expected, 1);
    const auto usual = worth(mdp, "graphgpo", policy, 1);
    CHECK(best[edge] > best[sure]);
    CHECK(on_average[edge] < on_average[sure]);
    CHECK(usual[edge] == Approx(usual[sure]));  // a quarter of 1/2, and all of 1/8
    const auto within = worth(mdp, "evih", {}, 16);
    CHECK(within[edge] == Approx(0.25));
    CHECK(within[sure] == Approx(1));
  }
}
