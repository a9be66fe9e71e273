// One function per command, each in harness/commands; the list that uses them is in harness/commands.cc.
// Threads: one. Signature and exit statuses: harness/command.h.
#pragma once

#include <string>
#include <vector>

#include "harness/command.h"

namespace lodestep::harness {

Result<int> run_envs(const std::vector<std::string>& words, Io& io);
Result<int> run_tasks(const std::vector<std::string>& words, Io& io);
Result<int> run_play(const std::vector<std::string>& words, Io& io);
Result<int> run_rollout(const std::vector<std::string>& words, Io& io);
Result<int> run_serve(const std::vector<std::string>& words, Io& io);
Result<int> run_report(const std::vector<std::string>& words, Io& io);
Result<int> run_bench(const std::vector<std::string>& words, Io& io);
Result<int> run_view(const std::vector<std::string>& words, Io& io);
Result<int> run_plot(const std::vector<std::string>& words, Io& io);
Result<int> run_export(const std::vector<std::string>& words, Io& io);
Result<int> run_compare(const std::vector<std::string>& words, Io& io);
Result<int> run_credit(const std::vector<std::string>& words, Io& io);
Result<int> run_match(const std::vector<std::string>& words, Io& io);
Result<int> run_sokoban(const std::vector<std::string>& words, Io& io);
Result<int> run_alfworld(const std::vector<std::string>& words, Io& io);
Result<int> run_ratio(const std::vector<std::string>& words, Io& io);
Result<int> run_webshop(const std::vector<std::string>& words, Io& io);

}  // namespace lodestep::harness
