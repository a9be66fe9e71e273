// Options, task lists and the opener of the Sokoban environment.
#include <algorithm>

#include "base/text.h"
#include "envs/sokoban/shared.h"
#include "envs/sokoban/sokoban_env.h"

namespace lodestep::sokoban {
namespace {

// clang-format off
const std::vector<OptionSpec>& option_specs() {
  static const std::vector<OptionSpec> specs{
      {"rewards", "gym", "gym: -0.1 a step, +1/-1 a box, +10 at the end; sparse: 10 or 0, -0.1 for an invalid reply", {"gym", "sparse"}},
      {"actions", "words", "words; or the numbers of gym-sokoban (0 to 8) or verl-agent (0 to 4), words still accepted", {"words", "gym", "verl"}},
      {"after_done", "stop", "stop: nothing happens after the end; continue: play on as the original does", {"stop", "continue"}},
      {"distance", "false", "put distance_to_goal (least number of moves, null: dead) into the details", {}},
      {"image", "none", "picture beside the text: none, tiny (one colour a cell) or rgb (16 x 16 pixels a cell)", {"none", "tiny", "rgb"}},
      {"tiny_scale", "1", "pixels along a cell of image=tiny", {}},
      {"enlarge", "false", "enlarge pictures below 65536 pixels as verl-agent does for vision models (square rooms: 256 x 256)", {}},
      {"tiles", "", "folder of seven PNG tiles for image=rgb, such as gym_sokoban/envs/surface; empty: our own", {}},
      {"solved", "refuse", "levels of --data that start solved: refuse them, or keep them as tasks won at once", {"refuse", "keep"}},
      {"levels", "generated", "tasks without --data: generated rooms, or the small levels that come with the program", {"generated", "small"}},
      {"generator", "verl", "generated rooms as verl-agent makes them, or as gym-sokoban does", {"verl", "gym"}},
      {"size", "6x6", "rows x columns of the rooms in the task lists", {}},
      {"boxes", "1", "boxes of the rooms in the task lists", {}},
      {"steps", "auto", "steps of the walk that digs a room; auto: int(1.7 * (rows + columns))", {}},
      {"depth", "auto", "depth of the reverse play; auto: 30 (verl); gym always plays to 300", {}},
      {"tries", "4", "floors that are tried before a seed is given up", {}},
      {"min_moves", "0", "leave levels out of the task lists whose shortest solution is shorter", {}},
      {"max_moves", "any", "or longer, such as those that no step budget of 15 can win; any: none", {}},
      {"seeds", "list", "seeds of the task lists: a fixed list, derived from base_seed, or verl-agent's own draws", {"list", "derived", "verl"}},
      {"base_seed", "0", "base of seeds=derived and seeds=verl (verl-agent's recipe ends up with 1000)", {}},
      {"batch", "32", "tasks per iteration of seeds=derived", {}},
  };
  return specs;
}
// clang-format on

// The task lists of --data, of the embedded levels or of generated rooms.
class SokobanFactory final : public EnvFactory {
 public:
  SokobanFactory(std::shared_ptr<const Shared> shared, const Hash128& settings)
      : shared_(std::move(shared)), settings_(settings) {}

  std::string name() const override { return "sokoban"; }
  std::uint32_t version() const override { return kVersion; }

  Hash128 data_digest() const override {
    Hasher hasher;
    hasher.add("sokoban").add_u64(settings_.high).add_u64(settings_.low);
    if (!shared_->rooms) hasher.add_u64(pack().digest().high).add_u64(pack().digest().low);
    return hasher.finish();
  }

  std::vector<std::string> splits() const override {
    return shared_->rooms ? shared_->rooms->splits() : pack().splits();
  }

  Result<std::size_t> task_count(std::string_view split) const override {
    const std::optional<std::size_t> at = find_split(split);
    if (!at) return unknown_split(*this, split);
    return size(*at);
  }

  Result<std::string> task_id(std::string_view split, std::size_t index) const override {
    const std::optional<std::size_t> at = find_split(split);
    if (!at) return unknown_split(*this, split);
    if (index >= size(*at)) return index_past_end(*this, split, index, size(*at));
    if (shared_->rooms) return shared_->rooms->id(*at, index);
    return pack().id(*at, index);
  }

  std::unique_ptr<Environment> make() const override { return make_environment(shared_); }

 private:
  const LevelPack& pack() const { return shared_->data ? *shared_->data : shared_->small; }
  std::size_t size(std::size_t split) const {
    return shared_->rooms ? shared_->rooms->size(split) : pack().size(split);
  }
  std::optional<std::size_t> find_split(std::string_view split) const {
    const std::vector<std::string> names = splits();
    const auto found = std::find(names.begin(), names.end(), split);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
  }

  std::shared_ptr<const Shared> shared_;
  Hash128 settings_;
};

Error bad_option(const std::string& name, const std::string& value, const std::string& expected) {
  return Error{ErrorCode::kInvalidArgument, "option '" + name + "' of sokoban cannot be '" + value + "'",
               "--set " + name + "=" + value, "expected " + expected};
}

Result<RoomSpec> room_spec(const Options& options) {
  RoomSpec spec;
  spec.generator = options.text("generator") == "gym" ? Generator::kGym : Generator::kVerl;
  const std::optional<RoomName> size = parse_room_name("gen/" + options.text("size") + "/b1/s0");
  if (!size) return bad_option("size", options.text("size"), "rows x columns, such as 6x6");
  spec.rows = size->rows;
  spec.cols = size->cols;
  const Result<std::int64_t> boxes = options.integer("boxes", 1, 20);
  if (!boxes) return boxes.error();
  const Result<std::int64_t> tries = options.integer("tries", 1, 1000);
  if (!tries) return tries.error();
  spec.boxes = static_cast<int>(*boxes);
  spec.tries = static_cast<int>(*tries);
  if (options.text("steps") != "auto") {
    const Result<std::int64_t> steps = options.integer("steps", 1, 10'000);
    if (!steps) return steps.error();
    spec.steps = static_cast<int>(*steps);
  }
  if (options.text("depth") != "auto") {
    const Result<std::int64_t> depth = options.integer("depth", 1, 990);
    if (!depth) return depth.error();
    spec.depth = static_cast<int>(*depth);
    if (spec.generator == Generator::kGym && spec.depth != 300) {
      return bad_option("depth", options.text("depth"),
                        "auto or 300 with generator=gym, which knows no other depth");
    }
  }
  if (Status status = check_spec(spec); !status) {
    return Error{ErrorCode::kInvalidArgument, status.error().message, "--set size=" + options.text("size"),
                 ""};
  }
  return spec;
}

// Looks at no level when nothing was asked for; else at the distance table of each, or where none fits at a
// search.
Result<LevelFilter> level_filter(const Options& options) {
  if (!options.given("min_moves") && !options.given("max_moves"))
    return LevelFilter([](const Level&) { return true; });
  const Result<std::int64_t> least = options.integer("min_moves", 0, INT32_MAX);
  if (!least) return least.error();
  std::int64_t most = INT32_MAX;
  if (options.text("max_moves") != "any") {
    const Result<std::int64_t> given = options.integer("max_moves", 0, INT32_MAX);
    if (!given) return given.error();
    most = *given;
  }
  return LevelFilter([low = *least, most](const Level& level) {
    const std::optional<int> moves = LevelFacts(level, {}).outlook(level.start).distance;
    return moves && *moves >= low && *moves <= most;
  });
}

Result<RoomTasks> room_tasks(const Options& options, const RoomSpec& spec, const LevelFilter& wanted) {
  const Result<std::int64_t> base_seed = options.integer("base_seed", 0, 0xffffffffLL);
  if (!base_seed) return base_seed.error();
  const Result<std::int64_t> batch = options.integer("batch", 1, 1'000'000);
  if (!batch) return batch.error();
  const std::string& name = options.text("seeds");
  const SeedRule rule = name == "derived" ? SeedRule::kDerived
                        : name == "verl"  ? SeedRule::kVerl
                                          : SeedRule::kList;
  return RoomTasks(spec, rule, static_cast<std::uint32_t>(*base_seed), static_cast<std::size_t>(*batch),
                   wanted);
}

Result<Rules> rules_of(const Options& options) {
  Rules rules;
  rules.rewards = options.text("rewards") == "sparse" ? Rewards::kSparse : Rewards::kGym;
  const std::string& actions = options.text("actions");
  rules.actions = actions == "gym" ? Actions::kGym : actions == "verl" ? Actions::kVerl : Actions::kWords;
  rules.after_done = options.text("after_done") == "continue" ? AfterDone::kContinue : AfterDone::kStop;
  const Result<bool> distance = options.flag("distance");
  if (!distance) return distance.error();
  rules.distance = *distance;
  const std::string& image = options.text("image");
  rules.pictures = image == "tiny" ? Pictures::kTiny : image == "rgb" ? Pictures::kTiles : Pictures::kNone;
  const Result<std::int64_t> scale = options.integer("tiny_scale", 1, 64);
  if (!scale) return scale.error();
  rules.tiny_scale = static_cast<std::uint32_t>(*scale);
  const Result<bool> enlarge = options.flag("enlarge");
  if (!enlarge) return enlarge.error();
  rules.enlarge = *enlarge;
  return rules;
}

Result<std::shared_ptr<const EnvFactory>> open(const EnvConfig& config) {
  Result<Options> options = Options::parse("sokoban", option_specs(), config.settings);
  if (!options) return options.error();
  auto shared = std::make_shared<Shared>();
  Result<Rules> rules = rules_of(*options);
  if (!rules) return rules.error();
  shared->rules = *rules;
  if (const std::string& folder = options->text("tiles"); !folder.empty()) {
    Result<TileSet> tiles = TileSet::load(folder);
    if (!tiles) return tiles.error();
    shared->tiles = std::move(*tiles);
  }
  Result<RoomSpec> spec = room_spec(*options);
  if (!spec) return spec.error();
  shared->room = *spec;
  const Result<LevelFilter> wanted = level_filter(*options);
  if (!wanted) return wanted.error();
  Result<RoomTasks> rooms = room_tasks(*options, *spec, *wanted);
  if (!rooms) return rooms.error();
  if (!config.data.empty()) {
    const KeepSolved keep = options->text("solved") == "keep" ? KeepSolved::kYes : KeepSolved::kNo;
    Result<LevelPack> data = LevelPack::open(config.data, keep);
    if (!data) return data.error();
    if (Status status = data->keep(*wanted); !status) {
      return Error{status.error().code, status.error().message, config.data, status.error().hint};
    }
    shared->data = std::move(*data);
  } else if (options->text("levels") == "generated") {
    shared->rooms = std::move(*rooms);
  } else if (Status status = shared->small.keep(*wanted); !status) {
    return status.error();
  }
  Hasher settings;
  for (const OptionSpec& option : option_specs()) settings.add(option.name).add(options->text(option.name));
  return std::shared_ptr<const EnvFactory>(
      std::make_shared<SokobanFactory>(std::move(shared), settings.finish()));
}

// The seed that made a room, and the seeds before it with the reason why each gave none.
Details room_details(const Room& room) {
  std::vector<std::string> failures;
  for (const auto& [seed, failure] : room.failures) {
    failures.push_back(std::to_string(seed) + ": " + room_failure_text(failure));
  }
  Details details{{"room_seed", std::to_string(room.seed)}};
  if (!failures.empty()) details["room_failures"] = json_array(failures);
  return details;
}

}  // namespace

Result<std::shared_ptr<const LevelFacts>> Shared::facts(const std::string& id) const {
  return cache.get(id, [this](const std::string& name) -> Result<std::shared_ptr<const LevelFacts>> {
    const auto facts_of = [](Level level, Details origin) {
      return std::shared_ptr<const LevelFacts>(
          std::make_shared<LevelFacts>(std::move(level), std::move(origin)));
    };
    if (const LevelRecord* record = data ? data->find(name) : nullptr) return facts_of(record->level, {});
    if (const LevelRecord* record = small.find(name)) return facts_of(record->level, {});
    if (const std::optional<RoomName> wanted = parse_room_name(name)) {
      RoomSpec spec = room;
      spec.rows = wanted->rows;
      spec.cols = wanted->cols;
      spec.boxes = wanted->boxes;
      Result<Room> made = make_room(spec, wanted->seed);
      if (!made) return made.error();
      Details origin = room_details(*made);
      return facts_of(std::move(made->level), std::move(origin));
    }
    return Error{ErrorCode::kNotFound, "sokoban has no task '" + name + "'", "",
                 "task ids are gen/6x6/b1/s17 (size, boxes, seed) or FILE#N (N-th level from 0)"};
  });
}

EnvType env_type() {
  return {"sokoban",
          "push every box onto a target; the player cannot pull",
          "a level file (Boxoban, XSB, .sok) or a folder of them",
          15,
          option_specs(),
          &open};
}

}  // namespace lodestep::sokoban
