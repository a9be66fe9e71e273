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
  REQUIRE(appended(" \xe2\x88\x9a \t") == "before" + json_quote(" \xe2\x88\x9a \t"));
}

}  // namespace
}  // namespace lodestep::harness
