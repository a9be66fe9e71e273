#include "harness/server/internal/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "base/text.h"

namespace lodestep::harness {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: break;
  }
  return spdlog::level::err;
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made =
        std::make_shared<spdlog::logger>("lodestep", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})", spdlog::pattern_time_type::utc);
    made->flush_on(spdlog::level::warn);
    return made;
  }();
  return *instance;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(level_of(level)); }

bool logs(LogLevel level) { return logger().should_log(level_of(level)); }

void log_event(LogLevel level, std::string_view event,
               std::initializer_list<std::pair<std::string_view, std::string>> fields) {
  if (!logs(level)) return;
  std::string text = "\"event\":" + json_quote(event);
  for (const auto& [name, value] : fields) text += "," + json_quote(name) + ":" + json_quote(value);
  logger().log(level_of(level), "{}", text);
}

}  // namespace lodestep::harness
