#include "harness/view/drawing.h"

#include <cairo/cairo-pdf.h>
#include <cairo/cairo.h>
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "base/text.h"

namespace lodestep::harness {
namespace {

// Two decimals at most, no negative zero.
std::string number(double value) {
  std::string out = fmt::format("{:.2f}", value);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out == "-0" ? "0" : out;
}

// Text for XML 1.0: markup escaped, characters that XML has not replaced.
std::string xml(const std::string& utf8) {
  std::string out;
  const std::optional<std::u32string> points = decode_utf8(utf8);
  for (const char32_t c : points ? *points : std::u32string(U"\uFFFD")) {
    if (c == U'&')
      out += "&amp;";
    else if (c == U'<')
      out += "&lt;";
    else if (c == U'>')
      out += "&gt;";
    else if (c == U'"')
      out += "&quot;";
    else if (c == 0xFFFE || c == 0xFFFF || (c < 0x20 && c != U'\t' && c != U'\n'))
      out += "\xEF\xBF\xBD";
    else
      append_utf8(out, c);
  }
  return out;
}

std::string paint(const char* attribute, const Colour& colour) {
  if (colour.opacity == 0) return fmt::format(" {}=\"none\"", attribute);
  std::string out =
      fmt::format(" {}=\"#{:02x}{:02x}{:02x}\"", attribute, colour.red, colour.green, colour.blue);
  if (colour.opacity < 1) out += fmt::format(" {}-opacity=\"{}\"", attribute, number(colour.opacity));
  return out;
}

std::string stroke(const Pen& pen) {
  if (pen.width == 0 || pen.colour.opacity == 0) return "";
  std::string out = paint("stroke", pen.colour) + " stroke-width=\"" + number(pen.width) + "\"";
  if (pen.dash > 0) out += " stroke-dasharray=\"" + number(pen.dash) + "\"";
  return out;
}

struct SvgWriter {
  std::string& out;

  void operator()(const Drawing::Path& path) const {
    std::string d;
    for (std::size_t i = 0; i < path.points.size(); ++i) {
      const char* verb = i == 0                                              ? "M"
                         : i > 1 && path.kind == Drawing::Path::Kind::kCurve ? " "
                         : path.kind == Drawing::Path::Kind::kCurve          ? "C"
                                                                             : "L";
      d += verb + number(path.points[i].x) + " " + number(path.points[i].y);
    }
    if (path.kind == Drawing::Path::Kind::kPolygon) d += "Z";
    out += "<path d=\"" + d + "\"" + paint("fill", path.fill) + stroke(path.pen) + "/>\n";
  }
  void operator()(const Drawing::Circle& circle) const {
    out += "<circle cx=\"" + number(circle.centre.x) + "\" cy=\"" + number(circle.centre.y) + "\" r=\"" +
           number(circle.radius) + "\"" + paint("fill", circle.fill) + stroke(circle.pen) + "/>\n";
  }
  void operator()(const Drawing::Text& text) const {
    const char* anchor = text.anchor == Anchor::kStart    ? ""
                         : text.anchor == Anchor::kMiddle ? " text-anchor=\"middle\""
                                                          : " text-anchor=\"end\"";
    out += "<text x=\"" + number(text.at.x) + "\" y=\"" + number(text.at.y) + "\" font-size=\"" +
           number(text.size) + "\"" + anchor + paint("fill", text.colour) + ">" + xml(text.utf8) +
           "</text>\n";
  }
};

std::string to_svg(const Drawing& drawing) {
  const std::string width = number(drawing.width());
  const std::string height = number(drawing.height());
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" + height +
                    "\" viewBox=\"0 0 " + width + " " + height + "\" font-family=\"sans-serif\">\n";
  out += "<rect width=\"" + width + "\" height=\"" + height + "\"" + paint("fill", kWhite) + "/>\n";
  for (const Drawing::Shape& shape : drawing.shapes()) std::visit(SvgWriter{out}, shape);
  return out + "</svg>\n";
}

struct CairoWriter {
  cairo_t* cairo;

  void set(const Colour& c) const {
    cairo_set_source_rgba(cairo, c.red / 255.0, c.green / 255.0, c.blue / 255.0, c.opacity);
  }
  void finish(const Colour& fill, const Pen& pen) const {
    if (fill.opacity > 0) {
      set(fill);
      cairo_fill_preserve(cairo);
    }
    if (pen.width > 0 && pen.colour.opacity > 0) {
      set(pen.colour);
      cairo_set_line_width(cairo, pen.width);
      cairo_set_dash(cairo, &pen.dash, pen.dash > 0 ? 1 : 0, 0);
      cairo_stroke_preserve(cairo);
    }
    cairo_new_path(cairo);
  }
  void operator()(const Drawing::Path& path) const {
    const std::vector<Point>& p = path.points;
    if (p.empty()) return;
    cairo_move_to(cairo, p[0].x, p[0].y);
    if (path.kind == Drawing::Path::Kind::kCurve) {
      cairo_curve_to(cairo, p[1].x, p[1].y, p[2].x, p[2].y, p[3].x, p[3].y);
    } else {
      for (std::size_t i = 1; i < p.size(); ++i) cairo_line_to(cairo, p[i].x, p[i].y);
      if (path.kind == Drawing::Path::Kind::kPolygon) cairo_close_path(cairo);
    }
    finish(path.fill, path.pen);
  }
  void operator()(const Drawing::Circle& circle) const {
    constexpr double kTurn = 6.283185307179586;
    cairo_new_sub_path(cairo);
    cairo_arc(cairo, circle.centre.x, circle.centre.y, circle.radius, 0, kTurn);
    finish(circle.fill, circle.pen);
  }
  void operator()(const Drawing::Text& text) const {
    const std::string utf8 = is_valid_utf8(text.utf8) ? text.utf8 : "\xEF\xBF\xBD";
    cairo_set_font_size(cairo, text.size);
    cairo_text_extents_t extents;
    cairo_text_extents(cairo, utf8.c_str(), &extents);
    const double share = text.anchor == Anchor::kStart ? 0 : text.anchor == Anchor::kMiddle ? 0.5 : 1;
    cairo_move_to(cairo, text.at.x - share * extents.x_advance, text.at.y);
    set(text.colour);
    cairo_show_text(cairo, utf8.c_str());
    cairo_new_path(cairo);
  }
};

struct Destroy {
  void operator()(cairo_t* cairo) const { cairo_destroy(cairo); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
};

cairo_status_t append(void* out, const unsigned char* bytes, unsigned int size) {
  static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(bytes), size);
  return CAIRO_STATUS_SUCCESS;
}

Result<std::string> by_cairo(const Drawing& drawing, FigureFormat format) {
  const double scale = format == FigureFormat::kPng ? 2 : 1;
  std::string out;
  cairo_status_t status = CAIRO_STATUS_SUCCESS;
  {
    const std::unique_ptr<cairo_surface_t, Destroy> surface(
        format == FigureFormat::kPdf
            ? cairo_pdf_surface_create_for_stream(&append, &out, drawing.width(), drawing.height())
            : cairo_image_surface_create(CAIRO_FORMAT_RGB24,
                                         static_cast<int>(std::ceil(drawing.width() * scale)),
                                         static_cast<int>(std::ceil(drawing.height() * scale))));
    const std::unique_ptr<cairo_t, Destroy> cairo(cairo_create(surface.get()));
    cairo_scale(cairo.get(), scale, scale);
    cairo_select_font_face(cairo.get(), "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    CairoWriter{cairo.get()}.set(kWhite);
    cairo_paint(cairo.get());
    for (const Drawing::Shape& shape : drawing.shapes()) std::visit(CairoWriter{cairo.get()}, shape);
    status = cairo_status(cairo.get());
    if (status == CAIRO_STATUS_SUCCESS && format == FigureFormat::kPng) {
      status = cairo_surface_write_to_png_stream(surface.get(), &append, &out);
    }
    cairo_surface_finish(surface.get());
    if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(surface.get());
  }
  if (status != CAIRO_STATUS_SUCCESS) {
    return Error{ErrorCode::kUnavailable,
                 std::string("cannot draw the figure: ") + cairo_status_to_string(status), "",
                 "an .svg has no such limit"};
  }
  return out;
}

}  // namespace

void Drawing::line(Point from, Point to, const Pen& pen) { polyline({from, to}, pen); }
void Drawing::polyline(const std::vector<Point>& points, const Pen& pen) {
  shapes_.push_back(Path{Path::Kind::kLines, points, kNoColour, pen});
}
void Drawing::polygon(const std::vector<Point>& points, Colour fill) {
  shapes_.push_back(Path{Path::Kind::kPolygon, points, fill, {kNoColour, 0}});
}
void Drawing::curve(Point from, Point control1, Point control2, Point to, const Pen& pen) {
  shapes_.push_back(Path{Path::Kind::kCurve, {from, control1, control2, to}, kNoColour, pen});
}
void Drawing::rectangle(Point corner, double width, double height, Colour fill) {
  polygon({corner,
           {corner.x + width, corner.y},
           {corner.x + width, corner.y + height},
           {corner.x, corner.y + height}},
          fill);
}
void Drawing::circle(Point centre, double radius, Colour fill, const Pen& pen) {
  shapes_.push_back(Circle{centre, radius, fill, pen});
}
void Drawing::text(Point at, const std::string& utf8, double size, Anchor anchor, Colour colour) {
  shapes_.push_back(Text{at, utf8, size, anchor, colour});
}

Result<FigureFormat> figure_format(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  const std::string end = dot == std::string::npos ? "" : ascii_lower(path.substr(dot));
  if (end == ".svg") return FigureFormat::kSvg;
  if (end == ".png") return FigureFormat::kPng;
  if (end == ".pdf") return FigureFormat::kPdf;
  return Error{ErrorCode::kInvalidArgument, "the figure's name must end in .svg, .png or .pdf", path, ""};
}

Result<std::string> render(const Drawing& drawing, FigureFormat format) {
  if (format == FigureFormat::kSvg) return to_svg(drawing);
  return by_cairo(drawing, format);
}

}  // namespace lodestep::harness
