// Figures: what they show, their formats, and what they refuse.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "harness/view/plots.h"
#include "recordings.h"

namespace lodestep::harness::test {
namespace {

std::size_t count(const std::string& text, const std::string& piece) {
  std::size_t found = 0;
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++found;
  return found;
}

std::string svg(const Recording& recording, const PlotRequest& request) {
  const Result<Drawing> drawing = plot({"run"}, {recording}, request);
  REQUIRE(drawing.ok());
  return *render(*drawing, FigureFormat::kSvg);
}

TEST_CASE("every kind draws in every format, the SVG with the same bytes each time") {
  const Recording recording = credited(credited(small_recording()), "gigpo");
  for (const PlotKind& kind : plot_kinds()) {
    INFO(kind.name);
    const Result<Drawing> drawing = plot({"run"}, {recording}, {.kind = kind.name});
    REQUIRE(drawing.ok());
    const std::string text = *render(*drawing, FigureFormat::kSvg);
    CHECK(text.starts_with("<svg xmlns="));
    CHECK(text.ends_with("</svg>\n"));
    CHECK(text.find("nan") == std::string::npos);
    CHECK(text.find("inf\"") == std::string::npos);
    CHECK(text == *render(*plot({"run"}, {recording}, {.kind = kind.name}), FigureFormat::kSvg));
    CHECK(render(*drawing, FigureFormat::kPng)->starts_with("\x89PNG\r\n"));
    CHECK(render(*drawing, FigureFormat::kPdf)->starts_with("%PDF-"));
  }
}

TEST_CASE("the group figure has a circle per state and marks what helped and what hurt") {
  const Recording recording = credited(small_recording());
  const std::string text = svg(recording, {.kind = "group"});
  // start, middle, end, pit, side, far, and the ring of the start.
  CHECK(count(text, "<circle") == 7);
  CHECK(count(text, "stroke-dasharray=\"3\"/>") >= 2);  // side and far are open
  CHECK(text.find("t0: 1 of 3 succeed, graphgpo") != std::string::npos);
  CHECK(text.find(">success</text>") != std::string::npos);
  CHECK(text.find(">×</text>") != std::string::npos);
}

TEST_CASE("bars of the episode figure have the recorded signs") {
  Recording recording = credited(small_recording());
  Estimate& estimate = recording.estimates[0];
  std::fill(estimate.step_advantage.begin(), estimate.step_advantage.end(), std::optional<double>(0));
  estimate.step_advantage[2] = 1;  // episode 1 of group 0 starts at row 2
  estimate.step_advantage[4] = -1;
  const std::string text = svg(recording, {.kind = "episode", .group = 0, .member = 1});
  CHECK(count(text, "fill=\"#0b5fc8\"") == 1);  // helped, at full strength
  CHECK(count(text, "fill=\"#d6490a\"") == 1);  // hurt
  CHECK(text.find("t0, episode 1: failure") != std::string::npos);
}

TEST_CASE("texts of a recording are escaped in the figure") {
  Recording recording = small_recording();
  for (EpisodeRecord& e : recording.episodes) e.task.id = "<a & \"b\">";
  recording.episodes[0].steps[0].action = std::string("\x01\xff", 2);
  const std::string text = svg(credited(std::move(recording)), {.kind = "episode", .member = 0});
  CHECK(text.find("&lt;a &amp; &quot;b&quot;&gt;") != std::string::npos);
  CHECK(text.find('\x01') == std::string::npos);
  CHECK(text.find("\xff") == std::string::npos);
}

TEST_CASE("learning curves take many recordings; the other kinds one") {
  const Recording recording = credited(small_recording());
  CHECK(plot({"a", "b", "c"}, {recording, recording, recording}, {.kind = "learning"}).ok());
  CHECK_FALSE(plot({"a", "b"}, {recording, recording}, {.kind = "group"}).ok());
}

TEST_CASE("unknown kinds, groups, members, estimates and file names are refused with the known ones") {
  const Recording recording = credited(small_recording());
  const auto hint = [&](const PlotRequest& request) {
    const Result<Drawing> drawing = plot({"run"}, {recording}, request);
    REQUIRE_FALSE(drawing.ok());
    return drawing.error().message + "; " + drawing.error().hint;
  };
  CHECK(hint({.kind = "grup"}).find("did you mean 'group'?") != std::string::npos);
  CHECK(hint({.kind = "group", .group = 7}).find("0 to 3") != std::string::npos);
  CHECK(hint({.kind = "episode", .group = 3, .member = 9}).find("0 to 1") != std::string::npos);
  CHECK(hint({.kind = "group", .estimate = "best"}).find("known: graphgpo") != std::string::npos);
  CHECK_FALSE(plot({"run"}, {Recording()}, {.kind = "group"}).ok());
  CHECK_FALSE(plot({"run"}, {small_recording()}, {.kind = "group"}).ok());  // nothing to colour by
  CHECK(figure_format("a.PDF").ok());
  CHECK_FALSE(figure_format("a.gif").ok());
  CHECK_FALSE(figure_format("svg").ok());
}

}  // namespace
}  // namespace lodestep::harness::test
