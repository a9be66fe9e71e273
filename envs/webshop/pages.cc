#include "envs/webshop/pages.h"

#include <algorithm>

#include "base/text.h"

namespace lodestep::webshop {
namespace {

constexpr std::string_view kSeparator = " [SEP] ";
constexpr std::string_view kBase = "http://127.0.0.1:3000";

enum class Node { kText, kButton, kLabel, kLink };

// The parser behind the original's text modes keeps a node of blanks as one blank, or drops it when it
// has a line feed; an empty text makes no node.
std::string_view collapse(std::string_view text) {
  if (text.empty()) return text;
  if (static_cast<unsigned char>(text.front()) > ' ') return text;
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; };
  if (!blank(text.front()) || !blank(text.back()) || !std::all_of(text.begin(), text.end(), blank))
    return text;
  return text.find('\n') != std::string_view::npos ? std::string_view() : std::string_view(" ");
}

Items sorted(Items items) {
  std::sort(items.begin(), items.end());
  return items;
}

// python_lower(text) == lower, without making it where the text is ASCII.
bool lowers_to(std::string_view text, std::string_view lower) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) >= 0x80) return python_lower(text) == lower;
    const char c = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] + 32) : text[i];
    if (i >= lower.size() || c != lower[i]) return false;
  }
  return text.size() == lower.size();
}

// The options on the done page: sorted, and safe inside HTML.
std::string dumped_for_html(const Items& options) {
  std::string out;
  for (const char c : json_dumps(sorted(options))) {
    switch (c) {
      case '\'': out += "\\u0027"; break;
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default: out += c;
    }
  }
  return out;
}

template <typename Sink>
class Walker {
 public:
  Walker(const Page& page, Sink& sink) : page_(page), session_(page.session), sink_(sink) {}

  void walk() {
    switch (session_.kind) {
      case PageKind::kIndex: return index();
      case PageKind::kResults: return results();
      case PageKind::kItem: return item();
      case PageKind::kSubPage: return sub_page();
      case PageKind::kDone: return done();
    }
  }

 private:
  Product product() const { return page_.shop.products()[*session_.product]; }
  void put(Node kind, std::string_view text) {
    if (const std::string_view node = collapse(text); !node.empty()) sink_.node(kind, node);
  }
  void text(std::string_view value) { put(Node::kText, value); }
  void button(std::string_view value) { put(Node::kButton, value); }
  void head() {
    text("Instruction:");
    text(page_.instruction);
    button("Back to Search");
  }

  void index() {
    text("WebShop");
    text("Instruction: ");
    text(page_.instruction);
    button("Search");
  }

  void results() {
    head();
    text("Page " + std::to_string(session_.page) + " (Total results: " + std::to_string(session_.hits) + ")");
    if (session_.page > 1) button("< Prev");
    button("Next >");
    for (const std::uint32_t listed : session_.listed) {
      const Product found = page_.shop.products()[listed];
      sink_.product = listed;
      put(Node::kLink, found.asin());
      text(found.title());
      text(found.price_text());
    }
  }

  void item() {
    head();
    button("< Prev");
    for (const ProductOption option : product().options()) {
      text(option.name);
      sink_.option = option.name;
      for (const std::string_view value : option.values) put(Node::kLabel, value);
    }
    text(product().title());
    text("Price: " + std::string(product().price_text()));
    text("Rating: N.A.");
    button("Description");
    button("Features");
    button("Reviews");
    if (page_.show_attributes) button("Attributes");
    button("Buy Now");
  }

  void sub_page() {
    head();
    button("< Prev");
    switch (session_.sub_page) {
      case SubPage::kDescription: return text(product().description());
      case SubPage::kFeatures:
        for (const std::string_view bullet : product().bullets()) text(" " + std::string(bullet));
        return;
      case SubPage::kReviews: return;  // never loaded
      case SubPage::kAttributes:
        for (const std::string_view attribute : product().attributes()) text(" " + std::string(attribute));
        text(product().category());
        text(product().query());
        text(product().product_category());
        return;
    }
  }

  void done() {
    static constexpr std::string_view kBefore[] = {
        "Thank you for shopping with us!",      "Your code: ", "None",
        " (Paste it in your MTurk interface.)", "Purchased",   "asin"};
    static constexpr std::string_view kAfter[] = {"attrs",
                                                  "None",
                                                  "category",
                                                  "None",
                                                  "query",
                                                  "None",
                                                  "product category",
                                                  "None",
                                                  "Target",
                                                  "asin",
                                                  "options",
                                                  "attrs",
                                                  "price upper",
                                                  "instuction text",
                                                  "category",
                                                  "product category",
                                                  "query",
                                                  "Goal ",
                                                  "None",
                                                  "Reward",
                                                  "Your score (min 0.0, max 1.0)"};
    for (const std::string_view node : kBefore) text(node);
    text(product().asin());
    text("options");
    text(dumped_for_html(session_.options));
    for (const std::string_view node : kAfter) text(node);
    text(python_repr(session_.reward));
    text("Reward Details ");
    text("None");
  }

  const Page& page_;
  const Session& session_;
  Sink& sink_;
};

struct TextSink {
  std::string out{};
  std::vector<std::size_t>* ends = nullptr;  // where each node ends in `out`, if asked for
  bool first = true;
  std::uint32_t product = 0;
  std::string_view option{};
  void node(Node, std::string_view text) {
    if (!first) out += kSeparator;
    first = false;
    out += python_strip(text);
    if (ends != nullptr) ends->push_back(out.size());
  }
};

struct RichSink {
  const Page& page;
  std::string marks{};  // empty: nothing can be marked
  std::string out{}, front{};
  std::vector<std::size_t>* ends = nullptr;
  std::uint32_t product = 0;
  std::string_view option{};

  bool chosen(std::string_view value) const {
    if (page.exact_marks) {
      const auto& options = page.session.options;
      return std::any_of(options.begin(), options.end(),
                         [&](const auto& item) { return item.first == option && item.second == value; });
    }
    if (marks.empty()) return false;
    return marks.find('"' + std::string(value) + '"') != std::string::npos;
  }
  void marked(std::string_view before, bool clicked, std::string_view text) {
    out += before;
    out += clicked ? std::string_view("[clicked button] ") : std::string_view("[button] ");
    out += text;
    out += clicked ? std::string_view(" [clicked button_]") : std::string_view(" [button_]");
  }
  void node(Node kind, std::string_view text) {
    switch (kind) {
      case Node::kText: out += text; break;
      case Node::kButton: marked("", false, text); break;
      case Node::kLabel: {
        const bool clicked = chosen(text);
        if (clicked) front = "You have clicked " + std::string(text) + ".\n" + front;
        marked("  ", clicked, text);
        break;
      }
      case Node::kLink: {
        const auto& visited = page.session.visited;
        marked("\n", std::binary_search(visited.begin(), visited.end(), product), text);
        break;
      }
    }
    out += '\n';
    if (ends != nullptr) ends->push_back(out.size() - 1);
  }
};

struct HtmlSink {
  const Page& page;
  std::string out{};
  std::uint32_t product = 0;
  std::string_view option{};

  static std::string escaped(std::string_view text) {
    std::string safe;
    for (const char c : text) {
      switch (c) {
        case '&': safe += "&amp;"; break;
        case '<': safe += "&lt;"; break;
        case '>': safe += "&gt;"; break;
        case '"': safe += "&#34;"; break;
        case '\'': safe += "&#39;"; break;
        default: safe += c;
      }
    }
    return safe;
  }
  void node(Node kind, std::string_view text) {
    const std::string safe = escaped(text);
    switch (kind) {
      case Node::kText: out += "<p>" + safe + "</p>\n"; break;
      case Node::kButton: out += "<button class=\"btn\">" + safe + "</button>\n"; break;
      case Node::kLink: out += "<a class=\"product-link\">" + safe + "</a>\n"; break;
      case Node::kLabel:
        out += "<input type=\"radio\" name=\"" + escaped(option) + "\" value=\"" + safe + "\"><label>" +
               safe + "</label>\n";
        break;
    }
  }
};

std::string plus_joined(std::string_view keywords) {
  std::string joined(keywords);
  std::replace(joined.begin(), joined.end(), ' ', '+');
  return joined;
}

const char* sub_page_name(SubPage sub_page) {
  switch (sub_page) {
    case SubPage::kDescription: return "Description";
    case SubPage::kFeatures: return "Features";
    case SubPage::kReviews: return "Reviews";
    case SubPage::kAttributes: return "Attributes";
  }
  return "";
}

// Where the original looks for a quoted label: in the page's URL. Without quotes in the keywords or the name
// only the options' part can have one.
std::string marks_of(const Page& page) {
  const Session& session = page.session;
  if (session.keywords.find('"') != std::string::npos || session.name.find('"') != std::string::npos)
    return page_url(page);
  return session.options.empty() ? "" : json_dumps(session.options);
}

RichSink rich_sink(const Page& page) {
  RichSink sink{page};
  sink.out.reserve(1000);  // most pages; the allocator keeps blocks of up to 1 KB at hand
  if (page.session.kind == PageKind::kItem) sink.marks = marks_of(page);
  return sink;
}

}  // namespace

const char* page_kind_name(PageKind kind) {
  switch (kind) {
    case PageKind::kIndex: return "index";
    case PageKind::kResults: return "results";
    case PageKind::kItem: return "item";
    case PageKind::kSubPage: return "sub_page";
    case PageKind::kDone: return "done";
  }
  return "index";
}

std::string page_url(const Page& page) {
  const Session& session = page.session;
  const std::string base(kBase);
  if (session.kind == PageKind::kIndex) return base + "/" + session.name;
  const std::string search = plus_joined(session.keywords) + "/" + std::to_string(session.page);
  if (session.kind == PageKind::kResults) return base + "/search_results/" + session.name + "/" + search;
  const std::string item =
      session.name + "/" + std::string(page.shop.products()[*session.product].asin()) + "/";
  switch (session.kind) {
    case PageKind::kItem: return base + "/item_page/" + item + search + "/" + json_dumps(session.options);
    case PageKind::kSubPage:
      return base + "/item_sub_page/" + item + search + "/" + sub_page_name(session.sub_page) + "/" +
             repr_dict(session.options);
    default: return base + "/done/" + item + repr_dict(session.options);
  }
}

std::string render(const Page& page, Mode mode) {
  switch (mode) {
    case Mode::kText: {
      TextSink sink;
      Walker(page, sink).walk();
      return std::move(sink.out);
    }
    case Mode::kTextRich: {
      RichSink sink = rich_sink(page);
      Walker(page, sink).walk();
      return sink.front.empty() ? std::move(sink.out) : sink.front + sink.out;
    }
    case Mode::kHtml: {
      HtmlSink sink{page};
      sink.out = "<!DOCTYPE html>\n<html><body>\n";
      if (has_search_bar(page)) sink.out += "<input id=\"search_input\">\n";
      Walker(page, sink).walk();
      return sink.out + "</body></html>\n";
    }
    case Mode::kUrl: return page_url(page);
  }
  return "";
}

std::vector<std::string> render_nodes(const Page& page, Mode mode) {
  std::vector<std::string> nodes;
  std::vector<std::size_t> ends;
  std::size_t at = 0;
  if (mode == Mode::kText) {
    TextSink sink;
    sink.ends = &ends;
    Walker(page, sink).walk();
    for (const std::size_t end : ends) {
      nodes.push_back(sink.out.substr(at, end - at));
      at = end + kSeparator.size();
    }
    return nodes;
  }
  RichSink sink = rich_sink(page);
  sink.ends = &ends;
  Walker(page, sink).walk();
  for (const std::string_view line : split(sink.front, '\n')) {
    if (!line.empty()) nodes.emplace_back(line);
  }
  for (const std::size_t end : ends) {
    nodes.push_back(sink.out.substr(at, end - at));
    at = end + 1;
  }
  return nodes;
}

std::string assemble(const std::vector<std::string>& nodes, Mode mode) {
  if (mode == Mode::kText) return join(nodes, kSeparator);
  std::string out;
  for (const std::string& node : nodes) out += node + "\n";
  return out;
}

bool has_search_bar(const Page& page) { return page.session.kind == PageKind::kIndex; }

std::vector<std::string> clickables(const Page& page) {
  const Session& session = page.session;
  std::vector<std::string> out;
  switch (session.kind) {
    case PageKind::kIndex: return {"search"};
    case PageKind::kDone: return {};
    case PageKind::kSubPage: return {"back to search", "< prev"};
    case PageKind::kResults:
      out = {"back to search"};
      if (session.page > 1) out.emplace_back("< prev");
      out.emplace_back("next >");
      for (const std::uint32_t listed : session.listed) {
        std::string asin = python_lower(page.shop.products()[listed].asin());
        if (std::find(out.begin(), out.end(), asin) == out.end()) out.push_back(std::move(asin));
      }
      return out;
    case PageKind::kItem:
      out = {"back to search", "< prev", "description", "features", "reviews"};
      if (page.show_attributes) out.emplace_back("attributes");
      out.emplace_back("buy now");
      for (const ProductOption option : page.shop.products()[*session.product].options()) {
        for (const std::string_view value : option.values) {
          if (std::find(out.begin(), out.end(), value) == out.end()) out.emplace_back(value);
        }
      }
      return out;
  }
  return out;
}

Target find_clickable(const Page& page, std::string_view text) {
  const Session& session = page.session;
  Target target;
  const auto button = [&](std::string_view name) {
    if (target.kind == Target::Kind::kNone && text == name) target.kind = Target::Kind::kButton;
  };
  if (session.kind == PageKind::kDone) return target;
  button(session.kind == PageKind::kIndex ? "search" : "back to search");
  if (session.kind == PageKind::kResults) {
    if (session.page > 1) button("< prev");
    button("next >");
    for (const std::uint32_t listed : session.listed) {
      if (!lowers_to(page.shop.products()[listed].asin(), text)) continue;
      target.kind = Target::Kind::kProduct;
      target.product = listed;
    }
  } else if (session.kind != PageKind::kIndex) {
    button("< prev");
  }
  if (session.kind != PageKind::kItem) return target;
  for (const std::string_view name : {"description", "features", "reviews", "buy now"}) button(name);
  if (page.show_attributes) button("attributes");
  // An option's input hides a button of the same text, and the last option with a value hides the others.
  const OptionList options = page.shop.products()[*session.product].options();
  for (std::size_t i = options.size(); i-- > 0;) {
    const ProductOption option = options[i];
    for (const std::string_view value : option.values) {
      if (value == text) return {Target::Kind::kOption, 0, option.name, value};
    }
  }
  return target;
}

PageKind routed_kind(const Page& page) {
  const Session& session = page.session;
  if (page.exact_marks) return session.kind;
  const auto mentions = [&](std::string_view name) {
    if (session.name.find(name) != std::string::npos || session.keywords.find(name) != std::string::npos)
      return true;
    if (session.product && page.shop.products()[*session.product].asin().find(name) != std::string::npos)
      return true;
    return std::any_of(session.options.begin(), session.options.end(), [&](const auto& item) {
      return item.first.find(name) != std::string::npos || item.second.find(name) != std::string::npos;
    });
  };
  if (session.kind == PageKind::kResults || session.kind == PageKind::kIndex ||
      session.kind == PageKind::kDone)
    return session.kind;
  if (mentions("search_results")) return PageKind::kResults;
  if (session.kind == PageKind::kSubPage && mentions("item_page")) return PageKind::kItem;
  return session.kind;
}

}  // namespace lodestep::webshop
