// The catalogue's file: one that any SQLite shell reads, the same bytes for the same products, and an error,
// never a crash, for whatever is not such a file or not all of it.
#include <sqlite3.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "base/rng.h"
#include "base/text.h"
#include "envs/webshop/analyzer.h"
#include "envs/webshop/catalogue_file.h"
#include "envs/webshop/sample_shop.h"
#include "envs/webshop/webshop_env.h"
#include "tests/support/fuzz.h"
#include "tests/unit/webshop/shop.h"

namespace lodestep::webshop {
namespace {

void write_catalogue(const std::string& path, const std::vector<ProductRecord>& products) {
  CatalogueWriter writer;
  REQUIRE(writer.create(path).ok());
  for (const ProductRecord& product : products) REQUIRE(writer.add(product).ok());
  REQUIRE(writer.finish({{"records", std::to_string(products.size())}}));
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The first column of all rows, as any SQLite shell shows it; "error" where it cannot.
std::string ask(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  std::string out;
  const auto row = [](void* text, int, char** values, char**) {
    *static_cast<std::string*>(text) += std::string(values[0]) + "\n";
    return 0;
  };
  if (sqlite3_exec(database, sql.c_str(), row, &out, nullptr) != SQLITE_OK) out = "error";
  sqlite3_close(database);
  return out;
}

std::string error_of(const std::string& path) {
  const Result<std::shared_ptr<const Catalogue>> shop = open_catalogue(path);
  REQUIRE_FALSE(shop);
  CHECK(shop.error().hint.find("lodestep webshop import") != std::string::npos);
  CHECK(shop.error().message.find('\n') == std::string::npos);
  return to_string(shop.error());
}

TEST_CASE("a product is the same packed as unpacked") {
  ProductRecord record = make_products(20, 5)[7];
  record.options.push_back({"", {}});
  record.human = {{"one", {}, {"a"}}, {"", {"x", ""}, {}}};
  const std::string packed = pack(record);
  CHECK(packed.size() % 8 == 0);
  const Product product(packed.data());
  CHECK(product.asin() == record.asin);
  CHECK(product.title() == record.title);
  CHECK(product.description() == record.description);
  CHECK(product.category() == record.category);
  CHECK(product.query() == record.query);
  CHECK(product.product_category() == record.product_category);
  CHECK(product.price_text() == record.price_text);
  CHECK(product.instruction().has_value() == record.instruction.has_value());
  CHECK(product.instruction().value_or("") == record.instruction.value_or(""));
  CHECK(product.bullets().copy() == record.bullets);
  CHECK(product.attributes().copy() == record.attributes);
  CHECK(product.instruction_attributes().copy() == record.instruction_attributes);
  CHECK(product.nouns()->copy() == *record.nouns);
  CHECK(std::vector<double>(product.prices().begin(), product.prices().end()) == record.prices);
  CHECK(product.record() == record.record);
  REQUIRE(product.options().size() == record.options.size());
  for (std::size_t i = 0; i < record.options.size(); ++i) {
    CHECK(product.options()[i].name == record.options[i].name);
    CHECK(product.options()[i].values.copy() == record.options[i].values);
  }
  REQUIRE(product.human().size() == record.human.size());
  for (std::size_t i = 0; i < record.human.size(); ++i) {
    CHECK(product.human()[i].text == record.human[i].text);
    CHECK(product.human()[i].attributes.copy() == record.human[i].attributes);
    CHECK(product.human()[i].options.copy() == record.human[i].options);
  }
  record.instruction.reset();
  record.nouns.reset();
  const std::string bare = pack(record);
  CHECK_FALSE(Product(bare.data()).instruction());
  CHECK_FALSE(Product(bare.data()).nouns());
}

TEST_CASE("the catalogue file: the same bytes for the same products, opened once per process") {
  const Files files;
  std::vector<ProductRecord> products = make_products(300, 2);
  products[10].title = products[4].title;
  write_catalogue(files.path("a.db"), products);
  write_catalogue(files.path("b.db"), products);
  CHECK(read_file(files.path("a.db")) == read_file(files.path("b.db")));
  CHECK_FALSE(files.has("a.db.partial"));
  CHECK_FALSE(files.has("a.db.partial-image"));

  const auto shop = *open_catalogue(files.path("a.db"));
  CHECK(shop == *open_catalogue(files.path("a.db")));
  const auto in_memory = make_catalogue(products, shop->digest());
  REQUIRE(shop->products().size() == products.size());
  std::vector<std::string> asins;
  for (std::uint32_t i = 0; i < products.size(); ++i) {
    CHECK(shop->products()[i].title() == products[i].title);
    CHECK(shop->find(products[i].asin) == i);
    CHECK(shop->find_title(products[i].title) == (i == 10 ? 4 : i));
    asins.push_back(products[i].asin);
  }
  CHECK_FALSE(shop->find("B0"));
  CHECK_FALSE(shop->find_title(""));
  std::sort(asins.begin(), asins.end());
  for (std::uint32_t i = 0; i < products.size(); ++i) CHECK(asins[shop->asin_ranks()[i]] == products[i].asin);
  for (const char* words : {"mug", "soft mug with a lid", "nothing has zzz", ""}) {
    CHECK(*shop->index().search({analyze(words), 50, 300}, shop->asin_ranks()) ==
          *in_memory->index().search({analyze(words), 50, 300}, in_memory->asin_ranks()));
  }
  // An open catalogue outlives its file.
  std::filesystem::remove(files.path("a.db"));
  CHECK(shop->products()[299].title() == products[299].title);
}

TEST_CASE("the catalogue file is a SQLite database, and a copy made by SQLite is told apart") {
  const Files files;
  const std::string path = files.path("shop.db");
  const std::vector<ProductRecord> products = make_products(300, 2);
  write_catalogue(path, products);
  const std::string before = read_file(path);
  CHECK(ask(path, "PRAGMA integrity_check") == "ok\n");
  CHECK(ask(path, "SELECT value FROM meta WHERE name = 'products'") == "300\n");
  CHECK(ask(path, "SELECT asin FROM product WHERE position = 7") == products[7].asin + "\n");
  CHECK(ask(path, "VACUUM INTO '" + files.path("copy.db") + "'") == "");
  CHECK(read_file(path) == before);
  CHECK(ask(files.path("copy.db"), "SELECT count(*) FROM product") == "300\n");
  CHECK(error_of(files.path("copy.db")).find("VACUUM INTO") != std::string::npos);

  CHECK(ask(files.path("old.db"), "CREATE TABLE meta(name, value); INSERT INTO meta VALUES('format', 1)") ==
        "");
  CHECK(error_of(files.path("old.db")).find("format version '1', this program reads 2") != std::string::npos);
  CHECK(ask(files.path("other.db"), "CREATE TABLE t(x)") == "");
  CHECK(error_of(files.path("other.db")).find("not a catalogue") != std::string::npos);
  CHECK(error_of(files.write("empty.db", "")).find("not a catalogue") != std::string::npos);
  CHECK_FALSE(open_catalogue(files.path("nothing.db")));
  // The image of another shop.
  write_catalogue(files.path("other_shop.db"), make_products(300, 3));
  const std::string other = read_file(files.path("other_shop.db"));
  const std::size_t pages = read_file(files.path("copy.db")).size();
  const std::string mixed = before.substr(0, pages) + other.substr(pages);
  error_of(files.write("mixed.db", mixed));
}

TEST_CASE("fuzz: a damaged or cut catalogue file is one clear error", "[fuzz]") {
  const Files files;
  write_catalogue(files.path("shop.db"), make_products(40, 9));
  const std::string whole = read_file(files.path("shop.db"));
  PythonRandom dice(11);
  for (int round = 0; round < test::fuzz_rounds(150); ++round) {
    std::string bytes = whole;
    switch (dice.below(4)) {
      case 0: bytes.resize(dice.below(bytes.size())); break;
      case 1: bytes.append(1 + dice.below(40000), static_cast<char>(dice.below(256))); break;
      case 2:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(dice.below(bytes.size() - 64)), 64, '\0');
        break;
      default:
        for (std::uint64_t i = 0, n = 1 + dice.below(4); i < n; ++i)
          bytes[dice.below(bytes.size())] ^= static_cast<char>(1U << dice.below(8));
    }
    const Result<std::shared_ptr<const Catalogue>> shop = open_catalogue(files.write("damaged.db", bytes));
    if (bytes == whole) continue;
    REQUIRE_FALSE(shop);
    CHECK_FALSE(shop.error().hint.empty());
  }
}

TEST_CASE("fuzz: an image whose table lies is an error", "[fuzz]") {
  const auto image = std::make_shared<std::string>();
  CatalogueBuilder builder([&image](std::string_view bytes) { *image += bytes; });
  for (const ProductRecord& product : make_products(30, 1)) builder.add(product);
  REQUIRE(builder.finish({}).ok());
  REQUIRE(Catalogue::open(*image, image));
  PythonRandom dice(3);
  for (int round = 0; round < test::fuzz_rounds(2000); ++round) {
    const auto changed = std::make_shared<std::string>(*image);
    // A number of the table: where a section begins, or how long it is.
    const std::size_t numbers = 2 * kSections;
    const std::size_t at = changed->size() - 8 * (1 + dice.below(numbers));
    for (std::size_t i = 0; i < 8; ++i)
      (*changed)[at + i] = static_cast<char>(i < 1 + dice.below(8) ? dice.below(256) : 0);
    if (const auto shop = Catalogue::open(*changed, changed)) CHECK((*shop)->products().size() > 0);
  }
}

}  // namespace
}  // namespace lodestep::webshop
