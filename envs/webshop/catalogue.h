// The products of one shop as the original loads them, with their search index. One immutable object for
// all episodes of a process.
//   Result<std::shared_ptr<const Catalogue>> shop = open_catalogue("catalogue.db");   // catalogue_file.h
//   for (const Product& product : (*shop)->products()) ...
// Threads: immutable after construction. Owns products and index; nothing is copied per episode.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "envs/webshop/search_index.h"

namespace lodestep::webshop {

struct ProductOption {
  std::string name;
  std::vector<std::string> values;  // in file order, repeats kept
};

struct HumanInstruction {
  std::string text;
  std::vector<std::string> attributes;
  std::vector<std::string> options;
};

// All texts UTF-8, after the original's loading rules.
struct Product {
  std::string asin;
  std::string title;        // verbatim
  std::string description;  // verbatim
  std::vector<std::string> bullets;
  std::vector<double> prices;  // one, or the two ends of a range
  std::string price_text;      // "$12.99" or "$10.0 to $20.0"
  std::vector<ProductOption> options;
  std::vector<std::string> attributes;
  std::string category;
  std::string query;
  std::string product_category;
  std::optional<std::string> instruction;  // synthetic goals
  std::vector<std::string> instruction_attributes;
  std::vector<HumanInstruction> human;
  std::optional<std::vector<std::string>>
      nouns;                 // of the title, lower-case, repeats kept; nullopt: not tagged
  std::uint64_t record = 0;  // position in the product file, before anything was dropped
};

// The text that is indexed: title, description, first bullet and options, lower-case.
std::string search_text(const Product& product);

class Catalogue {
 public:
  // Builds the index too. `digest` names the content.
  Catalogue(std::vector<Product> products, const Hash128& digest);
  Catalogue(std::vector<Product> products, SearchIndex index, const Hash128& digest);

  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  const std::vector<Product>& products() const { return products_; }
  const SearchIndex& index() const { return index_; }
  const std::vector<std::uint32_t>& asin_ranks() const { return ranks_; }  // position in asin order
  const Hash128& digest() const { return digest_; }
  std::optional<std::uint32_t> find(std::string_view asin) const;
  // The first product of that title; how names in a reward find their nouns.
  std::optional<std::uint32_t> find_title(std::string_view title) const;

  // Number of leading products that remain when the product file is cut to `records` records.
  std::size_t products_within(std::uint64_t records) const;

 private:
  void prepare();

  std::vector<Product> products_;
  SearchIndex index_;
  Hash128 digest_;
  std::vector<std::uint32_t> ranks_;
  std::unordered_map<std::string_view, std::uint32_t, ContainerHash> by_asin_;
  std::unordered_map<std::string_view, std::uint32_t, ContainerHash> by_title_;
};

}  // namespace lodestep::webshop
