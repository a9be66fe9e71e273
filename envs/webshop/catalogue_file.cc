#include "envs/webshop/catalogue_file.h"

#include <sqlite3.h>

#include <filesystem>
#include <mutex>
#include <system_error>

#include "base/text.h"
#include "envs/webshop/analyzer.h"
#include "envs/webshop/bytes.h"

namespace lodestep::webshop {
namespace {

constexpr std::string_view kFormat = "1";
constexpr std::size_t kPartSize = 32U << 20;  // the index is cut into rows of this size

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct FinishStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, FinishStatement>;

Statement prepare(sqlite3* database, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, sql, -1, &statement, nullptr);
  return Statement(statement);
}

std::string_view column(sqlite3_stmt* statement, int index) {
  const void* bytes = sqlite3_column_blob(statement, index);
  const int size = sqlite3_column_bytes(statement, index);
  return bytes == nullptr ? std::string_view()
                          : std::string_view(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

void bind(sqlite3_stmt* statement, int index, std::string_view text) {
  sqlite3_bind_text64(statement, index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

// What a shell user would not query by name goes into one record.
std::string pack_lists(const Product& product) {
  ByteWriter out;
  out.texts(product.bullets).number(product.prices.size());
  for (const double price : product.prices) out.real(price);
  out.number(product.options.size());
  for (const ProductOption& option : product.options) out.text(option.name).texts(option.values);
  out.texts(product.attributes).texts(product.instruction_attributes).number(product.human.size());
  for (const HumanInstruction& human : product.human)
    out.text(human.text).texts(human.attributes).texts(human.options);
  out.number(product.nouns ? 1 : 0);
  if (product.nouns) out.texts(*product.nouns);
  return std::move(out).bytes();
}

bool unpack_lists(std::string_view bytes, Product& product) {
  ByteReader in(bytes);
  product.bullets = in.texts();
  product.prices.resize(in.count());
  for (double& price : product.prices) price = in.real();
  product.options.resize(in.count());
  for (ProductOption& option : product.options) {
    option.name = in.text();
    option.values = in.texts();
  }
  product.attributes = in.texts();
  product.instruction_attributes = in.texts();
  product.human.resize(in.count());
  for (HumanInstruction& human : product.human) {
    human.text = in.text();
    human.attributes = in.texts();
    human.options = in.texts();
  }
  if (in.number() != 0) product.nouns = in.texts();
  return in.ok() && in.at_end() && !product.prices.empty();
}

// Each row's digest continues the one before, so that order counts too.
Hash128 chain(const Hash128& last, const Product& product, std::string_view lists) {
  Hasher hasher;
  hasher.add_u64(last.high).add_u64(last.low).add_u64(product.record).add(product.asin).add(product.title);
  hasher.add(product.description).add(product.category).add(product.query).add(product.product_category);
  hasher.add(product.price_text).add(product.instruction ? "1" + *product.instruction : "0").add(lists);
  return hasher.finish();
}

Error unfit(const std::string& path, const std::string& what) {
  return Error{ErrorCode::kBadData, what, path, "make it again with `lodestep webshop import`"};
}

}  // namespace

struct CatalogueWriter::Impl {
  Database database;
  Statement insert;
  SearchIndex::Builder index;
  std::string path, temporary;
  std::uint64_t products = 0;
  Hash128 digest;

  Error failed() const {
    return Error{ErrorCode::kUnavailable, std::string("cannot write: ") + sqlite3_errmsg(database.get()),
                 path, "is the disk full?"};
  }
  Status run(const char* sql) {
    if (sqlite3_exec(database.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failed();
    return {};
  }
};

CatalogueWriter::CatalogueWriter() : impl_(std::make_unique<Impl>()) {}

CatalogueWriter::~CatalogueWriter() {
  impl_->insert.reset();
  impl_->database.reset();
  std::error_code ignored;
  if (!impl_->temporary.empty()) std::filesystem::remove(impl_->temporary, ignored);
}

Status CatalogueWriter::create(const std::string& path) {
  impl_->path = path;
  impl_->temporary = path + ".partial";
  std::error_code ignored;
  std::filesystem::remove(impl_->temporary, ignored);
  sqlite3* database = nullptr;
  const int opened = sqlite3_open(impl_->temporary.c_str(), &database);
  impl_->database.reset(database);
  if (opened != SQLITE_OK) {
    return Error{ErrorCode::kUnavailable, "cannot create the catalogue", path,
                 "does the folder exist, and may it be written?"};
  }
  if (Status s = impl_->run(
          "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA page_size=16384;"
          "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL);"
          "CREATE TABLE product(position INTEGER PRIMARY KEY, record INTEGER NOT NULL, asin TEXT NOT NULL,"
          " title TEXT, description TEXT, category TEXT, query TEXT, product_category TEXT, price TEXT,"
          " instruction TEXT, lists BLOB NOT NULL);"
          "CREATE TABLE search_index(part INTEGER PRIMARY KEY, bytes BLOB NOT NULL); BEGIN");
      !s) {
    return s;
  }
  impl_->insert = prepare(impl_->database.get(), "INSERT INTO product VALUES(?,?,?,?,?,?,?,?,?,?,?)");
  return impl_->insert ? Status() : impl_->failed();
}

Status CatalogueWriter::add(const Product& product) {
  sqlite3_stmt* insert = impl_->insert.get();
  const std::string lists = pack_lists(product);
  sqlite3_reset(insert);
  sqlite3_bind_int64(insert, 1, static_cast<sqlite3_int64>(impl_->products));
  sqlite3_bind_int64(insert, 2, static_cast<sqlite3_int64>(product.record));
  bind(insert, 3, product.asin);
  bind(insert, 4, product.title);
  bind(insert, 5, product.description);
  bind(insert, 6, product.category);
  bind(insert, 7, product.query);
  bind(insert, 8, product.product_category);
  bind(insert, 9, product.price_text);
  if (product.instruction) {
    bind(insert, 10, *product.instruction);
  } else {
    sqlite3_bind_null(insert, 10);
  }
  sqlite3_bind_blob64(insert, 11, lists.data(), lists.size(), SQLITE_STATIC);
  if (sqlite3_step(insert) != SQLITE_DONE) return impl_->failed();
  impl_->index.add(analyze(search_text(product)));
  impl_->digest = chain(impl_->digest, product, lists);
  ++impl_->products;
  return {};
}

Result<Hash128> CatalogueWriter::finish(std::map<std::string, std::string> facts) {
  const std::string bytes = impl_->index.finish().serialize();
  Statement part = prepare(impl_->database.get(), "INSERT INTO search_index VALUES(?,?)");
  if (!part) return impl_->failed();
  int number = 0;
  for (std::size_t at = 0; at < bytes.size(); at += kPartSize) {
    sqlite3_reset(part.get());
    sqlite3_bind_int(part.get(), 1, number++);
    sqlite3_bind_blob64(part.get(), 2, bytes.data() + at, std::min(kPartSize, bytes.size() - at),
                        SQLITE_STATIC);
    if (sqlite3_step(part.get()) != SQLITE_DONE) return impl_->failed();
  }
  part.reset();
  facts["format"] = kFormat;
  facts["products"] = std::to_string(impl_->products);
  facts["products_digest"] = to_hex(impl_->digest);
  facts["index_digest"] = to_hex(Hasher().add(to_hex(impl_->digest)).add(bytes).finish());
  Statement fact = prepare(impl_->database.get(), "INSERT INTO meta VALUES(?,?)");
  if (!fact) return impl_->failed();
  for (const auto& [name, value] : facts) {
    sqlite3_reset(fact.get());
    bind(fact.get(), 1, name);
    bind(fact.get(), 2, value);
    if (sqlite3_step(fact.get()) != SQLITE_DONE) return impl_->failed();
  }
  fact.reset();
  impl_->insert.reset();
  if (Status s = impl_->run("COMMIT"); !s) return s.error();
  impl_->database.reset();
  std::error_code error;
  std::filesystem::rename(impl_->temporary, impl_->path, error);
  if (error)
    return Error{ErrorCode::kUnavailable, "cannot put the catalogue into place: " + error.message(),
                 impl_->path, ""};
  impl_->temporary.clear();
  return impl_->digest;
}

namespace {

Result<std::shared_ptr<const Catalogue>> read_catalogue(const std::string& path) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY, nullptr);
  const Database database(raw);
  if (opened != SQLITE_OK) return unfit(path, "cannot open the catalogue");
  sqlite3_exec(raw, "PRAGMA mmap_size=1099511627776", nullptr, nullptr, nullptr);
  std::map<std::string, std::string> meta;
  {
    const Statement facts = prepare(raw, "SELECT name, value FROM meta");
    if (!facts) return unfit(path, "this is not a catalogue");
    while (sqlite3_step(facts.get()) == SQLITE_ROW)
      meta.emplace(column(facts.get(), 0), column(facts.get(), 1));
  }
  if (meta["format"] != kFormat) {
    return unfit(path, "the catalogue has format version '" + meta["format"] + "', this program reads " +
                           std::string(kFormat));
  }
  std::vector<Product> products;
  products.reserve(
      parse_uint(meta["products"]).value_or(0) < (1U << 24) ? parse_uint(meta["products"]).value_or(0) : 0);
  Hash128 digest;
  const Statement rows =
      prepare(raw,
              "SELECT position, record, asin, title, description, category, query, product_category, price,"
              " instruction, lists FROM product ORDER BY position");
  if (!rows) return unfit(path, "the catalogue has no products table");
  int stepped = 0;
  while ((stepped = sqlite3_step(rows.get())) == SQLITE_ROW) {
    Product& product = products.emplace_back();
    product.record = static_cast<std::uint64_t>(sqlite3_column_int64(rows.get(), 1));
    product.asin = column(rows.get(), 2);
    product.title = column(rows.get(), 3);
    product.description = column(rows.get(), 4);
    product.category = column(rows.get(), 5);
    product.query = column(rows.get(), 6);
    product.product_category = column(rows.get(), 7);
    product.price_text = column(rows.get(), 8);
    if (sqlite3_column_type(rows.get(), 9) != SQLITE_NULL)
      product.instruction = std::string(column(rows.get(), 9));
    const std::string_view lists = column(rows.get(), 10);
    if (!unpack_lists(lists, product)) return unfit(path, "product " + product.asin + " is damaged");
    digest = chain(digest, product, lists);
  }
  if (stepped != SQLITE_DONE)
    return unfit(path, std::string("the catalogue cannot be read: ") + sqlite3_errmsg(raw));
  if (products.empty()) return unfit(path, "the catalogue has no products");
  if (std::to_string(products.size()) != meta["products"] || to_hex(digest) != meta["products_digest"]) {
    return unfit(path, "the products are not those that were imported (" + std::to_string(products.size()) +
                           " found, " + meta["products"] + " written)");
  }
  std::string bytes;
  const Statement parts = prepare(raw, "SELECT bytes FROM search_index ORDER BY part");
  if (!parts) return unfit(path, "the catalogue has no search index");
  while (sqlite3_step(parts.get()) == SQLITE_ROW) bytes += column(parts.get(), 0);
  if (to_hex(Hasher().add(to_hex(digest)).add(bytes).finish()) != meta["index_digest"]) {
    return unfit(path, "the search index does not fit the products");
  }
  Result<SearchIndex> index = SearchIndex::deserialize(bytes);
  if (!index) return index.error();
  if (index->size() != products.size()) {
    return unfit(path, "the search index covers " + std::to_string(index->size()) + " of " +
                           std::to_string(products.size()) + " products");
  }
  return std::shared_ptr<const Catalogue>(
      std::make_shared<Catalogue>(std::move(products), std::move(*index), digest));
}

}  // namespace

Result<std::shared_ptr<const Catalogue>> open_catalogue(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error || !std::filesystem::is_regular_file(real)) {
    return Error{ErrorCode::kNotFound, "no catalogue file there", path,
                 "make one with `lodestep webshop import`"};
  }
  // Same file, same time, same size: same object.
  const std::string name =
      real.string() + "|" + std::to_string(std::filesystem::file_size(real, error)) + "|" +
      std::to_string(std::filesystem::last_write_time(real, error).time_since_epoch().count());
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const Catalogue>> open;
  const std::lock_guard lock(mutex);
  if (std::shared_ptr<const Catalogue> shared = open[name].lock()) return shared;
  Result<std::shared_ptr<const Catalogue>> catalogue = read_catalogue(real.string());
  if (catalogue) open[name] = *catalogue;
  return catalogue;
}

}  // namespace lodestep::webshop
