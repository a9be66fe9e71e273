#include "canonicalizer/rules.h"

#include <re2/re2.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <unordered_map>

#include "base/text.h"
#include "canonicalizer/guard.h"
#include "canonicalizer/normal_form.h"

namespace lodestep::canonicalizer {

struct RuleSet::Rule {
  std::function<std::string(std::string)> apply;
};

namespace {

struct Preset {
  const char* name;
  const char* rules;
};

// Boards keep their inner spaces, shops their page numbers and product codes.
constexpr Preset kSets[] = {
    {"default", "nfc\nspace\ncase\ntimes\ncounters\nids\nbanners\n"},
    {"sokoban", "nfc\ntimes\ncounters\nbanners\nreplace (?m)[ \\t]+$ => \n"},
    {"alfworld", "nfc\nspace\ncase\ntimes\ncounters\nbanners\nlists\n"},
    {"webshop", "nfc\nspace\ncase\ntimes\ncounters\nbanners\n"},
};

// Rules that are short names for others.
constexpr Preset kNamed[] = {
    {"times",
     R"(replace (?i)(?:\b(?:last updated|as of|at|updated)\b:? ?)*\b(?:\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?|\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?)(?: ?[ap]m\b)?(?: ?(?:utc|gmt|z)\b)? => )"},
    {"counters",
     "replace (?i)\\b(step|turn|move|round|tick)(s?)( no\\.?| number| #|:)? *#?\\d+(?: ?(?:/|of) ?\\d+)?\\b "
     "=> \\1 #\n"
     "replace (?i)\\b\\d+ (step|turn|move|round)s? (left|remaining|taken|used|so far)\\b => # \\1 \\2\n"
     "replace (?i)\\b[\\d,]+ (people|visitors|viewers|shoppers|users|customers)\\b => # \\1\n"
     "replace (?i)\\b(people|visitors|viewers|shoppers|users|customers)( today| online| now)?: ?[\\d,]+ => "
     "\\1\\2: #\n"},
    {"ids",
     "replace (?i)\\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\\b => #\n"
     "replace (?i)\\b((?:session|request|trace|transaction)(?:[ _-]?id)?) ?[:=#] ?[\\w-]+ => \\1 #\n"},
    {"banners",
     "drop (?i)[\\W_]*(?:advertisement|ad|sponsored|promoted|promotion)\\b.*\n"
     "drop \\*{3,}.*\\*{3,}\n"
     "drop (?i)we use cookies.*\n"},
    {"lists", "sort-list (?i)(?:you see|on it,?|in it,?|:) ([^:]*,[^:]*?)\\.?$\n"},
};

std::string each_line(const std::string& text, const std::function<bool(std::string&)>& keep) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) {
    std::string kept(line);
    if (keep(kept)) lines.push_back(std::move(kept));
  }
  return join(lines, "\n");
}

// "a pen 1, a book 2, and a mug 3" with its items in order.
std::string sorted_list(std::string_view list) {
  static const RE2 kBorder(R"(,? and |, )");
  std::vector<std::string> items;
  re2::StringPiece left(list.data(), list.size());
  while (true) {
    re2::StringPiece border;
    if (!kBorder.Match(left, 0, left.size(), RE2::UNANCHORED, &border, 1)) break;
    items.emplace_back(left.data(), static_cast<std::size_t>(border.data() - left.data()));
    left.remove_prefix(static_cast<std::size_t>(border.data() - left.data()) + border.size());
  }
  items.emplace_back(left.data(), left.size());
  std::sort(items.begin(), items.end());
  return join(items, ", ");
}

Result<std::shared_ptr<const RE2>> compile(std::string_view pattern, const std::string& where) {
  RE2::Options options(RE2::Quiet);
  auto compiled = std::make_shared<const RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (compiled->ok()) return compiled;
  return Error{ErrorCode::kBadData, "bad regular expression: " + compiled->error(), where,
               "the syntax is RE2's"};
}

Result<std::function<std::string(std::string)>> parse_rule(std::string_view line, const std::string& where) {
  using Apply = std::function<std::string(std::string)>;
  if (line == "nfc") return Apply([](const std::string& text) { return to_nfc(text); });
  if (line == "case") return Apply([](const std::string& text) { return fold_case(text); });
  if (line == "space") {
    return Apply([](const std::string& text) {
      return each_line(text, [](std::string& piece) { return !(piece = collapse_space(piece)).empty(); });
    });
  }
  const std::size_t blank = std::min(line.find(' '), line.size());
  const std::string_view verb = line.substr(0, blank);
  std::string_view rest = line.substr(std::min(blank + 1, line.size()));
  if (verb == "replace") {
    const std::size_t arrow = rest.rfind(" =>");
    if (arrow == std::string_view::npos) {
      return Error{ErrorCode::kBadData, "replace needs \"PATTERN => TEXT\"", where, ""};
    }
    std::string with(rest.substr(arrow + 3));
    if (with.starts_with(' ')) with.erase(0, 1);
    const Result<std::shared_ptr<const RE2>> pattern = compile(rest.substr(0, arrow), where);
    if (!pattern) return pattern.error();
    std::string wrong;
    if (!(*pattern)->CheckRewriteString(with, &wrong)) return Error{ErrorCode::kBadData, wrong, where, ""};
    return Apply([pattern = *pattern, with](std::string text) {
      RE2::GlobalReplace(&text, *pattern, with);
      return text;
    });
  }
  if (verb == "drop") {
    const Result<std::shared_ptr<const RE2>> pattern = compile(rest, where);
    if (!pattern) return pattern.error();
    return Apply([pattern = *pattern](const std::string& text) {
      return each_line(text, [&](std::string& piece) { return !RE2::FullMatch(piece, *pattern); });
    });
  }
  if (verb == "sort-list") {
    const Result<std::shared_ptr<const RE2>> pattern = compile(rest, where);
    if (!pattern) return pattern.error();
    if ((*pattern)->NumberOfCapturingGroups() != 1) {
      return Error{ErrorCode::kBadData, "sort-list needs one group: the list", where, ""};
    }
    return Apply([pattern = *pattern](const std::string& text) {
      return each_line(text, [&](std::string& piece) {
        re2::StringPiece found[2];
        if ((*pattern).Match(piece, 0, piece.size(), RE2::UNANCHORED, found, 2) &&
            found[1].data() != nullptr) {
          const auto at = static_cast<std::size_t>(found[1].data() - piece.data());
          const std::size_t size = found[1].size();
          piece.replace(at, size, sorted_list(std::string_view(piece).substr(at, size)));
        }
        return true;
      });
    });
  }
  if (verb == "sort-lines") {
    const Result<std::shared_ptr<const RE2>> pattern = compile(rest, where);
    if (!pattern) return pattern.error();
    return Apply([pattern = *pattern](const std::string& text) {
      std::vector<std::string> lines;
      for (const std::string_view piece : split(text, '\n')) lines.emplace_back(piece);
      const auto matches = [&](const std::string& piece) { return RE2::FullMatch(piece, *pattern); };
      for (auto from = lines.begin(); from != lines.end();) {
        from = std::find_if(from, lines.end(), matches);
        const auto to = std::find_if_not(from, lines.end(), matches);
        std::sort(from, to);
        from = to;
      }
      return join(lines, "\n");
    });
  }
  std::vector<std::string> known{"nfc", "case", "space", "replace", "drop", "sort-list", "sort-lines"};
  for (const Preset& named : kNamed) known.emplace_back(named.name);
  const std::string near = nearest_word(verb, known);
  return Error{
      ErrorCode::kBadData,
      "unknown rule \"" + std::string(verb) + "\"" + (near.empty() ? "" : "; did you mean \"" + near + "\"?"),
      where, "known: " + join(known, ", ")};
}

}  // namespace

Result<RuleSet> RuleSet::parse(std::string_view text, const std::string& where) {
  RuleSet set;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (trim(line).empty() || line.starts_with('#')) continue;
    const std::string place = where + " line " + std::to_string(number);
    const auto named = std::find_if(std::begin(kNamed), std::end(kNamed),
                                    [&](const Preset& preset) { return trim(line) == preset.name; });
    if (named != std::end(kNamed)) {
      const Result<RuleSet> rules = parse(named->rules, place);
      if (!rules) return rules.error();
      set.rules_.insert(set.rules_.end(), rules->rules_.begin(), rules->rules_.end());
      continue;
    }
    auto rule = parse_rule(line, place);
    if (!rule) return rule.error();
    set.rules_.push_back(std::make_shared<const Rule>(Rule{*std::move(rule)}));
  }
  return set;
}

std::vector<std::string> RuleSet::names() {
  std::vector<std::string> names;
  for (const Preset& preset : kSets) names.emplace_back(preset.name);
  return names;
}

Result<RuleSet> RuleSet::open(const std::string& name_or_path) {
  for (const Preset& preset : kSets) {
    if (name_or_path == preset.name) return parse(preset.rules, name_or_path);
  }
  std::ifstream file(name_or_path, std::ios::binary);
  if (!file) {
    return Error{ErrorCode::kNotFound, "no such set of rules and no such file", name_or_path,
                 "known sets: " + join(names(), ", ")};
  }
  return parse(std::string(std::istreambuf_iterator<char>(file), {}), name_or_path);
}

std::string RuleSet::apply(std::string_view text) const {
  std::string out(text);
  for (const std::shared_ptr<const Rule>& rule : rules_) out = rule->apply(std::move(out));
  return out;
}

namespace {

class RulesMatcher : public Matcher {
 public:
  RulesMatcher(RuleSet rules, Guard guard) : rules_(std::move(rules)), guard_(guard) {}

  Result<Matching> match(std::span<const PageView> batch) override {
    Matching matching;
    matching.notes = notes_on(guard_, batch);
    std::unordered_map<Hash128, Hash128, ContainerHash> rewritten;  // text -> what is left of it
    for (const PageView& view : batch) {
      const auto [known, is_new] = rewritten.try_emplace(hash128(view.text));
      if (is_new) known->second = hash128(rules_.apply(view.text));
      matching.keys.push_back(key_of(view, guard_hash(guard_, view), known->second));
    }
    return matching;
  }

 private:
  RuleSet rules_;
  Guard guard_;
};

}  // namespace

MatcherKind rules_kind() {
  return {"rules",
          "equal text after rewriting: counters, times, case and the like",
          {{"rules", "default", "a set (" + join(RuleSet::names(), ", ") + ") or a file of rules", {}},
           guard_option()},
          [](const Options& options) -> Result<std::unique_ptr<Matcher>> {
            Result<RuleSet> rules = RuleSet::open(options.text("rules"));
            if (!rules) return rules.error();
            return std::unique_ptr<Matcher>(
                std::make_unique<RulesMatcher>(*std::move(rules), parse_guard(options)));
          }};
}

}  // namespace lodestep::canonicalizer
