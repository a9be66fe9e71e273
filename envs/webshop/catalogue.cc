#include "envs/webshop/catalogue.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "envs/webshop/analyzer.h"
#include "envs/webshop/unicode.h"

namespace lodestep::webshop {
namespace {

SearchIndex build_index(const std::vector<Product>& products) {
  SearchIndex::Builder builder;
  for (const Product& product : products) builder.add(analyze(search_text(product)));
  return builder.finish();
}

}  // namespace

std::string search_text(const Product& product) {
  std::string text = product.title + " " + product.description + " ";
  if (!product.bullets.empty()) text += product.bullets.front();
  text += ' ';
  for (std::size_t i = 0; i < product.options.size(); ++i) {
    if (i > 0) text += ", and ";
    text += product.options[i].name + ": " + join(product.options[i].values, ", ");
  }
  return python_lower(text);
}

Catalogue::Catalogue(std::vector<Product> products, const Hash128& digest)
    : products_(std::move(products)), index_(build_index(products_)), digest_(digest) {
  prepare();
}

Catalogue::Catalogue(std::vector<Product> products, SearchIndex index, const Hash128& digest)
    : products_(std::move(products)), index_(std::move(index)), digest_(digest) {
  LODESTEP_CHECK(products_.size() == index_.size(), products_.size(), index_.size());
  prepare();
}

void Catalogue::prepare() {
  std::vector<std::uint32_t> order(products_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [this](std::uint32_t a, std::uint32_t b) { return products_[a].asin < products_[b].asin; });
  ranks_.resize(order.size());
  for (std::uint32_t rank = 0; rank < order.size(); ++rank) ranks_[order[rank]] = rank;
  by_asin_.reserve(products_.size());
  by_title_.reserve(products_.size());
  for (std::uint32_t i = 0; i < products_.size(); ++i) {
    by_asin_.emplace(products_[i].asin, i);
    by_title_.emplace(products_[i].title, i);
  }
}

std::optional<std::uint32_t> Catalogue::find(std::string_view asin) const {
  const auto found = by_asin_.find(asin);
  return found == by_asin_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> Catalogue::find_title(std::string_view title) const {
  const auto found = by_title_.find(title);
  return found == by_title_.end() ? std::nullopt : std::optional(found->second);
}

std::size_t Catalogue::products_within(std::uint64_t records) const {
  return static_cast<std::size_t>(
      std::lower_bound(products_.begin(), products_.end(), records,
                       [](const Product& p, std::uint64_t limit) { return p.record < limit; }) -
      products_.begin());
}

}  // namespace lodestep::webshop
