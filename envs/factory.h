// How environments are named, configured and made.
//   Result<std::shared_ptr<const EnvFactory>> factory = open_environment("sokoban", {"levels.txt", {}});
//   std::unique_ptr<Environment> env = (*factory)->make();
// Threads: a factory is immutable and shared; make() may be called from any thread. It owns the data
// (levels, catalogue, grammar) that all of its environments share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "envs/environment.h"

namespace lodestep {

class EnvFactory {
 public:
  EnvFactory() = default;
  EnvFactory(const EnvFactory&) = delete;
  EnvFactory& operator=(const EnvFactory&) = delete;
  virtual ~EnvFactory() = default;

  virtual std::string name() const = 0;
  // Rises whenever any output byte can change.
  virtual std::uint32_t version() const = 0;
  // Digest of the data and settings that decide outputs, for fingerprints in recordings.
  virtual Hash128 data_digest() const = 0;
  // Names of the task lists, the default one first. Splits share no content.
  virtual std::vector<std::string> splits() const = 0;
  // Number of tasks in a split; fails on an unknown split (the message lists the known ones).
  virtual Result<std::size_t> task_count(std::string_view split) const = 0;
  // The index-th task id of a split, in a fixed order that is the same everywhere.
  virtual Result<std::string> task_id(std::string_view split, std::size_t index) const = 0;
  virtual std::unique_ptr<Environment> make() const = 0;
};

struct EnvConfig {
  std::string data;   // path given with --data; empty: the embedded default
  Settings settings;  // --set key=value
};

// One line of the registry.
struct EnvType {
  std::string name;
  std::string summary;            // one line
  std::string data;               // what --data takes
  std::size_t default_max_steps;  // step budget of the harness when none is given
  std::vector<OptionSpec> options;
  Result<std::shared_ptr<const EnvFactory>> (*open)(const EnvConfig& config);
};

// All registered environments, sorted by name.
const std::vector<EnvType>& environment_types();
// nullptr when there is none of that name.
const EnvType* find_environment_type(std::string_view name);
// Opens data and settings; an unknown name is an error with the nearest known one.
Result<std::shared_ptr<const EnvFactory>> open_environment(std::string_view name, const EnvConfig& config);

// Shared by factories: the error for a split that does not exist, and for an index past the end.
Error unknown_split(const EnvFactory& factory, std::string_view split);
Error index_past_end(const EnvFactory& factory, std::string_view split, std::size_t index, std::size_t count);

}  // namespace lodestep
