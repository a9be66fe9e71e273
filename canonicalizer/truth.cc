#include "canonicalizer/truth.h"

#include "canonicalizer/guard.h"

namespace lodestep::canonicalizer {
namespace {

using Level = std::optional<std::string_view> PageView::*;

class TruthMatcher : public Matcher {
 public:
  TruthMatcher(std::string name, Level level) : name_(std::move(name)), level_(level) {}

  Result<Matching> match(std::span<const PageView> batch) override {
    Matching matching;
    matching.keys.reserve(batch.size());
    for (const PageView& view : batch) {
      const std::optional<std::string_view>& key = view.*level_;
      if (!key) {
        return Error{ErrorCode::kBadData, "matcher " + name_ + " needs the true key of every view",
                     "group " + std::string(view.group) + ", episode " + std::string(view.trajectory) +
                         ", t " + std::to_string(view.t),
                     "only our own environments know it; elsewhere choose another matcher"};
      }
      matching.keys.push_back(key_of(view, {}, hash128(*key)));
    }
    return matching;
  }

 private:
  std::string name_;
  Level level_;
};

MatcherKind truth_kind(const std::string& name, std::string help, Level level) {
  return {name, std::move(help), {}, [name, level](const Options&) -> Result<std::unique_ptr<Matcher>> {
            return std::unique_ptr<Matcher>(std::make_unique<TruthMatcher>(name, level));
          }};
}

}  // namespace

std::vector<MatcherKind> truth_kinds() {
  return {truth_kind("true", "the environment's exact key", &PageView::truth),
          truth_kind("true:relevant", "the environment's key of what matters for the task",
                     &PageView::truth_relevant),
          truth_kind("true:stage", "the environment's key of progress", &PageView::truth_stage)};
}

}  // namespace lodestep::canonicalizer
