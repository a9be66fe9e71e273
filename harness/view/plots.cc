#include "harness/view/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "harness/credit.h"
#include "harness/view/group_graph.h"

namespace lodestep::harness {
namespace {

constexpr double kTitle = 15, kLabel = 11, kSmall = 9.5;
constexpr Colour kNeutral{203, 208, 215};

// Blue helped, orange hurt; the square root lets small shares still show.
Colour signal_colour(double share) {
  const Colour& end = share < 0 ? kHurt : kHelped;
  const double size = std::sqrt(std::min(1.0, std::abs(share)));
  const auto mix = [size](std::uint8_t from, std::uint8_t to) {
    return static_cast<std::uint8_t>(std::lround(from + (to - from) * size));
  };
  return {mix(kNeutral.red, end.red), mix(kNeutral.green, end.green), mix(kNeutral.blue, end.blue)};
}

std::string short_number(double value) {
  return value == 0               ? "0"
         : std::abs(value) < 1e-3 ? fmt::format("{:.1e}", value)
                                  : fmt::format("{:.3g}", value);
}

// One group of a recording: episodes [first, last), the first of their rows.
struct GroupSpan {
  std::size_t id = 0, first = 0, last = 0, row = 0, successes = 0, finished = 0;
};

std::vector<GroupSpan> spans_of(const Recording& recording) {
  std::vector<GroupSpan> spans;
  std::size_t row = 0;
  for (std::size_t e = 0; e < recording.episodes.size(); ++e) {
    const EpisodeRecord& episode = recording.episodes[e];
    if (spans.empty() || spans.back().id != episode.group) spans.push_back({episode.group, e, e, row, 0, 0});
    spans.back().last = e + 1;
    if (episode.status == EpisodeStatus::kFinished) ++spans.back().finished;
    if (episode.outcome == Outcome::kSuccess) ++spans.back().successes;
    row += episode.steps.size();
  }
  return spans;
}

// Largest size of the estimate's signal among the group's steps: what its colours and bars are relative to.
double signal_scale(const Recording& recording, const GroupSpan& span, const Estimate& estimate) {
  double scale = 0;
  std::size_t row = span.row;
  for (std::size_t e = span.first; e < span.last; ++e) {
    for (std::size_t t = 0; t < recording.episodes[e].steps.size(); ++t, ++row) {
      scale = std::max(scale, std::abs(step_signal(estimate, row)));
    }
  }
  return scale;
}

// Labels below an axis take turns on as many lines as the longest needs, four at most.
double label_lines(std::size_t longest, double room) {
  constexpr double kCharacter = 5.8;
  return std::clamp(std::ceil(static_cast<double>(longest + 1) * kCharacter / room), 1.0, 4.0);
}

Result<std::size_t> find_group(const std::vector<GroupSpan>& spans,
                               const std::optional<std::int64_t>& wanted) {
  if (spans.empty()) return Error{ErrorCode::kBadData, "the recording holds no episode", "", ""};
  std::size_t best = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (wanted && static_cast<std::int64_t>(spans[i].id) == *wanted) return i;
    const auto evenness = [&](const GroupSpan& s) { return std::min(s.successes, s.finished - s.successes); };
    if (evenness(spans[i]) > evenness(spans[best])) best = i;
  }
  if (!wanted) return best;
  return Error{ErrorCode::kNotFound, fmt::format("no group {}", *wanted), "--group",
               fmt::format("groups are {} to {}", spans.front().id, spans.back().id)};
}

Result<const Estimate*> find_estimate(const Recording& recording, const std::string& wanted) {
  std::vector<std::string> names;
  for (const Estimate& estimate : recording.estimates) {
    if (estimate.advantage.size() != recording.steps()) {
      return Error{ErrorCode::kBadData, "the estimate does not cover all steps", estimate.name,
                   "recompute it with 'lodestep credit --run'"};
    }
    if (wanted.empty() || estimate.name == wanted) return &estimate;
    names.push_back(estimate.name);
  }
  if (names.empty()) {
    return Error{ErrorCode::kBadData, "the recording holds no estimate", "",
                 "add one with 'lodestep credit --run RUN --estimator NAME'"};
  }
  return Error{ErrorCode::kNotFound, "no estimate '" + wanted + "'", "--estimator",
               "known: " + join(names, ", ")};
}

// The estimate itself, or one that brings the states an estimator without a graph is drawn on.
Result<Estimate> with_nodes(const Recording& recording, const Estimate& estimate) {
  if (has_nodes(estimate)) return estimate;
  Result<Credited> made = credit_recording(recording, {});
  if (!made) return made.error();
  Estimate out = estimate;
  out.node = std::move(made->estimate.node);
  out.next_node = std::move(made->estimate.next_node);
  return out;
}

// ---- the group graph

constexpr double kColumn = 84, kMargin = 56;

struct Spot {
  Point at;
  double radius = 0;
};

Point toward(Point from, Point to) {
  const double length = std::max(1e-9, std::hypot(to.x - from.x, to.y - from.y));
  return {(to.x - from.x) / length, (to.y - from.y) / length};
}

void arrow_head(Drawing& drawing, Point tip, Point way, double size, Colour colour) {
  const double half = size * 0.45;
  drawing.polygon({tip,
                   {tip.x - way.x * size - way.y * half, tip.y - way.y * size + way.x * half},
                   {tip.x - way.x * size + way.y * half, tip.y - way.y * size - way.x * half}},
                  colour);
}

void draw_edge(Drawing& drawing, const GroupEdge& edge, const std::vector<Spot>& spots, double share,
               bool two_way) {
  const Colour colour = signal_colour(share);
  const double width = 1.2 + std::min(4.0, std::sqrt(static_cast<double>(edge.count - 1)));
  const Spot& a = spots[edge.from];
  const Spot& b = spots[edge.to];
  if (edge.from == edge.to) {
    const double top = a.at.y - a.radius;
    drawing.curve({a.at.x - 4, top + 1}, {a.at.x - 15, top - 20}, {a.at.x + 15, top - 20},
                  {a.at.x + 5, top - 3}, {colour, width});
    arrow_head(drawing, {a.at.x + 3.5, top + 1}, toward({0.5, 0}, {0, 1}), 6, colour);
    return;
  }
  // Straight ahead where nothing stands between; bent to its own side against a twin, back, or over columns.
  const double columns = std::abs(b.at.x - a.at.x) / kColumn;
  const double bend = two_way            ? 12
                      : b.at.x <= a.at.x ? 18 + 4 * columns
                      : columns > 1.5    ? 10 + 3 * columns
                                         : 0;
  const Point ahead = toward(a.at, b.at);
  const Point middle{(a.at.x + b.at.x) / 2 - ahead.y * bend * 2, (a.at.y + b.at.y) / 2 + ahead.x * bend * 2};
  const Point out = toward(a.at, middle);
  const Point in = toward(middle, b.at);
  const double size = 5 + width;
  const Point from{a.at.x + out.x * a.radius, a.at.y + out.y * a.radius};
  const Point tip{b.at.x - in.x * (b.radius + 1), b.at.y - in.y * (b.radius + 1)};
  const Point to{tip.x - in.x * size * 0.8, tip.y - in.y * size * 0.8};
  // The quadratic curve through `middle`, as a cubic.
  const auto third = [&](Point end) {
    return Point{end.x + (middle.x - end.x) * 2 / 3, end.y + (middle.y - end.y) * 2 / 3};
  };
  drawing.curve(from, third(from), third(to), to, {colour, width});
  arrow_head(drawing, tip, in, size, colour);
}

void draw_node(Drawing& drawing, const GroupNode& node, const Spot& spot) {
  const Colour fill = node.success ? kSuccess : node.dead ? kInk : kWhite;
  if (node.start) drawing.circle(spot.at, spot.radius + 3.5, kNoColour, {kInk, 1.4});
  drawing.circle(spot.at, spot.radius, fill,
                 {node.dead || node.success ? fill : kQuiet, 1.2, node.open ? 3.0 : 0.0});
  const std::string label = node.success    ? ""
                            : node.dead     ? "×"
                            : node.distance ? short_number(*node.distance)
                                            : "?";
  const double size = std::max(8.0, spot.radius);
  drawing.text({spot.at.x, spot.at.y + size * 0.35}, label, size, Anchor::kMiddle, node.dead ? kWhite : kInk);
}

Drawing group_figure(const GroupGraph& graph, const GroupSpan& span, const Recording& recording,
                     const Estimate& estimate) {
  const double width = 2 * kMargin + std::max(4, graph.columns - 1) * kColumn;
  const double row = std::clamp((0.6 * width - 2 * kMargin) / std::max(1.0, graph.rows - 1), 38.0, 80.0);
  const double top = 40;
  Drawing drawing(width, top + 2 * kMargin + std::max(0.0, graph.rows - 1) * row + 20);
  drawing.text({16, 24},
               fmt::format("{}: {} of {} succeed, {}", recording.episodes[span.first].task.id, span.successes,
                           span.finished, estimate.name),
               kTitle);
  std::size_t most = 1;
  for (const GroupNode& node : graph.nodes) most = std::max(most, node.visits);
  std::vector<Spot> spots;
  std::map<int, double> distance_of_column;
  double bottom = 0;
  for (const GroupNode& node : graph.nodes) {
    spots.push_back({{kMargin + (node.column + node.shift) * kColumn, top + kMargin + node.row * row},
                     6 + 8 * std::sqrt(static_cast<double>(node.visits) / static_cast<double>(most))});
    if (!node.distance) continue;
    distance_of_column[node.column] = *node.distance;
    bottom = std::max(bottom, spots.back().at.y);
  }
  for (const auto& [column, distance] : distance_of_column) {
    const double x = kMargin + column * kColumn;
    drawing.line({x, top + 18}, {x, bottom + 16}, {kFaint, 1, 3});
    drawing.text({x, top + 12}, distance == 0 ? "success" : short_number(distance), kLabel, Anchor::kMiddle,
                 kQuiet);
  }
  const double scale = signal_scale(recording, span, estimate);
  std::set<std::pair<std::size_t, std::size_t>> pairs;
  for (const GroupEdge& edge : graph.edges) pairs.insert({edge.from, edge.to});
  for (const GroupEdge& edge : graph.edges) {
    draw_edge(drawing, edge, spots, scale > 0 ? edge.advantage / scale : 0,
              pairs.count({edge.to, edge.from}) > 0);
  }
  for (std::size_t v = 0; v < graph.nodes.size(); ++v) draw_node(drawing, graph.nodes[v], spots[v]);
  const double y = drawing.height() - 14;
  double x = 16;
  drawing.text({x, y}, "hurt", kLabel, Anchor::kStart, kQuiet);
  x += 28;
  for (const double share : {-1.0, -0.5, -0.15, 0.0, 0.15, 0.5, 1.0}) {
    drawing.rectangle({x, y - 8}, 16, 9, signal_colour(share));
    x += 17;
  }
  drawing.text({x + 4, y},
               fmt::format("helped (±{})    numbers: observed steps to success; ? unobserved beyond; × dead",
                           short_number(scale)),
               kLabel, Anchor::kStart, kQuiet);
  return drawing;
}

// ---- one episode

Drawing episode_figure(const Recording& recording, const GroupSpan& span, std::size_t episode,
                       std::size_t row) {
  const EpisodeRecord& record = recording.episodes[episode];
  const std::size_t n = record.steps.size();
  const double slot = std::clamp(900.0 / std::max<double>(1, static_cast<double>(n)), 12.0, 44.0);
  const double left = 130;
  const double panel = 84;
  const double width = std::max(460.0, left + 30 + slot * static_cast<double>(n));
  Drawing drawing(width, 60 + (panel + 14) * static_cast<double>(recording.estimates.size()) + 96);
  drawing.text({16, 24},
               fmt::format("{}, episode {}: {}, return {}", record.task.id, record.member,
                           record.outcome == Outcome::kRunning ? "no success" : outcome_name(record.outcome),
                           short_number(record.total_reward())),
               kTitle);
  double y = 44;
  for (const Estimate& estimate : recording.estimates) {
    const double scale = signal_scale(recording, span, estimate);
    const double middle = y + panel / 2;
    drawing.text({16, middle}, estimate.name, kLabel);
    drawing.text({16, middle + 14}, "±" + short_number(scale), kSmall, Anchor::kStart, kQuiet);
    for (std::size_t t = 0; t < n; ++t) {
      const double share = scale > 0 ? step_signal(estimate, row + t) / scale : 0;
      const double size = std::abs(share) * (panel / 2 - 2);
      drawing.rectangle({left + slot * static_cast<double>(t) + 1, share >= 0 ? middle - size : middle},
                        slot - 2, std::max(0.5, size), signal_colour(share));
    }
    drawing.line({left, middle}, {left + slot * static_cast<double>(n), middle}, {kQuiet, 0.6});
    y += panel + 14;
  }
  std::size_t longest = 0;
  for (const StepRecord& step : record.steps) longest = std::max(longest, step.action.size());
  const double lines = label_lines(longest, slot);
  for (std::size_t t = 0; t < n; ++t) {
    const double x = left + slot * (static_cast<double>(t) + 0.5);
    drawing.text({x, y + 4}, std::to_string(t), kSmall, Anchor::kMiddle, kQuiet);
    std::string action = record.steps[t].action;
    const double room = slot * 4 / 5.6;
    if (static_cast<double>(action.size()) > room && decode_utf8(action)) {
      std::u32string points = *decode_utf8(action);
      if (static_cast<double>(points.size()) > room) {
        action = encode_utf8(points.substr(0, static_cast<std::size_t>(room) - 1)) + "…";
      }
    }
    drawing.text({x, y + 20 + 12 * std::fmod(static_cast<double>(t), lines)}, action, kSmall,
                 Anchor::kMiddle);
  }
  return drawing;
}

// ---- calibration

void frame(Drawing& drawing, Point corner, double width, double height) {
  drawing.polyline({corner, {corner.x, corner.y + height}, {corner.x + width, corner.y + height}},
                   {kQuiet, 1});
}

Drawing calibration_figure(const std::vector<CalibrationBin>& bins, const Estimate& estimate, double omega) {
  constexpr double kSize = 320;
  const Point corner{64, 50};
  Drawing drawing(kSize + 110, kSize + 112);
  drawing.text({16, 24}, fmt::format("Calibration, {}, ω = {}", estimate.matcher, short_number(omega)),
               kTitle);
  const auto place = [&](double value, double rate) {
    return Point{corner.x + kSize * value, corner.y + kSize * (1 - rate)};
  };
  frame(drawing, corner, kSize, kSize);
  drawing.line(place(0, 0), place(1, 1), {kQuiet, 0.8, 4});
  for (const double tick : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    drawing.text({place(tick, 0).x, corner.y + kSize + 16}, short_number(tick), kLabel, Anchor::kMiddle,
                 kQuiet);
    drawing.text({corner.x - 8, place(0, tick).y + 4}, short_number(tick), kLabel, Anchor::kEnd, kQuiet);
  }
  drawing.text({corner.x + kSize / 2, corner.y + kSize + 38}, "value of the state in the graph, ω^distance",
               kLabel, Anchor::kMiddle);
  drawing.text({16, 42}, "share of visits that ended in success", kLabel);
  std::size_t total = 0;
  for (const CalibrationBin& bin : bins) total += bin.visits;
  std::vector<Point> curve;
  for (const CalibrationBin& bin : bins) {
    if (bin.visits == 0) continue;
    curve.push_back(place(bin.mean_value, bin.success_rate));
    drawing.line(place(bin.mean_value, bin.rate_low), place(bin.mean_value, bin.rate_high), {kHelped, 1});
  }
  drawing.polyline(curve, {kHelped, 1.5});
  std::size_t i = 0;
  for (const CalibrationBin& bin : bins) {
    if (bin.visits == 0) continue;
    const double share = static_cast<double>(bin.visits) / static_cast<double>(total);
    drawing.circle(curve[i++], 2.5 + 6 * std::sqrt(share), kHelped, {kWhite, 1});
  }
  return drawing;
}

// ---- matchers

Drawing matcher_figure(const Recording& recording, const std::vector<const Estimate*>& by_matcher) {
  const double columns[] = {16, 190, 270, 370, 490, 610};
  Drawing drawing(720, 84 + 22 * static_cast<double>(by_matcher.size()));
  drawing.text({16, 24}, "States by matcher", kTitle);
  const char* heads[] = {"matcher", "states", "visits", "node reuse", "saw success", "visited once"};
  for (std::size_t c = 0; c < 6; ++c)
    drawing.text({columns[c], 52}, heads[c], kLabel, Anchor::kStart, kQuiet);
  double y = 72;
  for (const Estimate* estimate : by_matcher) {
    std::size_t nodes = 0, visits = 0, reached = 0, lone = 0;
    for (const GroupGraph& graph : group_graphs(recording, *estimate)) {
      for (const GroupNode& node : graph.nodes) {
        ++nodes;
        visits += node.visits;
        reached += node.distance.has_value();
        lone += node.visits == 1;
      }
    }
    const auto share = [](std::size_t part, std::size_t whole) {
      return whole == 0
                 ? std::string("–")
                 : fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
    };
    drawing.line({16, y - 14}, {704, y - 14}, {kFaint, 1});
    const std::string cells[] = {estimate->matcher,      std::to_string(nodes),
                                 std::to_string(visits), share(visits - std::min(visits, nodes), visits),
                                 share(reached, nodes),  share(lone, nodes)};
    for (std::size_t c = 0; c < 6; ++c) drawing.text({columns[c], y}, cells[c], kLabel);
    y += 22;
  }
  return drawing;
}

// ---- learning curves

Drawing learning_figure(const std::vector<std::string>& names, const std::vector<Recording>& recordings) {
  const double step = std::clamp(640.0 / static_cast<double>(names.size()), 24.0, 120.0);
  constexpr double kHeight = 260;
  const Point corner{64, 50};
  const double width = std::max(240.0, step * static_cast<double>(names.size()));
  Drawing drawing(corner.x + width + 80, corner.y + kHeight + 110);
  drawing.text({16, 24}, "Success and mean return, recording by recording", kTitle);
  frame(drawing, corner, width, kHeight);
  double low = 0, high = 0;
  std::vector<double> returns;
  for (const Recording& recording : recordings) {
    double sum = 0;
    std::size_t count = 0;
    for (const EpisodeRecord& episode : recording.episodes) {
      if (episode.status != EpisodeStatus::kFinished) continue;
      sum += episode.total_reward();
      ++count;
    }
    returns.push_back(count == 0 ? 0 : sum / static_cast<double>(count));
    low = std::min(low, returns.back());
    high = std::max(high, returns.back());
  }
  if (high == low) high = low + 1;
  const auto x = [&](std::size_t i) { return corner.x + step * (static_cast<double>(i) + 0.5); };
  const auto y = [&](double share) { return corner.y + kHeight * (1 - share); };
  for (const double tick : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    drawing.text({corner.x - 8, y(tick) + 4}, fmt::format("{:.0f} %", 100 * tick), kLabel, Anchor::kEnd,
                 kHelped);
    drawing.text({corner.x + width + 8, y(tick) + 4}, short_number(low + (high - low) * tick), kLabel,
                 Anchor::kStart, kHurt);
  }
  std::size_t longest = 0;
  for (const std::string& name : names) longest = std::max(longest, name.size());
  const double lines = label_lines(longest, step);
  std::vector<Point> success, mean_return;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    std::size_t finished = 0, solved = 0;
    for (const EpisodeRecord& episode : recordings[i].episodes) {
      finished += episode.status == EpisodeStatus::kFinished;
      solved += episode.outcome == Outcome::kSuccess;
    }
    const Interval interval = wilson_interval(solved, finished);
    drawing.line({x(i), y(interval.low)}, {x(i), y(interval.high)}, {kHelped, 1});
    success.push_back(
        {x(i), y(finished == 0 ? 0 : static_cast<double>(solved) / static_cast<double>(finished))});
    mean_return.push_back({x(i), y((returns[i] - low) / (high - low))});
    drawing.text({x(i), corner.y + kHeight + 16 + 13 * std::fmod(static_cast<double>(i), lines)}, names[i],
                 kSmall, Anchor::kMiddle, kQuiet);
  }
  drawing.polyline(mean_return, {kHurt, 1.2, 4});
  drawing.polyline(success, {kHelped, 1.8});
  for (const Point& point : mean_return) drawing.circle(point, 2.5, kHurt, {kWhite, 1});
  for (const Point& point : success) drawing.circle(point, 3.5, kHelped, {kWhite, 1});
  drawing.text({corner.x, drawing.height() - 16}, "success, 95 % interval", kLabel, Anchor::kStart, kHelped);
  drawing.text({corner.x + 150, drawing.height() - 16}, "mean return (dashed)", kLabel, Anchor::kStart,
               kHurt);
  return drawing;
}

Result<Drawing> plot_episode(const Recording& recording, const GroupSpan& span, const PlotRequest& request) {
  if (Result<const Estimate*> any = find_estimate(recording, ""); !any) return any.error();
  std::size_t chosen = span.first;
  for (std::size_t e = span.last; e-- > span.first;) {
    const EpisodeRecord& episode = recording.episodes[e];
    if (episode.outcome != Outcome::kSuccess && episode.status == EpisodeStatus::kFinished) chosen = e;
  }
  std::size_t row = span.row;
  if (request.member) {
    chosen = span.last;
    for (std::size_t e = span.first; e < span.last; ++e) {
      if (static_cast<std::int64_t>(recording.episodes[e].member) == *request.member) chosen = e;
    }
    if (chosen == span.last) {
      return Error{ErrorCode::kNotFound, fmt::format("group {} has no member {}", span.id, *request.member),
                   "--member",
                   fmt::format("members are {} to {}", recording.episodes[span.first].member,
                               recording.episodes[span.last - 1].member)};
    }
  }
  for (std::size_t e = span.first; e < chosen; ++e) row += recording.episodes[e].steps.size();
  return episode_figure(recording, span, chosen, row);
}

}  // namespace

const std::vector<PlotKind>& plot_kinds() {
  static const std::vector<PlotKind> kinds{
      {"group", "the state graph of a group, edges coloured by advantage"},
      {"episode", "all estimates along one episode"},
      {"calibration", "value of states in the graph against how often success followed"},
      {"matchers", "states, reuse and coverage by matcher, as a table"},
      {"learning", "success and mean return of several recordings, in the order given"},
  };
  return kinds;
}

Result<Drawing> plot(const std::vector<std::string>& names, const std::vector<Recording>& recordings,
                     const PlotRequest& request) {
  std::vector<std::string> known;
  for (const PlotKind& kind : plot_kinds()) known.push_back(kind.name);
  if (std::find(known.begin(), known.end(), request.kind) == known.end()) {
    const std::string near = nearest_word(request.kind, known);
    return Error{ErrorCode::kInvalidArgument,
                 "unknown kind of plot '" + request.kind + "'" +
                     (near.empty() ? "" : "; did you mean '" + near + "'?"),
                 "", "known kinds: " + join(known, ", ")};
  }
  if (request.kind == "learning") return learning_figure(names, recordings);
  if (recordings.size() != 1) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' draws one recording, not {}", request.kind, recordings.size()), "",
                 "only 'learning' draws several"};
  }
  const Recording& recording = recordings[0];
  const std::vector<GroupSpan> spans = spans_of(recording);
  const Result<std::size_t> group = find_group(spans, request.group);
  if (!group) return group.error();
  if (request.kind == "episode") return plot_episode(recording, spans[*group], request);
  const Result<const Estimate*> estimate = find_estimate(recording, request.estimate);
  if (!estimate) return estimate.error();
  if (request.kind == "matchers") {
    std::vector<const Estimate*> by_matcher;
    for (const Estimate& e : recording.estimates) {
      const auto same = [&](const Estimate* other) { return other->matcher == e.matcher; };
      if (has_nodes(e) && std::none_of(by_matcher.begin(), by_matcher.end(), same)) by_matcher.push_back(&e);
    }
    return matcher_figure(recording, by_matcher);
  }
  const Result<Estimate> shown = with_nodes(recording, **estimate);
  if (!shown) return shown.error();
  const std::vector<GroupGraph> graphs = group_graphs(recording, *shown);
  if (request.kind == "calibration") {
    constexpr std::size_t kBins = 10;
    return calibration_figure(calibration(recording, graphs, request.omega, kBins), *shown, request.omega);
  }
  return group_figure(graphs[*group], spans[*group], recording, *shown);
}

}  // namespace lodestep::harness
