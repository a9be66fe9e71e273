// WebShop, native: the pages, rankings and rewards of the original Python shop.
//   auto factory = webshop::env_type().open({"catalogue.db", {{"mode", "text_rich"}}});
//   env->reset({"webshop", "goal/17"}); env->step("search[red mug]"); env->step("click[b0example1]");
// Threads: as envs/environment.h says. All episodes of a process share one catalogue and one goal table.
// docs/webshop.md lists tasks, actions, settings and what of the original is kept.
#pragma once

#include "envs/factory.h"

namespace lodestep::webshop {

EnvType env_type();

}  // namespace lodestep::webshop
