// Reset groups: failed episodes are forked at a chosen step, and the policy is tried again from there.
//   Result<BranchRule> rule = read_branch_rule("first-mistake", 4);
//   std::vector<Branch> branches = choose_branches(recording, *rule, 16, 50, 6400, seed);
//   Result<RunTimes> times = run_branches(plan, {recording, branches, 4}, *policy, *recorder, {});   //
//   runner.h
// Threads: pure functions. After SRPO and RRPO (arXiv 2605.25507), in our reading: the suffixes of one fork
// are a group of their own, compared with one another alone; the prefix that they share gets no credit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/recording.h"

namespace lodestep::harness {

struct BranchRule {
  enum class Where {
    kRandom,        // any step
    kFirstMistake,  // the first step that led away from success, by the true distance where it was recorded,
                    // else by the group's graph
    kUncertain,     // the steps whose state succeeded as often as it failed, as nearly as possible
  };
  Where where = Where::kRandom;
  std::size_t places = 1;    // forks per episode, kUncertain only
  std::size_t suffixes = 8;  // tries from each fork
};

// "random", "first-mistake" or "uncertain:K". Fails on other words.
Result<BranchRule> read_branch_rule(const std::string& spec, std::size_t suffixes);

// One fork. Its group has a number of its own, behind all groups that were played from the start.
struct Branch {
  std::size_t group = 0;
  std::size_t parent_group = 0, parent_member = 0;
  std::size_t step = 0;  // steps that are kept; the next one is tried again
};

// One failed episode of each group is forked (drawn by the seed), in order of groups, as long as the budget
// allows: suffixes * (max_steps - step) turns are set aside for each fork, whatever it uses in the end.
// Groups without a failed episode, and episodes without the step that is looked for, are passed over.
// `first_group` is the number that the first branch gets; groups from there on are not forked again.
std::vector<Branch> choose_branches(const Recording& recording, const BranchRule& rule,
                                    std::size_t first_group, std::size_t max_steps, std::size_t step_budget,
                                    std::uint64_t seed);

// As it stands in the recording under kBranches: "GROUP:PARENT_GROUP:PARENT_MEMBER:STEP", separated by
// commas.
std::string to_text(const std::vector<Branch>& branches);
std::vector<Branch> parse_branches(const std::string& text);
// Fills `branched_from` of the episodes from the recording's own list; called by whoever reads a recording.
void mark_branches(Recording& recording);

}  // namespace lodestep::harness
