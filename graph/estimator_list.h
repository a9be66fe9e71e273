// Every estimator by its maker; estimators.cc holds the list. Private to this room.
#pragma once

#include "graph/working.h"

namespace lodestep::graph {

// The preset of estimators whose defaults already are the released code's.
inline const std::pair<std::string, Settings> kReleased{"released", {}};

Estimator graphgpo();
Estimator gigpo();
Estimator grpo();
Estimator rloo();

}  // namespace lodestep::graph
