// A figure as a list of shapes, written as SVG, PNG or PDF.
//   Drawing d(400, 300);
//   d.line({10, 10}, {390, 10}, {kInk, 1});
//   Result<std::string> bytes = render(d, FigureFormat::kPng);
// Threads: values. Units are pixels of the SVG, 72 to an inch in a PDF; PNGs have twice as many. The same
// drawing gives the same SVG bytes everywhere; PNG and PDF come from cairo and depend on its version and
// fonts.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace lodestep::harness {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
  double opacity = 1;  // 0: nothing is drawn
};
inline constexpr Colour kNoColour{0, 0, 0, 0};
inline constexpr Colour kWhite{255, 255, 255};
inline constexpr Colour kInk{29, 33, 39};
inline constexpr Colour kQuiet{102, 111, 124};
inline constexpr Colour kFaint{221, 225, 230};
inline constexpr Colour kHelped{11, 95, 200};
inline constexpr Colour kHurt{214, 73, 10};
inline constexpr Colour kSuccess{43, 138, 62};

struct Pen {
  Colour colour = kInk;
  double width = 1;
  double dash = 0;  // length of dashes and gaps; 0: solid
};

struct Point {
  double x = 0, y = 0;
};

enum class Anchor { kStart, kMiddle, kEnd };

class Drawing {
 public:
  Drawing(double width, double height) : width_(width), height_(height) {}

  void line(Point from, Point to, const Pen& pen);
  void polyline(const std::vector<Point>& points, const Pen& pen);
  void polygon(const std::vector<Point>& points, Colour fill);
  void curve(Point from, Point control1, Point control2, Point to, const Pen& pen);  // cubic Bezier
  void rectangle(Point corner, double width, double height, Colour fill);
  void circle(Point centre, double radius, Colour fill, const Pen& pen);
  // UTF-8; `at` is on the baseline.
  void text(Point at, const std::string& utf8, double size, Anchor anchor = Anchor::kStart,
            Colour colour = kInk);

  struct Path {
    enum class Kind { kLines, kPolygon, kCurve } kind;
    std::vector<Point> points;
    Colour fill;
    Pen pen;
  };
  struct Circle {
    Point centre;
    double radius;
    Colour fill;
    Pen pen;
  };
  struct Text {
    Point at;
    std::string utf8;
    double size;
    Anchor anchor;
    Colour colour;
  };
  using Shape = std::variant<Path, Circle, Text>;
  const std::vector<Shape>& shapes() const { return shapes_; }
  double width() const { return width_; }
  double height() const { return height_; }

 private:
  double width_, height_;
  std::vector<Shape> shapes_;
};

enum class FigureFormat { kSvg, kPng, kPdf };
// By the end of the file's name; an error lists the known ones.
Result<FigureFormat> figure_format(const std::string& path);
// Fails only when cairo does: a figure too large for a bitmap.
Result<std::string> render(const Drawing& drawing, FigureFormat format);

}  // namespace lodestep::harness
