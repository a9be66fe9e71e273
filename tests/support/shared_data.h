// Golden and real data that lives beside the project, not in it.
//   const auto text = test::read_shared("golden/webshop/units.jsonl.zst");
//   if (!text) { test::skip("golden/webshop/units.jsonl.zst"); return; }
// The folder is $LODESTEP_SHARED, else ../shared from where the tests run. `.zst` files come unpacked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lodestep::test {

std::string shared_path(const std::string& relative);
std::optional<std::string> read_shared(const std::string& relative);  // nullopt when it is not there
void skip(const std::string& relative);                               // says so on standard error
std::vector<std::string_view> lines(std::string_view text);           // without the empty last one

}  // namespace lodestep::test
