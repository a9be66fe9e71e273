// `lodestep credit` as users and scripts meet it: defaults, refusals with their line, whole outputs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "base/rng.h"
#include "program.h"

namespace lodestep::harness::test {
namespace {

// Two attempts at one task: one wins in two steps, one stays away.
const std::string kSteps =
    "{\"task\":\"u0\",\"episode\":\"a\",\"t\":0,\"state\":\"hall\",\"action\":\"north\"}\n"
    "{\"task\":\"u0\",\"episode\":\"a\",\"t\":1,\"state\":\"kitchen\",\"action\":\"take\",\"reward\":1,"
    "\"success\":true,\"done\":true}\n"
    "{\"task\":\"u0\",\"episode\":\"b\",\"t\":0,\"state\":\"hall\",\"action\":\"south\",\"next_state\":"
    "\"garden\"}\n"
    "{\"task\":\"u0\",\"episode\":\"b\",\"t\":1,\"state\":\"garden\",\"action\":\"wait\",\"next_state\":"
    "\"garden\",\"valid\":false}\n";

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Ran credit(const std::string& input, std::vector<std::string> words) {
  words.insert(words.begin(), {"credit", "--in", "-", "--out", "-"});
  return run(words, input);
}

std::string step(const std::string& fields) {
  return "{\"task\":\"u\",\"episode\":\"e\",\"t\":0,\"state\":\"s\"" + fields + "}\n";
}

TEST_CASE("credit: one line a step, in input order, with the promised fields") {
  const Ran ran = credit(kSteps, {"--estimator", "graphgpo", "--set", "gamma=0.5"});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  const auto lines = lines_of(ran.out);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].starts_with(
      "{\"task\":\"u0\",\"episode\":\"a\",\"t\":0,\"step_return\":5,\"step_advantage\":0.70710"));
  CHECK(lines[0].ends_with(",\"group\":0,\"node\":0,\"next_node\":1}"));
  CHECK(lines[1].find("\"step_return\":10,") != std::string::npos);
  CHECK(lines[3].find("\"group\":2,\"node\":3,\"next_node\":3}") != std::string::npos);
  CHECK(ran.err.find("4 steps of 2 episodes of 1 tasks") != std::string::npos);
}

TEST_CASE("credit: estimators without a part print null there") {
  const Ran ran = credit(kSteps, {"--estimator", "grpo"});
  REQUIRE(ran.status == 0);
  CHECK(lines_of(ran.out)[0].find(
            "\"step_return\":null,\"step_advantage\":null,\"episode_advantage\":0.8640") !=
        std::string::npos);
  CHECK(lines_of(ran.out)[0].ends_with("\"node\":null,\"next_node\":null}"));
}

TEST_CASE("credit: the graph of each task, nodes in order of first appearance") {
  const TemporaryFolder folder;
  const Ran ran = credit(kSteps, {"--estimator", "graphgpo", "--graph", folder / "graph.json"});
  REQUIRE(ran.status == 0);
  CHECK(
      read_file(folder / "graph.json") ==
      "{\"u0\":{\"nodes\":[{\"id\":0,\"state\":\"hall\",\"distance\":2,\"reached\":true,\"visits\":2},"
      "{\"id\":1,\"state\":\"kitchen\",\"distance\":1,\"reached\":true,\"visits\":1},"
      "{\"id\":2,\"state\":\"success\",\"distance\":0,\"reached\":true,\"visits\":1},"
      "{\"id\":3,\"state\":\"garden\",\"distance\":3,\"reached\":false,\"visits\":2}],"
      "\"edges\":[{\"from\":0,\"to\":1,\"cost\":1,\"count\":1},{\"from\":1,\"to\":2,\"cost\":1,\"count\":1},"
      "{\"from\":0,\"to\":3,\"cost\":1,\"count\":1},{\"from\":3,\"to\":3,\"cost\":1,\"count\":1}],\"goal\":2}"
      "}\n");
}

TEST_CASE("credit: a positive sum is success with the released preset, the flag decides otherwise") {
  const std::string won = step(",\"reward\":1");
  CHECK(credit(won, {"--estimator", "graphgpo", "--preset", "released"}).out.find("\"step_return\":10,") !=
        std::string::npos);
  CHECK(credit(won, {"--estimator", "graphgpo"}).out.find("\"step_return\":1,") != std::string::npos);
  const std::string flagged = step(",\"success\":true");
  CHECK(credit(flagged, {"--estimator", "graphgpo"}).out.find("\"step_return\":10,") != std::string::npos);
  CHECK(credit(flagged, {"--estimator", "graphgpo-paper", "--set", "omega=0.5"})
            .out.find("\"step_return\":5,") != std::string::npos);
}

TEST_CASE("credit: wrong lines are named, with exit 2 and no output") {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"{\"episode\":\"e\",\"t\":0,\"state\":\"s\"}\n", "\"task\" is missing"},
      {step(",\"rewrad\":1"), "did you mean \"reward\"?"},
      {step(",\"reward\":\"1\""), "\"reward\" must be a finite number"},
      {step(",\"reward\":NaN"), "malformed JSON"},
      {step(",\"reward\":1e999"), "malformed JSON"},
      {step(",\"reward\":1e200"), "not a finite number below 1e100"},
      {step(",\"valid\":1"), "\"valid\" must be true or false"},
      {step(",\"tokens\":-1"), "\"tokens\" must be a whole number from 0"},
      {step(",\"cost\":-1"), "cost is negative"},
      {step(",\"t\":1"), "\"t\" is there twice"},
      {step(",\"keys\":[]"), "\"keys\" must be a list of texts"},
      {step(",\"answer_logprob\":[1]"), "\"answer_logprob\" must be two numbers"},
      {step(",\"next_state\":[1.5]"), "\"next_state\" must be text or an array of integers"},
      {step("") + step(""), "the same task, episode and t as in standard input line 1"},
      {step(",\"episode_reward\":1") +
           "\n{\"task\":\"u\",\"episode\":\"e\",\"t\":1,\"state\":\"s\",\"episode_reward\":2}\n",
       "\"episode_reward\" is not the one of standard input line 1"},
      {"nonsense\n", "malformed JSON"},
      {step("") + "{\"task\":\"u\"", "standard input line 2"}};
  for (const auto& [input, message] : wrong) {
    const Ran ran = credit(input, {"--estimator", "grpo"});
    INFO(input << ran.err);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK(ran.err.starts_with("lodestep: error: "));
    CHECK(ran.err.find(message) != std::string::npos);
    CHECK(ran.err.find("line") != std::string::npos);
  }
  CHECK(credit(step(",\"rewrad\":1"), {"--estimator", "grpo", "--ignore-unknown"}).status == 0);
}

TEST_CASE("credit: wrong words are refused before anything is read") {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--estimator", "grop"},
           {"--estimator", "grpo", "--preset", "paper"},
           {"--estimator", "grpo", "--set", "gama=1"},
           {"--estimator", "gigpo", "--set", "gamma=-1"},
           {"--estimator", "gigpo", "--set", "mode=std"},
           {"--estimator", "graphgpo", "--set", "gamma=0.5", "--set", "omega=0.6"},
           {"--estimator", "graphgpo", "--set", "similarity=maybe"},
           {"--estimator", "graphgpo", "--matcher", "difflb"},
           {"--estimator", "grpo", "--graph", "-"},
           {"--estimator", "graphgpo", "--graph", "-"},
           {"--estimator", "evihb", "--set", "levels=task.7:1"},
           {"--estimator", "graphgpo", "--set", "unreached=never"},
           {}}) {
    const Ran ran = credit(kSteps, words);
    INFO(ran.err);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK(ran.err.starts_with("lodestep: error: "));
  }
  CHECK(credit(kSteps, {"--estimator", "grop"}).err.find("did you mean 'grpo'?") != std::string::npos);
  CHECK(credit(kSteps, {"--estimator", "gigpo", "--set", "gama=1"}).err.find("known options: ") !=
        std::string::npos);
}

TEST_CASE("credit: outputs appear whole or not at all") {
  const TemporaryFolder folder;
  write_file(folder / "steps.jsonl", kSteps);
  write_file(folder / "old.jsonl", "old\n");
  CHECK(
      run({"credit", "--estimator", "grpo", "--in", folder / "missing.jsonl", "--out", folder / "old.jsonl"})
          .status == 2);
  CHECK(read_file(folder / "old.jsonl") == "old\n");
  CHECK(run({"credit", "--estimator", "grpo", "--in", folder / "steps.jsonl", "--out",
             folder / "no/such/folder"})
            .status == 1);
  CHECK(run({"credit", "--estimator", "grpo", "--in", folder / "steps.jsonl", "--out", folder / "old.jsonl"})
            .status == 0);
  CHECK(lines_of(read_file(folder / "old.jsonl")).size() == 4);
}

TEST_CASE("credit: missing rewards leave an episode out and are counted") {
  std::string input;
  for (const char* reward : {"1", "null", "1", "0"}) {
    input += "{\"task\":\"u\",\"episode\":" + std::to_string(input.size()) +
             ",\"t\":0,\"state\":\"s\",\"reward\":" + reward + "}\n";
  }
  const Ran ran = credit(input, {"--estimator", "grpo", "--set", "normalize=mean"});
  REQUIRE(ran.status == 0);
  const auto lines = lines_of(ran.out);
  CHECK(lines[0].find("\"advantage\":0.3333333333333333") != std::string::npos);
  CHECK(lines[1].find("\"advantage\":0,\"group\":null") != std::string::npos);
  CHECK(ran.err.find("1 episode(s) without an available reward") != std::string::npos);
}

TEST_CASE("credit: groups go by task, whatever the order of lines; lone members are warned about") {
  const auto line = [](const std::string& task, int episode, double reward) {
    return "{\"task\":\"" + task + "\",\"episode\":\"" + std::to_string(episode) +
           "\",\"t\":0,\"state\":\"s\",\"reward\":" + std::to_string(reward) + "}\n";
  };
  const Ran ran = credit(line("p1", 0, 1) + line("p2", 0, 5) + line("p1", 1, 0) + line("p2", 1, 4),
                         {"--estimator", "grpo", "--set", "normalize=mean"});
  const auto lines = lines_of(ran.out);
  REQUIRE(lines.size() == 4);
  for (std::size_t i : {0U, 1U}) CHECK(lines[i].find("\"advantage\":0.5,") != std::string::npos);
  for (std::size_t i : {2U, 3U}) CHECK(lines[i].find("\"advantage\":-0.5,") != std::string::npos);
  CHECK(ran.err.find("warning") == std::string::npos);
  CHECK(credit(line("p1", 0, 1) + line("p2", 0, 5), {"--estimator", "grpo"})
            .err.find("warning: every task has a single episode") != std::string::npos);
}

TEST_CASE("credit: similar states are merged when asked, in the graph and, when asked, in the groups") {
  const std::string a = "You are in the kitchen. You see a cup, a plate and a stove here.";
  const std::string b = "You are in the kitchen. You see a cup, a plate and a stove here!";
  const std::string input = "{\"task\":\"u\",\"episode\":\"a\",\"t\":0,\"state\":\"" + a +
                            "\",\"next_state\":\"success\",\"success\":true}\n" +
                            "{\"task\":\"u\",\"episode\":\"b\",\"t\":0,\"state\":\"" + b +
                            "\",\"next_state\":\"x\"}\n";
  const auto nodes = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--estimator", "graphgpo"});
    const auto lines = lines_of(credit(input, words).out);
    REQUIRE(lines.size() == 2);
    return lines[1].substr(lines[1].find("\"group\""));
  };
  CHECK(nodes({}) == "\"group\":1,\"node\":2,\"next_node\":3}");
  CHECK(nodes({"--matcher", "difflib"}) == "\"group\":1,\"node\":0,\"next_node\":2}");
  CHECK(nodes({"--set", "similarity=true"}) == "\"group\":1,\"node\":0,\"next_node\":2}");
  CHECK(nodes({"--matcher", "indel", "--set", "group_matching=same-as-graph"}) ==
        "\"group\":0,\"node\":0,\"next_node\":2}");
  CHECK(nodes({"--matcher", "difflib", "--set", "similarity_threshold=0.999"}) ==
        "\"group\":1,\"node\":2,\"next_node\":3}");
}

TEST_CASE("credit: true state hashes make texts one where asked, and disagreement is told") {
  const auto line = [](const std::string& episode, const std::string& state, const std::string& hash) {
    return "{\"task\":\"u\",\"episode\":\"" + episode + "\",\"t\":0,\"state\":\"" + state +
           "\",\"next_state\":\"x" + episode + "\",\"state_hash\":\"" + hash + "\"}\n";
  };
  const std::string noisy = line("a", "hall, 10:01", "1") + line("b", "hall, 10:02", "1");
  const Ran plain = credit(noisy, {"--estimator", "graphgpo"});
  CHECK(plain.err.find("1 of 1 true states come in several texts") != std::string::npos);
  CHECK(plain.out.find("\"node\":2") != std::string::npos);
  const Ran merged = credit(noisy, {"--estimator", "graphgpo", "--matcher", "state_hash"});
  CHECK(lines_of(merged.out)[1].find("\"group\":0,\"node\":0") != std::string::npos);
  const Ran alike = credit(line("a", "door", "1") + line("b", "door", "2"), {"--estimator", "gigpo"});
  CHECK(alike.err.find("1 of 1 texts stand for several true states") != std::string::npos);
  CHECK(credit(line("a", "door", "1"), {"--estimator", "gigpo"}).err.find("state_hash") == std::string::npos);
  CHECK(credit(kSteps, {"--estimator", "graphgpo", "--matcher", "state_hash"}).status == 2);
}

TEST_CASE("credit: arrays of integers are states") {
  const std::string input = step(",\"next_state\":[1,2,3]") +
                            "{\"task\":\"u\",\"episode\":\"e\",\"t\":1,\"state\":[1,2,3],\"success\":true}\n";
  const Ran ran = run({"credit", "--estimator", "graphgpo", "--graph", "-", "--out", "/dev/null"}, input);
  INFO(ran.err);
  CHECK(ran.out.find("{\"id\":1,\"state\":[1,2,3],\"distance\":1") != std::string::npos);
}

TEST_CASE("credit: an empty input gives an empty output") {
  for (const std::string estimator : {"grpo", "graphgpo", "evihb", "hgpo"}) {
    const Ran ran = credit("", {"--estimator", estimator});
    CHECK(ran.status == 0);
    CHECK(ran.out.empty());
  }
}

TEST_CASE("credit: a graph store remembers ways to success for later batches") {
  const TemporaryFolder folder;
  const std::string store = folder / "graphs.db";
  REQUIRE(credit(kSteps, {"--estimator", "graphgpo", "--graph-store", store}).status == 0);
  // A batch without any success, in a part of the house that is known.
  const std::string later =
      "{\"task\":\"u0\",\"episode\":\"c\",\"t\":0,\"state\":\"garden\",\"next_state\":\"hall\"}\n";
  const Ran plain = credit(later, {"--estimator", "graphgpo", "--set", "gamma=0.5"});
  const Ran remembering =
      credit(later, {"--estimator", "graphgpo", "--set", "gamma=0.5", "--graph-store", store});
  INFO(remembering.err);
  CHECK(plain.out.find("\"step_return\":5,") !=
        std::string::npos);  // nothing succeeded: one step away, as anything
  CHECK(remembering.out.find("\"step_return\":2.5,") !=
        std::string::npos);  // two steps from success, by the first batch
  CHECK(remembering.err.find("4 edges recalled from 1 batches, 0 faded") != std::string::npos);
  CHECK(remembering.err.find("4 of 5 edges are known from earlier batches only") != std::string::npos);
  for (int i = 0; i < 4; ++i)
    credit(later, {"--estimator", "graphgpo", "--graph-store", store, "--half-life", "1"});
  CHECK(credit(later, {"--estimator", "graphgpo", "--graph-store", store, "--half-life", "1"})
            .err.find("4 faded") != std::string::npos);
  CHECK(credit(later, {"--estimator", "grpo", "--graph-store", store}).status == 2);
  write_file(folder / "no.db", "not a database, but long enough to be taken for one by nobody at all");
  CHECK(credit(later, {"--estimator", "graphgpo", "--graph-store", folder / "no.db"}).status != 0);
}

TEST_CASE("credit: what was never won is worth what earlier batches say of its like") {
  const TemporaryFolder folder;
  const std::string store = folder / "graphs.db";
  const auto line = [](const std::string& episode, int t, const std::string& state, const std::string& next,
                       bool success) {
    return "{\"task\":\"u\",\"episode\":\"" + episode + "\",\"t\":" + std::to_string(t) + ",\"state\":\"" +
           state + "\",\"next_state\":\"" + next + "\",\"success\":" + (success ? "true" : "false") + "}\n";
  };
  const auto credited = [&](const std::string& input, const std::string& unreached) {
    const Ran ran = credit(input, {"--estimator", "graphgpo", "--set", "gamma=0.5", "--set",
                                   "unreached=" + unreached, "--graph-store", store});
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    return ran.out;
  };
  // Two steps from success; then a batch that loses its way from there and elsewhere.
  credited(line("a", 0, "hall", "kitchen", false) + line("a", 1, "kitchen", "x", true), "dmax+1");
  credited(line("b", 0, "hall", "garden", false), "dmax+1");
  // Of the two states (hall, garden) that the second batch left without success one had it, at distance 2: a
  // state like them is worth half of 0.5^2, as if it were 3 away, where dmax + 1 says 3 as well; a new one in
  // between:
  const std::string later = line("c", 0, "garden", "shed", false);
  CHECK(credited(later, "prior").find("\"step_return\":1.25,") != std::string::npos);
  // The third batch's garden and shed have no way either: one of four.
  CHECK(credited(later, "prior").find("\"step_return\":0.625") != std::string::npos);
  CHECK(credit(later, {"--estimator", "graphgpo", "--set", "gamma=0.5", "--set", "unreached=prior"})
            .out.find("\"step_return\":5,") != std::string::npos);  // nothing known: as dmax+1
}

TEST_CASE("credit: ALFWorld's texts give evihb a stage to fall back on, unless levels are given") {
  const std::string head =
      "w Your task is to: put some vase on safe. Location: middle of a room. Items in hand (status): "
      "nothing. ";
  const std::string input = "{\"task\":\"u\",\"episode\":\"a\",\"t\":0,\"state\":\"" + head + "\"}\n" +
                            "{\"task\":\"u\",\"episode\":\"a\",\"t\":1,\"state\":\"You take it. Location: "
                            "safe 1. Items in hand (status): vase "
                            "1(unprocessed). \",\"reward\":1,\"success\":true,\"done\":true}\n" +
                            "{\"task\":\"v\",\"episode\":\"b\",\"t\":0,\"state\":\"" + head + " \"}\n" +
                            "{\"task\":\"v\",\"episode\":\"b\",\"t\":1,\"state\":\"No. Location: desk 1. "
                            "Items in hand (status): nothing. \"}\n";
  const Ran stages = credit(input, {"--estimator", "evihb"});
  CHECK(stages.err.find("backs off to a stage") != std::string::npos);
  const Ran plain = credit(input, {"--estimator", "evihb", "--set", "levels=task:0,task.0:0.3"});
  CHECK(plain.err.find("stage") == std::string::npos);
  CHECK(stages.out != plain.out);
  CHECK(credit(kSteps, {"--estimator", "evihb"}).err.find("stage") == std::string::npos);
}

TEST_CASE("credit: diagnostics count reuse, coverage and progress") {
  const Ran ran = credit(kSteps, {"--estimator", "graphgpo", "--set", "gamma=0.5", "--diagnostics"});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  CHECK(ran.err.find("4 steps, 4 nodes, 1 successes in 2 episodes") != std::string::npos);
  CHECK(ran.err.find("node reuse                                                  25 %") !=
        std::string::npos);
  CHECK(ran.err.find("other steps in successful episodes                           0 %") !=
        std::string::npos);
  CHECK(ran.err.find("steps that can be compared                                  50 %") !=
        std::string::npos);
}

TEST_CASE("credit: damaged lines end in an error or in a result, never in a crash") {
  Stream dice(hash128("credit lines"));
  for (int i = 0; i < 1500; ++i) {
    std::string damaged = kSteps;
    for (std::uint64_t change = 0; change <= dice.below(3); ++change) {
      const std::size_t at = dice.below(damaged.size());
      switch (dice.below(3)) {
        case 0: damaged[at] = static_cast<char>(dice.below(256)); break;
        case 1: damaged.erase(at, 1 + dice.below(20)); break;
        default: damaged.insert(at, damaged.substr(dice.below(damaged.size()), dice.below(30)));
      }
    }
    const Ran ran = credit(damaged, {"--estimator", "graphgpo", "--ignore-unknown"});
    INFO(damaged << ran.err);
    REQUIRE((ran.status == 0 || ran.status == 2));
    REQUIRE((ran.status == 0 || ran.out.empty()));
    REQUIRE(ran.err.find("internal error") == std::string::npos);
  }
}

TEST_CASE("credit: a text of a megabyte is a state like any other") {
  const std::string text(1'000'000, 'x');
  const std::string line =
      "{\"task\":\"u\",\"episode\":\"e\",\"t\":0,\"state\":\"" + text + "\",\"success\":true}\n";
  const Ran ran = credit(line, {"--estimator", "graphgpo"});
  CHECK(ran.status == 0);
  CHECK(ran.out.find("\"step_return\":10,") != std::string::npos);
}

TEST_CASE("credit: a hundred thousand steps in one group, round and round") {
  std::string input;
  constexpr int kEpisodes = 2000, kTurns = 50;
  for (int e = 0; e < kEpisodes; ++e) {
    for (int t = 0; t < kTurns; ++t) {
      const int at = t % 7;  // a ring that even episodes never leave the place in
      input += "{\"task\":\"u\",\"episode\":" + std::to_string(e) + ",\"t\":" + std::to_string(t) +
               ",\"state\":\"" + std::to_string(at) + "\",\"next_state\":\"" +
               std::to_string((at + e % 2) % 7) + "\"" +
               (t + 1 == kTurns
                    ? e % 3 == 0 ? ",\"reward\":1,\"success\":true,\"done\":true" : ",\"truncated\":true"
                    : "") +
               "}\n";
    }
  }
  for (const std::string estimator : {"graphgpo", "evihb", "evih", "gigpo", "grpo"}) {
    const Ran ran = credit(input, {"--estimator", estimator});
    INFO(estimator << ": " << ran.err);
    REQUIRE(ran.status == 0);
    CHECK(std::count(ran.out.begin(), ran.out.end(), '\n') == kEpisodes * kTurns);
    for (const char* odd : {"nan", "inf", "\"advantage\":null"})
      CHECK(ran.out.find(odd) == std::string::npos);
  }
}

TEST_CASE("credit: an episode alone in its task, and tasks without any reward") {
  const std::string alone =
      "{\"task\":\"u\",\"episode\":\"a\",\"t\":0,\"state\":\"s\",\"next_state\":\"s\",\"reward\":1,"
      "\"success\":true}\n";
  const auto advantage = [&](const std::string& input, std::vector<std::string> words) {
    words.insert(words.begin(), "--estimator");
    const Ran ran = credit(input, words);
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    CHECK(ran.err.find("warning: ") != std::string::npos);
    const std::string line = lines_of(ran.out).at(0);
    return line.substr(line.find("\"advantage\":"));
  };
  CHECK(advantage(alone, {"graphgpo"}).starts_with("\"advantage\":0.999999"));  // as released
  CHECK(advantage(alone, {"graphgpo", "--preset", "paper"}).starts_with("\"advantage\":0,"));
  CHECK(advantage(alone, {"evihb"}).starts_with("\"advantage\":0,"));
  CHECK(advantage(alone, {"rloo", "--set", "lone_episode=zero"}).starts_with("\"advantage\":0,"));
  for (const std::string estimator : {"evihb", "graphgpo", "gigpo", "grpo", "rloo"}) {
    const std::string unscored =
        "{\"task\":\"u\",\"episode\":\"a\",\"t\":0,\"state\":\"s\",\"reward\":null}\n" +
        std::string("{\"task\":\"u\",\"episode\":\"b\",\"t\":0,\"state\":\"s\",\"reward\":null}\n");
    CHECK(advantage(unscored, {estimator}).starts_with("\"advantage\":0,\"group\":null"));
  }
}

TEST_CASE("credit --run: recomputes and stores beside the others") {
  const TemporaryFolder folder;
  REQUIRE(
      run({"rollout", "dummy", "--groups", "2", "--group-size", "3", "--out", folder / "run.db"}).status ==
      0);
  const Ran ran = run({"credit", "--run", folder / "run.db", "--estimator", "evihb"});
  INFO(ran.err);
  CHECK(ran.status == 0);
  CHECK(ran.err.find("stored as 'evihb'") != std::string::npos);
  const Ran steps = run({"export", folder / "run.db", "--format", "csv", "--out", "-"});
  CHECK(steps.out.find("evihb") != std::string::npos);
  CHECK(run({"credit", "--run", folder / "run.db", "--estimator", "evihb", "--out", "x"}).status == 2);
}

}  // namespace
}  // namespace lodestep::harness::test
