// BM25 over the products' texts, with the scores and the order of the original's engine to the bit.
//   IndexBuilder().add(analyze(text)).write(image_writer);
//   Result<std::vector<Hit>> hits = SearchIndex(image).search({analyze("travel mug"), 50, size}, ranks);
// Threads: immutable and safe. Borrows the image. Documents are products by position; ties go by `rank`.
// Formula: Robertson/Zaragoza BM25 as Lucene 8 computes it (k1 = 0.9, b = 0.4, lengths in one byte).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "envs/webshop/image.h"
#include "envs/webshop/list_view.h"

namespace lodestep::webshop {

struct Hit {
  std::uint32_t product = 0;
  float score = 0;
  bool operator==(const Hit&) const = default;
};

struct Query {
  std::vector<std::string> terms;  // analyzed, repeats kept: they weigh
  std::size_t most = 50;           // hits wanted
  std::size_t documents = 0;       // search the first so many documents, statistics included
};

// A document's length as it is stored: exact up to 40, rounded down beyond.
std::uint8_t encode_length(std::uint32_t tokens);
std::uint32_t decode_length(std::uint8_t code);

// How lengths weigh among the first documents.
struct LengthStatistics {
  LengthStatistics(std::span<const std::uint32_t> lengths, std::size_t documents);
  float idf(std::size_t matching) const;  // of a term that so many documents have

  double documents = 0;  // that have any token
  std::array<float, 256> inverse{};
};

// Collects documents and writes the index's sections.
class IndexBuilder {
 public:
  IndexBuilder& add(const std::vector<std::string>& terms);  // the next document
  Status write(ImageWriter& out) const;                      // fails on more postings than 32 bits count
  std::size_t size() const { return lengths_.size(); }

 private:
  struct Term {
    std::vector<std::uint32_t> documents;
    std::vector<std::uint16_t> frequencies;
  };
  std::unordered_map<std::string, Term, ContainerHash, std::equal_to<>> terms_;
  std::vector<std::uint32_t> lengths_;
};

class SearchIndex {
 public:
  explicit SearchIndex(const Image& image);  // borrows its sections
  bool consistent() const;                   // whether they fit together
  std::size_t size() const { return lengths_.size(); }

  // Documents with score 0 never match. Fails on more than 1,024 distinct terms, as the original does.
  // `ranks[d]` orders equal scores, smaller first. Cost: the postings of the query's terms.
  Result<std::vector<Hit>> search(const Query& query, std::span<const std::uint32_t> ranks) const;

 private:
  struct Clause {  // a distinct term of a query that the index knows
    std::uint32_t term = 0;
    int count = 0;
  };
  Result<std::vector<Clause>> clauses(const std::vector<std::string>& terms) const;
  void add_scores(const Clause& clause, const LengthStatistics* part, std::size_t documents,
                  std::vector<double>& sums, std::vector<std::uint32_t>* touched) const;

  std::span<const std::uint32_t> term_at_;
  TextList terms_;
  Slots term_slots_;
  std::span<const std::uint32_t> posting_at_, documents_;
  std::span<const std::uint16_t> frequencies_;
  std::span<const float> scores_;
  std::span<const std::uint32_t> lengths_;
  std::span<const std::uint8_t> codes_;
  std::size_t term_bytes_ = 0;
  LengthStatistics all_;
};

}  // namespace lodestep::webshop
