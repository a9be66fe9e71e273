// The container hash of the *_hash_zero test programs: everything collides, and nothing may change.
#include "base/hash.h"

namespace lodestep {

std::size_t ContainerHash::operator()(std::string_view) const { return 0; }
std::size_t ContainerHash::operator()(std::uint64_t) const { return 0; }
std::size_t ContainerHash::operator()(const Hash128&) const { return 0; }

}  // namespace lodestep
