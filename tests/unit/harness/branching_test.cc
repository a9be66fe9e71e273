// Reset groups: where failed episodes are forked, what the forks share, and what they cost.
#include "harness/branching.h"

#include <catch2/catch.hpp>
#include <set>

#include "harness/recorder.h"
#include "program.h"

namespace lodestep::harness::test {
namespace {

Situation at(const std::string& key, std::optional<double> distance = {}) {
  Situation s;
  s.observation = key;
  s.keys = {key, key, key};
  s.distance = distance;
  return s;
}

EpisodeRecord episode(std::size_t group, std::size_t member, const std::vector<std::string>& places,
                      bool success) {
  EpisodeRecord out;
  out.group = group;
  out.member = member;
  out.outcome = success ? Outcome::kSuccess : Outcome::kFailure;
  for (std::size_t t = 0; t + 1 < places.size(); ++t)
    out.steps.push_back({at(places[t]), "to " + places[t + 1]});
  out.last = at(places.back());
  return out;
}

std::vector<std::size_t> steps_of(const std::vector<Branch>& branches) {
  std::vector<std::size_t> out;
  for (const Branch& b : branches) out.push_back(b.step);
  return out;
}

TEST_CASE("branching: rules are read, and wrong ones refused with the known ones") {
  CHECK(read_branch_rule("random", 3)->suffixes == 3);
  CHECK(read_branch_rule("first-mistake", 1)->where == BranchRule::Where::kFirstMistake);
  CHECK(read_branch_rule("uncertain:4", 1)->places == 4);
  for (const char* wrong : {"", "uncertain", "uncertain:0", "uncertain:x", "first", "random:2"}) {
    INFO(wrong);
    const auto rule = read_branch_rule(wrong, 1);
    REQUIRE(!rule.ok());
    CHECK(rule.error().hint.find("first-mistake") != std::string::npos);
  }
}

TEST_CASE(
    "branching: the first mistake is the first step away from success, by the graph or by true distances") {
  Recording recording;
  recording.episodes = {episode(0, 0, {"hall", "kitchen", "table"}, true),
                        episode(0, 1, {"hall", "kitchen", "hall", "garden"}, false)};
  const BranchRule rule{BranchRule::Where::kFirstMistake, 1, 2};
  auto branches = choose_branches(recording, rule, 1, 10, 1000, 0);
  REQUIRE(branches.size() == 1);
  CHECK(branches[0].group == 1);
  CHECK(branches[0].parent_member == 1);
  CHECK(branches[0].step == 1);  // from the kitchen back to the hall
  // Where distances are recorded they decide: here only the last step leads away.
  const double far[] = {3, 2, 1};
  for (std::size_t t = 0; t < 3; ++t) recording.episodes[1].steps[t].before.distance = far[t];
  recording.episodes[1].last.distance = 4;
  CHECK(steps_of(choose_branches(recording, rule, 1, 10, 1000, 0)) == std::vector<std::size_t>{2});
  // A group that never succeeded and knows no distances shows no mistake.
  recording.episodes = {episode(0, 0, {"a", "b", "a"}, false)};
  CHECK(choose_branches(recording, rule, 1, 10, 1000, 0).empty());
}

TEST_CASE("branching: uncertain places are those that succeed about half of the time") {
  Recording recording;
  recording.episodes = {episode(0, 0, {"hall", "kitchen", "table"}, true),
                        episode(0, 1, {"hall", "kitchen", "garden", "shed"}, false),
                        episode(0, 2, {"hall", "garden", "shed"}, false)};
  const auto branches = choose_branches(recording, {BranchRule::Where::kUncertain, 2, 1}, 1, 10, 1000, 0);
  for (const Branch& b : branches) {
    const auto& parent = recording.episodes[b.parent_member];
    const std::string& place = parent.steps[b.step].before.keys.exact;
    CHECK((place == "kitchen" || place == "hall"));  // 1 of 2 and 1 of 3; the garden never succeeded
  }
  CHECK(!branches.empty());
}

TEST_CASE(
    "branching: turns are set aside from the budget of the run, groups without failures are passed over") {
  Recording recording;
  for (std::size_t g = 0; g < 4; ++g) recording.episodes.push_back(episode(g, 0, {"a", "b", "c"}, g == 1));
  const BranchRule rule{BranchRule::Where::kRandom, 1, 3};
  const auto all = choose_branches(recording, rule, 4, 5, 1000, 0);
  REQUIRE(all.size() == 3);
  CHECK(all[1].parent_group == 2);
  // 8 steps are spent; each fork sets aside 3 times the turns that are left.
  const std::size_t first = 3 * (5 - all[0].step);
  CHECK(choose_branches(recording, rule, 4, 5, 8 + first, 0).size() == 1);
  CHECK(choose_branches(recording, rule, 4, 5, 8 + first - 1, 0).empty());
  const auto read = parse_branches(to_text(all));
  REQUIRE(read.size() == all.size());
  CHECK(to_text(read) == to_text(all));
}

const std::vector<std::string> kJob{"rollout",    "sokoban",     "--groups", "6",        "--group-size",
                                    "4",          "--max-steps", "10",       "--policy", "mixed:0.8",
                                    "--branches", "3",           "--branch"};

std::vector<std::string> job(const std::string& branch, const std::string& out,
                             const std::string& threads = "2") {
  std::vector<std::string> words = kJob;
  words.insert(words.end(), {branch, "--threads", threads, "--out", out});
  return words;
}

TEST_CASE("branching: suffixes start where their parent stood, and only they get credit") {
  for (const std::string branch : {"random", "first-mistake", "uncertain:2"}) {
    INFO(branch);
    const TemporaryFolder folder;
    const Ran ran = run(job(branch, folder / "run.db"));
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    CHECK(ran.out.find("reset groups") != std::string::npos);
    const auto recording = read_recording(folder / "run.db");
    REQUIRE(recording.ok());
    std::size_t forks = 0, spent = 0, row = 0, credited = 0;
    std::set<std::string> endings;
    for (const EpisodeRecord& e : recording->episodes) {
      spent += e.own_steps();
      if (!e.branched_from) {
        row += e.steps.size();
        continue;
      }
      ++forks;
      const Origin from = *e.branched_from;
      const EpisodeRecord& parent = recording->episodes[from.group * 4 + from.member];
      REQUIRE(parent.group == from.group);
      CHECK(parent.outcome != Outcome::kSuccess);
      CHECK(e.task.id == parent.task.id);
      CHECK(e.steps.size() <= 10);
      for (std::size_t t = 0; t < from.step; ++t) CHECK(e.steps[t].action == parent.steps[t].action);
      CHECK(e.steps[from.step].before.state_hash == parent.steps[from.step].before.state_hash);
      for (std::size_t t = 0; t < e.steps.size(); ++t, ++row) {
        for (const Estimate& estimate : recording->estimates) {
          if (t < from.step) CHECK(estimate.advantage[row] == 0);
          if (t < from.step) CHECK(!estimate.group[row]);
          credited += estimate.advantage[row] != 0 ? 1 : 0;
        }
      }
    }
    CHECK(forks > 0);
    CHECK(forks % 3 == 0);
    CHECK(credited > 0);
    CHECK(spent <= 6 * 4 * 10);
    CHECK(run({"export", folder / "run.db"}).out.find("\"prefix\":false") != std::string::npos);
    CHECK(run({"export", folder / "run.db", "--format", "csv"}).out.find(",prefix\n") != std::string::npos);
    CHECK(run({"report", folder / "run.db"}).status == 0);
  }
}

TEST_CASE("branching: the same bytes with any number of threads, and after an interruption anywhere") {
  const TemporaryFolder folder;
  REQUIRE(run(job("random", folder / "1.db", "1")).status == 0);
  REQUIRE(run(job("random", folder / "4.db", "4")).status == 0);
  const std::string whole = run({"export", folder / "1.db"}).out;
  CHECK(whole == run({"export", folder / "4.db"}).out);
  const auto recording = read_recording(folder / "1.db");
  REQUIRE(recording.ok());
  for (const std::size_t kept : {std::size_t{5}, std::size_t{24}, std::size_t{26}}) {
    const std::string part = folder / ("part" + std::to_string(kept) + ".db");
    RunInfo info = recording->info;
    if (kept <= 24) info.erase(kBranches);  // not chosen yet
    {
      const auto recorder = create_recording(part, info);
      REQUIRE(recorder.ok());
      for (std::size_t e = 0; e < kept; ++e) REQUIRE((*recorder)->add(recording->episodes[e]).ok());
      REQUIRE((*recorder)->flush().ok());
    }
    const Ran resumed = run({"rollout", "sokoban", "--resume", part});
    INFO(resumed.err);
    REQUIRE(resumed.status == 0);
    CHECK(run({"export", part}).out == whole);
  }
}

TEST_CASE("rollout: options and estimators that do not fit are refused before a file is made") {
  const TemporaryFolder folder;
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"rollout", "dummy", "--out", folder / "run.db"});
    const Ran ran = run(words);
    INFO(ran.err);
    CHECK(ran.status == 2);
    CHECK(!std::filesystem::exists(folder / "run.db"));
  };
  refused({"--branch", "sometimes"});
  refused({"--branches", "4"});
  refused({"--branch", "random", "--branches", "0"});
  refused({"--estimator", "grpo,gae"});                           // no critic plays along
  refused({"--estimator", "evihb", "--set", "levels=task.3:1"});  // there are three keys
}

}  // namespace
}  // namespace lodestep::harness::test
