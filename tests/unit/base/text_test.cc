#include <catch2/catch.hpp>

#include <limits>

#include "base/options.h"
#include "base/text.h"

namespace lodestep {
namespace {

TEST_CASE("strip knows Python's white space and no more") {
  CHECK(python_strip(" \t look \n") == "look");
  CHECK(python_strip("\u00a0\u3000look\u2003") == "look");
  CHECK(python_strip("\u200blook") == "\u200blook");
  CHECK(python_strip(" \xff ") == "\xff");
  CHECK(python_strip("   ").empty());
}

TEST_CASE("repr is Python's") {
  CHECK(python_repr(12.99) == "12.99");
  CHECK(python_repr(1299) == "1299.0");
  CHECK(python_repr(0.0001) == "0.0001");
  CHECK(python_repr(0.00001) == "1e-05");
  CHECK(python_repr(1e16) == "1e+16");
  CHECK(python_repr(-0.0) == "-0.0");
  CHECK(python_repr(0.1 + 0.2) == "0.30000000000000004");
}

TEST_CASE("UTF-8 is checked to the letter") {
  CHECK(decode_utf8("a\u00e9\u4e2d\U0001f44d")->size() == 4);
  for (const std::string bad : {"\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "\xe4\xb8"}) {
    CHECK_FALSE(is_valid_utf8(bad));
    CHECK(json_quote(bad).find("\ufffd") != std::string::npos);
  }
  CHECK(encode_utf8(*decode_utf8("\u20ac x")) == "\u20ac x");
}

TEST_CASE("JSON text") {
  CHECK(json_quote("a\"b\\\n\x01") == "\"a\\\"b\\\\\\n\\u0001\"");
  CHECK(json_number(0.1) == "0.1");
  CHECK(json_number(-3) == "-3");
  CHECK(json_number(std::numeric_limits<double>::quiet_NaN()) == "null");
  CHECK(json_array({"a", "b"}) == "[\"a\",\"b\"]");
}

TEST_CASE("base64 round trip, strict decoding") {
  for (const std::string bytes : {"", "a", "ab", "abc", "\xff\x01"}) {
    CHECK(base64_decode(base64_encode(bytes)) == bytes);
  }
  CHECK_FALSE(base64_decode("YQ="));
  CHECK_FALSE(base64_decode("YR=="));
  CHECK_FALSE(base64_decode("Y!=="));
}

TEST_CASE("options refuse what they do not know") {
  const std::vector<OptionSpec> specs{{"rewards", "gym", "", {"gym", "sparse"}}, {"limit", "3", "", {}}};
  const Result<Options> unknown = Options::parse("game", specs, {{"rewadrs", "gym"}});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().message == "unknown option 'rewadrs' for game; did you mean 'rewards'?");
  CHECK(unknown.error().hint == "known options: limit, rewards");
  CHECK_FALSE(Options::parse("game", specs, {{"rewards", "none"}}));
  const Result<Options> options = Options::parse("game", specs, {{"limit", "9"}, {"limit", "11"}});
  REQUIRE(options);
  CHECK(options->text("rewards") == "gym");
  CHECK(*options->integer("limit", 0, 20) == 11);
  CHECK_FALSE(options->integer("limit", 0, 10));
}

}  // namespace
}  // namespace lodestep
