#include "canonicalizer/noise_finder.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "canonicalizer/edit_distance.h"
#include "canonicalizer/misspelt_pages.h"

namespace lodestep::canonicalizer {
namespace {

constexpr double kEditSimilarity = 0.6;
constexpr std::uint32_t kClearly = 5;  // votes of one kind per vote of the other
constexpr std::size_t kLongestCounted = 255;
constexpr std::uint32_t kNoiseLinesForWords = 5;
constexpr std::uint32_t kClassesForOrder = 2;
// Two views that differ may as well be two states: so many are needed to call first views, or numbers, noisy.
constexpr std::size_t kViewsForDoubt = 3;

// Of a bag of things: the same in any order.
void add_to(Hash128& bag, const Hash128& part) {
  bag.high += part.high;
  bag.low += part.low;
}

// Of a list of hashes. They are well mixed already, so a polynomial will do; pages have many lines.
Hash128 hash_of(const std::vector<Hash128>& parts) {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  for (const Hash128& part : parts) {
    high = high * 0x9e3779b97f4a7c15 + part.high;
    low = low * 0xd6e8feb86659fd93 + part.low;
  }
  return Hasher().add_u64(parts.size()).add_u64(high).add_u64(low).finish();
}

}  // namespace

NoiseFinder::NoiseFinder(const NoiseSettings& settings, const NoiseModel& known)
    : settings_(settings), known_(known) {
  sort_rows_ = settings.order == LineOrder::kSorted;
}

// ---------------------------------------------------------------- reading

void NoiseFinder::read(std::span<const PageView> batch) {
  std::unordered_map<std::string_view, std::uint32_t, ContainerHash> groups;
  std::unordered_map<Hash128, std::uint32_t, ContainerHash> trajectories;
  std::unordered_map<Hash128, std::uint32_t, ContainerHash> shapes;
  views_.reserve(batch.size());
  for (const PageView& page : batch) {
    View view;
    const auto [group, is_new_group] =
        groups.try_emplace(page.group, static_cast<std::uint32_t>(groups_.size()));
    if (is_new_group) groups_.emplace_back(page.group);
    view.group = group->second;
    view.trajectory = trajectories
                          .try_emplace(Hasher().add_u64(view.group).add(page.trajectory).finish(),
                                       static_cast<std::uint32_t>(trajectories.size()))
                          .first->second;
    view.t = page.t;
    if (page.previous) {
      LODESTEP_CHECK(*page.previous < batch.size(), *page.previous, batch.size());
      view.previous = static_cast<std::uint32_t>(*page.previous);
    }
    if (page.action_before) view.action_before = hash128(*page.action_before);

    const Hash128 actions = page.actions ? hash_of_actions(*page.actions) : Hash128{};
    const Hash128 content = Hasher().add(page.text).add_u64(actions.high).add_u64(actions.low).finish();
    const auto [shape, is_new_shape] =
        shapes.try_emplace(content, static_cast<std::uint32_t>(shapes_.size()));
    view.shape = shape->second;
    views_.push_back(view);
    if (!is_new_shape) continue;

    Shape entry;
    entry.actions = actions;
    entry.guard = settings_.guard == Guard::kActions ? actions : Hash128{};
    static const ActionNames kNoNames;
    const ActionNames* names = &kNoNames;
    if (page.actions) {
      const auto known = action_names_.find(actions);
      names = known != action_names_.end()
                  ? &known->second
                  : &action_names_.emplace(actions, ActionNames(*page.actions)).first->second;
    }
    std::vector<Hash128> protected_lines;
    for (const std::string_view raw : segments_of(page.text)) {
      const SegmentBook::Line& line = book_.line(raw);
      const bool is_protected = line.plain != kNoSegment && names->contains(line.bare);
      const SegmentId id = is_protected ? line.plain : line.segment;
      if (id == kNoSegment) continue;
      entry.lines.push_back(id);
      entry.is_protected.push_back(is_protected);
      if (is_protected) protected_lines.push_back(book_.segment(id).hash);
    }
    std::sort(protected_lines.begin(), protected_lines.end());
    entry.protected_lines = hash_of(protected_lines);
    if (settings_.typos == Typos::kOn && page.actions)
      entry.chosen = chosen_options(page.text, *page.actions);
    shapes_.push_back(std::move(entry));
  }
  find_first_views();
  find_step_counters();
  if (settings_.typos == Typos::kOn) mend_typos();
}

// The views that start an episode: the earliest of their trajectory, at the time at which the group starts.
void NoiseFinder::find_first_views() {
  std::map<std::uint32_t, std::int64_t> start_of_group;
  std::map<std::uint32_t, std::size_t> first_of_trajectory;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const View& view = views_[i];
    const auto group = start_of_group.try_emplace(view.group, view.t).first;
    group->second = std::min(group->second, view.t);
    const auto first = first_of_trajectory.try_emplace(view.trajectory, i).first;
    if (view.t < views_[first->second].t) first->second = i;
  }
  for (const auto& [trajectory, i] : first_of_trajectory) {
    views_[i].first = views_[i].previous == kNone && views_[i].t == start_of_group[views_[i].group];
  }
}

// Contexts whose number counts the steps: number - t (or number + t, for steps left) is the same in every
// view.
void NoiseFinder::find_step_counters() {
  constexpr std::size_t kViews = 12;
  constexpr std::size_t kTimes = 4;
  constexpr std::size_t kTrajectories = 2;
  struct Track {
    bool up = true, down = true, started = false;
    std::int64_t sum = 0, difference = 0;
    std::size_t views = 0;
    std::vector<std::int64_t> times;
    std::vector<std::uint32_t> trajectories;
  };
  struct Value {
    Track* track;
    std::optional<std::int64_t> number;
  };
  std::unordered_map<std::uint64_t, Track, ContainerHash> tracks;
  std::vector<std::optional<std::vector<Value>>> values(book_.size());  // by segment
  const auto note = [](auto& seen, auto item, std::size_t enough) {
    if (seen.size() < enough && std::find(seen.begin(), seen.end(), item) == seen.end()) seen.push_back(item);
  };
  for (const View& view : views_) {
    const Shape& shape = shapes_[view.shape];
    for (std::size_t i = 0; i < shape.lines.size(); ++i) {
      if (shape.is_protected[i]) continue;
      std::optional<std::vector<Value>>& numbers = values[shape.lines[i]];
      if (!numbers) {
        numbers.emplace();
        const Segment& segment = book_.segment(shape.lines[i]);
        for (const Number& number : segment.numbers) {
          const std::string_view digits =
              std::string_view(segment.text).substr(number.begin, number.end - number.begin);
          numbers->push_back({&tracks[number.context], parse_int(digits)});
        }
      }
      for (const auto& [track, number] : *numbers) {
        if (!track->up && !track->down) continue;
        if (!number) {
          track->up = track->down = false;
          continue;
        }
        if (!track->started) {
          track->started = true;
          track->sum = *number + view.t;
          track->difference = *number - view.t;
        }
        track->up = track->up && *number - view.t == track->difference;
        track->down = track->down && *number + view.t == track->sum;
        ++track->views;
        note(track->times, view.t, kTimes);
        note(track->trajectories, view.trajectory, kTrajectories);
      }
    }
  }
  for (const auto& [context, track] : tracks) {
    if ((track.up || track.down) && track.views >= kViews && track.times.size() >= kTimes &&
        track.trajectories.size() >= kTrajectories) {
      step_counters_.insert(context);
    }
  }
}

// A line seen once that is a line seen more often but for a few letters of words seen nowhere else.
void NoiseFinder::mend_typos() {
  constexpr double kShare = 0.08;         // of the letters
  constexpr std::size_t kActionSets = 4;  // fewer a group: a board, where one letter may be a whole state
  std::map<std::uint32_t, std::set<Hash128>> action_sets;
  std::vector<std::uint32_t> seen(book_.size());
  std::vector<std::uint32_t> words;  // how often each feature is seen, one line counted twice at most
  for (const View& view : views_) {
    const Shape& shape = shapes_[view.shape];
    action_sets[view.group].insert(shape.actions);
    for (const SegmentId line : shape.lines) {
      if (++seen[line] > 2) continue;
      const std::span<const FeatureId> features = book_.features(line);
      words.resize(book_.feature_count());
      for (const FeatureId word : features) ++words[word];
    }
  }
  const auto is_rich = [&](const auto& group) { return group.second.size() >= kActionSets; };
  if (!std::any_of(action_sets.begin(), action_sets.end(), is_rich)) return;
  typos_mended_ = true;
  grow();
  const auto numbers_of = [&](SegmentId line) {
    std::vector<std::string_view> numbers;
    const Segment& segment = book_.segment(line);
    for (const Number& number : segment.numbers) {
      numbers.push_back(std::string_view(segment.text).substr(number.begin, number.end - number.begin));
    }
    return numbers;
  };
  const auto is_misspelt = [&](SegmentId line, SegmentId right) {
    const std::span<const FeatureId> known = book_.features(right);
    const std::span<const FeatureId> mine = book_.features(line);
    return std::all_of(mine.begin(), mine.end(), [&](FeatureId word) {
      return words[word] == 1 || std::find(known.begin(), known.end(), word) != known.end();
    });
  };
  mended_.assign(book_.size(), kNoSegment);
  for (SegmentId line = 0; line < seen.size(); ++line) {
    if (seen[line] != 1) continue;
    const std::string& text = book_.segment(line).text;
    auto nearest = static_cast<std::size_t>(kShare * static_cast<double>(text.size())) + 1;
    for (SegmentId right = 0; right < seen.size(); ++right) {
      if (seen[right] < 2 || profiles_[right].length + nearest <= text.size() ||
          text.size() + nearest <= profiles_[right].length) {
        continue;
      }
      if (numbers_of(line) != numbers_of(right) || !is_misspelt(line, right)) continue;
      const std::size_t distance = edit_distance(text, book_.segment(right).text);
      const bool tie = distance == nearest && mended_[line] != kNoSegment &&
                       book_.segment(right).hash < book_.segment(mended_[line]).hash;
      if (distance >= nearest && !tie) continue;
      nearest = distance;
      mended_[line] = right;
    }
  }
}

// Each label shown as chosen, as the admissible action writes it where a typing error hides the name.
Hash128 NoiseFinder::chosen_options(std::string_view page, std::span<const std::string> actions) {
  constexpr std::string_view kChosen = "[clicked button]";
  constexpr double kAlike = 0.75;
  std::vector<Hash128> chosen;
  for (const std::string_view raw : segments_of(page)) {
    const SegmentId plain = book_.line(raw).plain;
    if (plain == kNoSegment || !book_.segment(plain).text.starts_with(kChosen)) continue;
    const std::string_view label = without_marks(book_.segment(plain).text);
    std::string nearest(label);
    double best = kAlike;
    for (const std::string& name : names_of(actions)) {
      const double alike = edit_similarity(name, label);
      if (alike < best || (alike == best && name >= nearest)) continue;
      best = alike;
      nearest = name;
    }
    chosen.push_back(hash128(nearest));
  }
  std::sort(chosen.begin(), chosen.end());
  return hash_of(chosen);
}

// ---------------------------------------------------------------- rounds

void NoiseFinder::grow() {
  for (auto id = static_cast<SegmentId>(effective_.size()); id < book_.size(); ++id) {
    effective_.push_back(id);
    const std::string& text = book_.segment(id).text;
    is_masked_.push_back(text.find(kMask) != std::string::npos);
    Profile& profile = profiles_.emplace_back();
    profile.length = static_cast<std::uint32_t>(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (text.size() <= kLongestCounted) ++profile.counts[byte % 32];
      if (i > 0)
        profile.pairs |= std::uint64_t{1} << ((static_cast<unsigned char>(text[i - 1]) * 37U + byte) % 64);
    }
  }
  verdicts_.resize(book_.size(), Verdict::kOpen);
  votes_.resize(book_.size());
  counter_.resize(book_.size());
  is_touched_.resize(book_.size(), false);
}

bool NoiseFinder::is_volatile(std::uint64_t context) const {
  if (step_counters_.contains(context)) return true;
  const Votes known = known_.context(context);
  if (known.genuine > 0 || stable_.contains(context)) return false;
  return known.noise > 0 || volatile_.contains(context);
}

void NoiseFinder::start_round() {
  grow();
  const auto lines = static_cast<SegmentId>(effective_.size());
  for (SegmentId id = 0; id < lines; ++id) {
    if (is_masked_[id] || book_.segment(id).text.front() == '\x02') continue;
    const SegmentId written = id < mended_.size() && mended_[id] != kNoSegment ? mended_[id] : id;
    SegmentId now = book_.masked(written, [this](std::uint64_t context) { return is_volatile(context); });
    if (sort_words_ && book_.segment(now).has_comma) now = book_.words_sorted(now);
    grow();
    if (effective_[id] != now) is_touched_[id] = changed_ = true;
    effective_[id] = now;
  }
  grow();
  const bool all = !started_ || sort_words_ != words_were_sorted_ || sort_rows_ != rows_were_sorted_;
  changed_ = changed_ || all;
  started_ = true;
  words_were_sorted_ = sort_words_;
  rows_were_sorted_ = sort_rows_;
  for (Shape& shape : shapes_) {
    const auto is_touched = [&](SegmentId line) { return is_touched_[line] || is_touched_[effective(line)]; };
    if (!all && std::none_of(shape.lines.begin(), shape.lines.end(), is_touched)) continue;
    in_order_.clear();
    masked_.clear();
    shape.as_bag = shape.as_word_bag = {};
    shape.open_lines.clear();
    for (std::size_t i = 0; i < shape.lines.size(); ++i) {
      const bool is_protected = shape.is_protected[i];
      const SegmentId id = is_protected ? shape.lines[i] : effective(shape.lines[i]);
      if (!is_protected) {
        shape.open_lines.push_back(id);
        if (verdicts_[id] == Verdict::kNoise) continue;
      }
      const Hash128& hash = book_.segment(id).hash;
      (is_masked_[id] && !is_protected ? masked_ : in_order_).push_back(hash);
      if (!sort_words_ && !is_protected && book_.segment(id).has_comma) {
        const SegmentId sorted = book_.words_sorted(id);
        grow();
        add_to(shape.as_word_bag, book_.segment(sorted).hash);
      } else {
        add_to(shape.as_word_bag, hash);
      }
      add_to(shape.as_bag, hash);
    }
    std::sort(shape.open_lines.begin(), shape.open_lines.end());
    std::sort(masked_.begin(), masked_.end());
    in_order_.insert(in_order_.end(), masked_.begin(), masked_.end());
    shape.in_order = hash_of(in_order_);
    shape.key = hash_of({shape.guard, sort_rows_ ? shape.as_bag : shape.in_order});
  }
  std::fill(is_touched_.begin(), is_touched_.end(), false);
}

void NoiseFinder::judge() {
  sort_rows_ = settings_.order == LineOrder::kSorted ||
               (settings_.order == LineOrder::kAuto && known_.row_orders() >= kClassesForOrder);
  sort_words_ = settings_.order == LineOrder::kAuto && known_.word_orders() >= kClassesForOrder;
  start_round();
  decide();
  start_round();
}

void NoiseFinder::learn() {
  if (!known_.empty()) {
    judge();
  } else {
    start_round();
  }
  for (int round = 0; round < settings_.rounds; ++round) {
    changed_ = false;
    const bool first = round == 0 && known_.empty();
    vote(first);
    decide();
    start_round();
    const bool order_waits = first && std::max(row_orders_, word_orders_) >= kClassesForOrder;
    if (!changed_ && !order_waits) break;  // the next round would see what this one saw
  }
}

void NoiseFinder::vote(bool first_round) {
  std::fill(votes_.begin(), votes_.end(), Votes{});
  pattern_votes_.assign(book_.templates(), Votes{});
  row_orders_ = word_orders_ = 0;
  Class first;
  Class after;
  for (std::uint32_t i = 0; i < views_.size(); ++i) {
    const View& view = views_[i];
    const Shape& shape = shapes_[view.shape];
    Hasher id;
    id.add_u64(view.group).add_u64(shape.actions.high).add_u64(shape.actions.low);
    if (view.first) {
      first.emplace_back(id.finish(), i);
    } else if (view.previous != kNone && view.action_before && settings_.witness != Witness::kFirst) {
      const Hash128& from = shapes_[views_[view.previous].shape].key;
      for (const Hash128& part : {from, *view.action_before, shape.protected_lines}) {
        id.add_u64(part.high).add_u64(part.low);
      }
      after.emplace_back(id.finish(), i);
    }
  }
  weigh_classes(first, true);
  weigh_classes(after, false);
  weigh_buckets();
  if (settings_.witness == Witness::kRelaxed) {
    Class relaxed;
    for (std::uint32_t i = 0; i < views_.size(); ++i) {
      const View& view = views_[i];
      const Shape& shape = shapes_[view.shape];
      if (!view.action_before) continue;
      Hasher id;
      id.add_u64(view.group);
      for (const Hash128& part : {*view.action_before, shape.actions, shape.protected_lines}) {
        id.add_u64(part.high).add_u64(part.low);
      }
      for (const SegmentId line : shape.open_lines) {
        if (votes_[line].genuine > 0) id.add_u64(line);
      }
      relaxed.emplace_back(id.finish(), i);
    }
    weigh_classes(relaxed, false);
  }
  // Noise that is not known yet comes in every order, and says nothing about the page's own lines.
  if (settings_.order == LineOrder::kAuto && !first_round) {
    sort_rows_ = row_orders_ + known_.row_orders() >= kClassesForOrder;
    sort_words_ = word_orders_ + known_.word_orders() >= kClassesForOrder;
  }
}

void NoiseFinder::weigh_classes(Class& classes, bool first_views) {
  std::sort(classes.begin(), classes.end());
  for (std::size_t from = 0; from < classes.size();) {
    std::size_t to = from + 1;
    while (to < classes.size() && classes[to].first == classes[from].first) ++to;
    if (to - from >= 2) weigh_class({classes.data() + from, to - from}, first_views);
    from = to;
  }
}

// Whether two of the shapes hold the same things in another order.
bool NoiseFinder::comes_in_two_orders(std::span<const std::uint32_t> shapes, Hash128 Shape::*bag,
                                      Hash128 Shape::*order) const {
  std::vector<std::pair<Hash128, Hash128>> orders;
  for (const std::uint32_t shape : shapes) orders.emplace_back(shapes_[shape].*bag, shapes_[shape].*order);
  std::sort(orders.begin(), orders.end());
  const auto differ = [](const auto& x, const auto& y) { return x.first == y.first && x.second != y.second; };
  return std::adjacent_find(orders.begin(), orders.end(), differ) != orders.end();
}

// One genuine vote for each line that all views share; a noise vote for a line that some views have where
// others have nothing.
void NoiseFinder::weigh_class(std::span<const std::pair<Hash128, std::uint32_t>> views, bool first_views) {
  std::vector<std::uint32_t> shapes;
  for (const auto& [id, view] : views) shapes.push_back(views_[view].shape);
  std::sort(shapes.begin(), shapes.end());
  shapes.erase(std::unique(shapes.begin(), shapes.end()), shapes.end());

  std::vector<SegmentId> core = shapes_[shapes[0]].open_lines;
  for (std::size_t k = 1; k < shapes.size(); ++k) {
    const Shape& shape = shapes_[shapes[k]];
    std::vector<SegmentId> common;
    std::set_intersection(core.begin(), core.end(), shape.open_lines.begin(), shape.open_lines.end(),
                          std::back_inserter(common));
    core = std::move(common);
  }
  row_orders_ += comes_in_two_orders(shapes, &Shape::as_bag, &Shape::in_order) ? 1 : 0;
  word_orders_ += comes_in_two_orders(shapes, &Shape::as_word_bag, &Shape::as_bag) ? 1 : 0;
  for (std::size_t i = 0; i < core.size(); ++i) {
    if (i > 0 && core[i] == core[i - 1]) continue;
    ++votes_[core[i]].genuine;
    ++pattern_votes_[book_.segment(core[i]).template_id].genuine;
    for (const Number& number : book_.segment(core[i]).numbers) stable_.insert(number.context);
  }
  if (shapes.size() == 1 || (first_views && views.size() < kViewsForDoubt)) return;
  // Gaps lie between lines that stay where they are; known noise and masked numbers may be anywhere. Views
  // that share no such line need not be one state.
  const auto is_anchor = [&](SegmentId line) {
    return verdicts_[line] != Verdict::kNoise && !is_masked_[line];
  };
  const auto has_button = [&](std::uint32_t shape) {
    const std::vector<bool>& kept = shapes_[shape].is_protected;
    return std::any_of(kept.begin(), kept.end(), std::identity());
  };
  if (std::none_of(core.begin(), core.end(), is_anchor) &&
      !std::all_of(shapes.begin(), shapes.end(), has_button)) {
    return;
  }

  extras_.clear();
  for (std::uint32_t k = 0; k < shapes.size(); ++k) {
    const Shape& shape = shapes_[shapes[k]];
    for (const SegmentId line : core) ++counter_[line];
    std::uint32_t gap = 0;
    for (std::size_t i = 0; i < shape.lines.size(); ++i) {
      if (shape.is_protected[i]) {
        ++gap;
        continue;
      }
      const SegmentId line = effective(shape.lines[i]);
      if (counter_[line] > 0) {
        --counter_[line];
        gap += is_anchor(line) ? 1 : 0;
      } else {
        extras_.push_back({gap, k, line});
      }
    }
    for (const SegmentId line : core) counter_[line] = 0;
  }
  std::sort(extras_.begin(), extras_.end(), [](const Extra& x, const Extra& y) {
    return std::tie(x.gap, x.shape, x.line) < std::tie(y.gap, y.shape, y.line);
  });
  noise_voted_.clear();
  core.erase(std::unique(core.begin(), core.end()), core.end());
  for (std::size_t from = 0; from < extras_.size();) {
    std::size_t to = from + 1;
    while (to < extras_.size() && extras_[to].gap == extras_[from].gap) ++to;
    weigh_gap({extras_.data() + from, to - from}, core, shapes.size(), first_views);
    from = to;
  }
  std::sort(noise_voted_.begin(), noise_voted_.end());
  noise_voted_.erase(std::unique(noise_voted_.begin(), noise_voted_.end()), noise_voted_.end());
  for (const SegmentId line : noise_voted_) {
    ++votes_[line].noise;
    ++pattern_votes_[book_.segment(line).template_id].noise;
  }
}

// The lines that the shapes of a class have between two lines common to all.
void NoiseFinder::weigh_gap(std::span<const Extra> gap, const std::vector<SegmentId>& core,
                            std::size_t shapes, bool first_views) {
  const auto is_noise = [&](const Extra& extra) { return verdicts_[extra.line] == Verdict::kNoise; };
  std::vector<std::pair<std::uint32_t, bool>> filled;  // shape, by noise alone
  for (const Extra& extra : gap) {
    if (filled.empty() || filled.back().first != extra.shape) filled.emplace_back(extra.shape, true);
    filled.back().second = filled.back().second && is_noise(extra);
  }
  const auto only_noise = static_cast<std::size_t>(
      std::count_if(filled.begin(), filled.end(), [](const auto& shape) { return shape.second; }));
  const std::size_t open = shapes - filled.size() + only_noise;
  std::size_t at = 0;
  for (const Extra& extra : gap) {
    while (filled[at].first != extra.shape) ++at;
    const std::size_t other_open = open - (filled[at].second ? 1 : 0);
    const bool always_filled = first_views && filled.size() == shapes && shapes >= kViewsForDoubt;
    if (other_open == 0 && !always_filled) continue;
    const auto is_edit = [&](SegmentId other) { return is_edit_of(extra.line, other); };
    if (std::any_of(gap.begin(), gap.end(), [&](const Extra& other) { return is_edit(other.line); }))
      continue;
    if (std::any_of(core.begin(), core.end(), is_edit)) continue;
    noise_voted_.push_back(extra.line);
  }
  find_volatile(gap);
}

// One template with other numbers in one place: these numbers do not tell states apart.
void NoiseFinder::find_volatile(std::span<const Extra> gap) {
  std::vector<std::pair<Hash128, const Extra*>> by_template;
  for (const Extra& extra : gap) {
    const Segment& segment = book_.segment(extra.line);
    if (!segment.numbers.empty()) by_template.emplace_back(segment.template_hash, &extra);
  }
  std::stable_sort(by_template.begin(), by_template.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  for (std::size_t from = 0; from < by_template.size();) {
    std::size_t to = from + 1;
    while (to < by_template.size() && by_template[to].first == by_template[from].first) ++to;
    const Segment& one = book_.segment(by_template[from].second->line);
    std::size_t shapes = 1;
    for (std::size_t i = from + 1; i < to; ++i) {
      shapes += by_template[i].second->shape != by_template[i - 1].second->shape ? 1 : 0;
    }
    for (std::size_t i = from + 1; i < to && shapes >= kViewsForDoubt; ++i) {
      const Segment& other = book_.segment(by_template[i].second->line);
      for (std::size_t n = 0; n < std::min(one.numbers.size(), other.numbers.size()); ++n) {
        const auto digits = [n](const Segment& segment) {
          const Number& number = segment.numbers[n];
          return std::string_view(segment.text).substr(number.begin, number.end - number.begin);
        };
        if (digits(one) != digits(other)) volatile_.insert(one.numbers[n].context);
      }
    }
    from = to;
  }
}

// Views with equal actions and equal protected lines: what all of them show belongs there.
void NoiseFinder::weigh_buckets() {
  Class buckets;
  for (std::uint32_t i = 0; i < views_.size(); ++i) {
    const Shape& shape = shapes_[views_[i].shape];
    Hasher id;
    id.add_u64(views_[i].group);
    for (const Hash128& part : {shape.actions, shape.protected_lines})
      id.add_u64(part.high).add_u64(part.low);
    buckets.emplace_back(id.finish(), i);
  }
  std::sort(buckets.begin(), buckets.end());
  for (std::size_t from = 0; from < buckets.size();) {
    std::size_t to = from + 1;
    while (to < buckets.size() && buckets[to].first == buckets[from].first) ++to;
    if (to - from >= 2) {
      std::vector<SegmentId> core = shapes_[views_[buckets[from].second].shape].open_lines;
      for (std::size_t i = from + 1; i < to && !core.empty(); ++i) {
        const std::vector<SegmentId>& lines = shapes_[views_[buckets[i].second].shape].open_lines;
        std::vector<SegmentId> common;
        std::set_intersection(core.begin(), core.end(), lines.begin(), lines.end(),
                              std::back_inserter(common));
        core = std::move(common);
      }
      core.erase(std::unique(core.begin(), core.end()), core.end());
      for (const SegmentId line : core) {
        ++votes_[line].genuine;
        ++pattern_votes_[book_.segment(line).template_id].genuine;
      }
    }
    from = to;
  }
}

bool NoiseFinder::may_be_edit_of(SegmentId line, SegmentId other) const {
  const Profile& shorter = profiles_[profiles_[line].length < profiles_[other].length ? line : other];
  const Profile& longer = profiles_[profiles_[line].length < profiles_[other].length ? other : line];
  if ((shorter.pairs & ~longer.pairs) == 0) return true;  // may be contained
  const double needed = kEditSimilarity * longer.length;  // bytes that stay
  if (shorter.length < needed) return false;
  if (longer.length > kLongestCounted) return true;
  std::uint32_t common = 0;
  for (std::size_t i = 0; i < shorter.counts.size(); ++i)
    common += std::min(shorter.counts[i], longer.counts[i]);
  return common >= needed;
}

// Whether one line looks like the other with an edit, such as a typing error: no sign of noise.
bool NoiseFinder::is_edit_of(SegmentId line, SegmentId other) {
  if (line == other || !may_be_edit_of(line, other)) return false;
  const std::uint64_t pair =
      (static_cast<std::uint64_t>(std::min(line, other)) << 32) | std::max(line, other);
  const auto [known, is_new] = edits_.try_emplace(pair, false);
  if (!is_new) return known->second;
  const Segment& a = book_.segment(line);
  const Segment& b = book_.segment(other);
  if (a.template_hash == b.template_hash) return false;
  const bool contained = a.text.find(b.text) != std::string::npos || b.text.find(a.text) != std::string::npos;
  known->second = contained || edit_similarity(a.text, b.text) >= kEditSimilarity;
  return known->second;
}

// ---------------------------------------------------------------- verdicts

NoiseFinder::Verdict NoiseFinder::verdict_by_votes(const Votes& line, const Votes& pattern) const {
  if (line.noise >= settings_.min_support && line.noise > 0 &&
      static_cast<double>(line.noise) >= settings_.ratio * static_cast<double>(line.genuine)) {
    return Verdict::kNoise;
  }
  if (line.genuine > 0) return Verdict::kGenuine;
  // A line without votes goes by its template, where that is clear.
  if (pattern.noise > kClearly * pattern.genuine) return Verdict::kNoise;
  return pattern.genuine > kClearly * pattern.noise ? Verdict::kGenuine : Verdict::kOpen;
}

void NoiseFinder::decide() {
  std::fill(features_.begin(), features_.end(), Votes{});
  noise_lines_ = known_.noise_lines();
  std::vector<bool> used(book_.size());
  for (const Shape& shape : shapes_) {
    for (const SegmentId line : shape.open_lines) used[line] = true;
  }
  std::vector<SegmentId> open;
  // By template and verdict, so that numbers do not multiply the words of a line.
  std::vector<bool> counted(2 * book_.templates());
  pattern_votes_.resize(book_.templates());
  for (SegmentId id = 0; id < used.size(); ++id) {
    if (!used[id]) continue;
    const Segment& segment = book_.segment(id);
    Votes votes = known_.segment(segment.hash);
    votes += votes_[id];
    const Votes known_pattern = known_.pattern(segment.template_hash);
    Votes pattern = known_pattern;
    pattern += pattern_votes_[segment.template_id];
    const Verdict verdict = verdict_by_votes(votes, pattern);
    if (verdict == Verdict::kOpen) {
      open.push_back(id);
    } else if (known_pattern == Votes{}) {
      const std::size_t place = 2 * segment.template_id + (verdict == Verdict::kNoise ? 1 : 0);
      if (!counted[place]) count_words(id, verdict);
      counted[place] = true;
    }
    if (verdict != Verdict::kOpen) pass_verdict(id, verdict);
  }
  for (const SegmentId id : open) pass_verdict(id, verdict_by_words(id));
}

void NoiseFinder::pass_verdict(SegmentId line, Verdict verdict) {
  const bool turned = (verdict == Verdict::kNoise) != (verdicts_[line] == Verdict::kNoise);
  is_touched_[line] = is_touched_[line] || turned;
  changed_ = changed_ || turned;
  verdicts_[line] = verdict;
}

void NoiseFinder::count_words(SegmentId line, Verdict verdict) {
  const bool noise = verdict == Verdict::kNoise;
  noise_lines_ += noise ? 1 : 0;
  const std::span<const FeatureId> features = book_.features(line);
  if (features_.size() < book_.feature_count()) features_.resize(book_.feature_count());
  for (const FeatureId feature : features) {
    ++(noise ? features_[feature].noise : features_[feature].genuine);
  }
}

NoiseFinder::Verdict NoiseFinder::verdict_by_words(SegmentId line) {
  if (noise_lines_ < kNoiseLinesForWords) return Verdict::kOpen;
  double sum = 0;
  const std::span<const FeatureId> features = book_.features(line);
  for (const FeatureId feature : features) {
    Votes seen = feature < features_.size() ? features_[feature] : Votes{};
    if (!known_.empty()) seen += known_.feature(book_.feature_hash(feature));
    if (seen.noise + seen.genuine < 2) continue;
    sum += std::log((seen.noise + 0.5) / (seen.genuine + 0.5));
  }
  const bool noise =
      sum >= settings_.word_sum && sum / static_cast<double>(features.size()) >= settings_.word_mean;
  return noise ? Verdict::kNoise : Verdict::kOpen;
}

// ---------------------------------------------------------------- results

std::vector<Hash128> NoiseFinder::keys() {
  const std::vector<Hash128> states = typos_mended_ ? states_of_misspelt_pages() : std::vector<Hash128>();
  std::vector<Hash128> keys;
  keys.reserve(views_.size());
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const Hash128& key = typos_mended_ ? states[i] : shapes_[views_[i].shape].key;
    keys.push_back(Hasher().add(groups_[views_[i].group]).add_u64(key.high).add_u64(key.low).finish());
  }
  return keys;
}

std::string NoiseFinder::clean_text(const Shape& shape) const {
  std::vector<std::string_view> lines;
  for (std::size_t i = 0; i < shape.lines.size(); ++i) {
    const SegmentId id = shape.is_protected[i] ? shape.lines[i] : effective(shape.lines[i]);
    if (shape.is_protected[i] || verdicts_[id] != Verdict::kNoise) lines.push_back(book_.segment(id).text);
  }
  if (sort_rows_) std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string_view line : lines) text.append(line).push_back('\n');
  return text;
}

std::vector<Hash128> NoiseFinder::states_of_misspelt_pages() const {
  std::vector<std::string> texts;
  for (const Shape& shape : shapes_) texts.push_back(clean_text(shape));
  std::vector<CleanPage> pages;
  std::vector<Hash128> key_of_page;
  std::vector<std::size_t> page_of_view;
  std::unordered_map<Hash128, std::size_t, ContainerHash> page_of;  // by group and key
  for (const View& view : views_) {
    const Shape& shape = shapes_[view.shape];
    const Hash128 id = Hasher().add_u64(view.group).add_u64(shape.key.high).add_u64(shape.key.low).finish();
    const auto [found, is_new] = page_of.try_emplace(id, pages.size());
    page_of_view.push_back(found->second);
    const std::string& text = texts[view.shape];
    if (is_new) {
      pages.push_back({view.group, hash_of({shape.guard, shape.chosen}), view.t, 1, text});
      key_of_page.push_back(shape.key);
      continue;
    }
    // Pages of one key may differ in the order of their lines: the first one stands for all.
    CleanPage& page = pages[found->second];
    ++page.views;
    if (std::tie(view.t, text) < std::tie(page.t, page.text)) {
      page.t = view.t;
      page.text = text;
    }
  }
  const std::vector<std::size_t> stands_for = join_misspelt(pages);
  std::vector<Hash128> states;
  for (const std::size_t page : page_of_view) states.push_back(key_of_page[stands_for[page]]);
  return states;
}

void NoiseFinder::teach(NoiseModel& model) {
  std::fill(features_.begin(), features_.end(), Votes{});
  noise_lines_ = 0;
  std::vector<bool> counted(2 * book_.templates());  // by template and verdict
  model.begin_batch();
  for (SegmentId id = 0; id < votes_.size(); ++id) {
    const Votes& votes = votes_[id];
    if (votes == Votes{}) continue;
    const Segment& segment = book_.segment(id);
    model.add_segment(segment.hash, votes);
    if (model.pattern(segment.template_hash) != Votes{}) continue;
    const Verdict verdict = verdict_by_votes(votes, {});
    const std::size_t place = 2 * segment.template_id + (verdict == Verdict::kNoise ? 1 : 0);
    if (!counted[place]) count_words(id, verdict);
    counted[place] = true;
  }
  for (FeatureId feature = 0; feature < features_.size(); ++feature) {
    if (features_[feature] != Votes{}) model.add_feature(book_.feature_hash(feature), features_[feature]);
  }
  std::vector<bool> added(pattern_votes_.size());
  for (SegmentId id = 0; id < votes_.size(); ++id) {
    const Segment& segment = book_.segment(id);
    if (segment.template_id >= added.size() || added[segment.template_id]) continue;
    added[segment.template_id] = true;
    if (pattern_votes_[segment.template_id] != Votes{}) {
      model.add_pattern(segment.template_hash, pattern_votes_[segment.template_id]);
    }
  }
  for (const std::uint64_t context : volatile_) model.add_context(context, {1, 0});
  for (const std::uint64_t context : stable_) model.add_context(context, {0, 1});
  model.add_totals(noise_lines_, row_orders_, word_orders_);
  model.end_batch();
}

}  // namespace lodestep::canonicalizer
