#include "envs/webshop/catalogue_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>

#include "base/text.h"
#include "envs/webshop/bytes.h"

namespace lodestep::webshop {
namespace {

constexpr std::string_view kFormat = "2";
constexpr std::size_t kPageSize = 16384;  // of the database, so that the image begins at a page of memory
constexpr std::size_t kSealedBlock = 1U << 18;  // the seal hashes the file in blocks of this size

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

void bind_text(sqlite3_stmt* statement, int index, std::string_view text) {
  sqlite3_bind_text64(statement, index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

// The content's digest runs over this form of a product's lists; states and recordings name it.
std::string listed(const ProductRecord& product) {
  ByteWriter out;
  out.texts(product.bullets).number(product.prices.size());
  for (const double price : product.prices) out.real(price);
  out.number(product.options.size());
  for (const OptionRecord& option : product.options) out.text(option.name).texts(option.values);
  out.texts(product.attributes).texts(product.instruction_attributes).number(product.human.size());
  for (const HumanRecord& human : product.human)
    out.text(human.text).texts(human.attributes).texts(human.options);
  out.number(product.nouns ? 1 : 0);
  if (product.nouns) out.texts(*product.nouns);
  return std::move(out).bytes();
}

// Each product's digest continues the one before, so that order counts too.
Hash128 chain(const Hash128& last, const ProductRecord& product) {
  Hasher hasher;
  hasher.add_u64(last.high).add_u64(last.low).add_u64(product.record).add(product.asin).add(product.title);
  hasher.add(product.description).add(product.category).add(product.query).add(product.product_category);
  hasher.add(product.price_text)
      .add(product.instruction ? "1" + *product.instruction : "0")
      .add(listed(product));
  return hasher.finish();
}

// Over the first so many bytes of a file. Read, not mapped: pages that nobody uses later then do not count
// as memory of this process. nullopt where they cannot be read.
std::optional<Hash128> seal_of(const std::string& path, std::uint64_t bytes) {
  std::ifstream in(path, std::ios::binary);
  std::string block;
  Hasher hasher;
  for (std::uint64_t left = bytes; left > 0 && in; left -= block.size()) {
    block.resize(std::min<std::uint64_t>(left, kSealedBlock));
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    hasher.add(block);
  }
  return in ? std::optional(hasher.finish()) : std::nullopt;
}

Error unfit(const std::string& path, const std::string& what) {
  return Error{ErrorCode::kBadData, what, path, "make it again with `lodestep webshop import`"};
}

}  // namespace

struct CatalogueWriter::Impl {
  Database database;
  Statement insert;
  std::ofstream image;
  std::optional<CatalogueBuilder> builder;
  std::string path, temporary, temporary_image;
  Hash128 digest;

  Error failed(const std::string& why) const {
    return Error{ErrorCode::kUnavailable, "cannot write: " + why, path, "is the disk full?"};
  }
  Error failed() const { return failed(sqlite3_errmsg(database.get())); }
  Status run(const char* sql) {
    if (sqlite3_exec(database.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failed();
    return {};
  }
  Status join_files();  // the image behind the database, then the seal
};

CatalogueWriter::CatalogueWriter() : impl_(std::make_unique<Impl>()) {}

CatalogueWriter::~CatalogueWriter() {
  impl_->insert.reset();
  impl_->database.reset();
  std::error_code ignored;
  for (const std::string& file : {impl_->temporary, impl_->temporary_image}) {
    if (!file.empty()) std::filesystem::remove(file, ignored);
  }
}

Status CatalogueWriter::create(const std::string& path) {
  impl_->path = path;
  impl_->temporary = path + ".partial";
  impl_->temporary_image = path + ".partial-image";
  std::error_code ignored;
  std::filesystem::remove(impl_->temporary, ignored);
  impl_->image.open(impl_->temporary_image, std::ios::binary | std::ios::trunc);
  sqlite3* database = nullptr;
  const int opened = sqlite3_open(impl_->temporary.c_str(), &database);
  impl_->database.reset(database);
  if (opened != SQLITE_OK || !impl_->image) {
    return Error{ErrorCode::kUnavailable, "cannot create the catalogue", path,
                 "does the folder exist, and may it be written?"};
  }
  const std::string tables =
      "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA page_size=" + std::to_string(kPageSize) +
      "; CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL);"
      "CREATE TABLE product(position INTEGER PRIMARY KEY, record INTEGER NOT NULL, asin TEXT NOT NULL,"
      " title TEXT, category TEXT, query TEXT, product_category TEXT, price TEXT, instruction TEXT); BEGIN";
  if (Status s = impl_->run(tables.c_str()); !s) return s;
  impl_->insert = prepare(impl_->database.get(), "INSERT INTO product VALUES(?,?,?,?,?,?,?,?,?)");
  if (!impl_->insert) return impl_->failed();
  impl_->builder.emplace([this](std::string_view bytes) {
    impl_->image.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  });
  return {};
}

Status CatalogueWriter::add(const ProductRecord& product) {
  sqlite3_stmt* insert = impl_->insert.get();
  sqlite3_reset(insert);
  sqlite3_bind_int64(insert, 1, static_cast<sqlite3_int64>(impl_->builder->size()));
  sqlite3_bind_int64(insert, 2, static_cast<sqlite3_int64>(product.record));
  bind_text(insert, 3, product.asin);
  bind_text(insert, 4, product.title);
  bind_text(insert, 5, product.category);
  bind_text(insert, 6, product.query);
  bind_text(insert, 7, product.product_category);
  bind_text(insert, 8, product.price_text);
  if (product.instruction) {
    bind_text(insert, 9, *product.instruction);
  } else {
    sqlite3_bind_null(insert, 9);
  }
  if (sqlite3_step(insert) != SQLITE_DONE) return impl_->failed();
  impl_->builder->add(product);
  if (!impl_->image) return impl_->failed(std::strerror(errno));
  impl_->digest = chain(impl_->digest, product);
  return {};
}

Result<Hash128> CatalogueWriter::finish(std::map<std::string, std::string> facts) {
  if (Status s = impl_->builder->finish(impl_->digest); !s) return s.error();
  impl_->image.close();
  if (!impl_->image) return impl_->failed(std::strerror(errno));
  impl_->insert.reset();
  facts["format"] = kFormat;
  facts["products"] = std::to_string(impl_->builder->size());
  facts["products_digest"] = to_hex(impl_->digest);
  std::error_code error;
  facts["image_bytes"] = std::to_string(std::filesystem::file_size(impl_->temporary_image, error));
  Statement fact = prepare(impl_->database.get(), "INSERT INTO meta VALUES(?,?)");
  if (!fact) return impl_->failed();
  for (const auto& [name, value] : facts) {
    sqlite3_reset(fact.get());
    bind_text(fact.get(), 1, name);
    bind_text(fact.get(), 2, value);
    if (sqlite3_step(fact.get()) != SQLITE_DONE) return impl_->failed();
  }
  fact.reset();
  if (Status s = impl_->run("COMMIT"); !s) return s.error();
  impl_->database.reset();
  if (Status s = impl_->join_files(); !s) return s.error();
  std::filesystem::rename(impl_->temporary, impl_->path, error);
  if (error)
    return Error{ErrorCode::kUnavailable, "cannot put the catalogue into place: " + error.message(),
                 impl_->path, ""};
  impl_->temporary.clear();
  return impl_->digest;
}

Status CatalogueWriter::Impl::join_files() {
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::app);
    std::ifstream in(temporary_image, std::ios::binary);
    out << in.rdbuf();
    if (!out.flush()) return failed(std::strerror(errno));
  }
  std::error_code error;
  const std::optional<Hash128> seal = seal_of(temporary, std::filesystem::file_size(temporary, error));
  if (!seal) return failed("what was written cannot be read");
  std::ofstream out(temporary, std::ios::binary | std::ios::app);
  out.write(reinterpret_cast<const char*>(&*seal), sizeof *seal);
  return out.flush() ? Status() : failed(std::strerror(errno));
}

namespace {

// A whole file in memory, read-only.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    const off_t size = ::lseek(file, 0, SEEK_END);
    void* start = size > 0 ? ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_SHARED, file, 0)
                           : MAP_FAILED;
    if (start != MAP_FAILED) bytes_ = {static_cast<const char*>(start), static_cast<std::size_t>(size)};
    ::close(file);
  }
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

// What the database says of itself.
struct Front {
  std::map<std::string, std::string> facts;  // table `meta`
  std::uint64_t bytes = 0;                   // its own pages
};

std::optional<Front> read_front(const std::string& path) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY, nullptr);
  const Database database(raw);
  if (opened != SQLITE_OK) return std::nullopt;
  Front front;
  const Statement rows = prepare(raw, "SELECT name, value FROM meta");
  if (!rows) return std::nullopt;
  while (sqlite3_step(rows.get()) == SQLITE_ROW)
    front.facts.emplace(column(rows.get(), 0), column(rows.get(), 1));
  const Statement pages = prepare(raw, "PRAGMA page_count");
  if (pages && sqlite3_step(pages.get()) == SQLITE_ROW)
    front.bytes = kPageSize * static_cast<std::uint64_t>(sqlite3_column_int64(pages.get(), 0));
  return front;
}

Result<std::shared_ptr<const Catalogue>> read_catalogue(const std::string& path) {
  std::optional<Front> front = read_front(path);
  if (!front) return unfit(path, "this is not a catalogue, or not a whole one");
  if (front->facts["format"] != kFormat) {
    return unfit(path, "the catalogue has format version '" + front->facts["format"] +
                           "', this program reads " + std::string(kFormat));
  }
  const auto file = std::make_shared<const MappedFile>(path);
  const std::string_view bytes = file->bytes();
  if (bytes.empty()) return unfit(path, "the catalogue cannot be mapped into memory");
  if (bytes.size() <= front->bytes) {
    return unfit(path,
                 "the file ends before its products and search index: copies made by SQLite itself (VACUUM "
                 "INTO, .backup) leave them out");
  }
  const std::uint64_t image = parse_uint(front->facts["image_bytes"]).value_or(0);
  const std::uint64_t whole = front->bytes + image + sizeof(Hash128);
  if (bytes.size() != whole || image > whole) {
    return unfit(path, "the catalogue has " + std::to_string(bytes.size()) + " bytes, not the " +
                           std::to_string(whole) + " that were imported");
  }
  Hash128 seal;
  std::memcpy(&seal, bytes.data() + front->bytes + image, sizeof seal);
  if (seal_of(path, front->bytes + image) != seal)
    return unfit(path, "the catalogue is damaged: its bytes are not those imported");
  Result<std::shared_ptr<const Catalogue>> shop = Catalogue::open(bytes.substr(front->bytes, image), file);
  if (!shop) return unfit(path, shop.error().message);
  return shop;
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
