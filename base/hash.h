// 128-bit hash of bytes, the same on every machine; the identity of states and texts.
//   Hash128 key = Hasher().add(board).add_u64(player).finish();
// Threads: values. Not cryptographic: an adversary could make two inputs collide.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lodestep {

struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Hash128&) const = default;
};

// 32 lower-case hex digits, high half first.
std::string to_hex(const Hash128& hash);

// Hash of the bytes; golden values in tests/unit/base.
Hash128 hash128(std::string_view bytes);

// Feeds several fields into one hash. Order and borders count: add("ab").add("c") differs from
// add("a").add("bc"), because each field brings its length.
class Hasher {
 public:
  Hasher& add(std::string_view bytes);
  Hasher& add_u64(std::uint64_t value);
  Hash128 finish() const;

 private:
  void mix(std::uint64_t first, std::uint64_t second);
  std::uint64_t a_ = 0x6c6f646573746570ULL;
  std::uint64_t b_ = 0x9d39247e33776d41ULL;
  std::uint64_t fields_ = 0;
};

// The hash of every unordered container in the project. The *_hash_zero tests link one that returns 0 for
// everything and must still pass, since no output may depend on bucket order.
struct ContainerHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const;
  std::size_t operator()(std::uint64_t value) const;
  std::size_t operator()(const Hash128& hash) const;
};

}  // namespace lodestep
