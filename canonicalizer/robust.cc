#include "canonicalizer/robust.h"

#include <algorithm>

#include "canonicalizer/guard.h"
#include "canonicalizer/noise_finder.h"
#include "canonicalizer/noise_model.h"

namespace lodestep::canonicalizer {
namespace {

enum class Scope {
  kBatch,   // evidence of the batch itself and of what was loaded
  kStream,  // evidence of the batches before, so that a key needs no later view; the first batch as kBatch
  kFrozen,  // what was loaded alone; nothing is learnt
};

class RobustMatcher : public Matcher {
 public:
  RobustMatcher(const NoiseSettings& settings, Scope scope) : settings_(settings), scope_(scope) {}

  Result<Matching> match(std::span<const PageView> batch) override {
    if (scope_ == Scope::kFrozen && loaded_.empty()) {
      return Error{ErrorCode::kInvalidArgument, "scope=frozen needs a noise model", "matcher robust",
                   "load one that an earlier run has saved"};
    }
    Matching matching;
    matching.notes = notes(batch);
    if (scope_ == Scope::kBatch || (scope_ == Scope::kStream && learnt_.empty())) {
      NoiseFinder finder(settings_, loaded_);
      finder.read(batch);
      finder.learn();
      if (settings_.typos == Typos::kOn && !finder.typos_mended()) {
        matching.notes.push_back(
            "typos=on has no effect: with fewer than 4 sets of actions a group, a letter may tell states "
            "apart");
      }
      matching.keys = finder.keys();
      finder.teach(learnt_);
      return matching;
    }
    const NoiseModel& model = scope_ == Scope::kStream ? learnt_ : loaded_;
    NoiseFinder finder(settings_, model);
    finder.read(batch);
    finder.judge();
    const Hash128 version = model.version();
    for (const Hash128& key : finder.keys()) {
      matching.keys.push_back(
          Hasher().add_u64(version.high).add_u64(version.low).add_u64(key.high).add_u64(key.low).finish());
    }
    if (scope_ == Scope::kStream) {
      NoiseFinder next(settings_, learnt_);
      next.read(batch);
      next.learn();
      next.teach(learnt_);
    }
    return matching;
  }

  std::string save() const override { return learnt_.serialize(); }

  Status load(std::string_view saved) override {
    NoiseModel model;
    if (Status parsed = model.parse(saved); !parsed) return parsed;
    loaded_ = model;
    learnt_ = std::move(model);
    return {};
  }

 private:
  std::vector<std::string> notes(std::span<const PageView> batch) const {
    std::vector<std::string> notes = notes_on(settings_.guard, batch);
    std::size_t later = 0;
    std::size_t unexplained = 0;
    bool one_group = true;
    for (const PageView& view : batch) {
      if (view.t != batch.front().t) ++later;
      if (view.t != batch.front().t && (!view.previous || !view.action_before)) ++unexplained;
      one_group = one_group && view.group == batch.front().group;
    }
    if (unexplained > 0) {
      notes.push_back("no action taken or no observation before for " + std::to_string(unexplained) + " of " +
                      std::to_string(later) +
                      " later views: noise is found from first views and equal action lists only, so more "
                      "states are split");
    }
    if (one_group && !batch.empty() && loaded_.empty() && learnt_.empty()) {
      notes.push_back(
          "one group and no noise model: expect noisy states to be split; match several groups "
          "at once, load a model, or set witness=relaxed");
    }
    return notes;
  }

  NoiseSettings settings_;
  Scope scope_;
  NoiseModel loaded_;  // by load()
  NoiseModel learnt_;  // that and all batches since
};

Result<std::unique_ptr<Matcher>> make(const Options& options) {
  NoiseSettings settings;
  settings.guard = parse_guard(options);
  const Result<std::int64_t> support = options.integer("min_support", 1, 1000);
  const Result<std::int64_t> rounds = options.integer("rounds", 1, 20);
  const Result<double> ratio = options.number("ratio", 0, 100);
  const Result<double> word_sum = options.number("word_sum", 0, 1000);
  const Result<double> word_mean = options.number("word_mean", 0, 100);
  if (!support) return support.error();
  if (!rounds) return rounds.error();
  for (const Result<double>* number : {&ratio, &word_sum, &word_mean}) {
    if (!*number) return number->error();
  }
  settings.min_support = static_cast<std::uint32_t>(*support);
  settings.rounds = static_cast<int>(*rounds);
  settings.ratio = *ratio;
  settings.word_sum = *word_sum;
  settings.word_mean = *word_mean;
  const std::string& order = options.text("order");
  settings.order = order == "keep"     ? LineOrder::kKeep
                   : order == "sorted" ? LineOrder::kSorted
                                       : LineOrder::kAuto;
  const std::string& witness = options.text("witness");
  settings.witness = witness == "first"     ? Witness::kFirst
                     : witness == "relaxed" ? Witness::kRelaxed
                                            : Witness::kStrict;
  settings.typos = options.text("typos") == "on" ? Typos::kOn : Typos::kOff;
  if (settings.typos == Typos::kOn && options.text("scope") != "batch") {
    return Error{ErrorCode::kInvalidArgument, "typos=on needs scope=batch", "matcher robust",
                 "a misspelt line is known by the lines of its own batch"};
  }
  const std::string& scope = options.text("scope");
  return std::unique_ptr<Matcher>(std::make_unique<RobustMatcher>(settings, scope == "stream" ? Scope::kStream
                                                                            : scope == "frozen"
                                                                                ? Scope::kFrozen
                                                                                : Scope::kBatch));
}

}  // namespace

MatcherKind robust_kind() {
  return {"robust",
          "what is left of a page without its noise, found by evidence, and its admissible actions",
          {{"scope",
            "batch",
            "evidence: this batch and what is loaded; the batches before; the loaded model alone",
            {"batch", "stream", "frozen"}},
           guard_option(),
           {"min_support", "1", "noise votes needed", {}},
           {"ratio", "0.2", "noise votes needed per genuine vote", {}},
           {"word_sum", "2", "least sum of word weights of an unseen noise line", {}},
           {"word_mean", "0.3", "and least mean", {}},
           {"rounds", "3", "of evidence and verdicts", {}},
           {"order",
            "auto",
            "of lines in a key: auto ignores it once it was seen to vary",
            {"auto", "keep", "sorted"}},
           {"typos", "off", "on: lines seen once join a line with a few other letters", {"off", "on"}},
           {"witness", "strict", "which views are taken to show one state", {"strict", "first", "relaxed"}}},
          make};
}

}  // namespace lodestep::canonicalizer
