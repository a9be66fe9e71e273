// Pictures: colours, tiles, files, and the enlargement of Pillow.
#include <cstdlib>

#include "envs/image.h"
#include "envs/sokoban/board.h"
#include "envs/sokoban/generator.h"
#include "envs/sokoban/render.h"
#include "tests/unit/sokoban/support.h"

namespace lodestep::sokoban {
namespace {

std::string pixel(const Image& image, std::uint32_t row, std::uint32_t col) {
  return image.rgb.substr(3 * (std::size_t{row} * image.width + col), 3);
}

TEST_CASE("tiny picture: the seven colours of gym-sokoban, in squares") {
  const Level level = *level_from_rows({"#######", "#+ $.*#", "#  $  #", "#######"});
  const Image image = tiny_image(level, level.start, 3);
  CHECK(image.width == 21);
  CHECK(image.height == 12);
  const int codes[] = {kWall, kPlayerOnTarget, kFloor, kBox, kTarget, kBoxOnTarget};
  for (std::uint32_t col = 0; col < 6; ++col) {
    const auto& colour = kTinyColours[static_cast<std::size_t>(codes[col])];
    CHECK(pixel(image, 5, 3 * col + 2) == std::string(colour.begin(), colour.end()));
  }
}

TEST_CASE("tile picture: tiles are copied as they are, floor and player on target included") {
  const Level level = *level_from_rows({"######", "#+ $.#", "#  $ #", "######"});
  const TileSet& tiles = TileSet::builtin();
  const Image image = tile_image(level, level.start, tiles);
  CHECK(image.width == 96);
  CHECK(image.height == 64);
  const Cell row_one[] = {kWall, kPlayerOnTarget, kFloor, kBox, kTarget, kWall};
  for (std::uint32_t cell = 0; cell < 6; ++cell) {
    for (std::uint32_t y = 0; y < kTileSide; ++y) {
      for (std::uint32_t x = 0; x < kTileSide; ++x) {
        REQUIRE(pixel(image, kTileSide + y, cell * kTileSide + x) == pixel(tiles.tile(row_one[cell]), y, x));
      }
    }
  }
}

TEST_CASE("PNG files read back equal; other files are refused with their name") {
  const Level level = make_room({}, 17)->level;
  const Image image = tile_image(level, level.start, TileSet::builtin());
  const std::string bytes = encode_png(image);
  CHECK(bytes == encode_png(image));
  const Result<Image> back = decode_png(bytes, "x.png");
  REQUIRE(back.ok());
  CHECK(back->rgb == image.rgb);
  CHECK(to_string(decode_png("not a picture", "x.png").error()) ==
        "not a PNG picture that can be read (x.png)");
  CHECK_FALSE(decode_png(bytes.substr(0, 40), "x.png").ok());
  CHECK(TileSet::load("no-such-folder").error().code == ErrorCode::kNotFound);
}

TEST_CASE("animated GIF: frames, size and colours are in the file") {
  const Level level = make_room({}, 17)->level;
  Board board(&level);
  std::vector<Image> frames;
  for (const Direction direction : kDirections) {
    frames.push_back(tile_image(level, board.cells(), TileSet::builtin()));
    board.push(direction);
  }
  const Result<std::string> gif = encode_gif(frames, 40);
  REQUIRE(gif.ok());
  CHECK(gif->starts_with("GIF89a"));
  CHECK(gif->find("NETSCAPE2.0") != std::string::npos);
  CHECK(gif->back() == ';');
  frames.back().width = 1;
  CHECK_FALSE(encode_gif(frames, 40).ok());
  CHECK_FALSE(encode_gif({}, 40).ok());
}

TEST_CASE("pictures of the golden rooms with the original's tiles") {
  const auto golden = golden_json();
  const char* folder = std::getenv("LODESTEP_GYM_TILES");
  if (!golden) return;
  if (folder == nullptr) {
    WARN(
        "skipped: LODESTEP_GYM_TILES does not name gym_sokoban/envs/surface of the PyPI package gym-sokoban "
        "0.0.6");
    return;
  }
  const Result<TileSet> tiles = TileSet::load(folder);
  REQUIRE(tiles.ok());
  for (const auto& record : (*golden)["rooms"].GetArray()) {
    if (!record["ok"].GetBool()) continue;
    RoomSpec spec;
    spec.boxes = record["num_boxes"].GetInt();
    const Level level = make_room(spec, record["seed"].GetUint())->level;
    CHECK(sha256(tile_image(level, level.start, *tiles).rgb) == record["rgb_sha256"].GetString());
  }
}

TEST_CASE("enlargement: verl-agent's size rule, Pillow's bits") {
  const Level level = make_room({}, 17)->level;
  const Image image = tile_image(level, level.start, TileSet::builtin());
  const Image large = enlarge(image);
  CHECK(large.width == 256);
  CHECK(large.height == 256);
  CHECK(enlarge(large).rgb == large.rgb);
  // A ramp through Pillow 10.4: Image.frombytes("RGB", (4, 3), bytes(7 * i % 256 for i in
  // range(36))).resize((7, 5)).
  Image ramp{4, 3, {}};
  for (int i = 0; i < 36; ++i) ramp.rgb += static_cast<char>(static_cast<unsigned char>(7 * i));
  const auto values = [](const Image& picture) {
    std::vector<int> out;
    for (const char c : picture.rgb) out.push_back(static_cast<unsigned char>(c));
    return out;
  };
  CHECK(values(resize_bicubic(ramp, 7, 5)) ==
        std::vector<int>{0,   0,   6,   0,   7,   14,  13,  20,  27,  26,  33,  40,  38,  45,  52,
                         51,  58,  65,  59,  66,  73,  25,  31,  38,  32,  39,  46,  45,  52,  59,
                         58,  65,  72,  70,  77,  84,  83,  90,  97,  91,  98,  105, 82,  89,  96,
                         90,  97,  104, 103, 110, 117, 116, 123, 130, 128, 135, 142, 141, 148, 155,
                         149, 156, 163, 140, 147, 154, 148, 155, 162, 161, 168, 175, 174, 181, 188,
                         186, 193, 200, 199, 206, 213, 207, 214, 221, 172, 179, 186, 180, 187, 194,
                         193, 200, 207, 206, 213, 220, 218, 225, 232, 231, 238, 245, 239, 246, 253});
  CHECK(values(resize_bicubic(ramp, 2, 2)) ==
        std::vector<int>{38, 45, 52, 77, 84, 91, 154, 161, 168, 193, 200, 207});
}

TEST_CASE("pictures in observations, in both modes, enlarged or not, and none by default") {
  auto open = [](Settings settings) {
    auto env = (*open_environment("sokoban", {"", settings}))->make();
    REQUIRE(env->reset({"sokoban", "gen/6x6/b1/s17", 0}).ok());
    return env->observe().observation.image;
  };
  CHECK_FALSE(open({}).has_value());
  CHECK(open({{"image", "tiny"}})->width == 6);
  CHECK(open({{"image", "tiny"}, {"tiny_scale", "4"}})->width == 24);
  CHECK(open({{"image", "rgb"}})->width == 96);
  CHECK(open({{"image", "rgb"}, {"enlarge", "true"}})->width == 256);
  CHECK(open_environment("sokoban", {"", {{"tiles", "no-such-folder"}}}).error().code ==
        ErrorCode::kNotFound);
}

}  // namespace
}  // namespace lodestep::sokoban
