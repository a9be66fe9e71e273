// Pairs of pages that are nearly equal and yet different states: none of them may ever be merged.
//   for (const Lookalike& pair : lookalikes()) ... pair.kind, pair.a, pair.b
// Threads: safe. At least 120 pairs: another option, a word of a title, a price, a page number, one object
// fewer, open or closed, one moved box, and the like.
#pragma once

#include <string>
#include <vector>

namespace lodestep::test {

struct Lookalike {
  std::string kind;
  std::string a, b;
};

std::vector<Lookalike> lookalikes();

// The actions that a page's buttons offer, sorted; pages without buttons have the same few each.
std::vector<std::string> actions_on(const std::string& page);

}  // namespace lodestep::test
