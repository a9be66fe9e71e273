// Generated rooms against the golden values of both Python generators.
#include <array>

#include "base/text.h"
#include "envs/sokoban/board.h"
#include "envs/sokoban/generator.h"
#include "envs/sokoban/room_tasks.h"
#include "tests/unit/sokoban/support.h"

namespace lodestep::sokoban {
namespace {

std::string digits(const Grid& grid) {
  std::string out;
  for (const std::uint8_t code : grid) out += static_cast<char>('0' + code);
  return out;
}

std::string golden_digits(const rapidjson::Value& rows) {
  if (rows.IsString()) return rows.GetString();
  std::string out;
  for (const auto& row : rows.GetArray()) {
    for (const auto& code : row.GetArray()) out += static_cast<char>('0' + code.GetInt());
  }
  return out;
}

std::vector<int> ints(const rapidjson::Value& list) {
  std::vector<int> out;
  for (const auto& item : list.GetArray()) out.push_back(item.GetInt());
  return out;
}

TEST_CASE("golden rooms: cells, mapping, actions, every count of draws") {
  const auto golden = golden_json();
  if (!golden) return;
  for (const auto& record : (*golden)["rooms"].GetArray()) {
    RoomSpec spec;
    spec.boxes = record["num_boxes"].GetInt();
    const auto seed = static_cast<std::uint32_t>(record["seed"].GetUint());
    INFO("seed " << seed << " boxes " << spec.boxes);
    const RoomTrial trial = generate_room(spec, seed);
    CHECK(trial.attempts == record["attempts"].GetInt());
    CHECK(trial.explored == ints(record["explored"]));
    CHECK(trial.draws.random == record["calls"]["random"].GetInt());
    CHECK(trial.draws.sample == record["calls"]["sample"].GetInt());
    CHECK(trial.draws.randint == record["calls"]["randint"].GetInt());
    CHECK(trial.draws.choice == record["calls"]["choice"].GetInt());
    CHECK(trial.draws.np_randint == record["calls"]["np_randint"].GetInt());
    CHECK(trial.words_python == record["words_python"].GetUint64());
    CHECK(trial.words_numpy == record["words_numpy"].GetUint64());
    const Result<Room> room = make_room(spec, seed);
    REQUIRE(room.ok());
    if (!record["ok"].GetBool()) {
      const bool small =
          std::string_view(record["error"].GetString()).find("Not enough") != std::string_view::npos;
      CHECK(trial.failure == (small ? RoomFailure::kTooSmall : RoomFailure::kScoreZero));
      const auto& retry = record["retry_hashseed0"];
      REQUIRE(room->failures.size() == retry["seeds"].Size());
      CHECK(room->failures.front().first == seed);
      CHECK(room->seed == retry["seeds"][retry["seeds"].Size() - 1].GetUint());
      CHECK(digits(room->level.fixed) == golden_digits(retry["room_structure"]));
      CHECK(digits(room->level.start) == golden_digits(retry["room_state"]));
      continue;
    }
    CHECK(trial.failure == RoomFailure::kNone);
    CHECK(room->failures.empty());
    CHECK(digits(trial.level.fixed) == golden_digits(record["room_structure"]));
    CHECK(digits(trial.level.start) == golden_digits(record["room_state"]));
    CHECK(trial.reverse_actions == ints(record["reverse_actions"]));
    std::vector<std::pair<int, int>> mapping;
    for (const auto& pair : record["box_mapping"].GetArray()) {
      mapping.emplace_back(pair[0][0].GetInt() * 6 + pair[0][1].GetInt(),
                           pair[1][0].GetInt() * 6 + pair[1][1].GetInt());
    }
    CHECK(trial.box_mapping == mapping);
    CHECK(sha256(board_text(Board(&trial.level))) == record["text_sha256"].GetString());
  }
}

TEST_CASE("golden digests of blocks of 4096 seeds") {
  const auto golden = golden_json();
  if (!golden) return;
  for (const auto& record : (*golden)["digests"].GetArray()) {
    RoomSpec spec;
    spec.boxes = record["num_boxes"].GetInt();
    const std::uint32_t size = record["block"].GetUint();
    std::vector<int> fails;
    for (rapidjson::SizeType b = 0; b < record["blocks_given"].Size(); ++b) {
      const std::uint32_t block = record["blocks_given"][b].GetUint();
      std::string bytes;
      for (std::uint32_t seed = block * size; seed < (block + 1) * size; ++seed) {
        const RoomTrial trial = generate_room(spec, seed);
        if (trial.failure != RoomFailure::kNone) {
          bytes += trial.failure == RoomFailure::kScoreZero ? 'W' : 'R';
          fails.push_back(static_cast<int>(seed));
          continue;
        }
        bytes.append(trial.level.fixed.begin(), trial.level.fixed.end());
        bytes.append(trial.level.start.begin(), trial.level.start.end());
      }
      INFO("boxes " << spec.boxes << " block " << block);
      CHECK(sha256(bytes) == record["sha256"][b].GetString());
    }
    const std::vector<int> expected = ints(record["fails"]);
    CHECK(fails == expected);
  }
}

TEST_CASE("golden extra rooms: gym-sokoban's generator, larger rooms, depth 300") {
  const auto golden = golden_json();
  if (!golden) return;
  for (const auto& record : (*golden)["extra_rooms"].GetArray()) {
    RoomSpec spec;
    spec.generator =
        std::string_view(record["generator"].GetString()) == "fork" ? Generator::kVerl : Generator::kGym;
    spec.rows = record["dim"][0].GetInt();
    spec.cols = record["dim"][1].GetInt();
    spec.boxes = record["num_boxes"].GetInt();
    spec.depth = record["search_depth"].GetInt();
    const auto seed = static_cast<std::uint32_t>(record["seed"].GetUint());
    INFO(record["generator"].GetString() << " " << spec.rows << "x" << spec.cols << " seed " << seed);
    const RoomTrial trial = generate_room(spec, seed);
    CHECK((trial.failure == RoomFailure::kNone) == record["ok"].GetBool());
    if (!record["ok"].GetBool()) continue;
    CHECK(trial.explored.back() == record["explored_last_attempt"].GetInt());
    CHECK(digits(trial.level.fixed) == golden_digits(record["room_structure"]));
    CHECK(digits(trial.level.start) == golden_digits(record["room_state"]));
  }
}

TEST_CASE("retry seeds and the batch streams of the original") {
  CHECK(retry_seed(6) == 3931266258U);
  CHECK(retry_seed(8) == 1249325681U);
  CHECK(retry_seed(9) == 1673382409U);
  CHECK(retry_seed(3248) == 3536461583U);
  CHECK(retry_seed(65378) == 881218083U);
  using Seeds = std::vector<std::uint32_t>;
  CHECK(train_seeds(0, 8) == Seeds{2732, 43567, 42613, 52416, 45891, 21243, 30403, 32103});
  CHECK(train_seeds(1000, 8) == Seeds{42419, 4695, 6215, 3776, 48379, 18782, 58716, 33537});
  CHECK(valid_seeds(1000, 8) == Seeds{2807211443U, 882774615U, 494016583U, 2621640384U, 4081499387U,
                                      44124510U, 2071061852U, 1549697793U});
}

TEST_CASE("every size asked for gives a room that can be won, and says what was tried") {
  int failures = 0;
  for (const auto& [side, boxes, seeds] : std::vector<std::array<int, 3>>{{5, 2, 1000}, {8, 3, 30}}) {
    RoomSpec spec;
    spec.rows = spec.cols = side;
    spec.boxes = boxes;
    for (int seed = 0; seed < seeds; ++seed) {
      INFO(side << " " << boxes << " " << seed);
      const Result<Room> room = make_room(spec, static_cast<std::uint32_t>(seed));
      REQUIRE(room.ok());
      failures += static_cast<int>(room->failures.size());
      const LevelMap map(room->level);
      CHECK(DistanceTable::build(map, kTableEntries)->distance(map, room->level.start).has_value());
    }
  }
  CHECK(failures > 0);
  RoomSpec tiny;
  tiny.rows = tiny.cols = 4;
  tiny.boxes = 5;
  CHECK(make_room(tiny, 0).error().message ==
        "no room of 4x4 with 5 boxes after 1000 retries: not enough free cells");
}

TEST_CASE("all 65,535 training seeds: failures and distinct rooms as counted with the Python code") {
  for (const auto& [boxes, usable, distinct] :
       std::vector<std::array<std::size_t, 3>>{{1, 65'513, 21'490}, {2, 61'677, 36'987}}) {
    RoomSpec spec;
    spec.boxes = static_cast<int>(boxes);
    std::size_t made = 0;
    std::set<Hash128> rooms;
    for (std::uint32_t seed = 0; seed < 65'535; ++seed) {
      const RoomTrial trial = generate_room(spec, seed);
      if (trial.failure != RoomFailure::kNone) continue;
      ++made;
      rooms.insert(content_digest(trial.level));
    }
    CHECK(made == usable);
    CHECK(rooms.size() == distinct);
  }
}

TEST_CASE("task lists: ids, splits by content, seeds that do not depend on neighbours") {
  auto factory = *open_environment("sokoban", {});
  CHECK(factory->splits() == std::vector<std::string>{"train", "valid", "test"});
  std::set<Hash128> seen;
  for (std::size_t split = 0; split < 3; ++split) {
    std::set<Hash128> own;
    for (std::size_t i = 0; i < 300; ++i) {
      const std::string id = *factory->task_id(factory->splits()[split], i);
      const auto name = parse_room_name(id);
      REQUIRE(name.has_value());
      CHECK(name->seed / 1000 == i);
      const Level level = make_room({}, name->seed)->level;
      CHECK(split_of_content(level) == split);
      own.insert(content_digest(level));
      CHECK(seen.count(content_digest(level)) == 0);
    }
    seen.insert(own.begin(), own.end());
  }
  const auto list = [](const std::string& base, const std::string& batch) {
    auto derived =
        *open_environment("sokoban", {"", {{"seeds", "derived"}, {"base_seed", base}, {"batch", batch}}});
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < 64; ++i) ids.push_back(*derived->task_id("train", i));
    return ids;
  };
  const std::vector<std::string> five = list("5", "32");
  CHECK(five == list("5", "32"));
  std::set<std::string> both(five.begin(), five.end());
  for (const std::string& id : list("6", "32")) both.insert(id);
  CHECK(both.size() == 128);  // neighbouring base seeds share nothing
  auto verl = *open_environment("sokoban", {"", {{"seeds", "verl"}, {"base_seed", "1000"}}});
  CHECK(*verl->task_id("train", 0) == "gen/6x6/b1/s42419");
  CHECK(*verl->task_id("valid", 1) == "gen/6x6/b1/s882774615");
}

TEST_CASE("task lists without the levels that a budget cannot win, or that are too easy") {
  const auto moves_of = [](const Settings& settings, const std::string& data) {
    Settings all = settings;
    all.emplace_back("distance", "true");
    auto factory = *open_environment("sokoban", {data, all});
    auto env = factory->make();
    std::vector<int> moves;
    const std::string split = factory->splits().front();
    for (std::size_t i = 0; i < std::min<std::size_t>(30, *factory->task_count(split)); ++i) {
      REQUIRE(env->reset({"sokoban", *factory->task_id(split, i), 0}).ok());
      moves.push_back(std::stoi(env->details().at("distance_to_goal")));
    }
    return moves;
  };
  for (const int moves : moves_of({{"boxes", "2"}, {"min_moves", "6"}, {"max_moves", "15"}}, "")) {
    CHECK(moves >= 6);
    CHECK(moves <= 15);
  }
  const std::vector<int> small = moves_of({{"levels", "small"}, {"max_moves", "4"}}, "");
  CHECK(small.size() > 3);
  CHECK(*std::max_element(small.begin(), small.end()) == 4);
  const TempFolder folder("sokoban-moves");
  const std::string file = folder.write("two.xsb", "#####\n#@$.#\n#####\n\n######\n#@ $.#\n######\n");
  CHECK(moves_of({{"min_moves", "2"}}, file) == std::vector<int>{2});
  CHECK(open_environment("sokoban", {file, {{"min_moves", "3"}}}).error().message == "no level is left");
  CHECK_FALSE(open_environment("sokoban", {file, {{"max_moves", "few"}}}).ok());
}

TEST_CASE("task ids of rooms: one spelling, limits, options that reach the generator") {
  CHECK(parse_room_name("gen/6x6/b1/s17").has_value());
  for (const char* bad :
       {"gen/6x6/b1/s017", "gen/6x6/b1/s-1", "gen/6x6/b1", "gen/6/b1/s1", "gen/6x6/b1/s4294967296",
        "gen/6x6/1/s1", "gen/6x6x6/b1/s1", "Gen/6x6/b1/s1", "gen/6x6/b1/s1/", "gen/+6x6/b1/s1"}) {
    INFO(bad);
    CHECK_FALSE(parse_room_name(bad).has_value());
  }
  auto env = (*open_environment("sokoban", {"", {{"generator", "gym"}}}))->make();
  REQUIRE(env->reset({"sokoban", "gen/7x7/b2/s0", 0}).ok());
  RoomSpec spec{Generator::kGym, 7, 7, 2, 0, 300, 4};
  CHECK(cells_of(*env) == digits(make_room(spec, 0)->level.start));
  CHECK_FALSE(env->reset({"sokoban", "gen/99x99/b2/s0", 0}).ok());
  auto verl = (*open_environment("sokoban", {"", {{"boxes", "2"}}}))->make();
  REQUIRE(verl->reset({"sokoban", "gen/6x6/b2/s6", 0}).ok());
  CHECK(verl->details().at("room_seed") == "3931266258");
  CHECK(verl->details().at("room_failures") == "[\"6: not enough free cells\"]");
  CHECK_FALSE(open_environment("sokoban", {"", {{"generator", "gym"}, {"depth", "30"}}}).ok());
  CHECK_FALSE(open_environment("sokoban", {"", {{"size", "6"}}}).ok());
}

}  // namespace
}  // namespace lodestep::sokoban
