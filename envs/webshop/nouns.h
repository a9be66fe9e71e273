// The built-in rule for the nouns of a title, used where a catalogue has no table of them.
//   std::vector<std::string> nouns = nouns_by_rule("6PCS Thick Pasta Sauce with Case");
// Threads: a pure function. Approximate by design: the original asks a statistical tagger. Against it, the
// type part of rewards agrees in about 98 of 100 recorded purchases (docs/webshop.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lodestep::webshop {

std::vector<std::string> nouns_by_rule(std::string_view title);  // lower-case, in order, repeats kept

}  // namespace lodestep::webshop
