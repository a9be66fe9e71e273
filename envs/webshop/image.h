// A catalogue's image: flat, position-independent sections that are used where they lie, in a file or in
// memory.
//   ImageWriter out(append); out.begin(Section::kLengths); out.write_all(lengths); out.finish(digest);
//   const std::optional<Image> image = Image::open(bytes);   image->section<std::uint32_t>(Section::kLengths)
// Threads: a writer belongs to one thread; an Image is a value that borrows the bytes, which begin at a
// multiple of 8. Numbers are little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace lodestep::webshop {

enum class Section : std::size_t {
  kProducts,     // packed, one after another
  kProductAt,    // where each begins, one entry more than there are products
  kAsinRanks,    // position of each product in asin order
  kAsinSlots,    // hash table by asin
  kTitleSlots,   // hash table by title
  kTermAt,       // where each term of the search index begins, one entry more than there are
  kTermBytes,    // the terms, sorted
  kTermSlots,    // hash table by term
  kPostingAt,    // first posting of each term, one entry more than there are terms
  kDocuments,    // of all postings, term by term, ascending within one
  kFrequencies,  // of each posting
  kScores,       // of each posting, for a term that the query has once
  kLengths,      // tokens of each document
  kCodes,        // the same, in one byte
  kCount
};
constexpr std::size_t kSections = static_cast<std::size_t>(Section::kCount);

// The end of an image.
struct ImageTable {
  struct Place {
    std::uint64_t begin = 0, bytes = 0;
  };
  std::array<char, 8> mark{};
  std::uint64_t digest_high = 0, digest_low = 0;  // names the content
  std::array<Place, kSections> places{};
};

class ImageWriter {
 public:
  using Sink = std::function<void(std::string_view)>;
  explicit ImageWriter(Sink sink) : sink_(std::move(sink)) {}

  void begin(Section section);  // what was written before belongs to the section before
  void write(std::string_view bytes);
  template <typename T>
  void write_all(const std::vector<T>& values) {
    write({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  }
  void finish(const Hash128& digest);
  std::uint64_t size() const { return size_; }

 private:
  Sink sink_;
  std::uint64_t size_ = 0;
  std::size_t open_ = 0;
  ImageTable table_;
};

class Image {
 public:
  static std::optional<Image> open(std::string_view bytes);  // nullopt: not an image, or not all of it
  Hash128 digest() const { return {table_.digest_high, table_.digest_low}; }
  template <typename T>
  std::span<const T> section(Section section) const {
    const ImageTable::Place& place = table_.places[static_cast<std::size_t>(section)];
    return {reinterpret_cast<const T*>(bytes_.data() + place.begin), place.bytes / sizeof(T)};
  }

 private:
  std::string_view bytes_;
  ImageTable table_;
};

// A hash table from texts to the positions of what they name, as an array of position + 1, 0 where empty.
std::vector<std::uint32_t> make_slots(const std::vector<Hash128>& hashes);  // of equal ones the first counts

class Slots {
 public:
  Slots() = default;
  explicit Slots(std::span<const std::uint32_t> slots) : slots_(slots) {}
  // `is(position)` says whether that is the one.
  template <typename Is>
  std::optional<std::uint32_t> find(std::string_view text, Is is) const {
    if (slots_.empty()) return std::nullopt;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash128(text).low & mask; slots_[at] != 0; at = (at + 1) & mask) {
      if (is(slots_[at] - 1)) return slots_[at] - 1;
    }
    return std::nullopt;
  }

 private:
  std::span<const std::uint32_t> slots_;  // a power of two of them, at least half of them empty
};

}  // namespace lodestep::webshop
