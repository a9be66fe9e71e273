#include "harness/graph_store.h"

#include <cmath>

#include "harness/internal/sqlite.h"

namespace lodestep::harness {
namespace {

constexpr const char* kSchema = R"sql(
CREATE TABLE IF NOT EXISTS graph_store(version INTEGER NOT NULL, batches INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS edge(
  task TEXT NOT NULL, state TEXT NOT NULL, next_state TEXT NOT NULL, cost REAL NOT NULL,
  steps INTEGER NOT NULL, last_batch INTEGER NOT NULL, PRIMARY KEY(task, state, next_state, cost)) WITHOUT ROWID;
INSERT INTO graph_store SELECT 1, 0 WHERE NOT EXISTS (SELECT 1 FROM graph_store);
)sql";

constexpr double kFaded = 1.0 / 16;
constexpr const char* kGoal = "\"success\"";

}  // namespace

struct GraphStore::Impl {
  Impl(Database opened, std::string name) : database(std::move(opened)), path(std::move(name)) {}
  Database database;
  std::string path;

  Result<std::int64_t> number(const std::string& sql) {
    Result<Statement> statement = database.prepare(sql);
    if (!statement) return statement.error();
    const Result<bool> row = statement->next();
    if (!row) return row.error();
    if (!*row) return Error{ErrorCode::kBadData, "not a graph store", path, ""};
    return statement->integer(0);
  }
};

GraphStore::GraphStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GraphStore::GraphStore(GraphStore&&) noexcept = default;
GraphStore::~GraphStore() = default;

Result<GraphStore> GraphStore::open(const std::string& path) {
  Result<Database> database = Database::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (!database) return database.error();
  if (Status s = database->run(kSchema); !s) return s.error();
  auto impl = std::make_unique<Impl>(*std::move(database), path);
  const Result<std::int64_t> version = impl->number("SELECT version FROM graph_store");
  if (!version) return version.error();
  if (*version != 1) {
    return Error{ErrorCode::kUnsupported, "graph store of version " + std::to_string(*version), path,
                 "this program knows version 1"};
  }
  return GraphStore(std::move(impl));
}

Result<Remembered> GraphStore::recall(StepFile& steps, double half_life) {
  Remembered out;
  const Result<std::int64_t> batches = impl_->number("SELECT batches FROM graph_store");
  if (!batches) return batches.error();
  out.batches = *batches;
  Result<Statement> rows = impl_->database.prepare(
      "SELECT state, next_state, cost, last_batch FROM edge WHERE task = ? ORDER BY state, next_state, cost");
  if (!rows) return rows.error();
  for (graph::Id task = 0; task < static_cast<graph::Id>(steps.tasks.size()); ++task) {
    rows->bind(1, std::string_view(steps.tasks.text(task)));
    while (true) {
      const Result<bool> row = rows->next();
      if (!row) return row.error();
      if (!*row) break;
      const double age = static_cast<double>(*batches - rows->integer(3));
      if (half_life > 0 && std::exp2(-age / half_life) < kFaded) {
        ++out.faded;
        continue;
      }
      steps.batch.past.push_back(
          {task, steps.states.intern(rows->text(0)), steps.states.intern(rows->text(1)), rows->real(2)});
      ++out.edges;
    }
  }
  steps.batch.goal_state = steps.states.find(kGoal);
  return out;
}

Status GraphStore::remember(const StepFile& steps, const graph::Credit& credit) {
  if (Status s = impl_->database.run("BEGIN IMMEDIATE; UPDATE graph_store SET batches = batches + 1;"); !s)
    return s;
  const auto add = [&]() -> Status {
    const Result<std::int64_t> batch = impl_->number("SELECT batches FROM graph_store");
    if (!batch) return batch.error();
    Result<Statement> insert = impl_->database.prepare(
        "INSERT INTO edge VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET steps = steps + "
        "excluded.steps, "
        "last_batch = excluded.last_batch");
    if (!insert) return insert.error();
    const auto text = [&](graph::Id state) {
      const bool named = static_cast<std::size_t>(state) < steps.states.size();
      return named ? std::string_view(steps.states.text(state)) : std::string_view(kGoal);
    };
    for (const graph::TransitionGraph& g : credit.graphs) {
      for (const graph::Edge& e : g.edges) {
        if (e.count == 0) continue;  // remembered, not seen
        insert->bind(1, std::string_view(steps.tasks.text(g.task)));
        insert->bind(2, text(g.state[static_cast<std::size_t>(e.from)]));
        insert->bind(3, text(g.state[static_cast<std::size_t>(e.to)]));
        insert->bind(4, e.cost);
        insert->bind(5, static_cast<std::int64_t>(e.count));
        insert->bind(6, *batch);
        if (Status s = insert->run(); !s) return s;
      }
    }
    return {};
  };
  if (Status s = add(); !s) {
    const Status undone = impl_->database.run("ROLLBACK");  // the first failure is the one to tell
    return undone.ok() ? s : undone;
  }
  return impl_->database.run("COMMIT");
}

}  // namespace lodestep::harness
