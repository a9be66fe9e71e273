#include "envs/webshop/search_index.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "envs/webshop/bytes.h"

namespace lodestep::webshop {
namespace {

constexpr float kK1 = 0.9F, kB = 0.4F;
constexpr std::size_t kMostTerms = 1024;

float term_score(float weight, std::uint16_t frequency, float inverse) {
  return weight - weight / (1.0F + static_cast<float>(frequency) * inverse);
}

// The best hits so far, score above 0. Twice as many as wanted are collected before the worse half goes.
class BestHits {
 public:
  BestHits(std::size_t most, const std::vector<std::uint32_t>& ranks) : most_(most), ranks_(ranks) {}

  void offer(std::uint32_t document, float score) {
    if (score < least_ || most_ == 0) return;
    hits_.push_back({std::uint64_t{std::bit_cast<std::uint32_t>(score)} << 32 | ~ranks_[document], document});
    if (hits_.size() < 2 * most_) return;
    std::nth_element(hits_.begin(), hits_.begin() + static_cast<std::ptrdiff_t>(most_ - 1), hits_.end());
    hits_.resize(most_);
    least_ = hits_.back().score();
  }
  std::vector<Hit> sorted() {
    std::sort(hits_.begin(), hits_.end());
    hits_.resize(std::min(most_, hits_.size()));
    std::vector<Hit> out;
    out.reserve(hits_.size());
    for (const Candidate& hit : hits_) out.push_back({hit.document, hit.score()});
    return out;
  }

 private:
  // Positive floats are ordered like their bits; below them stands the rank, smaller first.
  struct Candidate {
    std::uint64_t key;
    std::uint32_t document;
    float score() const { return std::bit_cast<float>(static_cast<std::uint32_t>(key >> 32)); }
    bool operator<(const Candidate& other) const { return key > other.key; }
  };
  std::size_t most_;
  const std::vector<std::uint32_t>& ranks_;
  std::vector<Candidate> hits_;
  float least_ = std::numeric_limits<float>::denorm_min();  // what a hit needs at least
};

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
  scores_.resize(documents_.size());
  for (const auto& [text, span] : terms_) {
    const float weight = all_.idf(span.count);
    for (std::uint32_t i = span.first; i < span.first + span.count; ++i)
      scores_[i] = term_score(weight, frequencies_[i], all_.inverse[codes_[documents_[i]]]);
  }
}

float SearchIndex::Statistics::idf(std::size_t matching) const {
  const auto count = static_cast<double>(matching);
  return static_cast<float>(std::log(1 + (documents - count + 0.5) / (count + 0.5)));
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

Result<std::vector<SearchIndex::Clause>> SearchIndex::clauses(const std::vector<std::string>& terms) const {
  if (terms.size() > kMostTerms &&
      std::set<std::string_view>(terms.begin(), terms.end()).size() > kMostTerms) {
    return Error{ErrorCode::kInvalidArgument, "a query has at most 1024 distinct terms, this one has more",
                 "", "shorten it"};
  }
  std::vector<Clause> out;
  out.reserve(terms.size());
  for (const std::string& term : terms) {
    if (const auto found = terms_.find(term); found != terms_.end()) out.push_back({found->second, 1});
  }
  std::sort(out.begin(), out.end(),
            [](const Clause& a, const Clause& b) { return a.span.first < b.span.first; });
  std::size_t size = 0;
  for (const Clause& clause : out) {
    if (size > 0 && out[size - 1].span.first == clause.span.first) {
      ++out[size - 1].count;
    } else {
      out[size++] = clause;
    }
  }
  out.resize(size);
  return out;
}

// Adds one term's scores to the documents' sums. The few float scores of a document add up without
// rounding in double, so the order of the terms does not matter.
void SearchIndex::add_scores(const Clause& clause, std::size_t documents, const Statistics& stats,
                             std::vector<double>& sums, std::vector<std::uint32_t>* touched) const {
  const std::uint32_t* posting = documents_.data() + clause.span.first;
  const std::uint32_t* end = posting + clause.span.count;
  const float* score = scores_.data() + clause.span.first;
  const std::uint16_t* frequency = frequencies_.data() + clause.span.first;
  const auto add = [&](float value) {
    double& sum = sums[*posting];
    if (touched != nullptr && sum == 0.0) touched->push_back(*posting);
    sum += static_cast<double>(value);
  };
  if (&stats == &all_ && clause.count == 1) {
    for (; posting != end; ++posting, ++score) add(*score);
    return;
  }
  if (documents < size()) end = std::lower_bound(posting, end, static_cast<std::uint32_t>(documents));
  const float weight = static_cast<float>(clause.count) * stats.idf(static_cast<std::size_t>(end - posting));
  for (; posting != end; ++posting, ++frequency)
    add(term_score(weight, *frequency, stats.inverse[codes_[*posting]]));
}

Result<std::vector<Hit>> SearchIndex::search(const Query& query,
                                             const std::vector<std::uint32_t>& ranks) const {
  const Result<std::vector<Clause>> known = clauses(query.terms);
  if (!known) return known.error();
  const std::size_t documents = std::min(query.documents, size());
  const Statistics part = documents == size() ? Statistics{} : statistics(documents);
  const Statistics& stats = documents == size() ? all_ : part;
  std::size_t postings = 0;
  for (const Clause& clause : *known) postings += clause.span.count;

  // Sums stay in one array per thread, zero between searches. A query that meets most documents goes
  // through all of them at the end, another one through those that it met.
  thread_local std::vector<double> sums;
  thread_local std::vector<std::uint32_t> touched;
  if (sums.size() < documents) sums.resize(documents, 0.0);
  touched.clear();
  const bool dense = postings > documents / 4;
  for (const Clause& clause : *known) add_scores(clause, documents, stats, sums, dense ? nullptr : &touched);

  BestHits best(query.most, ranks);
  if (dense) {
    for (std::size_t document = 0; document < documents; ++document)
      best.offer(static_cast<std::uint32_t>(document), static_cast<float>(sums[document]));
    std::fill_n(sums.begin(), documents, 0.0);
  } else {
    for (const std::uint32_t document : touched) {
      best.offer(document, static_cast<float>(sums[document]));
      sums[document] = 0.0;
    }
  }
  return best.sorted();
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
  // A posting takes two bytes at least; what stays unused of this is never touched.
  index.documents_.reserve(bytes.size() / 2);
  index.frequencies_.reserve(bytes.size() / 2);
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
