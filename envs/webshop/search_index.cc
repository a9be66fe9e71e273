#include "envs/webshop/search_index.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "envs/webshop/bytes.h"

namespace lodestep::webshop {
namespace {

constexpr float kK1 = 0.9F, kB = 0.4F;
constexpr std::size_t kMostTerms = 1024;

}  // namespace

// Four significant bits and an exponent, above a stretch of exact values.
std::uint8_t encode_length(std::uint32_t tokens) {
  if (tokens < 24) return static_cast<std::uint8_t>(tokens);
  const std::uint32_t m = tokens - 24;
  const auto bits = static_cast<std::uint32_t>(std::bit_width(m));
  if (bits < 4) return static_cast<std::uint8_t>(24 + m);
  const std::uint32_t shift = bits - 4;
  return static_cast<std::uint8_t>(24 + (((m >> shift) & 7) | ((shift + 1) << 3)));
}

std::uint32_t decode_length(std::uint8_t code) {
  if (code < 24) return code;
  const std::uint32_t d = code - 24U;
  if (d < 8) return 24 + d;
  return 24 + ((8 | (d & 7)) << ((d >> 3) - 1));
}

SearchIndex::Builder& SearchIndex::Builder::add(const std::vector<std::string>& terms) {
  const auto document = static_cast<std::uint32_t>(lengths_.size());
  for (const std::string& term : terms) {
    Term& entry = terms_[term];
    if (entry.documents.empty() || entry.documents.back() != document) {
      entry.documents.push_back(document);
      entry.frequencies.push_back(1);
    } else if (entry.frequencies.back() < 0xffff) {
      ++entry.frequencies.back();
    }
  }
  lengths_.push_back(static_cast<std::uint32_t>(terms.size()));
  return *this;
}

SearchIndex SearchIndex::Builder::finish() {
  SearchIndex index;
  std::size_t postings = 0;
  for (const auto& [text, term] : terms_) postings += term.documents.size();
  index.documents_.reserve(postings);
  index.frequencies_.reserve(postings);
  index.terms_.reserve(terms_.size());
  for (auto& [text, term] : terms_) {
    index.terms_[text] = {static_cast<std::uint32_t>(index.documents_.size()),
                          static_cast<std::uint32_t>(term.documents.size())};
    index.documents_.insert(index.documents_.end(), term.documents.begin(), term.documents.end());
    index.frequencies_.insert(index.frequencies_.end(), term.frequencies.begin(), term.frequencies.end());
    term = {};
  }
  index.lengths_ = std::move(lengths_);
  index.prepare();
  return index;
}

void SearchIndex::prepare() {
  codes_.resize(lengths_.size());
  std::transform(lengths_.begin(), lengths_.end(), codes_.begin(), encode_length);
  all_ = statistics(lengths_.size());
}

SearchIndex::Statistics SearchIndex::statistics(std::size_t documents) const {
  Statistics out;
  std::uint64_t tokens = 0;
  for (std::size_t i = 0; i < documents; ++i) {
    tokens += lengths_[i];
    if (lengths_[i] > 0) ++out.documents;  // a document without terms does not have the field
  }
  const float average =
      out.documents == 0 ? 1.0F : static_cast<float>(static_cast<double>(tokens) / out.documents);
  for (std::size_t code = 0; code < out.inverse.size(); ++code) {
    const auto length = static_cast<float>(decode_length(static_cast<std::uint8_t>(code)));
    out.inverse[code] = 1.0F / (kK1 * ((1.0F - kB) + kB * length / average));
  }
  return out;
}

Result<std::vector<Hit>> SearchIndex::search(const Query& query,
                                             const std::vector<std::uint32_t>& ranks) const {
  std::vector<std::pair<const std::string*, int>> clauses;  // distinct terms with their counts
  for (const std::string& term : query.terms) {
    const auto same = std::find_if(clauses.begin(), clauses.end(),
                                   [&](const auto& clause) { return *clause.first == term; });
    if (same != clauses.end()) {
      ++same->second;
    } else if (clauses.size() <= kMostTerms) {
      clauses.emplace_back(&term, 1);
    }
  }
  if (clauses.size() > kMostTerms) {
    return Error{ErrorCode::kInvalidArgument, "a query has at most 1024 distinct terms, this one has more",
                 "", "shorten it"};
  }
  const std::size_t documents = std::min(query.documents, size());
  const Statistics part = documents == size() ? Statistics{} : statistics(documents);
  const Statistics& stats = documents == size() ? all_ : part;

  // Sums stay in one array per thread; touched cells are cleared on the way out.
  thread_local std::vector<double> sums;
  thread_local std::vector<std::uint32_t> touched;
  if (sums.size() < documents) sums.resize(documents, 0.0);
  touched.clear();
  for (const auto& [term, count] : clauses) {
    const auto found = terms_.find(*term);
    if (found == terms_.end()) continue;
    const std::uint32_t* posting = documents_.data() + found->second.first;
    const std::uint32_t* end = posting + found->second.count;
    if (documents < size()) end = std::lower_bound(posting, end, static_cast<std::uint32_t>(documents));
    const auto matching = static_cast<double>(end - posting);
    const auto idf = static_cast<float>(std::log(1 + (stats.documents - matching + 0.5) / (matching + 0.5)));
    const float weight = static_cast<float>(count) * idf;
    const std::uint16_t* frequency = frequencies_.data() + found->second.first;
    for (; posting != end; ++posting, ++frequency) {
      const float inverse = stats.inverse[codes_[*posting]];
      const float score = weight - weight / (1.0F + static_cast<float>(*frequency) * inverse);
      double& sum = sums[*posting];
      if (sum == 0.0) touched.push_back(*posting);
      sum += static_cast<double>(score);
    }
  }

  const auto better = [&ranks](const Hit& a, const Hit& b) {
    return a.score != b.score ? a.score > b.score : ranks[a.product] < ranks[b.product];
  };
  // The best so far as a heap with the worst of them on top.
  std::vector<Hit> hits;
  hits.reserve(std::min(query.most, touched.size()));
  for (const std::uint32_t document : touched) {
    const Hit hit{document, static_cast<float>(sums[document])};
    sums[document] = 0.0;
    if (hits.size() < query.most) {
      hits.push_back(hit);
      std::push_heap(hits.begin(), hits.end(), better);
    } else if (!hits.empty() && better(hit, hits.front())) {
      std::pop_heap(hits.begin(), hits.end(), better);
      hits.back() = hit;
      std::push_heap(hits.begin(), hits.end(), better);
    }
  }
  std::sort(hits.begin(), hits.end(), better);
  return hits;
}

std::string SearchIndex::serialize() const {
  std::vector<std::pair<std::string_view, Span>> sorted(terms_.begin(), terms_.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  ByteWriter out;
  out.number(lengths_.size());
  for (const std::uint32_t length : lengths_) out.number(length);
  out.number(sorted.size());
  for (const auto& [text, span] : sorted) {
    out.text(text).number(span.count);
    std::uint32_t last = 0;
    for (std::uint32_t i = span.first; i < span.first + span.count; ++i) {
      out.number(documents_[i] - last).number(frequencies_[i]);
      last = documents_[i];
    }
  }
  return std::move(out).bytes();
}

Result<SearchIndex> SearchIndex::deserialize(std::string_view bytes) {
  const Error damaged{ErrorCode::kBadData, "the search index is damaged", "", "import the catalogue again"};
  ByteReader in(bytes);
  SearchIndex index;
  index.lengths_.resize(in.count());
  for (std::uint32_t& length : index.lengths_) length = static_cast<std::uint32_t>(in.number());
  const std::size_t terms = in.count();
  index.terms_.reserve(terms);
  for (std::size_t t = 0; t < terms && in.ok(); ++t) {
    const std::string text(in.text());
    const Span span{static_cast<std::uint32_t>(index.documents_.size()),
                    static_cast<std::uint32_t>(in.count())};
    std::uint64_t document = 0;
    for (std::uint32_t i = 0; i < span.count && in.ok(); ++i) {
      const std::uint64_t step = in.number();
      document += step;
      if ((i > 0 && step == 0) || document >= index.lengths_.size()) return damaged;
      index.documents_.push_back(static_cast<std::uint32_t>(document));
      index.frequencies_.push_back(static_cast<std::uint16_t>(in.number()));
    }
    index.terms_[text] = span;
  }
  if (!in.ok() || !in.at_end()) return damaged;
  index.prepare();
  return index;
}

}  // namespace lodestep::webshop
