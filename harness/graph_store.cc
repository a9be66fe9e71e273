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
CREATE TABLE IF NOT EXISTS prior(
  task TEXT PRIMARY KEY, unreached REAL NOT NULL, reached REAL NOT NULL, distance REAL NOT NULL) WITHOUT ROWID;
INSERT INTO graph_store SELECT 1, 0 WHERE NOT EXISTS (SELECT 1 FROM graph_store);
)sql";

constexpr double kFaded = 1.0 / 16;
constexpr const char* kGoal = "\"success\"";

}  // namespace

struct GraphStore::Impl {
  Impl(Database opened, std::string name) : database(std::move(opened)), path(std::move(name)) {}
  Database database;
  std::string path;
  double half_life = 0;  // as recall() was told

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

Result<Remembered> GraphStore::recall(graph::Batch& batch, BatchNames& names, double half_life) {
  Remembered out;
  impl_->half_life = half_life;
  const Result<std::int64_t> batches = impl_->number("SELECT batches FROM graph_store");
  if (!batches) return batches.error();
  out.batches = *batches;
  Result<Statement> rows = impl_->database.prepare(
      "SELECT state, next_state, cost, last_batch FROM edge WHERE task = ? ORDER BY state, next_state, cost");
  if (!rows) return rows.error();
  Result<Statement> prior = impl_->database.prepare(
      "SELECT unreached, reached, distance FROM prior WHERE task = ? AND unreached > 0");
  if (!prior) return prior.error();
  for (graph::Id task = 0; task < static_cast<graph::Id>(names.tasks.size()); ++task) {
    const std::string_view name = names.tasks[static_cast<std::size_t>(task)];
    rows->bind(1, name);
    while (true) {
      const Result<bool> row = rows->next();
      if (!row) return row.error();
      if (!*row) break;
      const double age = static_cast<double>(*batches - rows->integer(3));
      if (half_life > 0 && std::exp2(-age / half_life) < kFaded) {
        ++out.faded;
        continue;
      }
      batch.past.push_back(
          {task, names.states.intern(rows->text(0)), names.states.intern(rows->text(1)), rows->real(2)});
      ++out.edges;
    }
    prior->bind(1, name);
    const Result<bool> known = prior->next();
    if (!known) return known.error();
    if (!*known) continue;
    const double reached = prior->real(1);
    batch.priors.push_back({task, reached / prior->real(0), reached > 0 ? prior->real(2) / reached : 0});
    if (Status s = prior->run(); !s) return s.error();  // ends it
  }
  batch.goal_state = names.states.find(kGoal);
  return out;
}

namespace {

struct Fates {
  double unreached = 0, reached = 0, distance = 0;
};

// Of the states that this batch's own steps leave without a way to success: how many have one with what is
// remembered, and how far it is.
Fates fates_of(const graph::TransitionGraph& whole) {
  graph::TransitionGraph own;
  own.goal = whole.goal;
  own.state = whole.state;
  std::vector<std::uint8_t> seen(whole.nodes(), 0);
  for (const graph::Edge& e : whole.edges) {
    if (e.count == 0) continue;
    own.edges.push_back(e);
    seen[static_cast<std::size_t>(e.from)] = seen[static_cast<std::size_t>(e.to)] = 1;
  }
  own.visits.assign(own.nodes(), 0);
  graph::measure(own);
  Fates out;
  for (std::size_t v = 0; v < whole.nodes(); ++v) {
    if (seen[v] == 0 || own.reached[v] != 0) continue;
    out.unreached += 1;
    if (whole.reached[v] == 0) continue;
    out.reached += 1;
    out.distance += whole.distance[v];
  }
  return out;
}

}  // namespace

Status GraphStore::remember(const BatchNames& names, const graph::Credit& credit) {
  const Result<std::int64_t> before = impl_->number("SELECT batches FROM graph_store");
  if (!before) return before.error();
  if (Status s = impl_->database.run("BEGIN IMMEDIATE; UPDATE graph_store SET batches = batches + 1;"); !s)
    return s;
  const auto add = [&]() -> Status {
    const Result<std::int64_t> batch = impl_->number("SELECT batches FROM graph_store");
    if (!batch) return batch.error();
    Result<Statement> insert = impl_->database.prepare(
        "INSERT INTO edge VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET steps = steps + "
        "excluded.steps, last_batch = excluded.last_batch");
    if (!insert) return insert.error();
    Result<Statement> fate = impl_->database.prepare(
        "INSERT INTO prior VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET unreached = unreached * ?5 + "
        "?2, "
        "reached = reached * ?5 + ?3, distance = distance * ?5 + ?4");
    if (!fate) return fate.error();
    const double fading = impl_->half_life > 0 ? std::exp2(-1 / impl_->half_life) : 1;
    const auto text = [&](graph::Id state) {
      const bool named = static_cast<std::size_t>(state) < names.states.size();
      return named ? std::string_view(names.states.text(state)) : std::string_view(kGoal);
    };
    for (const graph::TransitionGraph& g : credit.graphs) {
      if (g.nodes() == 0) continue;
      const std::string_view task = names.tasks[static_cast<std::size_t>(g.task)];
      for (const graph::Edge& e : g.edges) {
        if (e.count == 0) continue;  // remembered, not seen
        insert->bind(1, task);
        insert->bind(2, text(g.state[static_cast<std::size_t>(e.from)]));
        insert->bind(3, text(g.state[static_cast<std::size_t>(e.to)]));
        insert->bind(4, e.cost);
        insert->bind(5, static_cast<std::int64_t>(e.count));
        insert->bind(6, *batch);
        if (Status s = insert->run(); !s) return s;
      }
      if (*before == 0) continue;  // the first batch has no earlier ones to be judged by
      const Fates fates = fates_of(g);
      fate->bind(1, task);
      fate->bind(2, fates.unreached);
      fate->bind(3, fates.reached);
      fate->bind(4, fates.distance);
      fate->bind(5, fading);
      if (Status s = fate->run(); !s) return s;
    }
    return {};
  };
  if (Status s = add(); !s) {
    const Status undone = impl_->database.run("ROLLBACK");  // the first failure is the one to tell
    return undone.ok() ? s : undone;
  }
  return impl_->database.run("COMMIT");
}

std::string to_text(const Remembered& old) {
  return "graph store: " + std::to_string(old.edges) + " edges recalled from " + std::to_string(old.batches) +
         " batches, " + std::to_string(old.faded) + " faded";
}

std::string share_of_memory(const graph::Credit& credit) {
  std::size_t edges = 0, old = 0;
  for (const graph::TransitionGraph& g : credit.graphs) {
    edges += g.edges.size();
    for (const graph::Edge& e : g.edges) old += e.count == 0 ? 1 : 0;
  }
  return "graph store: " + std::to_string(old) + " of " + std::to_string(edges) +
         " edges are known from earlier batches only";
}

}  // namespace lodestep::harness
