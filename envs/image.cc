#include "envs/image.h"

#include <gif_lib.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "base/check.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wunused-function"
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#define STBI_MAX_DIMENSIONS 4096
#include <stb/stb_image.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#include <stb/stb_image_write.h>
#pragma GCC diagnostic pop

namespace lodestep {
namespace {

constexpr int kPrecision = 32 - 8 - 2;

double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

// For each pixel out: the first pixel in, and the weights from there on.
struct Window {
  std::size_t first = 0;
  std::vector<int> weights;
};

std::vector<Window> windows(std::uint32_t from, std::uint32_t to) {
  const double scale = static_cast<double>(from) / to;
  const double filter_scale = std::max(scale, 1.0);
  const double support = 2.0 * filter_scale;
  std::vector<Window> out(to);
  for (std::uint32_t i = 0; i < to; ++i) {
    const double center = (i + 0.5) * scale;
    const int low = std::max(0, static_cast<int>(center - support + 0.5));
    const int high = std::min(static_cast<int>(from), static_cast<int>(center + support + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (int x = low; x < high; ++x) {
      weights.push_back(cubic((x - center + 0.5) * (1.0 / filter_scale)));
      sum += weights.back();
    }
    out[i].first = static_cast<std::size_t>(low);
    for (double weight : weights) {
      if (sum != 0.0) weight /= sum;
      out[i].weights.push_back(static_cast<int>((weight < 0 ? -0.5 : 0.5) + weight * (1 << kPrecision)));
    }
  }
  return out;
}

// Resamples lines of `from` pixels: `count` lines, pixels `step` bytes apart, lines `line` bytes apart.
struct Stride {
  std::size_t step;
  std::size_t line;
};
std::string resample(const std::string& in, std::uint32_t from, std::uint32_t to, std::size_t lines,
                     Stride read, Stride write) {
  std::string out(lines * to * 3, '\0');
  const std::vector<Window> all = windows(from, to);
  for (std::size_t line = 0; line < lines; ++line) {
    for (std::size_t i = 0; i < to; ++i) {
      for (std::size_t channel = 0; channel < 3; ++channel) {
        int sum = 1 << (kPrecision - 1);
        for (std::size_t k = 0; k < all[i].weights.size(); ++k) {
          const std::size_t at = line * read.line + (all[i].first + k) * read.step + channel;
          sum += static_cast<unsigned char>(in[at]) * all[i].weights[k];
        }
        out[line * write.line + i * write.step + channel] =
            static_cast<char>(static_cast<unsigned char>(std::clamp(sum >> kPrecision, 0, 255)));
      }
    }
  }
  return out;
}

int append_bytes(GifFileType* file, const GifByteType* bytes, int count) {
  static_cast<std::string*>(file->UserData)
      ->append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
  return count;
}

}  // namespace

std::string encode_png(const Image& image) {
  LODESTEP_CHECK(image.rgb.size() == std::size_t{3} * image.width * image.height, image.rgb.size());
  std::string out;
  const auto append = [](void* context, void* data, int size) {
    static_cast<std::string*>(context)->append(static_cast<const char*>(data),
                                               static_cast<std::size_t>(size));
  };
  const int ok =
      stbi_write_png_to_func(append, &out, static_cast<int>(image.width), static_cast<int>(image.height), 3,
                             image.rgb.data(), static_cast<int>(3 * image.width));
  LODESTEP_CHECK(ok != 0);
  return out;
}

Result<Image> decode_png(std::string_view bytes, const std::string& name) {
  int width = 0;
  int height = 0;
  int channels = 0;
  const auto* data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const int size = bytes.size() > 100'000'000 ? 0 : static_cast<int>(bytes.size());
  if (stbi_is_16_bit_from_memory(data, size) != 0)
    return Error{ErrorCode::kBadData, "not an 8-bit PNG picture", name, ""};
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(data, size, &width, &height, &channels, 0), &stbi_image_free);
  if (!pixels) return Error{ErrorCode::kBadData, "not a PNG picture that can be read", name, ""};
  if (channels != 3) {
    return Error{ErrorCode::kBadData, "PNG picture with " + std::to_string(channels) + " channels", name,
                 "expected RGB"};
  }
  Image image{static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height), {}};
  image.rgb.assign(reinterpret_cast<const char*>(pixels.get()), std::size_t{3} * image.width * image.height);
  return image;
}

Result<std::string> encode_gif(const std::vector<Image>& frames, int hundredths) {
  const auto bad = [](const std::string& what) { return Error{ErrorCode::kInvalidArgument, what, "", ""}; };
  if (frames.empty()) return bad("a GIF needs a frame");
  std::map<std::string, int> colours;  // in the order of their bytes, so that the palette is defined
  for (const Image& frame : frames) {
    if (frame.width != frames[0].width || frame.height != frames[0].height)
      return bad("frames of different sizes");
    for (std::size_t at = 0; at < frame.rgb.size(); at += 3) {
      colours.emplace(frame.rgb.substr(at, 3), 0);
      if (colours.size() > 256) return bad("more than 256 colours; GIF holds no more");
    }
  }
  int number = 0;
  int bits = 1;
  while ((1U << bits) < colours.size()) ++bits;
  std::vector<GifColorType> palette(std::size_t{1} << bits);
  for (auto& [rgb, index] : colours) {
    palette[static_cast<std::size_t>(number)] = {
        static_cast<GifByteType>(rgb[0]), static_cast<GifByteType>(rgb[1]), static_cast<GifByteType>(rgb[2])};
    index = number++;
  }
  const int width = static_cast<int>(frames[0].width);
  const int height = static_cast<int>(frames[0].height);
  std::string out;
  int error = 0;
  GifFileType* file = EGifOpen(&out, &append_bytes, &error);
  LODESTEP_CHECK(file != nullptr, error);
  EGifSetGifVersion(file, true);
  const std::unique_ptr<ColorMapObject, void (*)(ColorMapObject*)> map(
      GifMakeMapObject(static_cast<int>(palette.size()), palette.data()), &GifFreeMapObject);
  bool ok = EGifPutScreenDesc(file, width, height, bits, 0, map.get()) == GIF_OK;
  const unsigned char loop[] = {1, 0, 0};
  ok = ok && EGifPutExtensionLeader(file, APPLICATION_EXT_FUNC_CODE) == GIF_OK &&
       EGifPutExtensionBlock(file, 11, "NETSCAPE2.0") == GIF_OK &&
       EGifPutExtensionBlock(file, 3, loop) == GIF_OK && EGifPutExtensionTrailer(file) == GIF_OK;
  std::vector<GifPixelType> line(frames[0].width);
  for (const Image& frame : frames) {
    GraphicsControlBlock control{DISPOSE_DO_NOT, false, hundredths, NO_TRANSPARENT_COLOR};
    GifByteType extension[4];
    EGifGCBToExtension(&control, extension);
    ok = ok && EGifPutExtension(file, GRAPHICS_EXT_FUNC_CODE, 4, extension) == GIF_OK &&
         EGifPutImageDesc(file, 0, 0, width, height, false, nullptr) == GIF_OK;
    for (std::size_t row = 0; ok && row < frame.height; ++row) {
      for (std::size_t col = 0; col < frame.width; ++col) {
        line[col] = static_cast<GifPixelType>(colours.at(frame.rgb.substr(3 * (row * frame.width + col), 3)));
      }
      ok = EGifPutLine(file, line.data(), width) == GIF_OK;
    }
  }
  ok = EGifCloseFile(file, &error) == GIF_OK && ok;
  LODESTEP_CHECK(ok, error);
  return out;
}

Image resize_bicubic(const Image& image, std::uint32_t width, std::uint32_t height) {
  Image out{width, height, image.rgb};
  std::size_t row = std::size_t{3} * image.width;
  if (width != image.width) {
    const std::size_t wide = std::size_t{3} * width;
    out.rgb = resample(out.rgb, image.width, width, image.height, {3, row}, {3, wide});
    row = wide;
  }
  if (height != image.height) out.rgb = resample(out.rgb, image.height, height, width, {row, 3}, {row, 3});
  return out;
}

Image enlarge(const Image& image) {
  constexpr double kPixels = 256.0 * 256.0;
  const double pixels = static_cast<double>(image.width) * image.height;
  if (pixels >= kPixels || pixels == 0) return image;
  const double factor = std::sqrt(kPixels / pixels);
  return resize_bicubic(image, static_cast<std::uint32_t>(image.width * factor),
                        static_cast<std::uint32_t>(image.height * factor));
}

}  // namespace lodestep
