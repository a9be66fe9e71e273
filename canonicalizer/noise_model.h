// What `robust` has learnt about lines: how often each was seen to be noise and how often genuine.
//   NoiseModel model;
//   Status loaded = model.parse(bytes);          // saved by serialize()
//   model.segment(hash) += {.noise = 1};
// Threads: one at a time. Owns its counts. About 30 bytes a distinct line, saved as they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/hash.h"
#include "base/result.h"

namespace lodestep::canonicalizer {

struct Votes {
  std::uint32_t noise = 0;
  std::uint32_t genuine = 0;
  Votes& operator+=(const Votes& other);
  bool operator==(const Votes&) const = default;
};

class NoiseModel {
 public:
  struct Aged {
    Votes votes;
    std::uint32_t last_batch = 0;  // that touched it
  };
  using Table = std::unordered_map<Hash128, Aged, ContainerHash>;

  Votes segment(const Hash128& hash) const { return find(segments_, hash); }
  Votes pattern(const Hash128& hash) const { return find(templates_, hash); }     // of a template
  Votes feature(std::uint64_t hash) const { return find(features_, {0, hash}); }  // templates, not votes
  Votes context(std::uint64_t hash) const {
    return find(contexts_, {0, hash});
  }                                                           // noise: volatile, genuine: stable
  std::uint32_t noise_lines() const { return noise_lines_; }  // distinct templates called noise
  std::uint32_t row_orders() const { return row_orders_; }    // classes with their lines in several orders
  std::uint32_t word_orders() const { return word_orders_; }  // likewise words of lines with a comma
  bool empty() const { return batches_ == 0; }

  // One batch's additions, between begin_batch and end_batch; the latter forgets what is kMaxAge batches old.
  void begin_batch() { ++batches_; }
  void add_segment(const Hash128& hash, Votes votes) { add(segments_, hash, votes); }
  void add_pattern(const Hash128& hash, Votes votes) { add(templates_, hash, votes); }
  void add_feature(std::uint64_t hash, Votes votes) { add(features_, {0, hash}, votes); }
  void add_context(std::uint64_t hash, Votes votes) { add(contexts_, {0, hash}, votes); }
  void add_totals(std::uint32_t noise_lines, std::uint32_t row_orders, std::uint32_t word_orders);
  void end_batch();

  std::string serialize() const;  // the same bytes for the same contents
  Status parse(std::string_view bytes);
  Hash128 version() const;  // of the contents; part of the keys that a frozen model gives

  static constexpr std::uint32_t kMaxAge = 200;

 private:
  static Votes find(const Table& table, const Hash128& hash);
  void add(Table& table, const Hash128& hash, Votes votes);

  Table segments_, templates_, features_, contexts_;
  std::uint32_t batches_ = 0;
  std::uint32_t noise_lines_ = 0;
  std::uint32_t row_orders_ = 0;
  std::uint32_t word_orders_ = 0;
};

}  // namespace lodestep::canonicalizer
