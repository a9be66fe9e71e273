#include "envs/sokoban/room_tasks.h"

#include "base/rng.h"
#include "base/text.h"

namespace lodestep::sokoban {
namespace {

constexpr std::size_t kBlock = 1000;    // seeds that one task may choose from
constexpr std::size_t kDrawn = 65'536;  // tasks of a split by the rules kDerived and kVerl
constexpr std::size_t kListed[] = {10'000, 1'000, 1'000};

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  const std::optional<std::uint64_t> value = parse_uint(text);
  if (!value || *value > 0xffffffffU || std::to_string(*value) != text) return std::nullopt;  // one id a room
  return value;
}

}  // namespace

std::optional<RoomName> parse_room_name(std::string_view id) {
  const std::vector<std::string_view> parts = split(id, '/');
  if (parts.size() != 4 || parts[0] != "gen") return std::nullopt;
  const std::vector<std::string_view> size = split(parts[1], 'x');
  if (size.size() != 2) return std::nullopt;
  const auto rows = number_after(size[0], "");
  const auto cols = number_after(size[1], "");
  const auto boxes = number_after(parts[2], "b");
  const auto seed = number_after(parts[3], "s");
  if (!rows || !cols || !boxes || !seed || *rows > 1000 || *cols > 1000 || *boxes > 1000) return std::nullopt;
  return RoomName{static_cast<int>(*rows), static_cast<int>(*cols), static_cast<int>(*boxes),
                  static_cast<std::uint32_t>(*seed)};
}

std::string room_name(const RoomSpec& spec, std::uint32_t seed) {
  return "gen/" + std::to_string(spec.rows) + "x" + std::to_string(spec.cols) + "/b" +
         std::to_string(spec.boxes) + "/s" + std::to_string(seed);
}

std::size_t split_of_content(const Level& level) {
  const std::uint64_t quarter = content_digest(level).low & 3;
  return quarter < 2 ? 0 : quarter == 2 ? 1 : 2;
}

RoomTasks::RoomTasks(const RoomSpec& spec, SeedRule rule, std::uint32_t base_seed, std::size_t batch,
                     LevelFilter wanted)
    : spec_(spec),
      rule_(rule),
      base_seed_(base_seed),
      batch_(batch),
      wanted_(std::move(wanted)),
      splits_{"train", "valid"} {
  if (rule == SeedRule::kVerl) {
    drawn_ = {train_seeds(base_seed, kDrawn), valid_seeds(base_seed, kDrawn)};
  } else {
    splits_.emplace_back("test");
  }
}

std::size_t RoomTasks::size(std::size_t split) const {
  return rule_ == SeedRule::kList ? kListed[split] : kDrawn;
}

Result<std::string> RoomTasks::id(std::size_t split, std::size_t index) const {
  if (rule_ == SeedRule::kVerl) return room_name(spec_, drawn_[split][index]);
  Stream dice(Hasher()
                  .add("sokoban rooms")
                  .add_u64(base_seed_)
                  .add(splits_[split])
                  .add_u64(index / batch_)
                  .add_u64(index % batch_)
                  .finish());
  for (std::size_t k = 0; k < kBlock; ++k) {
    const std::uint64_t seed = rule_ == SeedRule::kList ? index * kBlock + k : dice.below(0x100000000ULL);
    const Result<Room> room = make_room(spec_, static_cast<std::uint32_t>(seed));
    if (!room) return room.error();
    if (split_of_content(room->level) == split && wanted_(room->level))
      return room_name(spec_, static_cast<std::uint32_t>(seed));
  }
  return Error{
      ErrorCode::kNotFound,
      "none of " + std::to_string(kBlock) + " rooms belongs to split '" + splits_[split] + "' as asked for",
      "task " + std::to_string(index), "widen min_moves and max_moves, or ask for larger rooms"};
}

}  // namespace lodestep::sokoban
