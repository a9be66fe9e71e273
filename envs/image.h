// Pictures as files: PNG out and in, animated GIF out, and the enlargement that vision models are shown.
//   std::string bytes = encode_png(*observation.image);
// Threads: pure functions. The same pixels give the same bytes on every machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "envs/environment.h"

namespace lodestep {

std::string encode_png(const Image& image);  // 8-bit RGB
// Any 8-bit PNG of at most 4096 x 4096 pixels as RGB; transparency is refused. `name` is for errors.
Result<Image> decode_png(std::string_view bytes, const std::string& name);

// Frames of one size, each shown for so many hundredths of a second, repeated for ever. Fails when the frames
// have more than 256 colours together or differ in size.
Result<std::string> encode_gif(const std::vector<Image>& frames, int hundredths);

// Pillow's Image.resize with its default filter (bicubic, Keys 1981 with a = -0.5; support widened when
// shrinking), to the last bit: 8-bit values, horizontal pass first, coefficients rounded to 22 fractional
// bits.
Image resize_bicubic(const Image& image, std::uint32_t width, std::uint32_t height);
// verl-agent's rule for small pictures: below 256 * 256 pixels both sides grow by one factor, rounded down.
Image enlarge(const Image& image);

}  // namespace lodestep
