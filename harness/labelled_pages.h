// Observations that anyone recorded, one JSON object a line, and how well keys agree with their labels.
//   Result<LabelledPages> pages = read_pages("obs.jsonl", io);
//   Result<Matching> matching = matcher.match(pages->views());
//   Result<LabelAgreement> agreement = compare_with_labels(*pages, *matching);
// Threads: one. Views point into the pages. docs/matchers.md lists the fields.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "canonicalizer/agreement.h"
#include "canonicalizer/matcher.h"
#include "harness/command.h"
#include "harness/graph_agreement.h"

namespace lodestep::harness {

struct LabelledPage {
  std::string group, episode, text;
  std::int64_t t = 0;
  std::optional<std::vector<std::string>> actions;
  std::optional<std::string> action;  // taken from here
  std::optional<std::string> truth, truth_relevant, truth_stage;
  std::optional<std::string> task;  // groups of one task are batches of it
  std::optional<std::string> key;   // by a matcher of the user's own
  std::optional<bool> success;      // the episode succeeded
};

struct LabelledPages {
  std::deque<LabelledPage> pages;
  std::map<std::string, std::size_t> unknown_fields;  // and how many lines have them

  std::vector<canonicalizer::PageView> views() const;
};

extern const std::vector<std::string> kPageFields;

// Fails on the first line that is not as it must be, naming it.
Result<LabelledPages> read_pages(const std::string& path, Io& io);

// The keys that the lines themselves carry. Fails where one has none.
Result<canonicalizer::Matching> given_keys(const LabelledPages& pages);

struct LabelAgreement {
  std::vector<std::string> group_names;
  std::vector<canonicalizer::PairCounts> groups;
  canonicalizer::AgreementReport pairs;
  std::optional<GraphReport> graph;  // where lines tell of success
  std::optional<CrossBatch> order;   // where, besides, groups share a task
};

// Nothing without a truth on every line. Groups that have failed are left out. Fails where steps of an
// episode contradict each other.
Result<std::optional<LabelAgreement>> compare_with_labels(const LabelledPages& pages,
                                                          const canonicalizer::Matching& matching);

}  // namespace lodestep::harness
