// The SQLite form of a recording. docs/recording.md shows the tables and example queries.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

#include "base/hash.h"
#include "base/text.h"
#include "harness/branching.h"
#include "harness/internal/json.h"
#include "harness/internal/sqlite.h"
#include "harness/recorder.h"

namespace lodestep::harness {
namespace {

constexpr std::string_view kSchemaVersion = "2";
constexpr std::size_t kMaxQueued = 64;  // episodes; more wait in add()

// `text` holds every text once. A step's situation is the one before its action; the situation that the
// last step reached stands in the episode.
constexpr const char* kSchema = R"sql(
CREATE TABLE run(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE text(id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, body TEXT NOT NULL);
CREATE TABLE task_group(id INTEGER PRIMARY KEY, task TEXT NOT NULL);
CREATE TABLE episode(
  id INTEGER PRIMARY KEY, group_id INTEGER NOT NULL REFERENCES task_group(id), member INTEGER NOT NULL,
  seed INTEGER NOT NULL, status TEXT NOT NULL, outcome TEXT NOT NULL, truncated INTEGER NOT NULL,
  failure TEXT NOT NULL, steps INTEGER NOT NULL, total_reward REAL NOT NULL,
  last_observation INTEGER NOT NULL REFERENCES text(id), last_admissible INTEGER NOT NULL REFERENCES text(id),
  last_exact INTEGER NOT NULL REFERENCES text(id), last_relevant INTEGER NOT NULL REFERENCES text(id),
  last_stage INTEGER NOT NULL REFERENCES text(id), last_state_hash TEXT NOT NULL, last_distance REAL,
  UNIQUE(group_id, member));
CREATE TABLE step(
  episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE, t INTEGER NOT NULL,
  observation INTEGER NOT NULL REFERENCES text(id), admissible INTEGER NOT NULL REFERENCES text(id),
  key_exact INTEGER NOT NULL REFERENCES text(id), key_relevant INTEGER NOT NULL REFERENCES text(id),
  key_stage INTEGER NOT NULL REFERENCES text(id), state_hash TEXT NOT NULL, distance REAL,
  action INTEGER NOT NULL REFERENCES text(id), valid INTEGER NOT NULL, reward REAL NOT NULL, format_valid INTEGER,
  PRIMARY KEY(episode_id, t)) WITHOUT ROWID;
CREATE TABLE estimate(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, estimator TEXT NOT NULL, matcher TEXT NOT NULL,
  settings TEXT NOT NULL);
CREATE TABLE advantage(
  estimate_id INTEGER NOT NULL REFERENCES estimate(id) ON DELETE CASCADE, episode_id INTEGER NOT NULL,
  t INTEGER NOT NULL, step_return REAL, step_advantage REAL, episode_advantage REAL, advantage REAL NOT NULL,
  comparison_group INTEGER, node INTEGER, next_node INTEGER, PRIMARY KEY(estimate_id, episode_id, t),
  FOREIGN KEY(episode_id, t) REFERENCES step(episode_id, t) ON DELETE CASCADE) WITHOUT ROWID;
CREATE VIEW steps AS
  SELECT g.id AS group_id, g.task, e.member, s.t, o.body AS observation, a.body AS action, s.valid, s.format_valid, s.reward,
    k.body AS key, s.state_hash, s.distance
  FROM step s JOIN episode e ON e.id = s.episode_id JOIN task_group g ON g.id = e.group_id
    JOIN text o ON o.id = s.observation JOIN text a ON a.id = s.action JOIN text k ON k.id = s.key_exact
  ORDER BY g.id, e.member, s.t;
CREATE VIEW advantages AS
  SELECT g.id AS group_id, g.task, e.member, v.t, m.name AS estimate, v.step_return, v.step_advantage,
    v.episode_advantage, v.advantage, v.comparison_group, v.node, v.next_node
  FROM advantage v JOIN estimate m ON m.id = v.estimate_id JOIN episode e ON e.id = v.episode_id
    JOIN task_group g ON g.id = e.group_id
  ORDER BY m.id, g.id, e.member, v.t;
CREATE VIEW episodes AS
  SELECT g.id AS group_id, g.task, e.member, e.status, e.outcome, e.truncated, e.steps, e.total_reward, e.failure
  FROM episode e JOIN task_group g ON g.id = e.group_id ORDER BY g.id, e.member;
)sql";

// Writes episodes and estimates; used by one thread at a time.
class Writer {
 public:
  static Result<Writer> open(Database database) {
    Writer writer(std::move(database));
    const std::pair<Statement*, const char*> statements[] = {
        {&writer.find_text_, "SELECT id FROM text WHERE hash = ?"},
        {&writer.add_text_, "INSERT INTO text(hash, body) VALUES(?, ?)"},
        {&writer.add_group_, "INSERT OR IGNORE INTO task_group(id, task) VALUES(?, ?)"},
        {&writer.add_episode_,
         "INSERT INTO episode(group_id, member, seed, status, outcome, truncated, failure, steps, "
         "total_reward, "
         "last_observation, last_admissible, last_exact, last_relevant, last_stage, last_state_hash, "
         "last_distance) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
        {&writer.add_step_,
         "INSERT INTO step(episode_id, t, observation, admissible, key_exact, key_relevant, key_stage, "
         "state_hash, "
         "distance, action, valid, reward, format_valid) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)"},
    };
    for (const auto& [target, sql] : statements) {
      Result<Statement> statement = writer.database_.prepare(sql);
      if (!statement) return statement.error();
      *target = std::move(*statement);
    }
    return writer;
  }

  Database& database() { return database_; }

  Status add(const EpisodeRecord& episode) {
    add_group_.bind(1, static_cast<std::int64_t>(episode.group));
    add_group_.bind(2, episode.task.id);
    if (Status status = add_group_.run(); !status) return status;
    add_episode_.bind(1, static_cast<std::int64_t>(episode.group));
    add_episode_.bind(2, static_cast<std::int64_t>(episode.member));
    add_episode_.bind(3, static_cast<std::int64_t>(episode.task.seed));
    add_episode_.bind(4, episode_status_name(episode.status));
    add_episode_.bind(5, outcome_name(episode.outcome));
    add_episode_.bind(6, std::int64_t{episode.truncated});
    add_episode_.bind(7, episode.failure);
    add_episode_.bind(8, static_cast<std::int64_t>(episode.steps.size()));
    add_episode_.bind(9, episode.total_reward());
    if (Status status = bind_situation(add_episode_, 10, episode.last); !status) return status;
    if (Status status = add_episode_.run(); !status) return status;
    const std::int64_t id = database_.last_insert_id();
    std::int64_t t = 0;
    for (const StepRecord& step : episode.steps) {
      add_step_.bind(1, id);
      add_step_.bind(2, t++);
      if (Status status = bind_situation(add_step_, 3, step.before); !status) return status;
      if (Status status = bind_text(add_step_, 10, step.action); !status) return status;
      add_step_.bind(11, std::int64_t{step.valid});
      add_step_.bind(12, step.reward);
      if (step.format_valid) {
        add_step_.bind(13, std::int64_t{*step.format_valid});
      } else {
        add_step_.bind_null(13);
      }
      if (Status status = add_step_.run(); !status) return status;
    }
    return {};
  }

  Status add(const Estimate& estimate) {
    Result<Statement> drop = database_.prepare("DELETE FROM estimate WHERE name = ?");
    if (!drop) return drop.error();
    drop->bind(1, estimate.name);
    if (Status status = drop->run(); !status) return status;
    Result<Statement> insert =
        database_.prepare("INSERT INTO estimate(name, estimator, matcher, settings) VALUES(?,?,?,?)");
    if (!insert) return insert.error();
    insert->bind(1, estimate.name);
    insert->bind(2, estimate.estimator);
    insert->bind(3, estimate.matcher);
    insert->bind(4, estimate.settings);
    if (Status status = insert->run(); !status) return status;
    const std::int64_t id = database_.last_insert_id();
    Result<Statement> steps = database_.prepare(
        "SELECT s.episode_id, s.t FROM episode e JOIN step s ON s.episode_id = e.id "
        "ORDER BY e.group_id, e.member, s.t");
    if (!steps) return steps.error();
    Result<Statement> row = database_.prepare("INSERT INTO advantage VALUES(?,?,?,?,?,?,?,?,?,?)");
    if (!row) return row.error();
    const auto column = [](const auto& values, std::size_t i) {
      using Value = typename std::decay_t<decltype(values)>::value_type;
      return values.empty() ? Value{} : values[i];
    };
    for (std::size_t i = 0; i < estimate.advantage.size(); ++i) {
      Result<bool> more = steps->next();
      if (!more) return more.error();
      LODESTEP_CHECK(*more, i);  // an estimate has one row per recorded step
      row->bind(1, id);
      row->bind(2, steps->integer(0));
      row->bind(3, steps->integer(1));
      row->bind(4, column(estimate.step_return, i));
      row->bind(5, column(estimate.step_advantage, i));
      row->bind(6, column(estimate.episode_advantage, i));
      row->bind(7, estimate.advantage[i]);
      row->bind(8, column(estimate.group, i));
      row->bind(9, column(estimate.node, i));
      row->bind(10, column(estimate.next_node, i));
      if (Status status = row->run(); !status) return status;
    }
    return {};
  }

 private:
  explicit Writer(Database database) : database_(std::move(database)) {}

  Status bind_text(Statement& statement, int position, std::string_view body) {
    const Hash128 hash = hash128(body);
    const auto known = text_ids_.find(hash);
    if (known != text_ids_.end()) {
      statement.bind(position, known->second);
      return {};
    }
    const std::string bytes = to_hex(hash);
    find_text_.bind_blob(1, bytes);
    Result<bool> found = find_text_.next();
    if (!found) return found.error();
    std::int64_t id = 0;
    if (*found) {
      id = find_text_.integer(0);
      if (Status status = find_text_.run(); !status) return status;  // ends and resets it
    } else {
      add_text_.bind_blob(1, bytes);
      add_text_.bind(2, body);
      if (Status status = add_text_.run(); !status) return status;
      id = database_.last_insert_id();
    }
    if (text_ids_.size() > 1000000) text_ids_.clear();  // a cache: bounded, the database knows the rest
    text_ids_.emplace(hash, id);
    statement.bind(position, id);
    return {};
  }

  // Seven columns from `position` on.
  Status bind_situation(Statement& statement, int position, const Situation& situation) {
    const std::string actions = json_array(situation.admissible);
    for (const std::string_view body :
         {std::string_view(situation.observation), std::string_view(actions),
          std::string_view(situation.keys.exact), std::string_view(situation.keys.relevant),
          std::string_view(situation.keys.stage)}) {
      if (Status status = bind_text(statement, position++, body); !status) return status;
    }
    statement.bind(position++, to_hex(situation.state_hash));
    statement.bind(position, situation.distance);
    return {};
  }

  Database database_;
  Statement find_text_, add_text_, add_group_, add_episode_, add_step_;
  std::unordered_map<Hash128, std::int64_t, ContainerHash> text_ids_;
};

// A writer with its own thread: episodes queue up, each wake-up writes all of them in one transaction.
class SqliteRecorder final : public Recorder {
 public:
  explicit SqliteRecorder(Writer writer) : writer_(std::move(writer)), thread_([this] { work(); }) {}

  ~SqliteRecorder() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  Status add(EpisodeRecord episode) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.size() < kMaxQueued || !failure_.ok(); });
    if (!failure_.ok()) return failure_;
    queue_.push_back(std::move(episode));
    changed_.notify_all();
    return {};
  }

  Status add_estimate(const Estimate& estimate) override {
    if (Status status = flush(); !status) return status;
    const std::lock_guard lock(mutex_);
    return in_transaction([&] { return writer_.add(estimate); });
  }

  Status set_info(const std::string& key, const std::string& value) override {
    if (Status status = flush(); !status) return status;
    const std::lock_guard lock(mutex_);
    return in_transaction([&]() -> Status {
      Result<Statement> insert = writer_.database().prepare("INSERT OR REPLACE INTO run VALUES(?, ?)");
      if (!insert) return insert.error();
      insert->bind(1, key);
      insert->bind(2, value);
      return insert->run();
    });
  }

  Status flush() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return (queue_.empty() && !writing_) || !failure_.ok(); });
    return failure_;
  }

 private:
  template <typename Work>
  Status in_transaction(Work work) {
    Status status = writer_.database().run("BEGIN IMMEDIATE");
    if (status) status = work();
    if (status) status = writer_.database().run("COMMIT");
    if (!status) (void)writer_.database().run("ROLLBACK").ok();
    return status;
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !queue_.empty() || closing_; });
      if (queue_.empty()) return;
      std::deque<EpisodeRecord> batch;
      batch.swap(queue_);
      writing_ = true;
      changed_.notify_all();
      lock.unlock();
      const Status status = in_transaction([&]() -> Status {
        for (const EpisodeRecord& episode : batch) {
          if (Status added = writer_.add(episode); !added) return added;
        }
        return {};
      });
      lock.lock();
      writing_ = false;
      if (!status && failure_.ok()) failure_ = status;
      if (!failure_.ok()) queue_.clear();
      changed_.notify_all();
    }
  }

  Writer writer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<EpisodeRecord> queue_;
  bool writing_ = false;
  bool closing_ = false;
  Status failure_;
  std::thread thread_;  // last: starts when the rest stands
};

constexpr const char* kPragmas =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;";

Result<std::unique_ptr<Recorder>> start_recorder(Database database) {
  Result<Writer> writer = Writer::open(std::move(database));
  if (!writer) return writer.error();
  return std::unique_ptr<Recorder>(std::make_unique<SqliteRecorder>(std::move(*writer)));
}

Status check_schema(Database& database, const std::string& path) {
  Result<Statement> version = database.prepare("SELECT value FROM run WHERE key = 'schema_version'");
  const Error foreign{ErrorCode::kBadData, "not a lodestep recording", path, ""};
  if (!version) return version.error().code == ErrorCode::kBadData ? version.error() : foreign;
  Result<bool> row = version->next();
  if (!row) return row.error();
  if (!*row) return foreign;
  if (version->text(0) != kSchemaVersion) {
    return Error{ErrorCode::kUnsupported, "recording of schema version " + version->text(0), path,
                 "this program reads version " + std::string(kSchemaVersion)};
  }
  return version->run();
}

// Reads `text` once; bodies are copied into the records that use them.
class Reader {
 public:
  explicit Reader(Database database) : database_(std::move(database)) {}

  Result<Recording> read() {
    Recording recording;
    for (const auto load : {&Reader::load_info, &Reader::load_texts, &Reader::load_episodes,
                            &Reader::load_steps, &Reader::load_estimates}) {
      if (Status status = (this->*load)(recording); !status) return status.error();
    }
    mark_branches(recording);
    return recording;
  }

 private:
  template <typename Use>
  Status each(const std::string& sql, Use use) {
    Result<Statement> rows = database_.prepare(sql);
    if (!rows) return rows.error();
    for (;;) {
      Result<bool> more = rows->next();
      if (!more) return more.error();
      if (!*more) return {};
      use(*rows);
    }
  }

  Status load_info(Recording& recording) {
    return each("SELECT key, value FROM run",
                [&](Statement& row) { recording.info[row.text(0)] = row.text(1); });
  }

  Status load_texts(Recording&) {
    return each("SELECT id, body FROM text", [&](Statement& row) { texts_[row.integer(0)] = row.text(1); });
  }

  Situation situation(const Statement& row, int column) {
    Situation out;
    out.observation = texts_[row.integer(column)];
    const std::int64_t actions = row.integer(column + 1);
    const auto [list, fresh] = actions_.try_emplace(actions);
    if (fresh) {
      if (const auto json = parse_json(texts_[actions], ""); json && json->IsArray()) {
        for (const auto& action : json->GetArray()) {
          if (action.IsString()) list->second.emplace_back(action.GetString(), action.GetStringLength());
        }
      }
    }
    out.admissible = list->second;
    out.keys = {texts_[row.integer(column + 2)], texts_[row.integer(column + 3)],
                texts_[row.integer(column + 4)]};
    const std::string hex = row.text(column + 5);
    if (hex.size() == 32) {
      out.state_hash = {std::stoull(hex.substr(0, 16), nullptr, 16),
                        std::stoull(hex.substr(16), nullptr, 16)};
    }
    if (!row.is_null(column + 6)) out.distance = row.real(column + 6);
    return out;
  }

  Status load_episodes(Recording& recording) {
    std::set<std::int64_t> filtered;
    for (const std::string_view group : split(recording.info[kFilteredGroups], ',')) {
      if (const std::optional<std::int64_t> number = parse_int(group)) filtered.insert(*number);
    }
    return each(
        "SELECT e.id, e.group_id, e.member, g.task, e.seed, e.status, e.outcome, e.truncated, e.failure, "
        "last_observation, last_admissible, last_exact, last_relevant, last_stage, last_state_hash, "
        "last_distance "
        "FROM episode e JOIN task_group g ON g.id = e.group_id ORDER BY e.group_id, e.member",
        [&](Statement& row) {
          EpisodeRecord episode;
          episode.group = static_cast<std::size_t>(row.integer(1));
          episode.member = static_cast<std::size_t>(row.integer(2));
          episode.task = {recording.info["env"], row.text(3), static_cast<std::uint64_t>(row.integer(4))};
          const std::string status = row.text(5);
          episode.status = status == "failed"                  ? EpisodeStatus::kFailed
                           : status == "abandoned"             ? EpisodeStatus::kAbandoned
                           : filtered.contains(row.integer(1)) ? EpisodeStatus::kFiltered
                                                               : EpisodeStatus::kFinished;
          const std::string outcome = row.text(6);
          episode.outcome = outcome == "success"   ? Outcome::kSuccess
                            : outcome == "failure" ? Outcome::kFailure
                                                   : Outcome::kRunning;
          episode.truncated = row.integer(7) != 0;
          episode.failure = row.text(8);
          episode.last = situation(row, 9);
          position_of_[row.integer(0)] = recording.episodes.size();
          recording.episodes.push_back(std::move(episode));
        });
  }

  Status load_steps(Recording& recording) {
    return each(
        "SELECT episode_id, observation, admissible, key_exact, key_relevant, key_stage, state_hash, "
        "distance, "
        "action, valid, reward, format_valid FROM step ORDER BY episode_id, t",
        [&](Statement& row) {
          StepRecord step;
          step.before = situation(row, 1);
          step.action = texts_[row.integer(8)];
          step.valid = row.integer(9) != 0;
          step.reward = row.real(10);
          if (!row.is_null(11)) step.format_valid = row.integer(11) != 0;
          recording.episodes[position_of_[row.integer(0)]].steps.push_back(std::move(step));
        });
  }

  Status load_estimates(Recording& recording) {
    std::map<std::int64_t, std::size_t> index_of;
    Status status =
        each("SELECT id, name, estimator, matcher, settings FROM estimate ORDER BY id", [&](Statement& row) {
          Estimate estimate;
          estimate.name = row.text(1);
          estimate.estimator = row.text(2);
          estimate.matcher = row.text(3);
          estimate.settings = row.text(4);
          index_of[row.integer(0)] = recording.estimates.size();
          recording.estimates.push_back(std::move(estimate));
        });
    if (!status) return status;
    const auto real = [](const Statement& row, int column) {
      return row.is_null(column) ? std::optional<double>() : row.real(column);
    };
    const auto integer = [](const Statement& row, int column) {
      return row.is_null(column) ? std::optional<std::int64_t>() : row.integer(column);
    };
    return each(
        "SELECT v.estimate_id, v.step_return, v.step_advantage, v.episode_advantage, v.advantage, "
        "v.comparison_group, v.node, v.next_node FROM advantage v JOIN episode e ON e.id = v.episode_id "
        "ORDER BY v.estimate_id, e.group_id, e.member, v.t",
        [&](Statement& row) {
          Estimate& estimate = recording.estimates[index_of[row.integer(0)]];
          estimate.step_return.push_back(real(row, 1));
          estimate.step_advantage.push_back(real(row, 2));
          estimate.episode_advantage.push_back(real(row, 3));
          estimate.advantage.push_back(row.real(4));
          estimate.group.push_back(integer(row, 5));
          estimate.node.push_back(integer(row, 6));
          estimate.next_node.push_back(integer(row, 7));
        });
  }

  Database database_;
  std::unordered_map<std::uint64_t, std::string, ContainerHash> texts_;
  std::unordered_map<std::uint64_t, std::vector<std::string>, ContainerHash> actions_;
  std::unordered_map<std::uint64_t, std::size_t, ContainerHash> position_of_;
};

}  // namespace

Result<std::unique_ptr<Recorder>> create_recording(const std::string& path, const RunInfo& info) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    return Error{ErrorCode::kInvalidArgument, "the file exists already", path,
                 "name another file, or continue it with --resume"};
  }
  Result<Database> database = Database::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (!database) return database.error();
  Status status = database->run(kPragmas);
  if (status) status = database->run("BEGIN");
  if (status) status = database->run(kSchema);
  Result<Statement> insert = status ? database->prepare("INSERT INTO run VALUES(?, ?)") : status.error();
  if (!insert) status = insert.error();
  RunInfo complete = info;
  complete["schema_version"] = kSchemaVersion;
  for (const auto& [key, value] : complete) {
    if (!status) break;
    insert->bind(1, key);
    insert->bind(2, value);
    status = insert->run();
  }
  if (status) status = database->run("COMMIT");
  if (!status) {  // leave nothing half made
    insert = status.error();
    database = status.error();
    for (const char* suffix : {"", "-wal", "-shm", "-journal"})
      std::filesystem::remove(path + suffix, ignored);
    return status.error();
  }
  insert = Statement();
  return start_recorder(std::move(*database));
}

Result<std::unique_ptr<Recorder>> open_recording(const std::string& path) {
  Result<Database> database = Database::open(path, SQLITE_OPEN_READWRITE);
  if (!database) return database.error();
  if (Status status = check_schema(*database, path); !status) return status.error();
  if (Status status = database->run(kPragmas); !status) return status.error();
  return start_recorder(std::move(*database));
}

Result<Recording> read_recording(const std::string& path) {
  // Read-write where possible, so that the log of a killed writer can be recovered.
  Result<Database> database = Database::open(path, SQLITE_OPEN_READWRITE);
  if (!database) database = Database::open(path, SQLITE_OPEN_READONLY);
  if (!database) return database.error();
  if (Status status = check_schema(*database, path); !status) return status.error();
  return Reader(std::move(*database)).read();
}

}  // namespace lodestep::harness
