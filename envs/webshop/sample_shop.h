// Our own made-up shop, so that everything runs without data: about 1,000 products in 14 departments.
//   std::shared_ptr<const Catalogue> shop = sample_shop();
//   std::vector<ProductRecord> more = make_products(100000, 7);   // the same kind of shop in any size
// Threads: sample_shop() builds once, in memory, on first use. The same bytes on every machine; every
// goal can be won.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "envs/webshop/catalogue.h"

namespace lodestep::webshop {

std::shared_ptr<const Catalogue> sample_shop();
std::vector<ProductRecord> make_products(std::size_t count, std::uint64_t seed);

}  // namespace lodestep::webshop
