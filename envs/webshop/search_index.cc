#include "envs/webshop/search_index.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

namespace lodestep::webshop {
namespace {

constexpr float kK1 = 0.9F, kB = 0.4F;
constexpr std::size_t kMostTerms = 1024;

float term_score(float weight, std::uint16_t frequency, float inverse) {
  return weight - weight / (1.0F + static_cast<float>(frequency) * inverse);
}

// The best of many scored documents, score above 0. They gather in a room; when it is full, those that
// cannot be among the best go, and from then on what is worse does not enter.
class BestHits {
 public:
  void start(std::size_t most, std::span<const std::uint32_t> ranks) {
    most_ = most;
    ranks_ = ranks;
    size_ = 0;
    least_ = 0;
    room_.resize(std::max<std::size_t>(1024, 2 * most));
  }
  void offer(std::uint32_t document, float score) {
    const auto bits = std::bit_cast<std::uint32_t>(score);
    if (bits < least_) return;
    room_[size_++] = {bits, document};
    if (size_ == room_.size()) cut();
  }
  std::vector<Hit> sorted() {
    cut();
    const auto end = room_.begin() + static_cast<std::ptrdiff_t>(size_);
    std::sort(room_.begin(), end, Better{ranks_});
    std::vector<Hit> out;
    out.reserve(std::min(most_, size_));
    for (std::size_t i = 0; i < std::min(most_, size_) && room_[i].score > 0; ++i)
      out.push_back({room_[i].document, std::bit_cast<float>(room_[i].score)});
    return out;
  }

 private:
  static constexpr std::uint32_t kShift = 20;  // eight ranges between a score and its double
  static constexpr std::size_t kRanges = std::size_t{1} << (31 - kShift);
  struct Scored {
    std::uint32_t score;  // its bits: those of positive floats are ordered like the floats
    std::uint32_t document;
  };
  struct Better {
    std::span<const std::uint32_t> ranks;
    bool operator()(const Scored& a, const Scored& b) const {
      return a.score != b.score ? a.score > b.score : ranks[a.document] < ranks[b.document];
    }
  };

  // Counting the documents in each range of scores tells from which range on there are enough.
  void cut() {
    if (size_ <= most_) return;
    std::uint32_t highest = 0;
    counts_.fill(0);
    for (std::size_t i = 0; i < size_; ++i) {
      ++counts_[room_[i].score >> kShift];
      highest = std::max(highest, room_[i].score);
    }
    std::uint32_t range = (highest >> kShift) + 1;
    for (std::size_t enough = 0; range > 0 && enough < most_;) enough += counts_[--range];
    least_ = std::max(least_, range << kShift);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const Scored one = room_[i];
      room_[kept] = one;  // no branch: which ones are good is anybody's guess
      kept += one.score >= least_ ? 1 : 0;
    }
    size_ = kept;
    if (2 * size_ <= room_.size()) return;
    // The last range is too full.
    const auto worst = room_.begin() + static_cast<std::ptrdiff_t>(most_ - 1);
    std::nth_element(room_.begin(), worst, room_.begin() + static_cast<std::ptrdiff_t>(size_),
                     Better{ranks_});
    size_ = most_;
    least_ = worst->score;
  }

  std::size_t most_ = 0, size_ = 0;
  std::uint32_t least_ = 0;  // bits of the score that a document needs
  std::span<const std::uint32_t> ranks_;
  std::vector<Scored> room_;
  std::array<std::uint32_t, kRanges> counts_{};
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

LengthStatistics::LengthStatistics(std::span<const std::uint32_t> lengths, std::size_t count) {
  std::uint64_t tokens = 0;
  for (const std::uint32_t length : lengths.first(count)) {
    tokens += length;
    if (length > 0) ++documents;  // a document without terms does not have the field
  }
  const float average = documents == 0 ? 1.0F : static_cast<float>(static_cast<double>(tokens) / documents);
  for (std::size_t code = 0; code < inverse.size(); ++code) {
    const auto length = static_cast<float>(decode_length(static_cast<std::uint8_t>(code)));
    inverse[code] = 1.0F / (kK1 * ((1.0F - kB) + kB * length / average));
  }
}

float LengthStatistics::idf(std::size_t matching) const {
  const auto count = static_cast<double>(matching);
  return static_cast<float>(std::log(1 + (documents - count + 0.5) / (count + 0.5)));
}

IndexBuilder& IndexBuilder::add(const std::vector<std::string>& terms) {
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

Status IndexBuilder::write(ImageWriter& out) const {
  std::vector<std::pair<std::string_view, const Term*>> sorted;
  sorted.reserve(terms_.size());
  for (const auto& [text, term] : terms_) sorted.emplace_back(text, &term);
  std::sort(sorted.begin(), sorted.end());

  std::vector<std::uint32_t> term_at{0}, posting_at{0};
  std::vector<Hash128> hashes;
  std::uint64_t bytes = 0, postings = 0;
  for (const auto& [text, term] : sorted) {
    bytes += text.size();
    postings += term->documents.size();
    term_at.push_back(static_cast<std::uint32_t>(bytes));
    posting_at.push_back(static_cast<std::uint32_t>(postings));
    hashes.push_back(hash128(text));
  }
  if (std::max(bytes, postings) > UINT32_MAX) {
    return Error{ErrorCode::kUnsupported, "the products have more than 4 billion different words in all", "",
                 "import fewer with --limit"};
  }
  out.begin(Section::kTermAt);
  out.write_all(term_at);
  out.begin(Section::kTermBytes);
  for (const auto& [text, term] : sorted) out.write(text);
  out.begin(Section::kTermSlots);
  out.write_all(make_slots(hashes));
  out.begin(Section::kPostingAt);
  out.write_all(posting_at);
  out.begin(Section::kDocuments);
  for (const auto& [text, term] : sorted) out.write_all(term->documents);
  out.begin(Section::kFrequencies);
  for (const auto& [text, term] : sorted) out.write_all(term->frequencies);

  const LengthStatistics all(lengths_, lengths_.size());
  std::vector<std::uint8_t> codes(lengths_.size());
  std::transform(lengths_.begin(), lengths_.end(), codes.begin(), encode_length);
  out.begin(Section::kScores);
  std::vector<float> scores;
  for (const auto& [text, term] : sorted) {
    const float weight = all.idf(term->documents.size());
    scores.clear();
    for (std::size_t i = 0; i < term->documents.size(); ++i)
      scores.push_back(term_score(weight, term->frequencies[i], all.inverse[codes[term->documents[i]]]));
    out.write_all(scores);
  }
  out.begin(Section::kLengths);
  out.write_all(lengths_);
  out.begin(Section::kCodes);
  out.write_all(codes);
  return {};
}

SearchIndex::SearchIndex(const Image& image)
    : term_at_(image.section<std::uint32_t>(Section::kTermAt)),
      terms_(term_at_.data(), term_at_.empty() ? 0 : term_at_.size() - 1,
             image.section<char>(Section::kTermBytes).data()),
      term_slots_(image.section<std::uint32_t>(Section::kTermSlots)),
      posting_at_(image.section<std::uint32_t>(Section::kPostingAt)),
      documents_(image.section<std::uint32_t>(Section::kDocuments)),
      frequencies_(image.section<std::uint16_t>(Section::kFrequencies)),
      scores_(image.section<float>(Section::kScores)),
      lengths_(image.section<std::uint32_t>(Section::kLengths)),
      codes_(image.section<std::uint8_t>(Section::kCodes)),
      term_bytes_(image.section<char>(Section::kTermBytes).size()),
      all_(lengths_, lengths_.size()) {}

bool SearchIndex::consistent() const {
  return term_at_.size() == posting_at_.size() && !term_at_.empty() && term_at_.back() == term_bytes_ &&
         posting_at_.back() == documents_.size() && documents_.size() == frequencies_.size() &&
         documents_.size() == scores_.size() && lengths_.size() == codes_.size();
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
    const auto found = term_slots_.find(term, [&](std::uint32_t at) { return terms_[at] == term; });
    if (found) out.push_back({*found, 1});
  }
  std::sort(out.begin(), out.end(), [](const Clause& a, const Clause& b) { return a.term < b.term; });
  std::size_t size = 0;
  for (const Clause& clause : out) {
    if (size > 0 && out[size - 1].term == clause.term) {
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
void SearchIndex::add_scores(const Clause& clause, const LengthStatistics* part, std::size_t documents,
                             std::vector<double>& sums, std::vector<std::uint32_t>* touched) const {
  const std::uint32_t first = posting_at_[clause.term];
  const std::uint32_t* posting = documents_.data() + first;
  const std::uint32_t* end = documents_.data() + posting_at_[clause.term + 1];
  if (part == nullptr && clause.count == 1 && touched == nullptr) {  // the common case, and the tightest loop
    double* sum = sums.data();
    for (const float* score = scores_.data() + first; posting != end; ++posting, ++score)
      sum[*posting] += static_cast<double>(*score);
    return;
  }
  const auto add = [&](float value) {
    double& sum = sums[*posting];
    if (touched != nullptr && sum == 0.0) touched->push_back(*posting);
    sum += static_cast<double>(value);
  };
  if (part == nullptr && clause.count == 1) {
    for (const float* score = scores_.data() + first; posting != end; ++posting, ++score) add(*score);
    return;
  }
  if (part != nullptr) end = std::lower_bound(posting, end, static_cast<std::uint32_t>(documents));
  const LengthStatistics& stats = part != nullptr ? *part : all_;
  const float weight = static_cast<float>(clause.count) * stats.idf(static_cast<std::size_t>(end - posting));
  for (const std::uint16_t* frequency = frequencies_.data() + first; posting != end; ++posting, ++frequency)
    add(term_score(weight, *frequency, stats.inverse[codes_[*posting]]));
}

Result<std::vector<Hit>> SearchIndex::search(const Query& query, std::span<const std::uint32_t> ranks) const {
  const Result<std::vector<Clause>> known = clauses(query.terms);
  if (!known) return known.error();
  const std::size_t documents = std::min(query.documents, size());
  std::optional<LengthStatistics> part;
  if (documents != size()) part.emplace(lengths_, documents);
  std::size_t postings = 0;
  for (const Clause& clause : *known) postings += posting_at_[clause.term + 1] - posting_at_[clause.term];

  // Sums stay in one array per thread, zero between searches. A query that meets most documents goes
  // through all of them at the end, another one through those that it met.
  struct Scratch {
    std::vector<double> sums;
    std::vector<std::uint32_t> touched;
    BestHits best;
  };
  thread_local Scratch of_thread;
  Scratch& scratch = of_thread;
  std::vector<double>& sums = scratch.sums;
  std::vector<std::uint32_t>& touched = scratch.touched;
  BestHits& best = scratch.best;
  if (sums.size() < documents) sums.resize(documents, 0.0);
  touched.clear();
  const bool dense = postings > documents / 4;
  for (const Clause& clause : *known)
    add_scores(clause, part ? &*part : nullptr, documents, sums, dense ? nullptr : &touched);

  best.start(query.most, ranks);
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

}  // namespace lodestep::webshop
