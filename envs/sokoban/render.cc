#include "envs/sokoban/render.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/check.h"
#include "envs/image.h"
#include "envs/sokoban/embedded_tiles.h"

namespace lodestep::sokoban {
namespace {

// Copies `picture` so that its left upper pixel comes to (row, col).
void paste(Image& sheet, const Image& picture, std::size_t row, std::size_t col) {
  const std::size_t width = std::size_t{3} * picture.width;
  for (std::size_t y = 0; y < picture.height; ++y) {
    std::copy_n(picture.rgb.begin() + static_cast<std::ptrdiff_t>(y * width), width,
                sheet.rgb.begin() + static_cast<std::ptrdiff_t>(3 * ((row + y) * sheet.width + col)));
  }
}

Image blank(std::size_t width, std::size_t height, char value) {
  return {static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height),
          std::string(3 * width * height, value)};
}

}  // namespace

Result<TileSet> TileSet::decode(const std::array<std::string, 7>& files, const std::string& folder) {
  TileSet set;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = (folder.empty() ? "" : folder + "/") + kTileNames[i] + ".png";
    Result<Image> tile = decode_png(files[i], name);
    if (!tile) return tile.error();
    if (tile->width != kTileSide || tile->height != kTileSide) {
      return Error{
          ErrorCode::kBadData,
          "tile of " + std::to_string(tile->width) + " x " + std::to_string(tile->height) + " pixels", name,
          "tiles have 16 x 16"};
    }
    set.tiles_[i] = std::move(*tile);
  }
  return set;
}

const TileSet& TileSet::builtin() {
  static const TileSet set = [] {
    Result<TileSet> decoded = decode(embedded_tiles(), "");
    LODESTEP_CHECK(decoded.ok(), decoded.error());
    return std::move(*decoded);
  }();
  return set;
}

Result<TileSet> TileSet::load(const std::string& folder) {
  std::array<std::string, 7> files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = folder + "/" + kTileNames[i] + ".png";
    std::ifstream in(name, std::ios::binary);
    files[i].assign(std::istreambuf_iterator<char>(in), {});
    if (!in.is_open() || in.bad()) {
      return Error{
          ErrorCode::kNotFound, "cannot read the tile", name,
          "a tile folder holds wall, floor, box_target, box_on_target, box, player and player_on_target.png"};
    }
  }
  return decode(files, folder);
}

Image tile_image(const Level& level, const Grid& cells, const TileSet& tiles) {
  const auto cols = static_cast<std::size_t>(level.cols);
  Image image = blank(cols * kTileSide, static_cast<std::size_t>(level.rows) * kTileSide, 0);
  const Grid codes = view(level.fixed, cells);
  for (std::size_t cell = 0; cell < codes.size(); ++cell) {
    paste(image, tiles.tile(static_cast<Cell>(codes[cell])), cell / cols * kTileSide,
          cell % cols * kTileSide);
  }
  return image;
}

Image tiny_image(const Level& level, const Grid& cells, std::uint32_t scale) {
  const Grid codes = view(level.fixed, cells);
  Image image{
      static_cast<std::uint32_t>(level.cols) * scale, static_cast<std::uint32_t>(level.rows) * scale, {}};
  image.rgb.reserve(std::size_t{3} * image.width * image.height);
  for (std::uint32_t row = 0; row < image.height; ++row) {
    for (std::uint32_t col = 0; col < image.width; ++col) {
      for (const std::uint8_t value :
           kTinyColours[codes[row / scale * static_cast<std::uint32_t>(level.cols) + col / scale]]) {
        image.rgb += static_cast<char>(value);
      }
    }
  }
  return image;
}

Image contact_sheet(const std::vector<Image>& pictures, std::size_t columns) {
  LODESTEP_CHECK(!pictures.empty() && columns > 0);
  constexpr std::size_t kMargin = 8;
  columns = std::min(columns, pictures.size());
  const std::size_t rows = (pictures.size() + columns - 1) / columns;
  const std::size_t width = pictures[0].width + kMargin;
  const std::size_t height = pictures[0].height + kMargin;
  Image sheet = blank(columns * width + kMargin, rows * height + kMargin, static_cast<char>(0xff));
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    LODESTEP_CHECK(pictures[i].width == pictures[0].width && pictures[i].height == pictures[0].height);
    paste(sheet, pictures[i], kMargin + i / columns * height, kMargin + i % columns * width);
  }
  return sheet;
}

}  // namespace lodestep::sokoban
