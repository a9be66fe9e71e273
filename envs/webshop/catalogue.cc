#include "envs/webshop/catalogue.h"

#include <algorithm>
#include <numeric>

#include "envs/webshop/analyzer.h"

namespace lodestep::webshop {

Catalogue::Catalogue(const Image& image, std::shared_ptr<const void> owner)
    : owner_(std::move(owner)),
      products_(image.section<char>(Section::kProducts).data(),
                image.section<std::uint64_t>(Section::kProductAt)),
      index_(image),
      ranks_(image.section<std::uint32_t>(Section::kAsinRanks)),
      asins_(image.section<std::uint32_t>(Section::kAsinSlots)),
      titles_(image.section<std::uint32_t>(Section::kTitleSlots)),
      digest_(image.digest()) {}

Result<std::shared_ptr<const Catalogue>> Catalogue::open(std::string_view bytes,
                                                         std::shared_ptr<const void> owner) {
  const auto unfit = [](const std::string& what) {
    return Error{ErrorCode::kBadData, what, "", "make it again with `lodestep webshop import`"};
  };
  const std::optional<Image> image = Image::open(bytes);
  if (!image) return unfit("the catalogue's image is damaged");
  const std::size_t places = image->section<std::uint64_t>(Section::kProductAt).size();
  if (places < 2) return unfit("the catalogue has no products");
  std::shared_ptr<const Catalogue> shop(new Catalogue(*image, std::move(owner)));
  if (shop->index_.size() != places - 1 || !shop->index_.consistent()) {
    return unfit("the search index covers " + std::to_string(shop->index_.size()) + " of " +
                 std::to_string(places - 1) + " products");
  }
  if (shop->ranks_.size() != places - 1) return unfit("the catalogue's image is damaged");
  return shop;
}

std::optional<std::uint32_t> Catalogue::find(std::string_view asin) const {
  return asins_.find(asin, [&](std::uint32_t i) { return products_[i].asin() == asin; });
}

std::optional<std::uint32_t> Catalogue::find_title(std::string_view title) const {
  return titles_.find(title, [&](std::uint32_t i) { return products_[i].title() == title; });
}

std::size_t Catalogue::products_within(std::uint64_t records) const {
  return static_cast<std::size_t>(
      std::lower_bound(products_.begin(), products_.end(), records,
                       [](const Product& p, std::uint64_t limit) { return p.record() < limit; }) -
      products_.begin());
}

CatalogueBuilder::CatalogueBuilder(ImageWriter::Sink sink) : out_(std::move(sink)) {
  out_.begin(Section::kProducts);
}

void CatalogueBuilder::add(const ProductRecord& product) {
  const std::string packed = pack(product);
  begins_.push_back(out_.size());
  out_.write(packed);
  index_.add(analyze(search_text(Product(packed.data()))));
  asins_.push_back(product.asin);
  title_hashes_.push_back(hash128(product.title));
}

Status CatalogueBuilder::finish(const Hash128& digest) {
  begins_.push_back(out_.size());
  out_.begin(Section::kProductAt);
  out_.write_all(begins_);

  std::vector<std::uint32_t> order(asins_.size()), ranks(asins_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [this](std::uint32_t a, std::uint32_t b) { return asins_[a] < asins_[b]; });
  for (std::uint32_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank;
  out_.begin(Section::kAsinRanks);
  out_.write_all(ranks);

  std::vector<Hash128> asin_hashes(asins_.size());
  std::transform(asins_.begin(), asins_.end(), asin_hashes.begin(),
                 [](const std::string& asin) { return hash128(asin); });
  out_.begin(Section::kAsinSlots);
  out_.write_all(make_slots(asin_hashes));
  out_.begin(Section::kTitleSlots);
  out_.write_all(make_slots(title_hashes_));

  if (Status s = index_.write(out_); !s) return s;
  out_.finish(digest);
  return {};
}

std::shared_ptr<const Catalogue> make_catalogue(const std::vector<ProductRecord>& products,
                                                const Hash128& digest) {
  const auto image = std::make_shared<std::string>();
  CatalogueBuilder builder([&image](std::string_view bytes) { *image += bytes; });
  for (const ProductRecord& product : products) builder.add(product);
  const Status written = builder.finish(digest);
  LODESTEP_CHECK(written.ok(), written.error());
  image->shrink_to_fit();
  Result<std::shared_ptr<const Catalogue>> shop = Catalogue::open(*image, image);
  LODESTEP_CHECK(shop.ok(), shop.error());
  return *shop;
}

}  // namespace lodestep::webshop
