#include "harness/server/internal/json_text.h"

#include <catch2/catch.hpp>
#include <string>

#include "base/text.h"
#include "harness/internal/json.h"

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

TEST_CASE("of members with one name the last one stands") {
  const auto read = [](const std::string& text) { return to_json(*parse_json(text, "")); };
  REQUIRE(read(R"({"a":1,"b":2})") == R"({"a":1,"b":2})");
  REQUIRE(read(R"({"a":1,"b":{"c":1,"c":[2]},"a":3,"d":4,"a":null})") == R"({"b":{"c":[2]},"d":4,"a":null})");
  REQUIRE(read(R"([{"a":1,"\u0061":2},[[{"x":{"x":1},"x":{"y":2}}]]])") == R"([{"a":2},[[{"x":{"y":2}}]]])");
  std::string many = "{";
  for (int i = 0; i < 200000; ++i) many += "\"a\":1,\"" + std::to_string(i) + "\":2,";
  REQUIRE(parse_json(many + "\"a\":3}", "")->MemberCount() == 200001);
}

}  // namespace
}  // namespace lodestep::harness
