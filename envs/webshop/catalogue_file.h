// The catalogue as one file: a SQLite database that any shell reads (format version, digests, counts, a
// table of products), then the image that episodes use where it lies, then a seal over all before it.
//   CatalogueWriter writer; writer.create("catalogue.db"); writer.add(product); writer.finish(facts);
//   Result<std::shared_ptr<const Catalogue>> shop = open_catalogue("catalogue.db");
// Threads: a writer belongs to one thread; open_catalogue may be called from any. Opening the same
// unchanged file twice in a process gives the same object while anybody holds it; processes share the
// image's memory through the page cache.
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
  Status add(const ProductRecord& product);
  // Writes the index and `facts` (shown by any SQLite shell in table `meta`), then renames into place. The
  // same products and facts give the same bytes.
  Result<Hash128> finish(std::map<std::string, std::string> facts);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Fails when the file is missing, of another format version, cut, damaged anywhere, or a copy without the
// image; the message says which. Nothing of an open catalogue fails later, as long as nobody writes into
// its file; an import puts a new file in its place.
Result<std::shared_ptr<const Catalogue>> open_catalogue(const std::string& path);

}  // namespace lodestep::webshop
