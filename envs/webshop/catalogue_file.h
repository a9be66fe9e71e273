// The catalogue as one SQLite file: products, search index, format version, digests and counts.
//   CatalogueWriter writer; writer.create("catalogue.db"); writer.add(product); writer.finish(facts);
//   Result<std::shared_ptr<const Catalogue>> shop = open_catalogue("catalogue.db");
// Threads: a writer belongs to one thread; open_catalogue may be called from any. Opening the same
// unchanged file twice in a process gives the same object while anybody holds it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "envs/webshop/catalogue.h"

namespace lodestep::webshop {

class CatalogueWriter {
 public:
  CatalogueWriter();
  ~CatalogueWriter();  // removes what was not finished
  CatalogueWriter(const CatalogueWriter&) = delete;
  CatalogueWriter& operator=(const CatalogueWriter&) = delete;

  Status create(const std::string& path);
  Status add(const Product& product);
  // Writes the index and `facts` (shown by any SQLite shell in table `meta`), then renames into place.
  Result<Hash128> finish(std::map<std::string, std::string> facts);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Fails when the file is missing, of another format version, empty, or when its index does not fit its
// products; the message says which.
Result<std::shared_ptr<const Catalogue>> open_catalogue(const std::string& path);

}  // namespace lodestep::webshop
