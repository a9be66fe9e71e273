// Reads the original's JSON files and writes one catalogue file.
//   Result<ImportReport> report = import_catalogue({.products = "items_shuffle.json", ...}, show_progress);
// Threads: one call, one thread. Streams: memory grows with the index and the attributes, not with the
// product file. The output appears whole (temporary file, then rename) or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "envs/webshop/catalogue.h"

namespace lodestep::webshop {

// Inputs may be `.json`, `.json.zst` or `.json.gz` (told by the name's end).
struct ImportSources {
  std::string products;            // array of product records
  std::string attributes;          // object: asin -> {attributes, instruction?, instruction_attributes?}
  std::string human_instructions;  // object: asin -> list of instructions; may be empty
  std::string nouns;               // lines {"asin", "tokens": [[text, part of speech]]}; may be empty
  std::uint64_t limit = 0;         // first records only; 0: all
  std::string out;                 // catalogue file to write
};

struct ImportReport {
  std::uint64_t records = 0;       // read from the product file
  std::uint64_t products = 0;      // kept
  std::uint64_t instructions = 0;  // products with a synthetic instruction
  std::uint64_t human = 0;         // human instructions of kept products
  std::uint64_t tagged = 0;        // products with nouns
  std::uint64_t terms = 0;         // postings' vocabulary is part of the file; tokens indexed
  Hash128 digest;
};

using Progress = std::function<void(std::uint64_t done_bytes, std::uint64_t all_bytes)>;

// Errors name the file with the byte (JSON) or line (nouns), and the product where one is at fault.
Result<ImportReport> import_catalogue(const ImportSources& sources, const Progress& progress);

// The same rules without a file, for tests: all products in memory.
Result<std::vector<ProductRecord>> read_products(const ImportSources& sources, const Progress& progress);

// One product record as JSON text, with nothing known beside it. For fuzzing and tests.
Result<ProductRecord> parse_product(std::string_view json);

}  // namespace lodestep::webshop
