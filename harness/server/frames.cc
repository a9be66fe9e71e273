#include "harness/server/internal/frames.h"

#include <algorithm>
#include <cstring>

namespace lodestep::harness {
namespace {

constexpr int kContinuation = 0, kTextOpcode = 1, kBinaryOpcode = 2, kCloseOpcode = 8, kPingOpcode = 9,
              kPongOpcode = 10;
constexpr std::size_t kControlLimit = 125;
constexpr std::size_t kKeptCapacity = 65536;

Frame failure(std::uint16_t code) { return {FrameKind::kFailure, {}, code}; }

bool may_be_sent(unsigned code) {
  return (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006) ||
         (code >= 3000 && code <= 4999);
}

void unmask(char* data, std::size_t size, const unsigned char* key, std::size_t offset) {
  std::array<unsigned char, 8> turned{};
  for (std::size_t i = 0; i < 8; ++i) turned[i] = key[(offset + i) % 4];
  std::uint64_t wide = 0;
  std::memcpy(&wide, turned.data(), sizeof wide);
  std::size_t at = 0;
  for (; at + sizeof wide <= size; at += sizeof wide) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, sizeof word);
    word ^= wide;
    std::memcpy(data + at, &word, sizeof word);
  }
  for (; at < size; ++at) data[at] = static_cast<char>(static_cast<unsigned char>(data[at]) ^ turned[at % 8]);
}

}  // namespace

bool Utf8Check::take(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (wanted_ == 0) {
      std::uint64_t word = 0;  // eight ASCII bytes at a time
      while (at + sizeof word <= bytes.size()) {
        std::memcpy(&word, bytes.data() + at, sizeof word);
        if ((word & 0x8080808080808080ULL) != 0) break;
        at += sizeof word;
      }
      if (at == bytes.size()) break;
    }
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    if (wanted_ > 0) {
      if (byte < low_ || byte > high_) return false;
      low_ = 0x80;
      high_ = 0xbf;
      --wanted_;
    } else if (byte >= 0x80) {
      if (byte < 0xc2 || byte > 0xf4) return false;
      wanted_ = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      low_ = byte == 0xe0 ? 0xa0 : byte == 0xf0 ? 0x90 : 0x80;   // no overlong forms
      high_ = byte == 0xed ? 0x9f : byte == 0xf4 ? 0x8f : 0xbf;  // no surrogates, nothing past U+10FFFF
    }
  }
  return true;
}

std::size_t FrameReader::header_size() const {
  if (head_have_ < 2) return 2;
  const int size = head_[1] & 0x7f;
  return 6 + (size == 127 ? 8U : size == 126 ? 2U : 0U);
}

// Judges the first two bytes as soon as they are here, the rest when it is whole.
Frame FrameReader::header() {
  const int opcode = head_[0] & 0x0f;
  const bool final = (head_[0] & 0x80) != 0;
  const int size = head_[1] & 0x7f;
  if (head_have_ == 2) {
    if ((head_[0] & 0x70) != 0 || (head_[1] & 0x80) == 0) return failure(close_code::kProtocolError);
    if (opcode > kPongOpcode || (opcode > kBinaryOpcode && opcode < kCloseOpcode))
      return failure(close_code::kProtocolError);
    if (opcode >= kCloseOpcode && (!final || size > 125)) return failure(close_code::kProtocolError);
    if (opcode < kCloseOpcode && (opcode == kContinuation) == (message_opcode_ == 0))
      return failure(close_code::kProtocolError);
    return {};
  }
  left_ = static_cast<std::uint64_t>(size);
  if (size >= 126) {
    left_ = 0;
    const std::size_t width = size == 126 ? 2 : 8;
    for (std::size_t i = 0; i < width; ++i) left_ = left_ << 8 | head_[2 + i];
    const bool shortest = size == 126 ? left_ >= 126 : left_ >= 65536;
    if (!shortest || (left_ >> 63) != 0) return failure(close_code::kProtocolError);
  }
  head_done_ = true;
  mask_at_ = 0;
  if (opcode >= kCloseOpcode) {
    control_.clear();
    return {};
  }
  if (opcode != kContinuation) {
    message_opcode_ = opcode;
    message_size_ = 0;
    utf8_.restart();
  }
  if (left_ > limit_ - message_size_) return failure(close_code::kTooBig);
  message_size_ += static_cast<std::size_t>(left_);
  return {};
}

Frame FrameReader::finish_control() {
  const int opcode = head_[0] & 0x0f;
  if (opcode == kPingOpcode) return {FrameKind::kPing, control_};
  if (opcode == kPongOpcode) return {FrameKind::kPong, control_};
  if (control_.empty()) return {FrameKind::kClose};
  if (control_.size() == 1) return failure(close_code::kProtocolError);
  const unsigned code = static_cast<unsigned>(static_cast<unsigned char>(control_[0])) << 8 |
                        static_cast<unsigned char>(control_[1]);
  if (!may_be_sent(code)) return failure(close_code::kProtocolError);
  Utf8Check reason;
  if (!reason.take(std::string_view(control_).substr(2)) || !reason.complete())
    return failure(close_code::kBadText);
  return {FrameKind::kClose, std::string_view(control_).substr(2), static_cast<std::uint16_t>(code)};
}

Frame FrameReader::finish_message(std::string_view payload) {
  const bool text = message_opcode_ == kTextOpcode;
  message_opcode_ = 0;
  if (text && !utf8_.complete()) return failure(close_code::kBadText);
  return {text ? FrameKind::kText : FrameKind::kBinary, payload};
}

Frame FrameReader::next(char* data, std::size_t size, std::size_t& used) {
  used = 0;
  if (message_given_) {
    message_given_ = false;
    message_.clear();
    if (message_.capacity() > kKeptCapacity) message_ = {};
  }
  for (;;) {
    while (!head_done_) {
      if (used == size) return {};
      head_[head_have_++] = static_cast<unsigned char>(data[used++]);
      if (head_have_ != 2 && head_have_ != header_size()) continue;
      if (const Frame refused = header(); refused.kind == FrameKind::kFailure) return refused;
    }
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, size - used));
    unmask(data + used, count, head_.data() + header_size() - 4, mask_at_);
    const std::string_view piece(data + used, count);
    used += count;
    mask_at_ += count;
    left_ -= count;
    const bool ends_frame = left_ == 0;
    if (in_control()) {
      control_.append(piece);
    } else {
      if (message_opcode_ == kTextOpcode && !utf8_.take(piece)) return failure(close_code::kBadText);
      const bool ends_message = ends_frame && (head_[0] & 0x80) != 0;
      if (ends_message && message_.empty()) {  // as it lies in the caller's buffer
        head_have_ = 0;
        head_done_ = false;
        return finish_message(piece);
      }
      message_.append(piece);
      if (ends_message) {
        head_have_ = 0;
        head_done_ = false;
        message_given_ = true;
        return finish_message(message_);
      }
    }
    if (!ends_frame) return {};
    const bool control = in_control();
    head_have_ = 0;
    head_done_ = false;
    if (control) return finish_control();
  }
}

void append_frame(std::string& out, Opcode opcode, std::string_view payload) {
  out += static_cast<char>(0x80 | static_cast<unsigned char>(opcode));
  const std::size_t size = payload.size();
  const auto put = [&](std::size_t bits) {
    out += static_cast<char>(static_cast<unsigned char>(size >> bits));
  };
  if (size < 126) {
    put(0);
  } else if (size < 65536) {
    out += static_cast<char>(126);
    put(8);
    put(0);
  } else {
    out += static_cast<char>(127);
    for (int bits = 56; bits >= 0; bits -= 8) put(static_cast<std::size_t>(bits));
  }
  out += payload;
}

void append_close(std::string& out, std::uint16_t code) {
  const char bytes[2] = {static_cast<char>(static_cast<unsigned char>(code >> 8)),
                         static_cast<char>(static_cast<unsigned char>(code & 0xff))};
  append_frame(out, Opcode::kClose, {bytes, 2});
}

}  // namespace lodestep::harness
