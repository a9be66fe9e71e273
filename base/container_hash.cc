// In a file of its own, so that tests can link another one: tests/support/container_hash_zero.cc.
#include "base/hash.h"

namespace lodestep {

std::size_t ContainerHash::operator()(std::string_view text) const { return hash128(text).low; }
std::size_t ContainerHash::operator()(std::uint64_t value) const { return Hasher().add_u64(value).finish().low; }
std::size_t ContainerHash::operator()(const Hash128& hash) const { return hash.low; }

}  // namespace lodestep
