// Structured log: one JSON object a line on standard error, with the ids that join it to a client's own log.
//   log_event(LogLevel::kInfo, "session_refused", {{"reason", "capacity"}, {"client", address}});
// Threads: safe. spdlog does the work, behind this header.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace lodestep::harness {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Events below the level are dropped; the default is kInfo.
void set_log_level(LogLevel level);
bool logs(LogLevel level);
void log_event(LogLevel level, std::string_view event,
               std::initializer_list<std::pair<std::string_view, std::string>> fields = {});

}  // namespace lodestep::harness
