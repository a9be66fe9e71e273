// Where episodes go when they end.
//   Result<std::unique_ptr<Recorder>> recorder = create_recording("run.db", info);
//   (*recorder)->add(episode);                   // from any thread; waits when the queue is full
//   if (Status s = (*recorder)->flush(); !s) ... // everything added is durable, or why not
// Threads: all methods from any thread. docs/recording.md describes the database.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "harness/recording.h"

namespace lodestep::harness {

class Recorder {
 public:
  Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  virtual ~Recorder() = default;

  // Takes one ended episode. The first failure to write is kept and returned by every later call.
  virtual Status add(EpisodeRecord episode) = 0;
  // Stores an estimate beside the others; one of the same name is replaced.
  virtual Status add_estimate(const Estimate& estimate) = 0;
  // Adds to the run's info, or replaces an entry.
  virtual Status set_info(const std::string& key, const std::string& value) = 0;
  // Returns when all that was added survives the death of the process.
  virtual Status flush() = 0;
};

// Keeps everything in memory.
class MemoryRecorder final : public Recorder {
 public:
  explicit MemoryRecorder(RunInfo info);
  ~MemoryRecorder() override;
  Status add(EpisodeRecord episode) override;
  Status add_estimate(const Estimate& estimate) override;
  Status set_info(const std::string& key, const std::string& value) override;
  Status flush() override { return {}; }
  Recording take();  // episodes sorted by (group, member)

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A new SQLite recording with its own writer thread. Fails when the file exists or cannot be made.
Result<std::unique_ptr<Recorder>> create_recording(const std::string& path, const RunInfo& info);
// An existing one, to continue it.
Result<std::unique_ptr<Recorder>> open_recording(const std::string& path);
// Reads a whole recording; also one whose writer was killed.
Result<Recording> read_recording(const std::string& path);

}  // namespace lodestep::harness
