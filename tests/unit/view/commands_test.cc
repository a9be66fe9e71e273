// The commands `view`, `plot` and `report --html` as a user types them.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/command.h"
#include "harness/recorder.h"
#include "recordings.h"

namespace lodestep::harness::test {
namespace {

struct Ran {
  int status = 0;
  std::string out, err;
};

Ran run(const std::vector<std::string>& words) {
  std::istringstream in;
  std::ostringstream out, err;
  Io io{in, out, err};
  Ran ran;
  ran.status = run_program(words, io);
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

// A folder with the small recording as run.db, removed at the end.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("lodestep-view-" + std::to_string(getpid()))) {
    std::filesystem::create_directory(path_);
    const Recording recording = credited(small_recording());
    Result<std::unique_ptr<Recorder>> recorder = create_recording(of("run.db"), recording.info);
    REQUIRE(recorder.ok());
    for (const EpisodeRecord& episode : recording.episodes) REQUIRE((*recorder)->add(episode).ok());
    REQUIRE((*recorder)->add_estimate(recording.estimates[0]).ok());
    REQUIRE((*recorder)->flush().ok());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string of(const std::string& name) const { return (path_ / name).string(); }
  bool has(const std::string& name) const { return std::filesystem::exists(path_ / name); }
  std::string text(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

TEST_CASE("plot writes the figure and says nothing") {
  const Folder folder;
  const Ran ran = run({"plot", folder.of("run.db"), "group", "-o", folder.of("a.svg")});
  CHECK(ran.status == 0);
  CHECK(ran.out.empty());
  CHECK(ran.err.empty());
  CHECK(folder.text("a.svg").starts_with("<svg"));
}

TEST_CASE("report --html writes the page beside the summary, or the page alone to standard output") {
  const Folder folder;
  const Ran both = run({"report", folder.of("run.db"), "--html", folder.of("a.html")});
  CHECK(both.status == 0);
  CHECK(both.out.find("episodes") != std::string::npos);
  const Ran page = run({"report", folder.of("run.db"), "--html", "-"});
  CHECK(page.status == 0);
  CHECK(page.out == folder.text("a.html"));
}

TEST_CASE("wrong words: exit 2, one error line, no file") {
  const Folder folder;
  const std::string db = folder.of("run.db");
  const std::string out = folder.of("x.svg");
  const std::vector<std::vector<std::string>> wrong{{"plot", db, "grup", "-o", out},
                                                    {"plot", "group", "-o", out},
                                                    {"plot", db, "group"},
                                                    {"plot", db, "group", "-o", folder.of("x.gif")},
                                                    {"plot", db, "group", "--group", "77", "-o", out},
                                                    {"plot", db, "episode", "--member", "77", "-o", out},
                                                    {"plot", db, "group", "--estimator", "best", "-o", out},
                                                    {"plot", db, "calibration", "--omega", "1.5", "-o", out},
                                                    {"plot", db, db, "group", "-o", out},
                                                    {"plot", folder.of("missing.db"), "group", "-o", out},
                                                    {"view", folder.of("missing.db")},
                                                    {"view", db, "--host", "example", "--port", "0"},
                                                    {"view", db, "--port", "70000"},
                                                    {"view", db, "--prot", "1"}};
  for (const auto& words : wrong) {
    const Ran ran = run(words);
    INFO(words.back() << ": " << ran.err);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK(ran.err.starts_with("lodestep: error: "));
    CHECK_FALSE(folder.has("x.svg"));
    CHECK_FALSE(folder.has("x.gif"));
  }
}

TEST_CASE("an output that cannot be written is an error and leaves nothing") {
  const Folder folder;
  const Ran ran = run({"plot", folder.of("run.db"), "group", "-o", folder.of("no/such/folder/a.svg")});
  CHECK(ran.status != 0);
  CHECK(ran.err.starts_with("lodestep: error: "));
}

}  // namespace
}  // namespace lodestep::harness::test
