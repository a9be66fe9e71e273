// Must not compile: an environment is copied by clone() only.
#include "envs/environment.h"

void share(lodestep::Environment& environment) {
#ifdef SHOULD_FAIL
  lodestep::Environment copy = environment;
  (void)copy;
#else
  auto copy = environment.clone();
#endif
}
