// What every matcher is: page views in, one key for each out; equal keys mean "the same state".
//   Result<std::unique_ptr<Matcher>> matcher = MatcherRegistry().make("lexical", {{"threshold", "0.9"}});
//   Result<Matching> matching = (*matcher)->match(views);
//   std::vector<std::uint32_t> node = number_by_first_appearance(matching->keys);
// Threads: one matcher, one thread at a time. Views point into the caller's text and own nothing.
// Derive from Matcher and hand a MatcherKind to MatcherRegistry (registry.h) to add your own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace lodestep::canonicalizer {

// One observation as the agent read it, with what is known about how it came about. Whatever is
// absent stays nullopt: a matcher that would need it says so in its notes.
struct PageView {
  std::string_view group;       // keys never join two groups
  std::string_view trajectory;  // an episode of that group
  std::int64_t t = 0;           // time step within the trajectory
  std::string_view text;        // UTF-8; other bytes are matched as bytes and reported
  std::optional<std::span<const std::string>> actions;  // admissible here, in any order
  std::optional<std::string_view> action_before;        // the action that led here
  std::optional<std::size_t> previous;                  // index in the batch of the view it was taken from
  std::optional<std::string_view> truth;                // the environment's own keys, where it has them
  std::optional<std::string_view> truth_relevant;
  std::optional<std::string_view> truth_stage;
};

struct MatchCost {
  std::uint64_t comparisons = 0;  // pairs of texts really compared (ratios, cosines)
  std::uint64_t avoided = 0;      // pairs decided by equality or a bound alone
};

struct GroupFailure {
  std::string group;
  Error error;
};

struct Matching {
  std::vector<Hash128> keys;  // one a view, in order; holds the group, so groups never share one
  MatchCost cost;
  std::vector<std::string> notes;    // what the caller should tell the user, one line each
  std::vector<GroupFailure> failed;  // these groups' keys mean nothing; everybody else's are sound
};

class Matcher {
 public:
  Matcher() = default;
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;
  virtual ~Matcher() = default;

  // Keys for one batch. Fails when the batch as a whole cannot be matched (say, no true keys were
  // recorded); a trouble of single groups is a GroupFailure. May learn from the batch for the next.
  virtual Result<Matching> match(std::span<const PageView> batch) = 0;

  // What was learnt so far, versioned; empty for a matcher without memory.
  virtual std::string save() const { return {}; }
  // Goes on from saved bytes. Fails on foreign or damaged bytes and then changes nothing.
  virtual Status load(std::string_view saved);
};

// Dense numbers for keys, in order of first appearance: {k7, k3, k7} is {0, 1, 0}.
std::vector<std::uint32_t> number_by_first_appearance(std::span<const Hash128> keys);

}  // namespace lodestep::canonicalizer
