// Finds the noise of one batch of pages, by comparing views that must show the same state.
//   NoiseFinder finder(settings, known);
//   finder.read(batch);
//   finder.learn();                               // or judge() alone: by what is known already
//   std::vector<Hash128> keys = finder.keys();
//   finder.teach(model);                          // adds what the batch taught
// Threads: one at a time. Reads from `batch` only in read(). docs/matchers.md explains the method.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "canonicalizer/action_names.h"
#include "canonicalizer/matcher.h"
#include "canonicalizer/noise_model.h"
#include "canonicalizer/noise_settings.h"
#include "canonicalizer/segments.h"

namespace lodestep::canonicalizer {

class NoiseFinder {
 public:
  NoiseFinder(const NoiseSettings& settings, const NoiseModel& known);

  void read(std::span<const PageView> batch);
  void judge();  // verdicts from the known model alone
  void learn();  // verdicts from the batch and the known model
  std::vector<Hash128> keys();
  void teach(NoiseModel& model);
  bool typos_mended() const { return typos_mended_; }  // false also where the pages are boards

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  enum class Verdict : std::uint8_t { kOpen, kGenuine, kNoise };

  // A page with its admissible actions: views that share both share all work.
  struct Shape {
    std::vector<SegmentId> lines;
    std::vector<bool> is_protected;  // the line names an admissible action
    Hash128 actions;
    Hash128 guard;
    Hash128 protected_lines;
    Hash128 chosen;  // the options shown as chosen, each by the action that it is nearest to; with typos=on
    // Of the present round:
    Hash128 key, in_order, as_bag, as_word_bag;
    std::vector<SegmentId> open_lines;  // unprotected ones, effective, sorted
  };
  struct View {
    std::uint32_t group = 0;
    std::uint32_t shape = 0;
    std::uint32_t previous = kNone;
    std::uint32_t trajectory = 0;
    std::int64_t t = 0;
    std::optional<Hash128> action_before;
    bool first = false;
  };
  using Class = std::vector<std::pair<Hash128, std::uint32_t>>;  // class id, view; sorted
  struct Extra {
    std::uint32_t gap, shape;  // shape: position among the class's shapes
    SegmentId line;
  };

  // What decides most questions of is_edit_of without looking at the texts.
  struct Profile {
    std::uint64_t pairs = 0;                // a bit for each hashed pair of neighbouring bytes
    std::array<std::uint8_t, 32> counts{};  // of bytes modulo 32; lines of up to 255 bytes
    std::uint32_t length = 0;
  };

  void find_first_views();
  void find_step_counters();
  void mend_typos();
  Hash128 chosen_options(std::string_view page, std::span<const std::string> actions);
  std::string clean_text(const Shape& shape) const;
  std::vector<Hash128> states_of_misspelt_pages() const;  // per view, the key of the page that stands for it

  void start_round();           // effective lines and shape keys under the present verdicts
  void vote(bool first_round);  // a round's evidence
  void weigh_classes(Class& classes, bool first_views);
  bool comes_in_two_orders(std::span<const std::uint32_t> shapes, Hash128 Shape::*bag,
                           Hash128 Shape::*order) const;
  void weigh_class(std::span<const std::pair<Hash128, std::uint32_t>> views, bool first_views);
  void weigh_gap(std::span<const Extra> gap, const std::vector<SegmentId>& core, std::size_t shapes,
                 bool first_views);
  void find_volatile(std::span<const Extra> gap);
  void weigh_buckets();
  bool is_edit_of(SegmentId line, SegmentId other);
  bool may_be_edit_of(SegmentId line, SegmentId other) const;
  void decide();  // verdicts from votes
  Verdict verdict_by_votes(const Votes& line, const Votes& pattern) const;
  Verdict verdict_by_words(SegmentId line);
  void count_words(SegmentId line, Verdict verdict);
  void pass_verdict(SegmentId line, Verdict verdict);
  bool is_volatile(std::uint64_t context) const;
  SegmentId effective(SegmentId line) const { return effective_[line]; }
  void grow();

  NoiseSettings settings_;
  const NoiseModel& known_;
  SegmentBook book_;
  std::vector<Shape> shapes_;
  std::vector<View> views_;
  std::vector<std::string> groups_;
  std::unordered_map<Hash128, ActionNames, ContainerHash> action_names_;

  // By segment; grown together.
  std::vector<SegmentId> effective_;
  std::vector<SegmentId> mended_;  // the line that a misspelt one stands for; empty without mend_typos
  std::vector<Verdict> verdicts_;
  std::vector<Votes> votes_;
  std::vector<bool> is_masked_;
  std::vector<Profile> profiles_;
  std::vector<std::uint32_t> counter_;  // scratch: occurrences within one shape
  std::vector<bool> is_touched_;        // effective line or verdict differ from the round before
  std::vector<Votes> pattern_votes_;    // by template
  std::vector<Votes> features_;         // by feature
  std::uint32_t noise_lines_ = 0;

  std::unordered_set<std::uint64_t, ContainerHash> step_counters_, volatile_, stable_;
  std::uint32_t row_orders_ = 0, word_orders_ = 0;
  bool sort_rows_ = false, sort_words_ = false;
  bool rows_were_sorted_ = false, words_were_sorted_ = false, started_ = false;
  bool typos_mended_ = false;
  bool changed_ = false;                                          // something differs from the round before
  std::unordered_map<std::uint64_t, bool, ContainerHash> edits_;  // is_edit_of, by pair
  std::vector<Extra> extras_;
  std::vector<SegmentId> noise_voted_;
  std::vector<Hash128> in_order_, masked_;  // scratch of start_round
};

}  // namespace lodestep::canonicalizer
