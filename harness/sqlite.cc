#include "harness/internal/sqlite.h"

#include <utility>

namespace lodestep::harness {
namespace {

Error sqlite_error(sqlite3* connection, const std::string& path) {
  const int code = sqlite3_errcode(connection);
  const bool bad_file = code == SQLITE_NOTADB || code == SQLITE_CORRUPT;
  return Error{bad_file ? ErrorCode::kBadData : ErrorCode::kUnavailable, sqlite3_errmsg(connection), path,
               code == SQLITE_FULL ? "the disk is full; what was finished before is kept" : ""};
}

}  // namespace

Statement::Statement(sqlite3_stmt* statement, std::string path)
    : statement_(statement), path_(std::move(path)) {}

void Statement::bind(int position, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), position, value);
}
void Statement::bind(int position, double value) { sqlite3_bind_double(statement_.get(), position, value); }

void Statement::bind(int position, std::string_view text) {
  // An empty view may hold no pointer, which SQLite would store as NULL.
  sqlite3_bind_text64(statement_.get(), position, text.empty() ? "" : text.data(), text.size(),
                      SQLITE_TRANSIENT, SQLITE_UTF8);
}

void Statement::bind_blob(int position, std::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), position, bytes.empty() ? "" : bytes.data(), bytes.size(),
                      SQLITE_TRANSIENT);
}

void Statement::bind_null(int position) { sqlite3_bind_null(statement_.get(), position); }

void Statement::bind(int position, const std::optional<double>& value) {
  value ? bind(position, *value) : bind_null(position);
}

void Statement::bind(int position, const std::optional<std::int64_t>& value) {
  value ? bind(position, *value) : bind_null(position);
}

Result<bool> Statement::next() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  Result<bool> result = false;
  if (code != SQLITE_DONE) result = sqlite_error(sqlite3_db_handle(statement_.get()), path_);
  sqlite3_reset(statement_.get());
  return result;
}

Status Statement::run() {
  for (;;) {
    const Result<bool> row = next();
    if (!row) return row.error();
    if (!*row) return {};
  }
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Result<Database> Database::open(const std::string& path, int flags) {
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &connection, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database;
  database.connection_.reset(connection);
  database.path_ = path;
  if (code != SQLITE_OK) {
    const bool missing = code == SQLITE_CANTOPEN && (flags & SQLITE_OPEN_CREATE) == 0;
    return Error{missing ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                 missing ? "no such file, or not readable" : "cannot be opened for writing", path, ""};
  }
  sqlite3_busy_timeout(connection, 5000);
  return database;
}

Status Database::run(const std::string& sql) {
  if (sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return sqlite_error(connection_.get(), path_);
}

Result<Statement> Database::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(connection_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    return sqlite_error(connection_.get(), path_);
  }
  return Statement(statement, path_);
}

}  // namespace lodestep::harness
