// `robust` against a plain twin: the method of docs/matchers.md on texts, every round computed from nothing,
// every pair compared in full. Only a line's folded form (fold_line, times removed) is the product's own;
// tables in text_tools_test.cc hold that to account.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/rng.h"
#include "base/text.h"
#include "canonicalizer/segments.h"
#include "tests/support/toy_shop.h"
#include "tests/unit/canonicalizer/views.h"

namespace lodestep::canonicalizer {
namespace {

using testing::Batch;
using Lines = std::vector<std::string>;

constexpr char kGone = '\x01';

bool digit(char c) { return c >= '0' && c <= '9'; }

// Begin and end of each number.
std::vector<std::pair<std::size_t, std::size_t>> numbers_in(const std::string& line) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!digit(line[i])) continue;
    std::size_t end = i + 1;
    while (end < line.size() && (digit(line[end]) || ((line[end] == '.' || line[end] == ',') &&
                                                      end + 1 < line.size() && digit(line[end + 1])))) {
      ++end;
    }
    found.emplace_back(i, end);
    i = end;
  }
  return found;
}

struct Template {
  std::string text;
  std::vector<std::string> contexts;  // of each number: 6 bytes before, mask, 6 after, and how many before
  std::vector<std::string> values;
};

Template template_of(const std::string& line) {
  Template out;
  std::vector<std::size_t> places;
  std::size_t done = 0;
  for (const auto& [begin, end] : numbers_in(line)) {
    out.text += line.substr(done, begin - done);
    places.push_back(out.text.size());
    out.text += kGone;
    out.values.push_back(line.substr(begin, end - begin));
    done = end;
  }
  out.text += line.substr(done);
  for (const std::size_t place : places) {
    const std::size_t before = std::min<std::size_t>(place, 6);
    out.contexts.push_back(std::to_string(before) + ":" + out.text.substr(place - before, before + 7));
  }
  return out;
}

std::string sorted_words(const std::string& line) {
  Lines units;
  std::string word;
  const auto put = [&] {
    while (!word.empty() && (word.back() == ',' || word.back() == '.')) word.pop_back();
    if (!word.empty() && !units.empty() && digit(word[0])) {
      units.back() += " " + word;
    } else if (!word.empty()) {
      units.push_back(word);
    }
    word.clear();
  };
  for (const char c : line) {
    if (c == ' ') {
      put();
    } else {
      word += c;
    }
  }
  put();
  std::sort(units.begin(), units.end());
  std::string out = "\x02";
  for (std::size_t i = 0; i < units.size(); ++i) out += (i > 0 ? " " : "") + units[i];
  return out;
}

// Words, punctuation and pairs of neighbours of the template, each once.
std::set<std::string> features_of(const std::string& line) {
  const std::string text = template_of(line).text;
  const auto in_word = [](char c) {
    return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0 || c == '\'';
  };
  std::set<std::string> out;
  std::string before = "start";
  const auto put = [&](const std::string& word) {
    out.insert(word);
    out.insert(before + "|" + word);
    before = word;
  };
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == ' ') {
      ++i;
    } else {
      std::size_t end = i + 1;
      while (in_word(text[i]) && end < text.size() && in_word(text[end])) ++end;
      put(text.substr(i, end - i));
      i = end;
    }
  }
  out.insert(before + "|end");
  return out;
}

double similarity(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  const double longer = static_cast<double>(std::max(a.size(), b.size()));
  return 1 - static_cast<double>(row[b.size()]) / longer;
}

bool edit_of(const std::string& a, const std::string& b) {
  if (a == b || template_of(a).text == template_of(b).text) return false;
  return a.find(b) != std::string::npos || b.find(a) != std::string::npos || similarity(a, b) >= 0.6;
}

class Twin {
 public:
  Twin(std::span<const PageView> batch, const std::string& witness) : batch_(batch), witness_(witness) {
    SegmentBook book;
    for (const PageView& view : batch) {
      Page page;
      if (view.actions) {
        std::set<std::string> actions(view.actions->begin(), view.actions->end());
        page.actions = "known";
        for (const std::string& action : actions) {
          page.actions += "\n" + std::to_string(action.size()) + action;
          names_[page.actions];
        }
        for (const std::string& action : actions) {
          const SegmentBook::Line& line = book.line(action);
          if (line.plain != kNoSegment) page.names.insert(book.segment(line.plain).text);
          const std::size_t open = action.find('['), close = action.rfind(']');
          if (open == std::string::npos || close == std::string::npos || close <= open) continue;
          const SegmentBook::Line& inner = book.line(action.substr(open + 1, close - open - 1));
          if (inner.plain != kNoSegment) page.names.insert(book.segment(inner.plain).text);
        }
      }
      page.raw = std::string(view.text);
      for (const std::string_view raw : segments_of(view.text)) {
        const SegmentBook::Line& line = book.line(raw);
        if (line.plain == kNoSegment) continue;
        const std::string& plain = book.segment(line.plain).text;
        const bool kept = page.names.contains(std::string(without_marks(plain)));
        if (!kept && line.segment == kNoSegment) continue;
        page.lines.push_back({kept ? plain : book.segment(line.segment).text, kept});
        if (kept) page.buttons.insert(plain);
      }
      pages_.push_back(page);
    }
    find_first_views();
    find_step_counters();
  }

  std::vector<std::uint32_t> states() {
    for (int round = 0; round < 3; ++round) {
      take_stock();
      vote(round == 0);
      decide();
    }
    take_stock();
    std::map<std::string, std::uint32_t> numbers;
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i < pages_.size(); ++i) {
      const std::string key = std::string(batch_[i].group) + "\n" + pages_[i].key;
      out.push_back(numbers.try_emplace(key, static_cast<std::uint32_t>(numbers.size())).first->second);
    }
    return out;
  }

 private:
  struct Line {
    std::string text;
    bool kept;  // names an action
  };
  struct Page {
    std::string raw, actions;
    std::set<std::string> names;
    std::vector<Line> lines;
    std::multiset<std::string> buttons;
    bool first = false;
    // Of the round:
    std::string key;
    Lines in_order, as_bag, as_words;
    std::multiset<std::string> open;
  };
  struct Vote {
    int noise = 0, genuine = 0;
  };

  static std::string joined(const Lines& lines) {
    std::string out;
    for (const std::string& line : lines) out += std::to_string(line.size()) + ":" + line;
    return out;
  }

  void find_first_views() {
    for (std::size_t i = 0; i < pages_.size(); ++i) {
      bool first = !batch_[i].previous;
      for (const PageView& other : batch_) {
        if (other.group == batch_[i].group && other.t < batch_[i].t) first = false;
      }
      pages_[i].first = first;
    }
  }

  void find_step_counters() {
    struct Track {
      std::set<std::int64_t> sums, differences, times;
      std::set<std::string> trajectories;
      bool whole = true;
      int views = 0;
    };
    std::map<std::string, Track> tracks;
    for (std::size_t i = 0; i < pages_.size(); ++i) {
      for (const Line& line : pages_[i].lines) {
        if (line.kept) continue;
        const Template parts = template_of(line.text);
        for (std::size_t n = 0; n < parts.contexts.size(); ++n) {
          Track& track = tracks[parts.contexts[n]];
          const std::optional<std::int64_t> value = parse_int(parts.values[n]);
          track.whole = track.whole && value;
          if (!value) continue;
          track.sums.insert(*value + batch_[i].t);
          track.differences.insert(*value - batch_[i].t);
          track.times.insert(batch_[i].t);
          track.trajectories.insert(std::string(batch_[i].group) + "\n" + std::string(batch_[i].trajectory));
          ++track.views;
        }
      }
    }
    for (const auto& [context, track] : tracks) {
      if (track.whole && (track.sums.size() == 1 || track.differences.size() == 1) && track.views >= 12 &&
          track.times.size() >= 4 && track.trajectories.size() >= 2) {
        counters_.insert(context);
      }
    }
  }

  bool masks(const std::string& context) const {
    if (counters_.contains(context)) return true;
    return !stable_.contains(context) && volatile_.contains(context);
  }

  std::string effective(const std::string& line) const {
    if (line.find(kGone) != std::string::npos || line.front() == '\x02') return line;
    const Template parts = template_of(line);
    std::string out;
    std::size_t done = 0, n = 0;
    for (const auto& [begin, end] : numbers_in(line)) {
      out += line.substr(done, begin - done);
      out += masks(parts.contexts[n++]) ? std::string(1, kGone) : line.substr(begin, end - begin);
      done = end;
    }
    out += line.substr(done);
    return sort_words_ && out.find(',') != std::string::npos ? sorted_words(out) : out;
  }

  bool is_noise(const std::string& line) const { return noise_.contains(line); }
  static bool is_masked(const std::string& line) { return line.find(kGone) != std::string::npos; }

  void take_stock() {
    for (Page& page : pages_) {
      page.in_order.clear();
      page.as_words.clear();
      page.open.clear();
      Lines masked;
      for (const Line& line : page.lines) {
        const std::string now = line.kept ? line.text : effective(line.text);
        if (!line.kept) page.open.insert(now);
        if (!line.kept && is_noise(now)) continue;
        (!line.kept && is_masked(now) ? masked : page.in_order).push_back(now);
        const bool list = !sort_words_ && !line.kept && now.find(',') != std::string::npos;
        page.as_words.push_back(list ? sorted_words(now) : now);
      }
      std::sort(masked.begin(), masked.end());
      page.in_order.insert(page.in_order.end(), masked.begin(), masked.end());
      page.as_bag = page.in_order;
      std::sort(page.as_bag.begin(), page.as_bag.end());
      std::sort(page.as_words.begin(), page.as_words.end());
      page.key = page.actions + "\n" + joined(sort_rows_ ? page.as_bag : page.in_order);
    }
  }

  void vote(bool first_round) {
    votes_.clear();
    patterns_.clear();
    row_orders_ = word_orders_ = 0;
    std::map<std::string, std::vector<const Page*>> first, after, buckets, relaxed;
    for (std::size_t i = 0; i < pages_.size(); ++i) {
      const Page& page = pages_[i];
      const std::string place = std::string(batch_[i].group) + "\n" + page.actions + "\n";
      const std::string buttons = joined({page.buttons.begin(), page.buttons.end()});
      if (page.first) {
        first[place].push_back(&page);
      } else if (batch_[i].previous && batch_[i].action_before && witness_ != "first") {
        after[place + joined({pages_[*batch_[i].previous].key, std::string(*batch_[i].action_before)}) +
              buttons]
            .push_back(&page);
      }
      buckets[place + buttons].push_back(&page);
    }
    for (const auto& [id, views] : first) weigh(views, true);
    for (const auto& [id, views] : after) weigh(views, false);
    for (const auto& [id, views] : buckets) {
      if (views.size() < 2) continue;
      const std::multiset<std::string> shared = core_of(views);
      for (const std::string& line : std::set<std::string>(shared.begin(), shared.end())) {
        ++votes_[line].genuine;
        ++patterns_[template_of(line).text].genuine;
      }
    }
    if (witness_ == "relaxed") {
      for (std::size_t i = 0; i < pages_.size(); ++i) {
        const Page& page = pages_[i];
        if (!batch_[i].action_before) continue;
        std::string id = joined({std::string(batch_[i].group), std::string(*batch_[i].action_before),
                                 page.actions, joined({page.buttons.begin(), page.buttons.end()})});
        for (const std::string& line : page.open) {
          if (votes_[line].genuine > 0) id += joined({line});
        }
        relaxed[id].push_back(&page);
      }
      for (const auto& [id, views] : relaxed) weigh(views, false);
    }
    if (first_round) return;
    sort_rows_ = row_orders_ >= 2;
    sort_words_ = word_orders_ >= 2;
  }

  static std::multiset<std::string> core_of(const std::vector<const Page*>& views) {
    std::multiset<std::string> core = views[0]->open;
    for (const Page* page : views) {
      std::multiset<std::string> common;
      std::set_intersection(core.begin(), core.end(), page->open.begin(), page->open.end(),
                            std::inserter(common, common.end()));
      core = common;
    }
    return core;
  }

  void weigh(const std::vector<const Page*>& views, bool first_views) {
    if (views.size() < 2) return;
    std::vector<const Page*> pages;  // one of each text and actions
    for (const Page* page : views) {
      if (std::none_of(pages.begin(), pages.end(), [&](const Page* other) {
            return other->raw == page->raw && other->actions == page->actions;
          })) {
        pages.push_back(page);
      }
    }
    bool rows = false, words = false;
    for (const Page* a : pages) {
      for (const Page* b : pages) {
        rows = rows || (a->as_bag == b->as_bag && a->in_order != b->in_order);
        words = words || (a->as_words == b->as_words && a->as_bag != b->as_bag);
      }
    }
    row_orders_ += rows ? 1 : 0;
    word_orders_ += words ? 1 : 0;
    const std::multiset<std::string> core = core_of(pages);
    const std::set<std::string> distinct(core.begin(), core.end());
    for (const std::string& line : distinct) {
      ++votes_[line].genuine;
      ++patterns_[template_of(line).text].genuine;
      for (const std::string& context : template_of(line).contexts) stable_.insert(context);
    }
    if (pages.size() == 1 || (first_views && views.size() < 3)) return;
    const auto anchor = [&](const std::string& line) { return !is_noise(line) && !is_masked(line); };
    const auto has_button = [](const Page* page) { return !page->buttons.empty(); };
    if (std::none_of(core.begin(), core.end(), anchor) &&
        !std::all_of(pages.begin(), pages.end(), has_button))
      return;

    std::map<std::size_t, std::vector<std::pair<std::size_t, std::string>>> gaps;  // gap -> (page, line)
    for (std::size_t k = 0; k < pages.size(); ++k) {
      std::multiset<std::string> left = core;
      std::size_t gap = 0;
      for (const Line& line : pages[k]->lines) {
        const std::string now = line.kept ? line.text : effective(line.text);
        const auto shared = line.kept ? left.end() : left.find(now);
        if (line.kept) {
          ++gap;
        } else if (shared != left.end()) {
          left.erase(shared);
          gap += anchor(now) ? 1 : 0;
        } else {
          gaps[gap].emplace_back(k, now);
        }
      }
    }
    std::set<std::string> noisy;
    for (const auto& [gap, extras] : gaps) {
      std::set<std::size_t> filled, genuinely;
      for (const auto& [k, line] : extras) {
        filled.insert(k);
        if (!is_noise(line)) genuinely.insert(k);
      }
      for (const auto& [k, line] : extras) {
        std::size_t open_elsewhere = 0;
        for (std::size_t other = 0; other < pages.size(); ++other) {
          open_elsewhere += other != k && !genuinely.contains(other) ? 1 : 0;
        }
        const bool always = first_views && filled.size() == pages.size() && pages.size() >= 3;
        if (open_elsewhere == 0 && !always) continue;
        const auto variant = [&, &me = line](const std::string& other) { return edit_of(me, other); };
        const bool among = std::any_of(extras.begin(), extras.end(),
                                       [&](const auto& other) { return variant(other.second); });
        if (!among && std::none_of(distinct.begin(), distinct.end(), variant)) noisy.insert(line);
      }
      find_volatile(extras);
    }
    for (const std::string& line : noisy) {
      ++votes_[line].noise;
      ++patterns_[template_of(line).text].noise;
    }
  }

  void find_volatile(const std::vector<std::pair<std::size_t, std::string>>& extras) {
    for (const auto& [k, line] : extras) {
      const Template mine = template_of(line);
      std::set<std::size_t> pages;
      for (const auto& [other_page, other] : extras) {
        if (template_of(other).text == mine.text) pages.insert(other_page);
      }
      if (pages.size() < 3) continue;
      for (const auto& [other_page, other] : extras) {
        const Template its = template_of(other);
        if (its.text != mine.text) continue;
        for (std::size_t n = 0; n < std::min(mine.values.size(), its.values.size()); ++n) {
          if (mine.values[n] != its.values[n]) volatile_.insert(mine.contexts[n]);
        }
      }
    }
  }

  // 1 noise, -1 genuine, 0 open.
  static int verdict(const Vote& line, const Vote& pattern) {
    if (line.noise >= 1 && line.noise >= 0.2 * line.genuine) return 1;
    if (line.genuine > 0) return -1;
    if (pattern.noise > 5 * pattern.genuine) return 1;
    return pattern.genuine > 5 * pattern.noise ? -1 : 0;
  }

  void decide() {
    std::set<std::string> lines;
    for (const Page& page : pages_) lines.insert(page.open.begin(), page.open.end());
    std::set<std::pair<std::string, int>> counted;
    std::map<std::string, Vote> features;
    int noise_lines = 0;
    Lines open;
    for (const std::string& line : lines) {
      const std::string pattern = template_of(line).text;
      const int found = verdict(votes_[line], patterns_[pattern]);
      if (found == 0) {
        open.push_back(line);
        continue;
      }
      if (counted.emplace(pattern, found).second) {
        noise_lines += found == 1 ? 1 : 0;
        for (const std::string& feature : features_of(line)) {
          ++(found == 1 ? features[feature].noise : features[feature].genuine);
        }
      }
      found == 1 ? (void)noise_.insert(line) : (void)noise_.erase(line);
    }
    for (const std::string& line : open) {
      double sum = 0;
      const std::set<std::string> mine = features_of(line);
      for (const std::string& feature : mine) {
        const auto seen = features.find(feature);
        if (seen == features.end() || seen->second.noise + seen->second.genuine < 2) continue;
        sum += std::log((seen->second.noise + 0.5) / (seen->second.genuine + 0.5));
      }
      const bool noise = noise_lines >= 5 && sum >= 2 && sum / static_cast<double>(mine.size()) >= 0.3;
      noise ? (void)noise_.insert(line) : (void)noise_.erase(line);
    }
  }

  std::span<const PageView> batch_;
  std::string witness_;
  std::vector<Page> pages_;
  std::map<std::string, int> names_;
  std::set<std::string> counters_, volatile_, stable_, noise_;
  std::map<std::string, Vote> votes_, patterns_;
  int row_orders_ = 0, word_orders_ = 0;
  bool sort_rows_ = false, sort_words_ = false;
};

void compare(std::span<const PageView> views) {
  for (const char* witness : {"strict", "first", "relaxed"}) {
    INFO("witness=" << witness);
    Result<Matching> matching = (*MatcherRegistry().make("robust", {{"witness", witness}}))->match(views);
    REQUIRE(matching);
    REQUIRE(number_by_first_appearance(matching->keys) == Twin(views, witness).states());
  }
}

// Pages that mean something: a few states, each with its own lines, under noise of every kind at once.
Batch random_walks(PythonRandom& dice) {
  static const Lines kPlaces{"a hall",      "a kitchen",   "the garden, a pond 1, a tree 2",
                             "page 1 of 3", "page 2 of 3", "#__P_#",
                             "#_P__#"};
  static const Lines kMoves{"go", "look", "click[red]", "click[blue]"};
  Batch batch;
  const std::size_t groups = 1 + dice.below(3);
  for (std::size_t group = 0; group < groups; ++group) {
    for (std::size_t member = 0; member < 2 + dice.below(5); ++member) {
      std::size_t state = group;
      for (std::int64_t t = 0; t < 5; ++t) {
        Lines lines{"You are in " + kPlaces[state % kPlaces.size()] + ".",
                    "There is a door 1, and a chair 2.", "[button] red [button_]",
                    state % 2 == 0 ? "[button] blue [button_]" : "[clicked button] blue [clicked button_]",
                    "Price: $" + std::to_string(10 + state) + ".50"};
        if (dice.below(3) == 0) lines.push_back("Rarely shown detail of " + std::to_string(state));
        for (std::size_t extra = dice.below(3); extra-- > 0;) {
          const std::string number = std::to_string(dice.below(40));
          const Lines noise{"Offer: " + number + " % off rugs!",
                            "Offer: " + number + " % off mugs today!",
                            "Visitors: " + number,
                            "at 12:" + std::to_string(10 + dice.below(50)),
                            "Step " + std::to_string(t) + " of 9",
                            "Hurry, " + number + " left",
                            "Thre is a door 1, and a chair 2.",
                            "zz" + number + " qy"};
          const auto at = static_cast<std::ptrdiff_t>(dice.below(lines.size() + 1));
          lines.insert(lines.begin() + at, noise[dice.below(noise.size())]);
        }
        if (dice.below(6) == 0) std::swap(lines[0], lines[1]);
        if (dice.below(8) == 0) lines[1] = "There is a chair 2, and a door 1.";
        std::string text;
        for (const std::string& line : lines) text += line + (dice.below(9) == 0 ? " [SEP] " : "\n");
        PageView& view = batch.add("g" + std::to_string(group), "e" + std::to_string(member), text);
        view.t = t;
        if (t > 0 && dice.below(12) > 0) {
          view.previous = batch.views.size() - 2;
          view.action_before = batch.keep(kMoves[dice.below(2)]);
          state = state * 2 + (view.action_before == "go" ? 1 : 0);
        }
        if (dice.below(10) > 0) view.actions = batch.actions(kMoves);
      }
    }
  }
  return batch;
}

TEST_CASE("fuzz: robust finds the states that its plain twin finds") {
  PythonRandom dice(31);
  for (int round = 0; round < 120; ++round) {
    INFO("round " << round);
    const Batch batch = random_walks(dice);
    compare(batch.views);
  }
}

TEST_CASE("robust and its plain twin agree on a shop under noise") {
  using test::Noise;
  for (const Noise noise : {Noise::kAds, Noise::kMixed, Noise::kReorder, Noise::kStepCounter}) {
    const test::ToyShop shop(
        {.groups = 3, .group_size = 6, .steps = 8, .noise = noise, .density = 0.6, .most = 2});
    compare(shop.views());
  }
}

}  // namespace
}  // namespace lodestep::canonicalizer
