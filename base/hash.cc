#include "base/hash.h"

#include <bit>
#include <cstring>

namespace lodestep {
namespace {

static_assert(std::endian::native == std::endian::little, "hash128 reads words in little-endian");

constexpr std::uint64_t kFirst = 0xa0761d6478bd642fULL;
constexpr std::uint64_t kSecond = 0xe7037ed1a0b428dbULL;

// Folded 64x64 -> 128 multiply: every input bit reaches both halves.
std::uint64_t fold(std::uint64_t x, std::uint64_t y) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(x) * y;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
  return x ^ (x >> 32);
}

std::uint64_t load(const char* bytes, std::size_t count) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, count);
  return word;
}

}  // namespace

void Hasher::mix(std::uint64_t first, std::uint64_t second) {
  const std::uint64_t a = fold(a_ ^ first, kFirst ^ second);
  b_ = std::rotl(b_, 23) + fold(b_ ^ second, kSecond ^ std::rotl(first, 32));
  a_ = std::rotl(a_, 41) + a;
}

Hasher& Hasher::add(std::string_view bytes) {
  mix(bytes.size(), ++fields_);
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 16; at += 16, left -= 16) mix(load(at, 8), load(at + 8, 8));
  if (left > 8) {
    mix(load(at, 8), load(at + 8, left - 8));
  } else if (left > 0) {
    mix(load(at, left), 0);
  }
  return *this;
}

Hasher& Hasher::add_u64(std::uint64_t value) {
  mix(value, ++fields_);
  return *this;
}

Hash128 Hasher::finish() const {
  const std::uint64_t a = scramble(a_ + std::rotl(b_, 17) + fields_);
  const std::uint64_t b = scramble(b_ ^ std::rotl(a, 29));
  return {a ^ scramble(b + kFirst), b};
}

Hash128 hash128(std::string_view bytes) { return Hasher().add(bytes).finish(); }

std::string to_hex(const Hash128& hash) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out(32, '0');
  for (std::size_t i = 0; i < 16; ++i) {
    out[15 - i] = kDigits[(hash.high >> (4 * i)) & 15];
    out[31 - i] = kDigits[(hash.low >> (4 * i)) & 15];
  }
  return out;
}

}  // namespace lodestep
