// WebSocket framing: however the bytes are cut, the same frames come out; nothing broken gets through.
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "base/rng.h"
#include "base/text.h"
#include "harness/server/internal/frames.h"
#include "tests/support/fuzz.h"

namespace lodestep::harness {
namespace {

constexpr std::size_t kLimit = 100000;
using Seen = std::vector<std::tuple<FrameKind, std::string, std::uint16_t>>;

// One client frame, masked.
std::string client_frame(unsigned first, const std::string& payload, Stream& dice) {
  std::string out(1, static_cast<char>(first));
  const std::size_t size = payload.size();
  if (size < 126) {
    out += static_cast<char>(0x80 | size);
  } else if (size < 65536) {
    out += {static_cast<char>(0xfe), static_cast<char>(size >> 8), static_cast<char>(size & 0xff)};
  } else {
    out += static_cast<char>(0xff);
    for (int bits = 56; bits >= 0; bits -= 8) out += static_cast<char>((size >> bits) & 0xff);
  }
  std::string key;
  for (int i = 0; i < 4; ++i) key += static_cast<char>(dice.below(256));
  out += key;
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(payload[i] ^ key[i % 4]);
  return out;
}

// Feeds `bytes` in pieces of at most `most`; stops after a failure, as a connection does.
Seen read_all(std::string bytes, std::size_t most, Stream& dice) {
  FrameReader reader(kLimit);
  Seen seen;
  for (std::size_t at = 0; at < bytes.size();) {
    std::string piece = bytes.substr(at, 1 + dice.below(most));
    at += piece.size();
    for (std::size_t taken = 0; taken < piece.size();) {
      std::size_t used = 0;
      const Frame frame = reader.next(piece.data() + taken, piece.size() - taken, used);
      REQUIRE(used <= piece.size() - taken);
      taken += used;
      if (frame.kind == FrameKind::kPart) continue;
      seen.emplace_back(frame.kind, std::string(frame.payload), frame.code);
      if (frame.kind == FrameKind::kFailure) return seen;
    }
  }
  return seen;
}

TEST_CASE("messages come out whole, whatever the fragments and the pieces", "[fuzz]") {
  Stream dice(Hasher().add("frames").finish());
  const std::vector<std::string> texts{"",
                                       "{}",
                                       "caf\xc3\xa9",
                                       "\xe4\xb8\xad\xf0\x9f\x98\x80",
                                       std::string(125, 'a'),
                                       std::string(126, 'b'),
                                       std::string(70000, 'c')};
  for (int round = 0; round < test::fuzz_rounds(300); ++round) {
    std::string bytes;
    Seen sent;
    for (int n = 0; n < 8; ++n) {
      const std::string& text = texts[dice.below(texts.size())];
      const unsigned opcode = 1 + static_cast<unsigned>(dice.below(2));
      std::size_t at = 0;
      const std::size_t cuts = dice.below(4);
      for (std::size_t part = 0; part < cuts; ++part) {  // unfinished fragments, with a ping behind each
        const std::size_t size = dice.below(text.size() - at + 1);
        bytes += client_frame(part == 0 ? opcode : 0U, text.substr(at, size), dice) +
                 client_frame(0x89, "now", dice);
        sent.emplace_back(FrameKind::kPing, "now", 0);
        at += size;
      }
      bytes += client_frame(0x80 | (cuts == 0 ? opcode : 0U), text.substr(at), dice);
      sent.emplace_back(opcode == 1 ? FrameKind::kText : FrameKind::kBinary, text, 0);
    }
    for (const std::size_t most : {std::size_t{1} << 20, std::size_t{4000}, std::size_t{7}})
      REQUIRE(read_all(bytes, most, dice) == sent);
  }
}

TEST_CASE("damaged streams end in one failure with a code of the protocol, however they are cut", "[fuzz]") {
  Stream dice(Hasher().add("damaged frames").finish());
  for (int round = 0; round < test::fuzz_rounds(5000); ++round) {
    std::string bytes;
    for (int n = 0; n < 4; ++n) {
      bytes += client_frame(static_cast<unsigned>(dice.below(256)),
                            std::string(dice.below(140), static_cast<char>(dice.below(256))), dice);
    }
    for (std::uint64_t n = dice.below(4); n > 0; --n)
      bytes[dice.below(bytes.size())] = static_cast<char>(dice.below(256));
    const Seen whole = read_all(bytes, bytes.size(), dice);
    const Seen pieces = read_all(bytes, 3, dice);
    REQUIRE(whole == pieces);
    for (const auto& [kind, payload, code] : whole) {
      if (kind == FrameKind::kText) REQUIRE(is_valid_utf8(payload));
      if (kind == FrameKind::kFailure) REQUIRE((code == 1002 || code == 1007 || code == 1009));
    }
  }
}

TEST_CASE("UTF-8 in pieces is judged as in one piece", "[fuzz]") {
  Stream dice(Hasher().add("utf8").finish());
  const std::vector<std::string> bits{"a",    "\x7f", "\x80", "\xbf", "\xc0",    "\xc2", "\xdf",
                                      "\xe0", "\xa0", "\xed", "\x9f", "\xef",    "\xf0", "\x90",
                                      "\xf4", "\x8f", "\xf5", "\xff", "abcdefgh"};
  for (int round = 0; round < test::fuzz_rounds(20000); ++round) {
    std::string text;
    for (std::uint64_t n = dice.below(7); n > 0; --n) text += bits[dice.below(bits.size())];
    Utf8Check check;
    const std::size_t cut = dice.below(text.size() + 1);
    const bool valid = check.take(text.substr(0, cut)) && check.take(text.substr(cut)) && check.complete();
    CAPTURE(text);
    REQUIRE(valid == is_valid_utf8(text));
  }
}

TEST_CASE("what we send is what a client reads") {
  for (const std::size_t size : {0, 125, 126, 65535, 65536}) {
    std::string out;
    append_frame(out, Opcode::kText, std::string(size, 'x'));
    const auto byte = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(out[i]));
    };
    const std::size_t head = size < 126 ? 2 : size < 65536 ? 4 : 10;
    REQUIRE(byte(0) == 0x81);
    REQUIRE(byte(1) == (size < 126 ? size : size < 65536 ? 126 : 127));
    REQUIRE(out.size() == head + size);
  }
  std::string close;
  append_close(close, 1009);
  REQUIRE(close == std::string("\x88\x02\x03\xf1", 4));
}

}  // namespace
}  // namespace lodestep::harness
