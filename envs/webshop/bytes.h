// Plain binary records: numbers as LEB128, texts with their length. For our own files and snapshots.
//   ByteWriter out; out.number(7).text("mug");
//   ByteReader in(out.bytes()); in.number(); in.text(); if (!in.ok()) ...
// Threads: values. A reader never reads past the end: after damage it answers zeros and ok() is false.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lodestep::webshop {

class ByteWriter {
 public:
  ByteWriter& number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(0x80 | (value & 0x7f));
    bytes_ += static_cast<char>(value);
    return *this;
  }
  ByteWriter& real(double value) { return number(std::bit_cast<std::uint64_t>(value)); }
  ByteWriter& text(std::string_view value) {
    number(value.size());
    bytes_ += value;
    return *this;
  }
  ByteWriter& texts(const std::vector<std::string>& values) {
    number(values.size());
    for (const std::string& value : values) text(value);
    return *this;
  }
  const std::string& bytes() const& { return bytes_; }
  std::string bytes() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) return fail();
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return fail();
  }
  double real() { return std::bit_cast<double>(number()); }
  std::string_view text() {
    const std::uint64_t size = number();
    if (size > left_.size()) {
      fail();
      return {};
    }
    const std::string_view value = left_.substr(0, size);
    left_.remove_prefix(size);
    return value;
  }
  // A count of items that need at least a byte each, so that damage cannot ask for endless memory.
  std::size_t count() {
    const std::uint64_t value = number();
    return value > left_.size() ? fail() : value;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> values(count());
    for (std::string& value : values) value = text();
    return values;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return left_.empty(); }

 private:
  std::uint64_t fail() {
    ok_ = false;
    left_ = {};
    return 0;
  }
  std::string_view left_;
  bool ok_ = true;
};

}  // namespace lodestep::webshop
