// `lodestep webshop import|search|score|goals`: the shop's data outside of episodes.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ostream>
#include <sstream>

#include "base/text.h"
#include "envs/webshop/analyzer.h"
#include "envs/webshop/catalogue_file.h"
#include "envs/webshop/import.h"
#include "envs/webshop/nouns.h"
#include "envs/webshop/planner.h"
#include "envs/webshop/webshop_settings.h"
#include "harness/internal/args.h"
#include "harness/internal/commands.h"
#include "harness/internal/json_lines.h"

namespace lodestep::harness {
namespace {

using webshop::Catalogue;
using webshop::Product;

// --- import ---------------------------------------------------------------------------------------

// A bar on standard error, on a terminal only.
webshop::Progress progress_bar(Io& io) {
  if (::isatty(STDERR_FILENO) == 0) return {};
  return [&io, last = std::uint64_t{101}](std::uint64_t done, std::uint64_t all) mutable {
    const std::uint64_t percent = all == 0 ? 100 : std::min<std::uint64_t>(100, done * 100 / all);
    if (percent == last) return;
    last = percent;
    io.err << "\rimport [" << std::string(percent / 2, '#') << std::string(50 - percent / 2, '.') << "] "
           << percent << " %" << (percent == 100 ? "\n" : "") << std::flush;
  };
}

Result<int> run_import(const std::vector<std::string>& words, Io& io) {
  Args args("webshop import", "Reads WebShop's JSON files and writes one catalogue with its search index.");
  webshop::ImportSources sources;
  std::int64_t limit = 0;
  bool json = false;
  args.option("--products", sources.products, "items_shuffle.json, .json.zst or .json.gz").required();
  args.option("--attributes", sources.attributes, "items_ins_v2.json: attributes and synthetic instructions")
      .required();
  args.option("--human-instructions", sources.human_instructions, "items_human_ins.json");
  args.option("--nouns", sources.nouns, "JSON lines {\"asin\",\"tokens\":[[text,part of speech]]}");
  args.option("--limit", limit, "first records of the product file only; 0 is all").range(0, INT64_MAX);
  args.option("--out", sources.out, "catalogue file to write").required();
  args.flag("--json", json, "one JSON document");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  sources.limit = static_cast<std::uint64_t>(limit);
  const Result<webshop::ImportReport> report = webshop::import_catalogue(sources, progress_bar(io));
  if (!report) return report.error();
  if (json) {
    io.out << "{\"catalogue\":" << json_quote(sources.out) << ",\"records\":" << report->records
           << ",\"products\":" << report->products << ",\"instructions\":" << report->instructions
           << ",\"human_instructions\":" << report->human << ",\"tagged\":" << report->tagged
           << ",\"digest\":" << json_quote(to_hex(report->digest)) << "}\n";
    return 0;
  }
  io.out << sources.out << ": " << report->products << " products of " << report->records << " records, "
         << report->instructions << " with a synthetic instruction, " << report->human
         << " human instructions, " << report->tagged << " with nouns; digest " << to_hex(report->digest)
         << '\n';
  return 0;
}

// --- search ---------------------------------------------------------------------------------------

std::string shortest(float value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

// An option has a letter after its dashes and no blank; anything else, "-" and "-5" too, is a word of the
// query.
bool is_option(const std::string& word) {
  const std::size_t dashes = word.find_first_not_of('-');
  return (dashes == 1 || dashes == 2) && dashes < word.size() && word[dashes] >= 'a' && word[dashes] <= 'z' &&
         word.find(' ') == std::string::npos;
}

Result<int> run_search(const std::vector<std::string>& words, Io& io) {
  // The query is any text, so it does not go through the option parser.
  std::vector<std::string> options, texts;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      texts.insert(texts.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    if (!is_option(words[i])) {
      texts.push_back(words[i]);
      continue;
    }
    options.push_back(words[i]);
    if (words[i] == "-k" && i + 1 < words.size()) options.push_back(words[++i]);
  }
  Args args("webshop search",
            "Ranks products: usage lodestep webshop search CATALOGUE QUERY [-k 50] [--json]");
  std::int64_t most = 50;
  bool json = false;
  args.option("-k", most, "at most so many hits").range(1, 1'000'000);
  args.flag("--json", json, "one JSON document: [{\"asin\",\"score\"}]");
  const Result<bool> go = args.parse(options, io);
  if (!go) return go.error();
  if (!*go) return 0;
  if (texts.size() != 2) {
    return Error{
        ErrorCode::kInvalidArgument,
        "search takes a catalogue and one query, " + std::to_string(texts.size()) + " words were given",
        "webshop search", "put the query in quotes: lodestep webshop search catalogue.db \"red mug\""};
  }
  const Result<std::shared_ptr<const Catalogue>> shop = webshop::open_catalogue(texts[0]);
  if (!shop) return shop.error();
  if (!is_valid_utf8(texts[1]))
    return Error{ErrorCode::kInvalidArgument, "the query is not valid UTF-8", "webshop search", ""};
  const Result<std::vector<webshop::Hit>> hits = (*shop)->index().search(
      {webshop::analyze(texts[1]), static_cast<std::size_t>(most), (*shop)->products().size()},
      (*shop)->asin_ranks());
  if (!hits) return hits.error();
  if (json) io.out << '[';
  const char* separator = "";
  for (const webshop::Hit& hit : *hits) {
    const Product product = (*shop)->products()[hit.product];
    if (json) {
      io.out << separator << "{\"asin\":" << json_quote(product.asin())
             << ",\"score\":" << shortest(hit.score) << '}';
      separator = ",";
    } else {
      io.out << product.asin() << '\t' << shortest(hit.score) << '\t' << product.title() << '\n';
    }
  }
  if (json) io.out << "]\n";
  return 0;
}

// --- score ----------------------------------------------------------------------------------------

// One purchase line, with everything that a Purchase borrows.
struct PurchaseLine {
  webshop::Wanted wanted;
  std::string packed;  // what was bought, where the catalogue does not have it
  Product product{nullptr};
  std::vector<std::string> nouns;
  double price = 0;
  std::vector<std::string> options;
  bool approximate = false;
};

Error bad_line(const std::string& what, const std::string& where) {
  return Error{ErrorCode::kBadData, what, where, ""};
}

Result<std::vector<std::string>> text_list(const rapidjson::Value& object, const char* name,
                                           const std::string& where) {
  const auto member = object.FindMember(name);
  std::vector<std::string> out;
  if (member == object.MemberEnd() || !member->value.IsArray())
    return bad_line(std::string("'") + name + "' must be a list of texts", where);
  for (const auto& item : member->value.GetArray()) {
    if (!item.IsString()) return bad_line(std::string("'") + name + "' must be a list of texts", where);
    out.emplace_back(item.GetString(), item.GetStringLength());
  }
  return out;
}

// Texts into fields, all of one object.
Status take_texts(const rapidjson::Value& object, const std::string& where,
                  const std::vector<std::pair<const char*, std::string*>>& fields) {
  for (const auto& [name, target] : fields) {
    Result<std::string> text = required_text(object, name, where);
    if (!text) return text.error();
    *target = std::move(*text);
  }
  return {};
}

Status read_goal(const rapidjson::Value& row, const std::string& where, webshop::Wanted& wanted) {
  const auto goal = row.FindMember("goal");
  if (goal == row.MemberEnd() || !goal->value.IsObject()) return bad_line("'goal' must be an object", where);
  const rapidjson::Value& fields = goal->value;
  if (Status s = take_texts(
          fields, where,
          {{"query", &wanted.query}, {"name", &wanted.name}, {"product_category", &wanted.product_category}});
      !s) {
    return s;
  }
  Result<std::vector<std::string>> attributes = text_list(fields, "attributes", where);
  if (!attributes) return attributes.error();
  if (attributes->empty()) return bad_line("a goal has at least one attribute", where);
  wanted.attributes = std::move(*attributes);
  const auto limit = fields.FindMember("price_upper");
  if (limit == fields.MemberEnd() || !limit->value.IsNumber())
    return bad_line("'price_upper' must be a number", where);
  wanted.price_upper = limit->value.GetDouble();
  const auto options = fields.FindMember("goal_options");
  if (options == fields.MemberEnd()) return bad_line("'goal_options' is missing", where);
  wanted.named_options = options->value.IsObject();
  if (!wanted.named_options) {
    Result<std::vector<std::string>> values = text_list(fields, "goal_options", where);
    if (!values) return values.error();
    for (std::string& value : *values) wanted.options.emplace_back("", std::move(value));
    return {};
  }
  for (const auto& option : options->value.GetObject()) {
    if (!option.value.IsString()) return bad_line("'goal_options' must have texts as values", where);
    wanted.options.emplace_back(std::string(option.name.GetString(), option.name.GetStringLength()),
                                std::string(option.value.GetString(), option.value.GetStringLength()));
  }
  return {};
}

Status read_bought(const rapidjson::Value& row, const std::string& where, const Catalogue& shop,
                   PurchaseLine& line, std::string& name) {
  const auto bought = row.FindMember("bought");
  if (bought == row.MemberEnd()) {
    const Result<std::string> asin = required_text(row, "asin", where);
    if (!asin) return asin.error();
    const std::optional<std::uint32_t> found = shop.find(*asin);
    if (!found) return Error{ErrorCode::kNotFound, "the catalogue has no product '" + *asin + "'", where, ""};
    line.product = shop.products()[*found];
    name = line.product.title();
    return {};
  }
  webshop::ProductRecord product;
  if (!bought->value.IsObject()) return bad_line("'bought' must be an object", where);
  if (Status s = take_texts(bought->value, where,
                            {{"query", &product.query},
                             {"name", &name},
                             {"product_category", &product.product_category},
                             {"Title", &product.title},
                             {"Description", &product.description}});
      !s) {
    return s;
  }
  Result<std::vector<std::string>> attributes = text_list(bought->value, "Attributes", where);
  if (!attributes) return attributes.error();
  Result<std::vector<std::string>> bullets = text_list(bought->value, "BulletPoints", where);
  if (!bullets) return bullets.error();
  product.attributes = std::move(*attributes);
  product.bullets = std::move(*bullets);
  line.packed = webshop::pack(product);
  line.product = Product(line.packed.data());
  return {};
}

// Nouns as the line gives them, else the catalogue's for that name, else the rule's.
Status read_nouns(const rapidjson::Value& row, const char* field, const std::string& where,
                  const Catalogue& shop, const std::string& name, std::vector<std::string>& nouns,
                  bool& approximate) {
  if (row.HasMember(field)) {
    Result<std::vector<std::string>> given = text_list(row, field, where);
    if (!given) return given.error();
    nouns = std::move(*given);
    return {};
  }
  const std::optional<std::uint32_t> known = shop.find_title(name);
  if (known && shop.products()[*known].nouns()) {
    nouns = shop.products()[*known].nouns()->copy();
  } else {
    nouns = webshop::nouns_by_rule(name);
    approximate = true;
  }
  return {};
}

Status read_purchase(const rapidjson::Value& row, const std::string& where, const Catalogue& shop,
                     PurchaseLine& line) {
  std::string name;
  if (Status s = read_goal(row, where, line.wanted); !s) return s;
  if (Status s = read_bought(row, where, shop, line, name); !s) return s;
  if (Status s =
          read_nouns(row, "nouns_goal", where, shop, line.wanted.name, line.wanted.nouns, line.approximate);
      !s)
    return s;
  if (Status s = read_nouns(row, "nouns_bought", where, shop, name, line.nouns, line.approximate); !s)
    return s;
  const auto price = row.FindMember("price");
  if (price == row.MemberEnd() || !price->value.IsNumber())
    return bad_line("'price' must be a number", where);
  line.price = price->value.GetDouble();
  const auto options = row.FindMember("options");
  if (options == row.MemberEnd() || !options->value.IsArray())
    return bad_line("'options' must be a list of [name, value]", where);
  for (const auto& option : options->value.GetArray()) {
    if (!option.IsArray() || option.Size() != 2 || !option[0].IsString() || !option[1].IsString()) {
      return bad_line("'options' must be a list of [name, value]", where);
    }
    line.options.emplace_back(option[1].GetString(), option[1].GetStringLength());
  }
  return {};
}

Result<int> run_score(const std::vector<std::string>& words, Io& io) {
  Args args("webshop score", "Scores purchases: every part of each reward.");
  std::string path, in, fuzzy = "difflib";
  args.positional("CATALOGUE", path, "made by lodestep webshop import").required();
  args.option("--in", in, "JSON lines {goal, asin or bought, options, price}; - is standard input")
      .required();
  args.option("--fuzzy", fuzzy, "string scores: difflib or indel");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  if (fuzzy != "difflib" && fuzzy != "indel") {
    return Error{ErrorCode::kInvalidArgument, "--fuzzy must be difflib or indel, not '" + fuzzy + "'",
                 "webshop score", ""};
  }
  const Result<std::shared_ptr<const Catalogue>> shop = webshop::open_catalogue(path);
  if (!shop) return shop.error();
  std::string out;  // printed when every line was good
  const Status done =
      for_each_json_line(in, io, [&](const rapidjson::Value& row, const std::string& where) -> Status {
        PurchaseLine line;
        if (Status s = read_purchase(row, where, **shop, line); !s) return s;
        webshop::RewardInfo info = webshop::score_purchase(
            {webshop::as_bought(line.product, line.nouns), &line.wanted, line.price, line.options,
             fuzzy == "indel" ? webshop::Fuzzy::kIndel : webshop::Fuzzy::kDifflib});
        info.approximate = line.approximate;
        out += "{\"reward\":" + python_repr(info.reward) + ",\"info\":" + webshop::to_json(info) + "}\n";
        return {};
      });
  if (!done) return done.error();
  io.out << out;
  return 0;
}

// --- goals ----------------------------------------------------------------------------------------

// "A:B", either end may be left out; B is not included.
Result<std::pair<std::size_t, std::size_t>> parse_range(const std::string& text, std::size_t count) {
  if (text.empty()) return std::pair(std::size_t{0}, count);
  const std::size_t colon = text.find(':');
  const std::optional<std::uint64_t> first =
      colon == 0 ? std::optional<std::uint64_t>(0) : parse_uint(text.substr(0, colon));
  const std::optional<std::uint64_t> last = colon != std::string::npos && colon + 1 < text.size()
                                                ? parse_uint(text.substr(colon + 1))
                                                : std::optional<std::uint64_t>(count);
  if (colon == std::string::npos || !first || !last || *first > *last) {
    return Error{ErrorCode::kInvalidArgument, "--range must be A:B with A not above B, not '" + text + "'",
                 "webshop goals", "such as --range 0:500"};
  }
  return std::pair(std::min<std::size_t>(*first, count), std::min<std::size_t>(*last, count));
}

std::string goal_json(const webshop::GoalTable& goals, std::size_t number, const webshop::Goal& goal,
                      const std::optional<double>& best) {
  std::string options = goal.wanted.named_options ? "{" : "[";
  for (const auto& [name, value] : goal.wanted.options) {
    if (options.size() > 1) options += ',';
    if (goal.wanted.named_options) options += json_quote(name) + ":";
    options += json_quote(value);
  }
  options += goal.wanted.named_options ? '}' : ']';
  const double limit = goal.wanted.price_upper;
  return "{\"i\":" + std::to_string(number) +
         ",\"goal\":" + std::to_string(goals.in_session(static_cast<std::uint32_t>(number))) +
         ",\"asin\":" + json_quote(goals.catalogue().products()[goal.product].asin()) +
         ",\"instruction_text\":" + json_quote(goal.instruction) +
         ",\"attributes\":" + json_array(goal.wanted.attributes) +
         ",\"price_upper\":" + (limit == webshop::kNoLimit ? "1000000" : python_repr(limit)) +
         ",\"goal_options\":" + options +
         ",\"weight\":" + (goals.settings().human ? "1" : python_repr(goal.weight)) +
         (best ? ",\"best_reward\":" + python_repr(*best) : "") + "}";
}

Result<int> run_goals(const std::vector<std::string>& words, Io& io) {
  Args args("webshop goals", "Lists goals in session order, with the best reward that each can earn.");
  std::string path, range;
  Settings settings;
  bool json = false, no_best = false;
  args.positional("CATALOGUE", path, "made by lodestep webshop import").required();
  args.settings(settings, "variant, seed, human_goals, num_products, shuffle_seed as for the environment");
  args.option("--range", range, "A:B, sessions A to B-1");
  args.flag("--no-best", no_best, "leave the best reachable reward out, which is the slow part");
  args.flag("--json", json, "one JSON document: a list of goals");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  const Result<webshop::Rules> rules = webshop::parse_rules(settings);
  if (!rules) return rules.error();
  const Result<std::shared_ptr<const Catalogue>> shop = webshop::open_catalogue(path);
  if (!shop) return shop.error();
  const auto made = webshop::GoalTable::make(*shop, rules->goals);
  if (!made) return made.error();
  const webshop::GoalTable& goals = **made;
  const Result<std::pair<std::size_t, std::size_t>> span = parse_range(range, goals.size());
  if (!span) return span.error();
  if (json) io.out << "[";
  for (std::size_t number = span->first; number < span->second; ++number) {
    webshop::Goal goal = goals.goal(goals.in_session(static_cast<std::uint32_t>(number)));
    std::optional<double> best;
    if (!no_best) {
      bool approximate = false;
      goal.wanted.nouns = goals.nouns(goal.wanted.name, approximate);
      best = webshop::best_purchase(goals, goal, rules->fuzzy).reward;
    }
    if (json) {
      io.out << (number == span->first ? "\n" : ",\n") << goal_json(goals, number, goal, best);
    } else {
      io.out << "session/" << number << "\tgoal/" << goals.in_session(static_cast<std::uint32_t>(number))
             << '\t' << (best ? python_repr(*best) : "-") << '\t' << goal.instruction << '\n';
    }
    if (!io.out) break;
  }
  if (json) io.out << "\n]\n";
  return 0;
}

}  // namespace

Result<int> run_webshop(const std::vector<std::string>& words, Io& io) {
  struct Part {
    std::string name, summary;
    Result<int> (*run)(const std::vector<std::string>& words, Io& io);
  };
  static const std::vector<Part> parts{
      {"import", "reads WebShop's JSON files into one catalogue", &run_import},
      {"search", "ranks products for a query", &run_search},
      {"score", "scores purchases", &run_score},
      {"goals", "lists goals in session order", &run_goals}};
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h")) {
    io.out << "usage: lodestep webshop import|search|score|goals [ARG...]\n\n";
    for (const Part& part : parts) io.out << "  " << part.name << "  " << part.summary << '\n';
    return 0;
  }
  std::vector<std::string> names;
  for (const Part& part : parts) {
    if (!words.empty() && words[0] == part.name) return part.run({words.begin() + 1, words.end()}, io);
    names.push_back(part.name);
  }
  const std::string near = words.empty() ? "" : nearest_word(words[0], names);
  return Error{ErrorCode::kInvalidArgument,
               words.empty() ? "webshop needs a word after it"
                             : "webshop has no '" + words[0] + "'" +
                                   (near.empty() ? "" : "; did you mean '" + near + "'?"),
               "", "one of " + join(names, ", ")};
}

}  // namespace lodestep::harness
