// Level files of every form that users have: collections with titles and solutions, run lengths, compressed
// files and archives.
#include <archive.h>
#include <archive_entry.h>

#include "base/rng.h"
#include "envs/sokoban/level_file.h"
#include "envs/sokoban/level_pack.h"
#include "envs/sokoban/lurd.h"
#include "tests/support/fuzz.h"
#include "tests/unit/sokoban/support.h"

namespace lodestep::sokoban {
namespace {

std::vector<LevelRecord> read(const std::string& text) {
  Result<std::vector<LevelRecord>> levels = parse_levels(text, "x.sok");
  INFO((levels.ok() ? "" : to_string(levels.error())));
  REQUIRE(levels.ok());
  return *levels;
}

std::string board(const LevelRecord& record) {
  return to_xsb(record.level.rows, record.level.cols, view(record.level.fixed, record.level.start));
}

std::string packed(const std::vector<std::pair<std::string, std::string>>& files, bool zip,
                   const char* filter) {
  std::string out(1 << 20, '\0');
  std::size_t used = 0;
  archive* writer = archive_write_new();
  if (filter != nullptr) archive_write_add_filter_by_name(writer, filter);
  if (zip) {
    archive_write_set_format_zip(writer);
  } else if (files.size() > 1) {
    archive_write_set_format_ustar(writer);
  } else {
    archive_write_set_format_raw(writer);
  }
  archive_write_open_memory(writer, out.data(), out.size(), &used);
  for (const auto& [name, text] : files) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, static_cast<la_int64_t>(text.size()));
    REQUIRE(archive_write_header(writer, entry) == ARCHIVE_OK);
    archive_write_data(writer, text.data(), text.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  return out.substr(0, used);
}

TEST_CASE("a .sok collection: titles, authors, comments, solutions; notes are skipped") {
  const auto levels = read(
      ":: A collection\n::::::::\nCollection: Two rooms\nAuthor: nobody\n\nA word before the first "
      "board.\nFirst room\n\n"
      "#####\n#@$.#\n#####\nAuthor: Ada\nSolution 1\nR\n\nSecond room\n\n######\n#@ $.#\n######\nTitle: The "
      "second\n"
      "Comment:\none line\nanother line\nComment-End:\nSolution:\nr\nR\n\nThe end.\n");
  REQUIRE(levels.size() == 2);
  CHECK(levels[0].title == "First room");
  CHECK(levels[0].author == "Ada");
  CHECK(levels[0].solution == "R");
  CHECK(levels[0].line == 9);
  CHECK(levels[1].title == "The second");
  CHECK(levels[1].comment == "one line\nanother line");
  CHECK(levels[1].solution == "rR");
}

TEST_CASE("XSB habits: comments with ;, letters for pieces, - and _ for floor, CRLF, a byte order mark") {
  const auto levels = read(
      "\xef\xbb\xbf; first\r\n#####\r\n#p$.#\r\n#####\r\n\r\n######\r\n#_Bb-#\r\n#-P--#\r\n######\r\n; "
      "second\r\n");
  REQUIRE(levels.size() == 2);
  CHECK(levels[0].title == "first");
  CHECK(board(levels[0]) == "#####\n#@$.#\n#####\n");
  CHECK(levels[1].title == "second");
  CHECK_FALSE(parse_levels("######\n#_Bb-#\n#oP-x#\n######\n", "x.sok").ok());
}

TEST_CASE("run lengths: counts, row ends, groups, levels on one line") {
  CHECK(board(read("5#|#@$.#|5#")[0]) == "#####\n#@$.#\n#####\n");
  CHECK(board(read("8#|#@2$2.-#|8#")[0]) == "########\n#@$$.. #\n########\n");
  CHECK(board(read("12#|#@9-#|#2($.)6-#|12#")[0]) ==
        "############\n#@         #\n#$.$.      #\n############\n");
  CHECK_FALSE(parse_levels("999999999#|#@$.#|5#", "x.rle").ok());
}

TEST_CASE("rows that are only floor belong to the board when they are written with - or _") {
  const auto levels = read("########\n#@$.#  #\n#####  #\n-_-\n########\n");
  CHECK(levels.size() == 1);
  CHECK(levels[0].level.rows == 5);
}

TEST_CASE("errors say what, which level, which line") {
  const auto error = [](const std::string& text) { return to_string(parse_levels(text, "x.xsb").error()); };
  CHECK(error("####\n#@$x#\n####\n") == "level 0: unknown character 'x' at row 2, column 4 (x.xsb, line 2)");
  CHECK(error("#####\n#@$.#\n#####\n\n#####\n#@$ #\n#####\n") ==
        "level 1: 1 box but 0 targets (x.xsb, line 5)");
  CHECK(error("no board here\n") == "no level in this file (x.xsb)");
  CHECK(error("") == "no level in this file (x.xsb)");
  CHECK(error("#####\n#@$.#\n#####\nComment:\nno end\n") ==
        "a comment without Comment-End: would hide the rest of the file (x.xsb, line 4)");
  std::string tall;
  for (int i = 0; i < 101; ++i) tall += "#####\n";
  CHECK(error(tall) == "level 0: more than 100 rows (x.xsb, line 101)");
  CHECK(error(std::string(101, '#') + "\n") ==
        "level 0: level of 1 rows and 101 columns; at most 100 of each are read (x.xsb, line 1)");
}

TEST_CASE("LURD: checked move by move, pushes get capitals, runs are shortened") {
  const Level level = *level_from_rows({"######", "#@ $.#", "######"});
  CHECK(*check_solution(level, "rr") == "rR");
  CHECK(*check_solution(level, "RR") == "rR");
  CHECK(to_string(check_solution(level, "ru").error()) == "'u' is blocked (move 2)");
  CHECK(to_string(check_solution(level, "rx").error()) == "'x' is not one of l, u, r, d (move 2)");
  CHECK(to_string(check_solution(level, "r").error()) ==
        "the moves leave 1 boxes off their targets (after 1 moves)");
  CHECK(shorten_runs("rrrrUlld") == "4rU2ld");
  CHECK(read("######\n#@ $.#\n######\nSolution: 2(r)\n")[0].solution == "rr");
}

TEST_CASE("compressed files and archives read like what they hold") {
  const TempFolder folder("sokoban-packed");
  const std::string level = "; 0\n#####\n#@$.#\n#####\n";
  for (const auto& [ending, filter] : std::vector<std::pair<std::string, const char*>>{
           {"gz", "gzip"}, {"zst", "zstd"}, {"xz", "xz"}, {"bz2", "bzip2"}}) {
    const std::string file = folder.write("one.txt." + ending, packed({{"one.txt", level}}, false, filter));
    const Result<LevelPack> pack = LevelPack::open(file, KeepSolved::kNo);
    INFO(ending);
    REQUIRE(pack.ok());
    CHECK(pack->id(0, 0) == "one.txt." + ending + "#0");
  }
  const std::vector<std::pair<std::string, std::string>> files{
      {"set/train/b.txt", "; 0\n######\n#@ $.#\n######\n"},
      {"set/test/a.txt", level},
      {"set/README", "no level"}};
  for (const auto& [name, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"set.zip", packed(files, true, nullptr)}, {"set.tar.gz", packed(files, false, "gzip")}}) {
    const Result<LevelPack> pack = LevelPack::open(folder.write("archives/" + name, bytes), KeepSolved::kNo);
    INFO(name);
    REQUIRE(pack.ok());
    CHECK(pack->splits() == std::vector<std::string>{"train", "test"});
    CHECK(pack->id(0, 0) == "set/train/b.txt#0");
  }
  const Result<LevelPack> all = LevelPack::open(folder.path() + "/archives", KeepSolved::kNo);
  REQUIRE(all.ok());
  CHECK(all->find("set.zip/set/test/a.txt#0") != nullptr);
  const std::string damaged = folder.write("damaged.txt.gz", "\x1f\x8b\x08 no gzip");
  CHECK_FALSE(LevelPack::open(damaged, KeepSolved::kNo).ok());
  const std::string empty = folder.write("empty.zip", packed({{"README", "nothing"}}, true, nullptr));
  CHECK(LevelPack::open(empty, KeepSolved::kNo).error().message == "no level files in this archive");
}

TEST_CASE("Boxoban files: a thousand levels each, ids in their order") {
  const auto text = test::read_shared("data/boxoban/unfiltered-test-000.txt");
  if (!text) {
    test::skip("data/boxoban/unfiltered-test-000.txt");
    return;
  }
  const auto levels = read(*text);
  REQUIRE(levels.size() == 1000);
  for (std::size_t n = 0; n < levels.size(); ++n) {
    REQUIRE(levels[n].title == std::to_string(n));
    REQUIRE(levels[n].level.boxes == 4);
    REQUIRE(levels[n].level.rows == 10);
  }
}

// Any bytes: a result or an error with a place, never a crash; what is read is sound.
TEST_CASE("fuzz: damaged level files", "[fuzz]") {
  Stream dice(hash128("level files"));
  const std::string seeds[] = {
      "; 0\n#####\n#@$.#\n#####\n\n; 1\n######\n#@ $*#\n#.   #\n######\nTitle: x\nSolution: rR\n",
      "5#|#@$.#|5#\n2(3#|)\nComment:\nabc\nComment-End:\n", "####\n#+*$\n-_\n#..#\n####\n"};
  const std::string alphabet = "#@$.*+ -_pPbBo|()0123456789\n\r;:lurdLURDTitle";
  int read_well = 0;
  for (int round = 0; round < test::fuzz_rounds(20'000); ++round) {
    std::string text = seeds[dice.below(3)];
    for (std::uint64_t edits = dice.below(6); edits > 0; --edits) {
      const std::size_t at = dice.below(text.size() + 1);
      switch (dice.below(4)) {
        case 0: text.insert(at, 1, alphabet[dice.below(alphabet.size())]); break;
        case 1: text.erase(at, dice.below(5)); break;
        case 2: text.insert(at, text.substr(dice.below(text.size() + 1), dice.below(20))); break;
        case 3: text.insert(at, 1, static_cast<char>(dice.below(256))); break;
      }
    }
    const auto levels = parse_levels(text, "fuzz");
    if (!levels) {
      REQUIRE_FALSE(levels.error().where.empty());
      continue;
    }
    ++read_well;
    for (const LevelRecord& record : *levels) {
      const Level& level = record.level;
      REQUIRE(std::count(level.start.begin(), level.start.end(), kPlayer) == 1);
      REQUIRE(std::count(level.fixed.begin(), level.fixed.end(), kTarget) == level.boxes);
      REQUIRE(board(record) == board(read(board(record))[0]));
      const LevelMap map(level);
      (void)map.assignment(map.boxes_in(level.start));
    }
  }
  CHECK(read_well > 1000);
}

}  // namespace
}  // namespace lodestep::sokoban
