// WebSocket framing (RFC 6455) without sockets: bytes in any pieces become messages and control frames.
//   FrameReader reader(limit);
//   while (used < size) { Frame frame = reader.next(data + used, size - used, step); used += step; ... }
// Threads: values. A frame's payload is valid until the next call; `data` is unmasked in place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lodestep::harness {

namespace close_code {
constexpr std::uint16_t kNormal = 1000, kGoingAway = 1001, kProtocolError = 1002, kBadText = 1007,
                        kTooBig = 1009, kInternal = 1011;
}

enum class FrameKind {
  kPart,  // everything taken, nothing complete yet
  kText,  // a whole message
  kBinary,
  kPing,
  kPong,
  kClose,    // a proper one
  kFailure,  // close with `code`, read no further
};

struct Frame {
  FrameKind kind = FrameKind::kPart;
  std::string_view payload = {};
  std::uint16_t code = 0;  // of kFailure, and of kClose (0: none given)
};

// UTF-8 that arrives in pieces, which may cut characters.
class Utf8Check {
 public:
  bool take(std::string_view bytes);  // false: invalid, whatever follows
  bool complete() const { return wanted_ == 0; }
  void restart() { wanted_ = 0; }

 private:
  int wanted_ = 0;                          // continuation bytes that must follow
  unsigned char low_ = 0x80, high_ = 0xbf;  // range of the next one
};

// Reads what a client sends: frames must be masked; extensions are none. A message beyond the limit is a
// failure as soon as a frame's header declares it.
class FrameReader {
 public:
  explicit FrameReader(std::size_t message_limit) : limit_(message_limit) {}
  // Takes bytes until a frame of interest is complete; `used` says how many.
  Frame next(char* data, std::size_t size, std::size_t& used);

 private:
  Frame header();
  Frame finish_control();
  Frame finish_message(std::string_view payload);
  std::size_t header_size() const;
  bool in_control() const { return (head_[0] & 0x08) != 0; }

  const std::size_t limit_;
  std::array<unsigned char, 14> head_{};
  std::size_t head_have_ = 0;
  bool head_done_ = false;
  std::uint64_t left_ = 0;  // payload bytes of the frame that have not come yet
  std::size_t mask_at_ = 0;
  std::string control_;
  std::string message_;           // fragments so far
  std::size_t message_size_ = 0;  // declared so far
  int message_opcode_ = 0;        // 0: between messages
  bool message_given_ = false;    // message_ was handed out: clear it
  Utf8Check utf8_;
};

enum class Opcode : unsigned char { kText = 1, kClose = 8, kPing = 9, kPong = 10 };
// Appends one unmasked frame, as servers send them.
void append_frame(std::string& out, Opcode opcode, std::string_view payload);
void append_close(std::string& out, std::uint16_t code);

}  // namespace lodestep::harness
