// Figures of recordings, for papers and reports.
//   Result<Drawing> figure = plot({"run.db"}, recordings, {.kind = "group"});
// Threads: pure functions of const data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/recording.h"
#include "harness/view/drawing.h"

namespace lodestep::harness {

struct PlotRequest {
  std::string kind;                         // see plot_kinds()
  std::optional<std::int64_t> group = {};   // none: where failures and successes are most even
  std::optional<std::int64_t> member = {};  // none: the group's first episode without success, else its first
  std::string estimate = {};                // by its name in the recording; empty: the first
  double omega = 0.8;                       // discount of the calibration
};

struct PlotKind {
  std::string name;
  std::string summary;  // one line
};
// group, episode, calibration, matchers, learning.
const std::vector<PlotKind>& plot_kinds();

// All kinds but `learning` draw one recording; names are what a reader calls the recordings. Fails on an
// unknown kind, group, member or estimate, with the known ones listed.
Result<Drawing> plot(const std::vector<std::string>& names, const std::vector<Recording>& recordings,
                     const PlotRequest& request);

}  // namespace lodestep::harness
