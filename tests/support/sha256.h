// SHA-256 (FIPS 180-4), for golden files that carry digests.
#pragma once

#include <string>
#include <string_view>

namespace lodestep::test {

std::string sha256(std::string_view bytes);  // 64 hex digits

}  // namespace lodestep::test
