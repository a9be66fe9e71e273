// `lodestep sokoban generate|solve|render|convert`: levels without an episode.
#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "envs/image.h"
#include "envs/sokoban/board.h"
#include "envs/sokoban/level_pack.h"
#include "envs/sokoban/level_writer.h"
#include "envs/sokoban/lurd.h"
#include "envs/sokoban/packed_file.h"
#include "envs/sokoban/render.h"
#include "envs/sokoban/room_tasks.h"
#include "envs/sokoban/search.h"
#include "harness/internal/args.h"
#include "harness/internal/commands.h"
#include "harness/internal/whole_file.h"
#include "harness/recorder.h"

namespace lodestep::harness {
namespace {

using namespace sokoban;  // NOLINT(google-build-using-namespace): this file is about nothing else

Error usage(std::string what, std::string where, std::string hint = "") {
  return Error{ErrorCode::kInvalidArgument, std::move(what), std::move(where), std::move(hint)};
}

// The options that say how rooms are generated, and the levels that task ids stand for.
struct Levels {
  std::string data;
  std::string generator = "verl";
  std::string size = "6x6";
  std::int64_t boxes = 1, steps = 0, depth = 0, tries = 4;
  RoomSpec spec;
  std::optional<LevelPack> pack;

  void declare_rooms(Args& args) {
    args.option("--generator", generator, "verl or gym: as verl-agent or gym-sokoban makes rooms");
    args.option("--steps", steps, "steps of the walk that digs a room; 0: int(1.7 * (rows + columns))")
        .range(0, 10'000);
    args.option("--depth", depth, "depth of the reverse play; 0: 30 for verl, 300 for gym").range(0, 990);
    args.option("--tries", tries, "floors that are tried before a seed is given up").range(1, 1000);
  }

  Status open() {
    if (generator != "verl" && generator != "gym") {
      return usage("unknown generator '" + generator + "'", "--generator", "known: verl, gym");
    }
    const std::optional<RoomName> name = parse_room_name("gen/" + size + "/b1/s0");
    if (!name) return usage("'" + size + "' is not rows x columns", "--size", "such as 6x6");
    spec.generator = generator == "gym" ? Generator::kGym : Generator::kVerl;
    spec.rows = name->rows;
    spec.cols = name->cols;
    spec.boxes = static_cast<int>(boxes);
    spec.steps = static_cast<int>(steps);
    spec.depth = depth > 0 ? static_cast<int>(depth) : spec.generator == Generator::kGym ? 300 : 30;
    spec.tries = static_cast<int>(tries);
    if (spec.generator == Generator::kGym && spec.depth != 300) {
      return usage("gym-sokoban's generator always plays to depth 300", "--depth " + std::to_string(depth),
                   "leave it out");
    }
    if (Status status = check_spec(spec); !status) return usage(status.error().message, "--size " + size);
    if (!data.empty()) {
      Result<LevelPack> opened = LevelPack::open(data, KeepSolved::kYes);
      if (!opened) return opened.error();
      pack = std::move(*opened);
    }
    return {};
  }

  Result<Level> level(const std::string& id) const {
    if (const LevelRecord* record = pack ? pack->find(id) : nullptr) return record->level;
    static const LevelPack small = LevelPack::small();
    if (const LevelRecord* record = small.find(id)) return record->level;
    const std::optional<RoomName> name = parse_room_name(id);
    if (!name) {
      return Error{
          ErrorCode::kNotFound, "sokoban has no task '" + id + "'", "",
          "task ids are gen/6x6/b1/s17 (size, boxes, seed) or FILE#N (N-th level from 0, with --data)"};
    }
    RoomSpec wanted = spec;
    wanted.rows = name->rows;
    wanted.cols = name->cols;
    wanted.boxes = name->boxes;
    Result<Room> room = make_room(wanted, name->seed);
    if (!room) return room.error();
    return std::move(room->level);
  }

  // The given ids, or all levels of --data.
  Result<std::vector<std::string>> tasks(std::vector<std::string> given) const {
    if (!given.empty()) return given;
    if (!pack) return usage("no level to work on", "", "name a task id, or give --data a level file");
    for (std::size_t split = 0; split < pack->splits().size(); ++split) {
      for (std::size_t i = 0; i < pack->size(split); ++i) given.push_back(pack->id(split, i));
    }
    return given;
  }
};

struct Solution {
  SearchResult result;
  bool optimal = false;
};

Solution solve(const Level& level, std::size_t nodes, int weight) {
  const LevelMap map(level);
  // A table is complete and fast, but only where it fits; --nodes then counts nothing.
  if (const std::optional<DistanceTable> table = DistanceTable::build(map, kTableEntries)) {
    const std::optional<std::string> moves = shortest_solution(map, *table, level.start);
    return {{moves ? Verdict::kSolved : Verdict::kImpossible, moves.value_or(""), 0}, true};
  }
  return {search(map, level.start, {nodes, weight}), weight == 1};
}

std::size_t pushes(const std::string& moves) {
  return static_cast<std::size_t>(
      std::count_if(moves.begin(), moves.end(), [](char c) { return c >= 'A' && c <= 'Z'; }));
}

Result<int> generate(const std::vector<std::string>& words, Io& io) {
  Args args("sokoban generate", "Makes rooms from seeds, equal to those of the two Python generators.");
  Levels levels;
  std::int64_t seed = 0, count = 1, min_moves = 0, max_moves = INT32_MAX;
  std::string out = "-";
  bool json = false;
  args.option("--size", levels.size, "rows x columns");
  args.option("--boxes", levels.boxes, "number of boxes").range(1, 20);
  levels.declare_rooms(args);
  args.option("--seed", seed, "first seed").range(0, 0xffffffffLL);
  args.option("--count", count, "number of rooms, from consecutive seeds").range(1, 10'000'000);
  args.option("--min-moves", min_moves, "leave out rooms whose shortest solution is shorter")
      .range(0, INT32_MAX);
  args.option("--max-moves", max_moves, "leave out rooms whose shortest solution is longer")
      .range(0, INT32_MAX);
  args.option("--out", out, "file to write, - for standard output");
  args.flag("--json", json, "one JSON document instead of XSB text");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  if (Status status = levels.open(); !status) return status.error();
  std::string text = json ? "[" : "";
  std::int64_t made = 0;
  for (std::int64_t s = seed; made < count && s <= 0xffffffffLL; ++s) {
    const std::string id = room_name(levels.spec, static_cast<std::uint32_t>(s));
    Result<Room> room = make_room(levels.spec, static_cast<std::uint32_t>(s));
    if (!room) return room.error();
    for (const auto& [failed, why] : room->failures) {
      io.err << id << ": seed " << failed << " gave no room: " << room_failure_text(why) << '\n';
    }
    std::optional<std::size_t> moves;
    if (json || args.given("--min-moves") || args.given("--max-moves")) {
      const Solution solution = solve(room->level, 200'000, 1);
      if (solution.result.verdict == Verdict::kSolved) moves = solution.result.moves.size();
      const auto length = static_cast<std::int64_t>(moves.value_or(INT32_MAX));
      if (length < min_moves || length > max_moves) continue;
    }
    ++made;
    if (!json) {
      text += "; " + id + "\n" +
              to_xsb(room->level.rows, room->level.cols, view(room->level.fixed, room->level.start)) + "\n";
      continue;
    }
    std::vector<std::string> failures;
    for (const auto& [failed, why] : room->failures)
      failures.push_back(std::to_string(failed) + ": " + room_failure_text(why));
    const auto digits = [](const Grid& grid) {
      std::string line;
      for (const std::uint8_t code : grid) line += static_cast<char>('0' + code);
      return line;
    };
    text += std::string(made > 1 ? "," : "") + "\n{\"task\":" + json_quote(id) +
            ",\"seed\":" + std::to_string(room->seed) + ",\"failures\":" + json_array(failures) +
            ",\"rows\":" + std::to_string(room->level.rows) +
            ",\"cols\":" + std::to_string(room->level.cols) + ",\"room_structure\":\"" +
            digits(room->level.fixed) + "\",\"room_state\":\"" + digits(room->level.start) +
            "\",\"moves\":" + (moves ? std::to_string(*moves) : "null") + "}";
  }
  if (json) text += "\n]\n";
  if (Status status = write_output(out, text, io); !status) return status.error();
  return 0;
}

Result<int> solve_levels(const std::vector<std::string>& words, Io& io) {
  Args args("sokoban solve", "Prints shortest solutions in LURD: small letters walk, capitals push.");
  Levels levels;
  std::vector<std::string> ids;
  std::int64_t nodes = 1'000'000;
  std::int64_t weight = 1;
  bool json = false;
  std::string id_option;
  args.positionals("TASK", ids, "task ids; all levels of --data when left out");
  args.option("--task", id_option, "one more task id");
  args.option("--data", levels.data, "level file or folder");
  levels.declare_rooms(args);
  args.option("--nodes", nodes, "positions that may be searched where no distance table fits")
      .range(1, 50'000'000);
  args.option("--weight", weight,
              "above 1: find solutions sooner, at most so many times as long as the shortest")
      .range(1, 100);
  args.flag("--json", json, "one JSON document");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  if (Status status = levels.open(); !status) return status.error();
  if (!id_option.empty()) ids.push_back(id_option);
  Result<std::vector<std::string>> tasks = levels.tasks(ids);
  if (!tasks) return tasks.error();
  int status = 0;
  std::string text = json ? "[" : "";
  for (std::size_t i = 0; i < tasks->size(); ++i) {
    const std::string& id = (*tasks)[i];
    Result<Level> level = levels.level(id);
    if (!level) return level.error();
    const Solution solution = solve(*level, static_cast<std::size_t>(nodes), static_cast<int>(weight));
    const SearchResult& result = solution.result;
    const bool solved = result.verdict == Verdict::kSolved;
    const std::string why = solved ? ""
                            : result.verdict == Verdict::kImpossible
                                ? "cannot be won"
                                : "not found within " + std::to_string(nodes) + " nodes";
    if (!solved) status = 1;
    if (json) {
      text += std::string(i > 0 ? "," : "") + "\n{\"task\":" + json_quote(id) +
              ",\"solved\":" + (solved ? "true" : "false");
      text += solved ? ",\"optimal\":" + std::string(solution.optimal ? "true" : "false") +
                           ",\"moves\":" + std::to_string(result.moves.size()) +
                           ",\"pushes\":" + std::to_string(pushes(result.moves)) + ",\"solution\":\"" +
                           result.moves + "\""
                     : ",\"reason\":" + json_quote(why);
      text += ",\"nodes\":" + std::to_string(result.nodes) + "}";
    } else {
      const auto counted = [](std::size_t n, const char* one, const char* many) {
        return std::to_string(n) + " " + (n == 1 ? one : many);
      };
      io.out << id << ": ";
      if (solved) {
        io.out << counted(result.moves.size(), "move", "moves") << ", "
               << counted(pushes(result.moves), "push", "pushes")
               << (solution.optimal ? "" : ", perhaps not the shortest") << ": " << result.moves;
      } else {
        io.out << why;
      }
      io.out << '\n';
    }
  }
  if (json) io.out << text << "\n]\n";
  return status;
}

// The positions of one episode: those of moves, or those that a recording shows.
Result<std::vector<Grid>> positions(const Level& level, const std::string& moves) {
  Board board(&level);
  std::vector<Grid> out{board.cells()};
  for (std::size_t i = 0; i < moves.size(); ++i) {
    if (std::string_view("lurdLURD").find(moves[i]) == std::string_view::npos) {
      return usage("'" + std::string(1, moves[i]) + "' is not one of l, u, r, d",
                   "--moves, move " + std::to_string(i + 1));
    }
    board.push(direction_of(moves[i]));
    out.push_back(board.cells());
  }
  return out;
}

// The exact key of a recorded state shows the board: "sokoban/1:####/#@$.#/...".
Result<Level> level_of_key(const std::string& key) {
  constexpr std::string_view kPrefix = "sokoban/1:";
  if (!key.starts_with(kPrefix)) return Error{ErrorCode::kBadData, "not a recording of sokoban", key, ""};
  std::vector<std::string> rows;
  for (const std::string_view row : split(std::string_view(key).substr(kPrefix.size()), '/'))
    rows.emplace_back(row);
  return level_from_rows(rows);
}

Result<int> render(const std::vector<std::string>& words, Io& io) {
  Args args("sokoban render", "Draws a level, or a whole episode as one sheet (.png) or animated (.gif).");
  Levels levels;
  std::string id, named, moves, run, out, tiles_folder, style = "rgb";
  std::int64_t episode = 0, scale = 8, columns = 8, delay = 40;
  bool enlarged = false;
  args.positional("TASK", id, "task id; left out with --run");
  args.option("--task", named, "the same as TASK");
  args.option("--data", levels.data, "level file or folder");
  levels.declare_rooms(args);
  args.option("--moves", moves, "LURD letters to play; each position is a picture");
  args.option("--run", run, "recording to draw an episode of");
  args.option("--episode", episode, "which episode of the recording, from 0").range(0, INT32_MAX);
  args.option("--out", out, "file to write: .png or .gif").required();
  args.option("--image", style, "rgb (tiles of 16 pixels) or tiny (one colour a cell)");
  args.option("--tiles", tiles_folder, "folder of seven PNG tiles; our own when left out");
  args.option("--scale", scale, "pixels along a cell of --image tiny").range(1, 64);
  args.option("--columns", columns, "pictures in a row of a sheet").range(1, 1000);
  args.option("--delay", delay, "hundredths of a second that a frame of a .gif is shown").range(1, 1000);
  args.flag("--enlarge", enlarged, "enlarge as verl-agent does for vision models");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  if (id.empty()) id = named;
  if (style != "rgb" && style != "tiny")
    return usage("unknown image '" + style + "'", "--image", "known: rgb, tiny");
  const bool gif = ascii_lower(out).ends_with(".gif");
  if (!gif && !ascii_lower(out).ends_with(".png"))
    return usage("cannot tell the kind of picture", "--out " + out, "end it with .png or .gif");
  if (id.empty() == run.empty())
    return usage("give either a task id or --run", "",
                 "lodestep sokoban render gen/6x6/b1/s17 --out room.png");
  if (Status status = levels.open(); !status) return status.error();
  TileSet tiles = TileSet::builtin();
  if (!tiles_folder.empty()) {
    Result<TileSet> loaded = TileSet::load(tiles_folder);
    if (!loaded) return loaded.error();
    tiles = std::move(*loaded);
  }

  Level level;
  std::vector<Grid> grids;
  if (run.empty()) {
    Result<Level> found = levels.level(id);
    if (!found) return found.error();
    level = std::move(*found);
    Result<std::vector<Grid>> played = positions(level, moves);
    if (!played) return played.error();
    grids = std::move(*played);
  } else {
    Result<Recording> recording = read_recording(run);
    if (!recording) return recording.error();
    if (static_cast<std::size_t>(episode) >= recording->episodes.size()) {
      return usage("the recording has " + std::to_string(recording->episodes.size()) + " episodes",
                   "--episode " + std::to_string(episode));
    }
    const EpisodeRecord& record = recording->episodes[static_cast<std::size_t>(episode)];
    std::vector<std::string> keys;
    for (const StepRecord& step : record.steps) keys.push_back(step.before.keys.exact);
    keys.push_back(record.last.keys.exact);
    for (const std::string& key : keys) {
      Result<Level> position = level_of_key(key);
      if (!position) return position.error();
      level = std::move(*position);
      grids.push_back(level.start);
    }
  }

  std::vector<Image> pictures;
  for (const Grid& cells : grids) {
    const Image picture = style == "tiny" ? tiny_image(level, cells, static_cast<std::uint32_t>(scale))
                                          : tile_image(level, cells, tiles);
    pictures.push_back(enlarged ? enlarge(picture) : picture);
  }
  std::string bytes;
  if (gif) {
    Result<std::string> encoded = encode_gif(pictures, static_cast<int>(delay));
    if (!encoded) return encoded.error();
    bytes = std::move(*encoded);
  } else {
    bytes = encode_png(pictures.size() == 1 ? pictures[0]
                                            : contact_sheet(pictures, static_cast<std::size_t>(columns)));
  }
  if (Status status = write_whole_file(out, bytes); !status) return status.error();
  io.err << pictures.size() << (pictures.size() == 1 ? " picture" : " pictures") << " in " << out << '\n';
  return 0;
}

Result<int> convert(const std::vector<std::string>& words, Io& io) {
  Args args("sokoban convert",
            "Reads levels in any known form and writes them in one; solutions are checked.");
  std::string in, out = "-", format = "sok";
  bool add_solutions = false;
  std::int64_t nodes = 1'000'000;
  args.positional("FILE", in, "level file: Boxoban, XSB, .sok, run lengths, compressed or in an archive")
      .required();
  args.option("--to", format, "boxoban, xsb, sok, rle or json");
  args.option("--out", out, "file to write, - for standard output");
  args.flag("--solve", add_solutions, "add a shortest solution to levels that have none");
  args.option("--nodes", nodes, "positions that may be searched for one where no distance table fits")
      .range(1, 50'000'000);
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  const std::optional<LevelFormat> to = level_format(format);
  if (!to)
    return usage("unknown format '" + format + "'", "--to", "known: " + join(level_format_names(), ", "));
  Result<std::vector<NamedText>> texts = read_level_texts(in, "");
  if (!texts) return texts.error();
  std::vector<LevelRecord> records;
  for (const NamedText& text : *texts) {
    Result<std::vector<LevelRecord>> found =
        parse_levels(text.text, text.name.empty() ? in : in + "/" + text.name);
    if (!found) return found.error();
    for (LevelRecord& record : *found) records.push_back(std::move(record));
  }
  for (std::size_t n = 0; n < records.size(); ++n) {
    LevelRecord& record = records[n];
    const std::string where = in + ", level " + std::to_string(n) + ", line " + std::to_string(record.line);
    if (!record.solution.empty()) {
      Result<std::string> checked = check_solution(record.level, record.solution);
      if (!checked) {
        return Error{ErrorCode::kBadData, "the solution is wrong: " + to_string(checked.error()), where,
                     "levels are counted from 0"};
      }
      record.solution = std::move(*checked);
    } else if (add_solutions) {
      Solution solution = solve(record.level, static_cast<std::size_t>(nodes), 1);
      if (solution.result.verdict != Verdict::kSolved) {
        io.err << where << ": "
               << (solution.result.verdict == Verdict::kImpossible ? "cannot be won" : "no solution found")
               << '\n';
      }
      record.solution = std::move(solution.result.moves);
    }
  }
  Result<std::string> text = write_levels(records, *to);
  if (!text) return text.error();
  if (Status status = write_output(out, *text, io); !status) return status.error();
  return 0;
}

}  // namespace

Result<int> run_sokoban(const std::vector<std::string>& words, Io& io) {
  const std::string help =
      "usage: lodestep sokoban generate|solve|render|convert ...\n"
      "  generate  rooms from seeds, equal to those of the two Python generators\n"
      "  solve     shortest solutions\n"
      "  render    pictures of levels and episodes\n"
      "  convert   level files from one form into another\n";
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    (words.empty() ? io.err : io.out) << help;
    return words.empty() ? 2 : 0;
  }
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (words[0] == "generate") return generate(rest, io);
  if (words[0] == "solve") return solve_levels(rest, io);
  if (words[0] == "render") return render(rest, io);
  if (words[0] == "convert") return convert(rest, io);
  const std::string near = nearest_word(words[0], {"generate", "solve", "render", "convert"});
  return usage(
      "unknown command 'sokoban " + words[0] + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"),
      "", "known: generate, solve, render, convert");
}

}  // namespace lodestep::harness
