// Every estimator by its maker; estimators.cc holds the list. Private to this room.
#pragma once

#include "graph/working.h"

namespace lodestep::graph {

// The preset of estimators whose defaults already are the released code's.
inline const std::pair<std::string, Settings> kReleased{"released", {}};

Estimator evihb();
Estimator evih();
Estimator evi();
Estimator graphgpo();
Estimator gigpo();
Estimator hgpo();
Estimator grpo();
Estimator grpo_passk();
Estimator rloo();
Estimator episode_norm();
Estimator reinforce_plus_plus_baseline();
Estimator reinforce_plus_plus();
Estimator gagpo();
Estimator gae();
Estimator otb();
Estimator trace();
Estimator vimpo();

}  // namespace lodestep::graph
