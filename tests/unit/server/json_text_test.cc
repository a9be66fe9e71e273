#include "harness/server/internal/json_text.h"

#include <catch2/catch.hpp>
#include <string>

#include "base/text.h"

namespace lodestep::harness {
namespace {

TEST_CASE("texts are appended as json_quote writes them") {
  const auto appended = [](const std::string& text) {
    std::string out = "before";
    JsonWriter::append_quoted(out, text);
    return out;
  };
  for (int byte = 0; byte < 256; ++byte) {
    for (const std::string& around : {std::string(), std::string("a\t\"b\\\n")}) {
      const std::string text = around + static_cast<char>(static_cast<unsigned char>(byte)) + around;
      REQUIRE(appended(text) == "before" + json_quote(text));
    }
  }
  for (const char* text :
       {" \xe2\x88\x9a \t", "\xe2\x88", "\xed\xa0\x80", "a\xf0\x9f\x98\x80\"\xff", "\xc3\xa9\r\n\b"})
    REQUIRE(appended(text) == "before" + json_quote(text));
}

}  // namespace
}  // namespace lodestep::harness
