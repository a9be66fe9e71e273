// Must not compile: a failure may not be dropped on the floor.
#include "base/result.h"

lodestep::Status work();
void careless() {
#ifdef SHOULD_FAIL
  work();
#else
  if (!work()) return;
#endif
}
