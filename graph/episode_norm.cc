// The episode term of GiGPO, GraphGPO and HGPO alone: GRPO under the released code's own name and switches.
#include "graph/estimator_list.h"

namespace lodestep::graph {

Estimator episode_norm() {
  Estimator estimator = grpo();
  estimator.info.name = "episode_norm";
  estimator.info.summary = "the episode term of gigpo and graphgpo alone";
  return estimator;
}

}  // namespace lodestep::graph
