// In a file of its own, so that tests can link another one: tests/support/container_hash_zero.cc.
#include <cstring>

#include "base/hash.h"

namespace lodestep {
namespace {

// Folded 64x64 -> 128 multiply: every input bit reaches both halves.
std::uint64_t fold(std::uint64_t x, std::uint64_t y) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(x) * y;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t word(const char* at) {
  std::uint64_t out = 0;
  std::memcpy(&out, at, 8);
  return out;
}

constexpr std::uint64_t kOdd[] = {0xa0761d6478bd642fULL, 0xe7037ed1a0b428dbULL, 0x8ebc6af09c88c6e3ULL,
                                  0x589965cc75374cc3ULL};

}  // namespace

// Four sums that do not wait for one another: long texts are hashed as fast as memory brings them. It may
// differ from machine to machine, since nothing that leaves the program depends on it.
std::size_t ContainerHash::operator()(std::string_view text) const {
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t a = left, b = kOdd[1], c = kOdd[2], d = kOdd[3];
  for (; left >= 64; at += 64, left -= 64) {
    a = fold(word(at) ^ kOdd[0], word(at + 8) ^ a);
    b = fold(word(at + 16) ^ kOdd[1], word(at + 24) ^ b);
    c = fold(word(at + 32) ^ kOdd[2], word(at + 40) ^ c);
    d = fold(word(at + 48) ^ kOdd[3], word(at + 56) ^ d);
  }
  a ^= b ^ fold(c, kOdd[2] ^ d);
  for (; left > 16; at += 16, left -= 16) a = fold(word(at) ^ kOdd[0], word(at + 8) ^ a);
  char rest[16] = {};
  if (text.size() >= 16) {
    at = text.data() + text.size() - 16;  // some of it again: cheaper than copying what is left
  } else {
    if (left > 0) std::memcpy(rest, at, left);
    at = rest;
  }
  a = fold(word(at) ^ kOdd[1], word(at + 8) ^ a);
  return fold(a ^ kOdd[3], kOdd[2]);
}

std::size_t ContainerHash::operator()(std::uint64_t value) const { return fold(value ^ kOdd[0], kOdd[1]); }
std::size_t ContainerHash::operator()(const Hash128& hash) const { return hash.low; }

}  // namespace lodestep
