#include "canonicalizer/exact.h"

#include "canonicalizer/guard.h"

namespace lodestep::canonicalizer {
namespace {

class ExactMatcher : public Matcher {
 public:
  explicit ExactMatcher(Guard guard) : guard_(guard) {}

  Result<Matching> match(std::span<const PageView> batch) override {
    Matching matching;
    matching.notes = notes_on(guard_, batch);
    matching.keys.reserve(batch.size());
    for (const PageView& view : batch) {
      matching.keys.push_back(key_of(view, guard_hash(guard_, view), hash128(view.text)));
    }
    return matching;
  }

 private:
  Guard guard_;
};

}  // namespace

MatcherKind exact_kind() {
  return {"exact",
          "equal text",
          {guard_option()},
          [](const Options& options) -> Result<std::unique_ptr<Matcher>> {
            return std::unique_ptr<Matcher>(std::make_unique<ExactMatcher>(parse_guard(options)));
          }};
}

}  // namespace lodestep::canonicalizer
