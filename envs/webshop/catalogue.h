// The products of one shop as the original loads them, with their search index: one immutable image, in a
// mapped file that processes share or in memory, used where it lies.
//   Result<std::shared_ptr<const Catalogue>> shop = open_catalogue("catalogue.db");   // catalogue_file.h
//   for (const Product product : (*shop)->products()) use(product.title());
// Threads: immutable. Keeps the image alive; products and what they hand out borrow it. After open()
// nothing can fail.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "envs/webshop/image.h"
#include "envs/webshop/list_view.h"
#include "envs/webshop/product.h"
#include "envs/webshop/search_index.h"

namespace lodestep::webshop {

class ProductList : public ListView<ProductList> {
 public:
  ProductList(const char* bytes, std::span<const std::uint64_t> begins) : bytes_(bytes), begins_(begins) {}
  std::size_t size() const { return begins_.size() - 1; }
  Product operator[](std::size_t i) const { return Product(bytes_ + begins_[i]); }

 private:
  const char* bytes_;
  std::span<const std::uint64_t> begins_;  // one more than there are products
};

class Catalogue {
 public:
  // Fails when the image is not whole, is empty, or its parts do not fit together. `owner` keeps the bytes,
  // which begin at a multiple of 8.
  static Result<std::shared_ptr<const Catalogue>> open(std::string_view image,
                                                       std::shared_ptr<const void> owner);

  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  ProductList products() const { return products_; }
  const SearchIndex& index() const { return index_; }
  std::span<const std::uint32_t> asin_ranks() const { return ranks_; }  // position in asin order
  const Hash128& digest() const { return digest_; }                     // names the content
  std::optional<std::uint32_t> find(std::string_view asin) const;
  // The first product of that title; how names in a reward find their nouns.
  std::optional<std::uint32_t> find_title(std::string_view title) const;

  // Number of leading products that remain when the product file is cut to `records` records.
  std::size_t products_within(std::uint64_t records) const;

 private:
  Catalogue(const Image& image, std::shared_ptr<const void> owner);

  std::shared_ptr<const void> owner_;
  ProductList products_;
  SearchIndex index_;
  std::span<const std::uint32_t> ranks_;
  Slots asins_, titles_;
  Hash128 digest_;
};

// Writes an image, product by product; memory grows with the index, not with the texts.
class CatalogueBuilder {
 public:
  explicit CatalogueBuilder(ImageWriter::Sink sink);
  void add(const ProductRecord& product);
  Status finish(const Hash128& digest);  // the rest of the image; `digest` names the content
  std::size_t size() const { return index_.size(); }

 private:
  ImageWriter out_;
  IndexBuilder index_;
  std::vector<std::uint64_t> begins_;
  std::vector<std::string> asins_;
  std::vector<Hash128> title_hashes_;
};

// A catalogue in memory. At least one product.
std::shared_ptr<const Catalogue> make_catalogue(const std::vector<ProductRecord>& products,
                                                const Hash128& digest);

}  // namespace lodestep::webshop
