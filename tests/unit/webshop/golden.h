// Golden JSON lines for the tests of this folder.
#pragma once

#include <rapidjson/document.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "tests/support/shared_data.h"

namespace lodestep::webshop {

inline std::string text_of(const rapidjson::Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

// Calls `check` with every line; false when the file is not there.
inline bool each_line(const std::string& path, const std::function<void(const rapidjson::Document&)>& check) {
  const std::optional<std::string> text = test::read_shared(path);
  if (!text) {
    test::skip(path);
    return false;
  }
  for (const std::string_view line : test::lines(*text)) {
    rapidjson::Document document;
    document.Parse<rapidjson::kParseFullPrecisionFlag>(line.data(), line.size());
    LODESTEP_CHECK(!document.HasParseError());
    check(document);
  }
  return true;
}

}  // namespace lodestep::webshop
