// SQLite with results instead of return codes. Stays inside the harness.
//   Result<Database> db = Database::open(path, SQLITE_OPEN_READONLY);
//   Statement rows = *db->prepare("SELECT id FROM step WHERE episode = ?");
//   rows.bind(1, 7); while (*rows.next()) use(rows.integer(0));
// Threads: one connection, one thread at a time. A statement must not outlive its database.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lodestep::harness {

class Statement {
 public:
  Statement() = default;
  Statement(sqlite3_stmt* statement, std::string path);
  // Positions count from 1, as in SQL. Text and blobs are copied.
  void bind(int position, std::int64_t value);
  void bind(int position, double value);
  void bind(int position, std::string_view text);
  void bind_blob(int position, std::string_view bytes);
  void bind_null(int position);
  void bind(int position, const std::optional<double>& value);
  void bind(int position, const std::optional<std::int64_t>& value);
  // True: a row stands ready. False: no more rows; the statement is reset for its next use.
  Result<bool> next();
  // Runs a statement that gives no rows.
  Status run();
  // Columns of the row that stands ready; positions count from 0.
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  bool is_null(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string path_;
};

class Database {
 public:
  // flags: SQLITE_OPEN_*. Waits up to 5 s for a lock.
  static Result<Database> open(const std::string& path, int flags);
  Status run(const std::string& sql);  // one or more statements without rows
  Result<Statement> prepare(const std::string& sql);
  std::int64_t last_insert_id() const { return sqlite3_last_insert_rowid(connection_.get()); }

 private:
  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
  };
  std::unique_ptr<sqlite3, Close> connection_;
  std::string path_;
};

}  // namespace lodestep::harness
