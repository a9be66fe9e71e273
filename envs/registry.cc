// The one list of environments. A new one is a folder, an include and a line.
#include <algorithm>

#include "base/text.h"
#include "envs/alfworld_bridge/alfworld_env.h"
#include "envs/dummy/dummy_env.h"
#include "envs/factory.h"
#include "envs/sokoban/sokoban_env.h"
#include "envs/webshop/webshop_env.h"

namespace lodestep {

const std::vector<EnvType>& environment_types() {
  static const std::vector<EnvType> types{
      alfworld::env_type(),
      dummy::env_type(),
      sokoban::env_type(),
      webshop::env_type(),
  };
  return types;
}

const EnvType* find_environment_type(std::string_view name) {
  const std::vector<EnvType>& types = environment_types();
  const auto found =
      std::find_if(types.begin(), types.end(), [name](const EnvType& type) { return type.name == name; });
  return found == types.end() ? nullptr : &*found;
}

Result<std::shared_ptr<const EnvFactory>> open_environment(std::string_view name, const EnvConfig& config) {
  if (const EnvType* type = find_environment_type(name)) return type->open(config);
  std::vector<std::string> known;
  for (const EnvType& type : environment_types()) known.push_back(type.name);
  const std::string near = nearest_word(name, known);
  return Error{ErrorCode::kNotFound,
               "unknown environment '" + std::string(name) + "'" +
                   (near.empty() ? "" : "; did you mean '" + near + "'?"),
               "", "known environments: " + join(known, ", ")};
}

Error unknown_split(const EnvFactory& factory, std::string_view split) {
  return Error{ErrorCode::kNotFound, factory.name() + " has no split '" + std::string(split) + "'", "--split",
               "known splits: " + join(factory.splits(), ", ")};
}

Error index_past_end(const EnvFactory& factory, std::string_view split, std::size_t index,
                     std::size_t count) {
  return Error{
      ErrorCode::kInvalidArgument,
      "task index " + std::to_string(index) + " is past the end of split '" + std::string(split) + "'",
      factory.name(), "it has " + std::to_string(count) + " tasks"};
}

}  // namespace lodestep
