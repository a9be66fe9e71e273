// What a shopper sees and may click: one session's place in the shop, rendered as the original's pages.
//   Session session; session.kind = PageKind::kItem; ...
//   std::string text = render({shop, session, instruction, show_attrs}, Mode::kTextRich);
// Threads: values and pure functions. A Page borrows all it names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envs/webshop/catalogue.h"
#include "envs/webshop/unicode.h"

namespace lodestep::webshop {

enum class Mode { kText, kTextRich, kHtml, kUrl };
enum class PageKind : std::uint8_t { kIndex, kResults, kItem, kSubPage, kDone };
enum class SubPage : std::uint8_t { kDescription, kFeatures, kReviews, kAttributes };

const char* page_kind_name(PageKind kind);  // "index", "results", "item", "sub_page", "done"

struct Session {
  std::string name;        // session id, part of every URL
  std::uint32_t goal = 0;  // position in the goal table
  PageKind kind = PageKind::kIndex;
  SubPage sub_page = SubPage::kDescription;
  std::string keywords;   // lower-case, words separated by single blanks
  std::int64_t page = 0;  // of the results
  std::optional<std::uint32_t> product;
  Items options;                       // chosen (name, value), by first click
  std::vector<std::uint32_t> visited;  // products opened since the last Back to Search, ascending
  std::vector<std::uint32_t> listed;   // products on this results page
  std::uint64_t hits = 0;              // of the search behind it
  double reward = 0;                   // on the done page
  bool operator==(const Session&) const = default;
};

struct Page {
  const Catalogue& shop;
  const Session& session;
  std::string_view instruction;
  bool show_attributes = false;
  bool exact_marks = false;  // mark what is chosen, where the original marks what its URL happens to contain
};

std::string render(const Page& page, Mode mode);
// The same as separate nodes, for kText and kTextRich; assembled they are what render gives.
std::vector<std::string> render_nodes(const Page& page, Mode mode);
std::string assemble(const std::vector<std::string>& nodes, Mode mode);
std::string page_url(const Page& page);

// The original's order; duplicates collapse onto the first position. Lower-case.
std::vector<std::string> clickables(const Page& page);
bool has_search_bar(const Page& page);

// What a clickable stands for.
struct Target {
  enum class Kind { kNone, kButton, kProduct, kOption } kind = Kind::kNone;
  std::uint32_t product = 0;  // kProduct
  std::string_view option;    // kOption: name
  std::string_view value;
};
Target find_clickable(const Page& page, std::string_view text);

// The page name that the original reads out of its URL, by substring: a query with "item_page" in it
// changes what < Prev does.
PageKind routed_kind(const Page& page);

}  // namespace lodestep::webshop
