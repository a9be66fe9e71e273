// `lodestep plot`: figures of recordings.
#include <filesystem>

#include "harness/internal/args.h"
#include "harness/internal/commands.h"
#include "harness/internal/whole_file.h"
#include "harness/recorder.h"
#include "harness/view/plots.h"

namespace lodestep::harness {

Result<int> run_plot(const std::vector<std::string>& words, Io& io) {
  Args args("plot", "Draws a figure of one recording, or of several in the order given.");
  std::vector<std::string> names;
  std::string out;
  PlotRequest request;
  std::int64_t group = -1;
  std::int64_t member = -1;
  args.positionals("RUN", names, "recordings, then the kind of figure").required();
  args.option("-o,--out", out, "file to write: .svg, .png or .pdf").required();
  args.option("--group", group, "number of the group; left out: where successes and failures are most even");
  args.option("--member", member, "number of the episode in its group; left out: the first without success");
  args.option("--estimator", request.estimate, "name of a stored estimate; left out: the first");
  args.option("--omega", request.omega, "discount of the calibration's values");
  std::string kinds = "Kinds:";
  for (const PlotKind& kind : plot_kinds()) {
    kinds += "\n  " + kind.name + std::string(13 - kind.name.size(), ' ') + kind.summary;
  }
  args.footer(kinds);
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  if (args.given("--group")) request.group = group;
  if (args.given("--member")) request.member = member;
  if (!(request.omega > 0 && request.omega <= 1)) {
    return Error{ErrorCode::kInvalidArgument, "the discount must be above 0 and at most 1", "--omega", ""};
  }
  request.kind = names.back();
  names.pop_back();
  if (names.empty())
    return Error{ErrorCode::kInvalidArgument, "name a recording, then the kind of figure", "", ""};
  const Result<FigureFormat> format = figure_format(out);
  if (!format) return format.error();
  std::vector<Recording> recordings;
  for (std::string& name : names) {
    Result<Recording> recording = read_recording(name);
    if (!recording) return recording.error();
    recordings.push_back(std::move(*recording));
    name = std::filesystem::path(name).stem().string();
  }
  const Result<Drawing> drawing = plot(names, recordings, request);
  if (!drawing) return drawing.error();
  const Result<std::string> bytes = render(*drawing, *format);
  if (!bytes) return bytes.error();
  if (Status status = write_whole_file(out, *bytes); !status) return status.error();
  return 0;
}

}  // namespace lodestep::harness
