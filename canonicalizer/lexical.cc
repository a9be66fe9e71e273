#include "canonicalizer/lexical.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "canonicalizer/action_names.h"
#include "canonicalizer/guard.h"
#include "canonicalizer/similarity.h"

namespace lodestep::canonicalizer {
namespace {

struct LexicalSettings {
  double threshold = 0.95;
  Metric metric = Metric::kDifflib;
  Autojunk autojunk = Autojunk::kOn;
  bool best = false;       // the most similar cluster instead of the first
  bool canonical = false;  // by (t, text), so that the order of episodes does not matter
  Guard guard = Guard::kActions;
};

bool offers_the_same(const PageView& a, const PageView& b) {
  if (!a.actions || !b.actions) return true;  // not known
  return hash_of_actions(*a.actions) == hash_of_actions(*b.actions) &&
         hash_of_named_lines(a) == hash_of_named_lines(b);
}

// The clusters of the views that may be joined at all: one group, one guard.
struct Clusters {
  std::vector<std::size_t> first_views;                                // of the first members, in the batch
  std::vector<TextId> first_members;                                   // in order of creation
  std::vector<Hash128> contents;                                       // of the first members
  std::unordered_map<Hash128, std::size_t, ContainerHash> cluster_of;  // text -> index above
};

class LexicalMatcher : public Matcher {
 public:
  explicit LexicalMatcher(const LexicalSettings& settings) : settings_(settings) {}

  Result<Matching> match(std::span<const PageView> batch) override {
    Matching matching;
    matching.notes = notes_on(settings_.guard, batch);
    matching.keys.resize(batch.size());
    TextIndex index(settings_.metric, settings_.autojunk);
    std::unordered_map<Hash128, Clusters, ContainerHash> parts;  // by group and guard
    std::uint64_t equal_texts = 0;
    bool long_text = false;
    std::uint64_t joined = 0;
    std::uint64_t unlike = 0;  // of these, with other actions or other buttons
    for (const std::size_t i : order(batch)) {
      const PageView& view = batch[i];
      const Hash128 guard = guard_hash(settings_.guard, view);
      const Hash128 text = hash128(view.text);
      Clusters& clusters = parts[key_of(view, guard, {})];
      const auto [known, is_new] = clusters.cluster_of.try_emplace(text, 0);
      if (is_new) {
        const std::u32string points = code_points(view.text);
        long_text = long_text || points.size() >= 200;
        const std::size_t clusters_before = clusters.first_members.size();
        known->second = place(index, clusters, index.add(points), text);
        if (known->second == clusters_before) {
          clusters.first_views.push_back(i);
        } else {
          const PageView& first = batch[clusters.first_views[known->second]];
          ++joined;
          unlike += offers_the_same(view, first) ? 0 : 1;
        }
      } else {
        ++equal_texts;
      }
      matching.keys[i] = key_of(view, guard, clusters.contents[known->second]);
    }
    matching.cost = {index.compared(), index.avoided() + equal_texts};
    if (unlike * 20 > joined) {
      matching.notes.push_back(
          std::to_string(unlike) + " of " + std::to_string(joined) +
          " texts joined with another differ from it in their admissible actions or buttons: "
          "the similarity of whole pages hides what matters here");
    }
    if (long_text && settings_.metric == Metric::kDifflib && settings_.autojunk == Autojunk::kOn) {
      matching.notes.push_back(
          "texts of 200 characters and more: difflib then looks at rare characters only (autojunk), so small "
          "scattered changes can fail the threshold; metric=indel or autojunk=false do not have this");
    }
    return matching;
  }

 private:
  std::vector<std::size_t> order(std::span<const PageView> batch) const {
    std::vector<std::size_t> order(batch.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (settings_.canonical) {
      std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
        return std::tie(batch[x].t, batch[x].text) < std::tie(batch[y].t, batch[y].text);
      });
    }
    return order;
  }

  // The cluster that the new text joins, made for it where it joins none.
  std::size_t place(TextIndex& index, Clusters& clusters, TextId text, const Hash128& content) const {
    std::optional<std::size_t> joined;
    double best = settings_.threshold;
    for (std::size_t c = 0; c < clusters.first_members.size(); ++c) {
      const std::optional<double> ratio = index.ratio_at_least(text, clusters.first_members[c], best);
      if (!ratio || (joined && *ratio <= best)) continue;  // of equals, the earlier cluster
      joined = c;
      best = *ratio;
      if (!settings_.best) break;
    }
    if (joined) return *joined;
    clusters.first_members.push_back(text);
    clusters.contents.push_back(content);
    return clusters.first_members.size() - 1;
  }

  LexicalSettings settings_;
};

Result<std::unique_ptr<Matcher>> make(const Options& options) {
  const Result<double> threshold = options.number("threshold", 0, 1);
  if (!threshold) return threshold.error();
  const Result<bool> autojunk = options.flag("autojunk");
  if (!autojunk) return autojunk.error();
  LexicalSettings settings;
  settings.threshold = *threshold;
  settings.metric = options.text("metric") == "indel" ? Metric::kIndel : Metric::kDifflib;
  settings.autojunk = *autojunk ? Autojunk::kOn : Autojunk::kOff;
  settings.best = options.text("pick") == "best";
  settings.canonical = options.text("order") == "canonical";
  settings.guard = parse_guard(options);
  return std::unique_ptr<Matcher>(std::make_unique<LexicalMatcher>(settings));
}

}  // namespace

MatcherKind lexical_kind() {
  return {"lexical",
          "the first earlier cluster whose first member has a difflib ratio >= threshold",
          {{"threshold", "0.95", "least ratio, 0 to 1", {}},
           {"metric", "difflib", "difflib, or indel (longest common subsequence)", {"difflib", "indel"}},
           {"autojunk", "true", "difflib's rule on popular characters of texts of 200 and more", {}},
           {"pick",
            "first",
            "first: the earliest cluster similar enough; best: the most similar",
            {"first", "best"}},
           {"order", "batch", "batch: as given; canonical: by time step, then text", {"batch", "canonical"}},
           guard_option()},
          make};
}

}  // namespace lodestep::canonicalizer
