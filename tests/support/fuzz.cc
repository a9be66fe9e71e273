#include "tests/support/fuzz.h"

#include <cstdlib>

namespace lodestep::test {

int fuzz_rounds(int suite) {
  const char* times = std::getenv("LODESTEP_FUZZ");
  const int factor = times == nullptr ? 1 : std::atoi(times);
  return factor > 0 ? suite * factor : suite;
}

}  // namespace lodestep::test
