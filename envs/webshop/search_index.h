// BM25 over the products' texts, with the scores and the order of the original's engine to the bit.
//   SearchIndex index = SearchIndex::Builder().add(analyze(text)).finish();
//   Result<std::vector<Hit>> hits = index.search({analyze("travel mug"), 50, index.size()});
// Threads: immutable and safe once built. Documents are products by position; ties go by `rank`.
// Formula: Robertson/Zaragoza BM25 as Lucene 8 computes it (k1 = 0.9, b = 0.4, lengths in one byte).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

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

class SearchIndex {
 public:
  class Builder {
   public:
    Builder& add(const std::vector<std::string>& terms);  // the next document
    SearchIndex finish();

   private:
    struct Term {
      std::vector<std::uint32_t> documents;
      std::vector<std::uint16_t> frequencies;
    };
    std::unordered_map<std::string, Term, ContainerHash, std::equal_to<>> terms_;
    std::vector<std::uint32_t> lengths_;
  };

  // Documents with score 0 never match. Fails on more than 1,024 distinct terms, as the original does.
  // `ranks[d]` orders equal scores, smaller first. Cost: the postings of the query's terms.
  Result<std::vector<Hit>> search(const Query& query, const std::vector<std::uint32_t>& ranks) const;

  std::size_t size() const { return lengths_.size(); }
  std::string serialize() const;
  static Result<SearchIndex> deserialize(std::string_view bytes);  // damaged bytes are an error

 private:
  struct Span {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  struct Clause {  // a distinct term of a query that the index knows
    Span span;
    int count = 0;
  };
  struct Statistics {  // of the first documents
    double documents = 0;
    std::array<float, 256> inverse{};
    float idf(std::size_t matching) const;  // of a term that so many documents have
  };
  Statistics statistics(std::size_t documents) const;
  void prepare();
  Result<std::vector<Clause>> clauses(const std::vector<std::string>& terms) const;
  void add_scores(const Clause& clause, std::size_t documents, const Statistics& stats,
                  std::vector<double>& sums, std::vector<std::uint32_t>* touched) const;

  std::unordered_map<std::string, Span, ContainerHash, std::equal_to<>> terms_;
  std::vector<std::uint32_t> documents_;  // of all postings, term by term, ascending within one
  std::vector<std::uint16_t> frequencies_;
  std::vector<float> scores_;           // of each posting, for a term that the query has once
  std::vector<std::uint32_t> lengths_;  // tokens of each document
  std::vector<std::uint8_t> codes_;     // the same, encoded
  Statistics all_;
};

}  // namespace lodestep::webshop
