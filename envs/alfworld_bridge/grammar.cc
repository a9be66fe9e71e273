#include "envs/alfworld_bridge/grammar.h"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"

namespace lodestep::alfworld {
namespace {

constexpr std::string_view kTaskMark = "\xEE\x80\x80";  // U+E000, private use: no game text has it

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_rule_name(char c) {
  return is_word(c) || std::string_view("()/!<>-,. ").find(c) != std::string_view::npos;
}

// Walks over one text.
struct Cursor {
  std::string_view text;
  std::size_t at = 0;
  bool end() const { return at >= text.size(); }
  char peek() const { return end() ? '\0' : text[at]; }
  void blanks() {
    while (!end() && is_blank(text[at])) ++at;
  }
  bool take(std::string_view word) {
    if (text.substr(at, word.size()) != word) return false;
    at += word.size();
    return true;
  }
  std::string_view word() {
    const std::size_t begin = at;
    while (!end() && is_word(text[at])) ++at;
    return text.substr(begin, at - begin);
  }
};

class GrammarParser {
 public:
  GrammarParser(std::string_view text, const Domain& domain, const std::string& where)
      : cursor_{text}, domain_(domain), where_(where) {}

  Result<Grammar> parse() {
    if (Status status = sections(); !status) return status.error();
    if (Status status = find_rules(); !status) return status.error();
    if (Status status = check_reached(); !status) return status.error();
    std::sort(grammar_.reads.begin(), grammar_.reads.end());
    std::sort(grammar_.reads_removed.begin(), grammar_.reads_removed.end());
    return std::move(grammar_);
  }

 private:
  struct Spelling {
    std::string name, command, feedback;
    std::size_t line = 0;
  };

  // 1. The container: grammar blocks and actions.

  std::size_t line_at(std::size_t at) const {
    return 1 + static_cast<std::size_t>(std::count(
                   cursor_.text.begin(), cursor_.text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }
  Error fail(ErrorCode code, const std::string& message, std::size_t line) const {
    return {code, message, where_ + " line " + std::to_string(line), ""};
  }
  Error bad(const std::string& message) const {
    return fail(ErrorCode::kBadData, message, line_at(std::min(cursor_.at, cursor_.text.size())));
  }

  void space() {
    while (true) {
      cursor_.blanks();
      if (cursor_.peek() != '#') return;
      while (!cursor_.end() && cursor_.peek() != '\n') ++cursor_.at;
    }
  }

  Status expect(std::string_view word) {
    space();
    if (cursor_.take(word)) return {};
    return bad("expected '" + std::string(word) + "'");
  }

  Result<std::string_view> string() {
    space();
    const std::string_view quote = cursor_.take("\"\"\"") ? "\"\"\"" : cursor_.take("\"") ? "\"" : "";
    if (quote.empty()) return bad("expected a string");
    const std::size_t begin = cursor_.at;
    const std::size_t close = cursor_.text.find(quote, begin);
    if (close == std::string_view::npos) return bad("a string that does not end");
    cursor_.at = close + quote.size();
    return cursor_.text.substr(begin, close - begin);
  }

  Status field(std::string_view& value) {
    if (Status status = expect("::"); !status) return status;
    Result<std::string_view> text = string();
    if (!text) return text.error();
    value = *text;
    return expect(";");
  }

  Status sections() {
    for (space(); !cursor_.end(); space()) {
      const std::string_view word = cursor_.word();
      std::string_view text;
      if (word == "grammar") {
        if (Status status = field(text); !status) return status;
        if (Status status = rules(text); !status) return status;
      } else if (word == "action") {
        if (Status status = action(); !status) return status;
      } else {
        return fail(ErrorCode::kUnsupported, "unsupported grammar section '" + std::string(word) + "'",
                    line_at(cursor_.at));
      }
    }
    return {};
  }

  Status action() {
    space();
    Spelling spelling;
    spelling.line = line_at(cursor_.at);
    spelling.name = ascii_lower(cursor_.word());
    if (spelling.name.empty()) return bad("an action without a name");
    if (Status status = expect("{"); !status) return status;
    for (space(); !cursor_.take("}"); space()) {
      const std::string_view key = cursor_.word();
      std::string_view text;
      if (key != "template" && key != "feedback" && key != "grammar") {
        return fail(ErrorCode::kUnsupported,
                    "unsupported field '" + std::string(key) + "' in action " + spelling.name,
                    line_at(cursor_.at));
      }
      if (Status status = field(text); !status) return status;
      if (key == "template") spelling.command = std::string(text);
      if (key == "feedback") spelling.feedback = std::string(text);
      if (key == "grammar") {
        if (Status status = rules(text); !status) return status;
      }
    }
    spellings_[spelling.name] = spelling;
    return {};
  }

  // Lines that start with '#' are comments; they are blanked so that offsets and lines stay.
  static std::string without_comments(std::string_view text) {
    std::string out(text);
    for (std::size_t begin = 0; begin < out.size();) {
      std::size_t end = out.find('\n', begin);
      if (end == std::string::npos) end = out.size();
      const std::size_t first = out.find_first_not_of(" \t\r", begin);
      if (first < end && out[first] == '#')
        std::fill(out.begin() + static_cast<std::ptrdiff_t>(begin),
                  out.begin() + static_cast<std::ptrdiff_t>(end), ' ');
      begin = end + 1;
    }
    return out;
  }

  Status rules(std::string_view text) {
    const std::size_t first_line = line_at(static_cast<std::size_t>(text.data() - cursor_.text.data()));
    rapidjson::Document json;
    const std::string clean = without_comments(text);
    json.Parse<rapidjson::kParseIterativeFlag>(clean.data(), clean.size());
    if (json.HasParseError()) {
      const std::size_t offset = std::min(json.GetErrorOffset(), clean.size());
      const auto newlines =
          std::count(clean.begin(), clean.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
      return fail(ErrorCode::kBadData,
                  std::string("grammar is not JSON: ") + rapidjson::GetParseError_En(json.GetParseError()),
                  first_line + static_cast<std::size_t>(newlines));
    }
    if (!json.IsObject())
      return fail(ErrorCode::kBadData, "a grammar block must be a JSON object", first_line);
    for (const auto& member : json.GetObject()) {
      const std::string name(member.name.GetString(), member.name.GetStringLength());
      const std::size_t found = clean.find("\"" + name + "\"");
      const std::size_t upto = std::min(found, clean.size());
      const std::size_t line =
          first_line + static_cast<std::size_t>(std::count(
                           clean.begin(), clean.begin() + static_cast<std::ptrdiff_t>(upto), '\n'));
      if (!member.value.IsArray())
        return fail(ErrorCode::kBadData, "rule '" + name + "' must be a list of alternatives", line);
      Result<std::uint16_t> index = rule_index(name);
      if (!index) return index.error();
      Rule rule{name, line, {}};
      for (const auto& item : member.value.GetArray()) {
        if (!item.IsObject())
          return fail(ErrorCode::kUnsupported, "an alternative of rule '" + name + "' that is not an object",
                      line);
        Alternative alternative;
        bool has_text = false;
        for (const auto& part : item.GetObject()) {
          const std::string_view key(part.name.GetString(), part.name.GetStringLength());
          if (key == "weight") continue;  // the original reads it and does not use it
          if ((key != "rhs" && key != "condition") || !part.value.IsString()) {
            return fail(ErrorCode::kUnsupported,
                        "unsupported '" + std::string(key) + "' in rule '" + name + "'", line);
          }
          const std::string_view value(part.value.GetString(), part.value.GetStringLength());
          if (key == "rhs") {
            has_text = true;
            if (Status status = right_hand_side(value, alternative); !status) return status;
          } else {
            alternative.conditional = true;
            if (Status status = query(value, alternative.condition, alternative); !status) return status;
          }
        }
        if (!has_text)
          return fail(ErrorCode::kBadData, "an alternative of rule '" + name + "' has no rhs", line);
        rule.alternatives.push_back(std::move(alternative));
      }
      grammar_.rules[*index] = std::move(rule);
    }
    return {};
  }

  Result<std::uint16_t> rule_index(const std::string& name) {
    const auto [found, fresh] = rule_of_.emplace(name, grammar_.rules.size());
    if (fresh) {
      if (grammar_.rules.size() == 5000)
        return fail(ErrorCode::kUnsupported, "more than 5000 grammar rules",
                    line_at(std::min(cursor_.at, cursor_.text.size())));
      grammar_.rules.push_back({name, 0, {}});
    }
    return static_cast<std::uint16_t>(found->second);
  }

  // 2. Right-hand sides. What cannot be read is noted in `fault` and refused only where it is reached.

  Status right_hand_side(std::string_view raw, Alternative& out) {
    std::string text;
    for (std::size_t i = 0; i < raw.size(); ++i) {  // backslash and n mean a new line here too
      if (raw[i] == '\\' && i + 1 < raw.size() && raw[i + 1] == 'n') {
        text += '\n';
        ++i;
      } else {
        text += raw[i];
      }
    }
    Cursor at{text};
    at.blanks();
    while (!at.end() && out.fault.empty()) {
      if (Status status = symbol(at, out); !status) return status;
    }
    return {};
  }

  void add_text(Alternative& out, std::string_view text) {
    if (!out.symbols.empty() && out.symbols.back().kind == Symbol::Kind::kText) {
      out.symbols.back().text += text;
    } else {
      Symbol symbol;
      symbol.text = std::string(text);
      out.symbols.push_back(std::move(symbol));
    }
  }

  static void fault(Alternative& out, const std::string& message, bool unsupported) {
    if (!out.fault.empty()) return;
    out.fault = message;
    out.unsupported = unsupported;
  }

  Status symbol(Cursor& at, Alternative& out) {
    const char c = at.peek();
    if (c == '#') {
      const std::size_t close = at.text.find('#', at.at + 1);
      const std::string_view name =
          close == std::string_view::npos ? std::string_view() : at.text.substr(at.at + 1, close - at.at - 1);
      if (name.empty() || !std::all_of(name.begin(), name.end(), is_rule_name)) {
        fault(out, "a stray '#'", false);
        return {};
      }
      at.at = close + 1;
      Result<std::uint16_t> rule = rule_index(std::string(name));
      if (!rule) return rule.error();
      Symbol symbol;
      symbol.kind = Symbol::Kind::kRule;
      symbol.rule = *rule;
      out.symbols.push_back(std::move(symbol));
      return {};
    }
    if (c == '[' || c == '{') {
      const std::size_t open = at.at + (c == '[' ? 1 : 0);
      const std::size_t close = at.text.find('}', open);
      const bool closed = close != std::string_view::npos && at.text[open] == '{' &&
                          (c == '{' || (close + 1 < at.text.size() && at.text[close + 1] == ']'));
      if (!closed) {
        fault(out, std::string("a stray '") + c + "'", false);
        return {};
      }
      const std::string_view inner = at.text.substr(open + 1, close - open - 1);
      at.at = close + (c == '[' ? 2 : 1);
      return value(inner, c == '[', out);
    }
    static constexpr std::string_view kStray = ";|\"<>]}";
    const std::size_t begin = at.at;
    while (!at.end() && at.peek() != '#' && at.peek() != '[' && at.peek() != '{') {
      if (kStray.find(at.peek()) != std::string_view::npos) {
        fault(out, std::string("a stray '") + at.peek() + "'", false);
        break;
      }
      if (at.peek() == '\t') fault(out, "a tab", true);
      if (at.text.substr(at.at, 2) == "//") fault(out, "a '//' comment", true);
      ++at.at;
    }
    std::string_view text = at.text.substr(begin, at.at - begin);
    for (std::size_t mark = text.find(kTaskMark); mark != std::string_view::npos;
         mark = text.find(kTaskMark)) {
      if (mark > 0) add_text(out, text.substr(0, mark));
      Symbol task;
      task.kind = Symbol::Kind::kTask;
      out.symbols.push_back(std::move(task));
      text.remove_prefix(mark + kTaskMark.size());
    }
    if (!text.empty()) add_text(out, text);
    return {};
  }

  // The inside of {...}: an expression or a rule, perhaps '|' and a query.
  Status value(std::string_view inner, bool list, Alternative& out) {
    Symbol symbol;
    symbol.kind = Symbol::Kind::kValue;
    symbol.list = list;
    std::string_view left = inner;
    if (const std::size_t bar = inner.find('|'); bar != std::string_view::npos) {
      left = inner.substr(0, bar);
      symbol.queried = true;
      if (Status status = query(inner.substr(bar + 1), symbol.query, out); !status) return status;
    } else if (list) {
      fault(out, "a list without a query", true);
    }
    left = trim(left);
    if (left.size() > 2 && left.front() == '#' && left.back() == '#' &&
        std::all_of(left.begin() + 1, left.end() - 1, is_rule_name)) {
      Result<std::uint16_t> rule = rule_index(std::string(left.substr(1, left.size() - 2)));
      if (!rule) return rule.error();
      symbol.kind = Symbol::Kind::kRule;
      symbol.rule = *rule;
    } else if (!expression(left, symbol.choices)) {
      fault(out, "the expression '" + std::string(left) + "'", true);
    }
    out.symbols.push_back(std::move(symbol));
    return {};
  }

  // sum := part {'+' part}; expression := sum {'or' sum}
  bool expression(std::string_view text, std::vector<Sum>& choices) {
    Cursor at{text};
    choices.emplace_back();
    while (true) {
      at.blanks();
      Part part;
      if (at.take("'")) {
        const std::size_t close = text.find('\'', at.at);
        if (close == std::string_view::npos) return false;
        part.text = std::string(text.substr(at.at, close - at.at));
        at.at = close + 1;
      } else {
        const std::string name(at.word());
        if (name.empty() || (name[0] >= '0' && name[0] <= '9') || name == "or") return false;
        const std::string_view attribute = at.take(".") ? at.word() : std::string_view("name");
        if (attribute == "name") {
          part.kind = Part::Kind::kName;
        } else if (attribute == "id") {
          part.kind = Part::Kind::kId;
        } else if (attribute == "indefinite" || attribute == "definite") {
          part.text = attribute == "definite" ? "the" : "a";  // never "an"
        } else {
          return false;
        }
        part_names_.push_back(name);
        part.slots.push_back(
            static_cast<std::uint8_t>(part_names_.size() > 250 ? 250 : part_names_.size() - 1));
        if (part_names_.size() > 250) return false;
      }
      Sum& sum = choices.back();
      if (part.slots.empty() && !sum.empty() && sum.back().slots.empty()) {
        sum.back().text += part.text;
      } else {
        sum.push_back(std::move(part));
      }
      at.blanks();
      if (at.end()) return true;
      if (at.take("+")) continue;
      if (at.word() != "or") return false;
      choices.emplace_back();
    }
  }

  Status query(std::string_view text, Query& out, Alternative& owner) {
    Cursor at{text};
    while (true) {
      at.blanks();
      std::string_view name = at.word();
      at.blanks();
      if (name.empty() || !at.take("(")) return query_fault(text, owner);
      QueryAtom atom;
      if (name.substr(0, 4) == "not_") {
        atom.removed = true;
        name.remove_prefix(4);
      }
      atom.predicate = domain_.find_predicate(name);
      at.blanks();
      while (!at.take(")")) {
        at.blanks();
        const std::string_view variable = at.word();
        at.blanks();
        std::string_view type;
        if (at.take(":")) {
          at.blanks();
          type = at.word();
        }
        at.blanks();
        if (variable.empty() || type.empty() || (at.peek() != ')' && !at.take(",")))
          return query_fault(text, owner);
        if (atom.arity == kMaxArity) return query_fault(text, owner);
        Result<std::uint8_t> slot = slot_index(variable, type);
        if (!slot) return slot.error();
        atom.slots[atom.arity++] = *slot;
      }
      if (atom.predicate >= 0 &&
          domain_.predicates[static_cast<std::size_t>(atom.predicate)].arity != atom.arity) {
        fault(owner, "'" + std::string(name) + "' with " + std::to_string(atom.arity) + " arguments", false);
      }
      out.push_back(atom);
      at.blanks();
      if (at.end()) return {};
      if (!at.take("&")) return query_fault(text, owner);
    }
  }

  Status query_fault(std::string_view text, Alternative& owner) {
    fault(owner, "the condition '" + std::string(text) + "'", true);
    return {};
  }

  Result<std::uint8_t> slot_index(std::string_view name, std::string_view type) {
    const std::int16_t index = domain_.find_type(ascii_lower(type));
    for (std::size_t i = 0; i < grammar_.slots.size(); ++i) {
      if (grammar_.slots[i].name == name && grammar_.slots[i].type == index)
        return static_cast<std::uint8_t>(i);
    }
    if (grammar_.slots.size() == kMaxSlots) {
      return fail(ErrorCode::kUnsupported, "more than 48 different placeholders",
                  line_at(std::min(cursor_.at, cursor_.text.size())));
    }
    grammar_.slots.push_back({std::string(name), index});
    return static_cast<std::uint8_t>(grammar_.slots.size() - 1);
  }

  // 3. Resolution: required rules, wordings, and what can be reached from them.

  Result<std::uint16_t> required(const std::string& name) const {
    const auto found = rule_of_.find(name);
    if (found == rule_of_.end() || grammar_.rules[found->second].alternatives.empty()) {
      return fail(ErrorCode::kBadData, "the grammar has no rule '" + name + "'", 1);
    }
    return static_cast<std::uint16_t>(found->second);
  }

  Status find_rules() {
    for (const auto& [name, target] : {std::pair<const char*, std::uint16_t*>{"intro", &grammar_.intro},
                                       {"list_empty", &grammar_.list_empty},
                                       {"list_separator", &grammar_.list_separator},
                                       {"list_last_separator", &grammar_.list_last_separator}}) {
      const Result<std::uint16_t> rule = required(name);
      if (!rule) return rule.error();
      *target = *rule;
    }
    for (const Action& action : domain_.actions) {
      const auto found = spellings_.find(action.name);
      if (found == spellings_.end()) {
        return fail(ErrorCode::kBadData, "the grammar has no wording for action '" + action.name + "'", 1);
      }
      Wording wording;
      for (const auto& [text, target] :
           {std::pair<const std::string&, std::uint16_t*>{found->second.command, &wording.command},
            {found->second.feedback, &wording.feedback}}) {
        *target = static_cast<std::uint16_t>(grammar_.rules.size());
        Rule rule{"action " + action.name, found->second.line, {}};
        rule.alternatives.emplace_back();
        if (Status status = right_hand_side(text, rule.alternatives[0]); !status) return status;
        grammar_.rules.push_back(std::move(rule));
      }
      for (std::size_t i = 0; i < action.parameters; ++i) {
        const Variable& variable = action.precondition.variables[i];
        const std::string type =
            variable.type == kAnyType ? "object" : domain_.types[static_cast<std::size_t>(variable.type)];
        Result<std::uint8_t> slot = slot_index(variable.name, type);
        if (!slot) return slot.error();
        wording.slots.push_back(*slot);
      }
      grammar_.wordings.push_back(std::move(wording));
    }
    // Names in expressions become slots, now that all slots are known.
    for (Rule& rule : grammar_.rules) {
      for (Alternative& alternative : rule.alternatives) {
        for (Symbol& symbol : alternative.symbols) {
          for (Sum& sum : symbol.choices) {
            for (Part& part : sum) {
              if (part.slots.empty()) continue;
              const std::string& name = part_names_[part.slots[0]];
              part.slots.clear();
              for (std::size_t i = 0; i < grammar_.slots.size(); ++i) {
                if (grammar_.slots[i].name == name) part.slots.push_back(static_cast<std::uint8_t>(i));
              }
              if (part.slots.empty()) fault(alternative, "the unbound name '" + name + "'", false);
            }
          }
        }
      }
    }
    return {};
  }

  using Bound = std::uint64_t;  // bit i: slot i has a constant

  Status check_reached() {
    if (Status status = reach(grammar_.intro, 0); !status) return status;
    for (const std::uint16_t rule :
         {grammar_.list_empty, grammar_.list_separator, grammar_.list_last_separator}) {
      if (Status status = reach(rule, 0); !status) return status;
    }
    for (const Wording& wording : grammar_.wordings) {
      Bound bound = 0;
      for (const std::uint8_t slot : wording.slots) bound |= Bound{1} << slot;
      for (const std::uint16_t rule : {wording.command, wording.feedback}) {
        if (Status status = reach(rule, bound); !status) return status;
      }
    }
    return {};
  }

  void note_reads(const Query& query) {
    for (const QueryAtom& atom : query) {
      if (atom.predicate < 0) continue;
      std::vector<std::uint16_t>& list = atom.removed ? grammar_.reads_removed : grammar_.reads;
      const auto predicate = static_cast<std::uint16_t>(atom.predicate);
      if (std::find(list.begin(), list.end(), predicate) == list.end()) list.push_back(predicate);
    }
  }

  static Bound bound_by(const Query& query) {
    Bound bound = 0;
    for (const QueryAtom& atom : query) {
      for (std::size_t i = 0; i < atom.arity; ++i) bound |= Bound{1} << atom.slots[i];
    }
    return bound;
  }

  // Everything an expansion of this rule can touch: faults, unbound names, endless recursion.
  Status reach(std::uint16_t index, Bound bound) {
    const Rule& rule = grammar_.rules[index];
    if (std::find(path_.begin(), path_.end(), index) != path_.end()) {
      return fail(ErrorCode::kUnsupported, "rule '" + rule.name + "' leads back to itself", rule.line);
    }
    if (!seen_.emplace(index, bound).second) return {};
    if (seen_.size() > 20000) return fail(ErrorCode::kUnsupported, "a grammar with too many paths", 1);
    if (rule.alternatives.empty()) {
      return fail(ErrorCode::kBadData, "the grammar has no rule '" + rule.name + "'", 1);
    }
    if (path_.size() == 200) return fail(ErrorCode::kUnsupported, "rules nested too deeply", rule.line);
    if (std::all_of(rule.alternatives.begin(), rule.alternatives.end(),
                    [](const Alternative& one) { return one.conditional; })) {
      // The original stops with an error when no alternative fits; the data always has a last resort.
      return fail(ErrorCode::kUnsupported,
                  "rule '" + rule.name + "' without an unconditional last alternative", rule.line);
    }
    path_.push_back(index);
    for (const Alternative& alternative : rule.alternatives) {
      if (!alternative.fault.empty()) {
        return fail(alternative.unsupported ? ErrorCode::kUnsupported : ErrorCode::kBadData,
                    "rule '" + rule.name + "' uses " + alternative.fault, rule.line);
      }
      note_reads(alternative.condition);
      for (const Symbol& symbol : alternative.symbols) {
        note_reads(symbol.query);
        const Bound inner = bound | bound_by(symbol.query);
        if (symbol.kind == Symbol::Kind::kRule) {
          if (Status status = reach(symbol.rule, inner); !status) return status;
        }
        for (const Sum& sum : symbol.choices) {
          for (const Part& part : sum) {
            if (part.slots.empty()) continue;
            const bool known = std::any_of(part.slots.begin(), part.slots.end(),
                                           [&](std::uint8_t slot) { return (inner >> slot & 1) != 0; });
            if (!known) {
              return fail(ErrorCode::kBadData,
                          "rule '" + rule.name + "' uses '" + grammar_.slots[part.slots[0]].name +
                              "', which is not bound there",
                          rule.line);
            }
          }
        }
      }
      if (!alternative.conditional) break;  // later ones are never chosen
    }
    path_.pop_back();
    return {};
  }

  Cursor cursor_;
  const Domain& domain_;
  const std::string& where_;
  Grammar grammar_;
  std::map<std::string, std::size_t> rule_of_;
  std::map<std::string, Spelling> spellings_;
  std::vector<std::string> part_names_;  // names in expressions, until slots are known
  std::set<std::pair<std::uint16_t, Bound>> seen_;
  std::vector<std::uint16_t> path_;
};

}  // namespace

SplitGrammar split_task(std::string_view text) {
  constexpr std::string_view kKey = "\"task\"";
  const std::size_t key = text.find(kKey);
  if (key == std::string_view::npos || text.find(kKey, key + 1) != std::string_view::npos ||
      text.find(kTaskMark) != std::string_view::npos) {
    return {std::string(text), ""};
  }
  Cursor at{text, key + kKey.size()};
  for (const std::string_view piece : {":", "[", "{", "\"rhs\"", ":", "\""}) {
    at.blanks();
    if (!at.take(piece)) return {std::string(text), ""};
  }
  const std::size_t begin = at.at;
  const std::size_t end = text.find('"', begin);
  if (end == std::string_view::npos || end == begin) return {std::string(text), ""};
  const std::string_view task = text.substr(begin, end - begin);
  at.at = end + 1;
  for (const std::string_view piece : {"}", "]"}) {
    at.blanks();
    if (!at.take(piece)) return {std::string(text), ""};
  }
  const bool plain = !is_blank(task[0]) && task.find("//") == std::string_view::npos &&
                     std::all_of(task.begin(), task.end(), [](char c) {
                       return static_cast<unsigned char>(c) >= 0x20 &&
                              std::string_view(";|<>[]#{}\\").find(c) == std::string_view::npos;
                     });
  if (!plain) return {std::string(text), ""};
  std::string frame(text.substr(0, begin));
  frame += kTaskMark;
  frame += text.substr(end);
  return {std::move(frame), std::string(task)};
}

Result<Grammar> parse_grammar(std::string_view text, const Domain& domain, const std::string& where) {
  return GrammarParser(text, domain, where).parse();
}

}  // namespace lodestep::alfworld
