// Which states of a step file are one state.
//   Result<StepMatching> matching = match_steps("difflib", {}, info, options, steps);
//   request.matcher = matching->matcher;
// Threads: the matcher may be called from several threads. Borrows the step file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "graph/estimator.h"
#include "harness/steps_jsonl.h"

namespace lodestep::harness {

struct StepMatching {
  graph::Matcher matcher;          // empty: equal states only
  std::vector<std::string> notes;  // for the user, one line each
};

// `name`: exact, difflib, difflib-no-autojunk, indel, state_hash (equal hashes of the steps), or a state
// matcher of the canonicalizer, which sees the states of a task as texts in order of first appearance. The
// estimator's option `similarity` stands for difflib, and `similarity_threshold` is the threshold of the
// three. Fails on an unknown name or setting, and where gigpo is asked to merge states that are no text.
Result<StepMatching> match_steps(const std::string& name, const Settings& settings,
                                 const graph::EstimatorInfo& estimator, const Options& options,
                                 const StepFile& steps);

// The estimator's settings with a matcher: its groups join what the graph joins
// (group_matching=same-as-graph), unless the settings or a preset say otherwise. The three names of difflib's
// clustering keep the released code's groups, which stay exact.
Settings with_groups_by_matcher(const std::string& estimator, const std::string& preset,
                                const std::string& matcher, Settings settings);

// Where the steps bring true state hashes: how far these and the states agree, in a line for a person;
// nullopt when they do, or when there are none.
std::optional<std::string> compare_hashes(const StepFile& steps);

}  // namespace lodestep::harness
