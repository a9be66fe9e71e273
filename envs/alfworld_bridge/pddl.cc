#include "envs/alfworld_bridge/pddl.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/hash.h"
#include "base/text.h"

namespace lodestep::alfworld {
namespace {

constexpr std::size_t kMaxDepth = 60;     // nested parentheses
constexpr std::size_t kMaxCases = 512;    // of a condition in normal form
constexpr std::size_t kMaxNames = 30000;  // constants, predicates, types

// A word, or a parenthesised list of nodes.
struct Node {
  std::string_view word;
  std::vector<Node> items;
  std::size_t line = 0;
  bool list = false;
  bool is(std::string_view text) const { return !list && word == text; }
  std::string_view head() const {
    return list && !items.empty() && !items[0].list ? items[0].word : std::string_view();
  }
};

class Reader {
 public:
  Reader(std::string_view lower, std::string where) : text_(lower), where_(std::move(where)) {}

  // The next word or parenthesis; empty at the end.
  std::string_view next() {
    skip();
    if (at_ == text_.size()) return {};
    const std::size_t begin = at_;
    if (text_[at_] == '(' || text_[at_] == ')') return text_.substr(at_++, 1);
    while (at_ < text_.size() && !is_border(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::string_view peek() {
    const std::size_t at = at_;
    const std::size_t line = line_;
    const std::string_view word = next();
    at_ = at;
    line_ = line;
    return word;
  }

  Result<Node> node(std::size_t depth = 0) {
    const std::string_view word = next();
    Node node;
    node.line = line_;
    if (word.empty()) return bad("the text ends inside a list");
    if (word == ")") return bad("unexpected ')'");
    if (word != "(") {
      node.word = word;
      return node;
    }
    if (depth >= kMaxDepth) return bad("lists are nested too deeply");
    node.list = true;
    while (peek() != ")") {
      Result<Node> item = this->node(depth + 1);
      if (!item) return item.error();
      node.items.push_back(std::move(*item));
    }
    next();
    return node;
  }

  Status expect(std::string_view wanted) {
    const std::string_view word = next();
    if (word == wanted) return {};
    return bad("expected '" + std::string(wanted) + "' but found '" + std::string(word) + "'");
  }

  std::size_t line() const { return line_; }
  Error bad(const std::string& message) const { return bad(message, line_); }
  Error bad(const std::string& message, std::size_t line) const {
    return {ErrorCode::kBadData, message, where_ + " line " + std::to_string(line), ""};
  }
  Error unsupported(const std::string& construct, std::size_t line) const {
    return {ErrorCode::kUnsupported, "unsupported PDDL construct: " + construct,
            where_ + " line " + std::to_string(line), "docs/alfworld.md lists the constructs in use"};
  }

 private:
  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  static bool is_border(char c) { return c <= ';' && (is_space(c) || c == '(' || c == ')' || c == ';'); }
  void skip() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') {
        ++line_;
        ++at_;
      } else if (is_space(text_[at_])) {
        ++at_;
      } else if (text_[at_] == ';') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  std::string where_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

std::int16_t type_index(Domain& domain, std::string_view type) {
  const std::int16_t known = domain.find_type(type);
  if (known >= kAnyType) return known;
  domain.types.emplace_back(type);
  return static_cast<std::int16_t>(domain.types.size() - 1);
}

// "a b - t c" -> names with types; `declare` adds a variable or a name.
template <typename Declare>
Status typed_list(Reader& reader, const std::vector<Node>& items, std::size_t first, Declare declare) {
  std::vector<const Node*> waiting;
  for (std::size_t i = first; i < items.size(); ++i) {
    if (items[i].list) return reader.bad("expected a name in a typed list", items[i].line);
    if (!items[i].is("-")) {
      waiting.push_back(&items[i]);
      continue;
    }
    if (++i == items.size()) return reader.bad("'-' without a type after it", items[i - 1].line);
    if (items[i].list) {
      return reader.unsupported(
          items[i].head().empty() ? "a list as type" : std::string(items[i].head()) + " as type",
          items[i].line);
    }
    for (const Node* name : waiting) {
      if (Status status = declare(*name, items[i].word); !status) return status;
    }
    waiting.clear();
  }
  for (const Node* name : waiting) {
    if (Status status = declare(*name, "object"); !status) return status;
  }
  return {};
}

// Reads conditions and effects of one action or goal; variables get numbers, scopes are innermost first.
class FormulaReader {
 public:
  // `growing` is the domain itself while it is read (types that nobody declared are added), else null.
  FormulaReader(Reader& reader, const Domain& domain, Domain* growing)
      : reader_(reader), domain_(domain), growing_(growing) {}

  Status declare(const Node& name, std::string_view type) {
    if (name.word.size() < 2 || name.word[0] != '?') {
      return reader_.bad("expected a variable but found '" + std::string(name.word) + "'", name.line);
    }
    if (formula_.variables.size() == kMaxVariables)
      return reader_.unsupported("more than 24 variables", name.line);
    std::int16_t index = domain_.find_type(type);
    if (index < kAnyType) index = growing_ != nullptr ? type_index(*growing_, type) : kNobody;
    scope_.emplace_back(name.word.substr(1), formula_.variables.size());
    formula_.variables.push_back({std::string(name.word.substr(1)), index});
    return {};
  }

  Result<std::vector<Conjunction>> condition(const Node& node) {
    if (!node.list)
      return reader_.bad("expected a condition but found '" + std::string(node.word) + "'", node.line);
    if (node.items.empty()) return std::vector<Conjunction>(1);
    const std::string_view head = node.head();
    if (head == "and") return all_of(node);
    if (head == "or") {
      std::vector<Conjunction> cases;
      for (std::size_t i = 1; i < node.items.size(); ++i) {
        Result<std::vector<Conjunction>> part = condition(node.items[i]);
        if (!part) return part.error();
        std::move(part->begin(), part->end(), std::back_inserter(cases));
        if (cases.size() > kMaxCases)
          return reader_.unsupported("a condition with too many alternatives", node.line);
      }
      return cases;
    }
    if (head == "exists") return exists(node);
    if (head == "not") {
      if (node.items.size() != 2) return reader_.bad("'not' takes one condition", node.line);
      const Node& inner = node.items[1];
      const std::string_view word = inner.head();
      if (word == "and" || word == "or" || word == "not" || word == "exists" || word == "forall" ||
          word == "imply" || (inner.list && inner.items.empty())) {
        return reader_.unsupported("'not' before a compound condition", node.line);
      }
      Result<Literal> literal = this->literal(inner, true);
      if (!literal) return literal.error();
      literal->positive = false;
      return std::vector<Conjunction>{{{*literal}, {}}};
    }
    Result<Literal> literal = this->literal(node, false);
    if (!literal) return literal.error();
    return std::vector<Conjunction>{{{*literal}, {}}};
  }

  Status effect(const Node& node, std::vector<Effect>& effects) {
    if (!node.list)
      return reader_.bad("expected an effect but found '" + std::string(node.word) + "'", node.line);
    if (node.items.empty()) return {};
    const std::string_view head = node.head();
    if (head == "and") {
      for (std::size_t i = 1; i < node.items.size(); ++i) {
        if (Status status = effect(node.items[i], effects); !status) return status;
      }
      return {};
    }
    if (head == "increase") return {};  // costs do not influence play
    if (head == "when") return when(node, effects);
    Result<Literal> change = signed_literal(node, "effect");
    if (!change) return change.error();
    effects.push_back({*change, false, {}});
    return {};
  }

  Formula& formula() { return formula_; }

 private:
  static constexpr std::int16_t kNobody = 32767;  // a type without members

  Result<std::vector<Conjunction>> all_of(const Node& node) {
    std::vector<Conjunction> cases(1);
    for (std::size_t i = 1; i < node.items.size(); ++i) {
      Result<std::vector<Conjunction>> part = condition(node.items[i]);
      if (!part) return part.error();
      if (cases.size() * part->size() > kMaxCases) {
        return reader_.unsupported("a condition with too many alternatives", node.line);
      }
      std::vector<Conjunction> product;
      for (const Conjunction& left : cases) {
        for (const Conjunction& right : *part) {
          Conjunction both = left;
          both.literals.insert(both.literals.end(), right.literals.begin(), right.literals.end());
          both.witnesses.insert(both.witnesses.end(), right.witnesses.begin(), right.witnesses.end());
          product.push_back(std::move(both));
        }
      }
      cases = std::move(product);
    }
    return cases;
  }

  Result<std::vector<Conjunction>> exists(const Node& node) {
    if (node.items.size() != 3 || !node.items[1].list) {
      return reader_.bad("'exists' takes a list of variables and one condition", node.line);
    }
    const std::size_t outer = scope_.size();
    const std::size_t first = formula_.variables.size();
    const Status declared =
        typed_list(reader_, node.items[1].items, 0,
                   [this](const Node& name, std::string_view type) { return declare(name, type); });
    if (!declared) return declared.error();
    const std::size_t last = formula_.variables.size();
    Result<std::vector<Conjunction>> cases = condition(node.items[2]);
    scope_.resize(outer);
    if (!cases) return cases;
    for (Conjunction& one : *cases) {
      for (std::size_t v = first; v < last; ++v) one.witnesses.push_back(static_cast<std::uint16_t>(v));
    }
    return cases;
  }

  Status when(const Node& node, std::vector<Effect>& effects) {
    if (node.items.size() != 3) return reader_.bad("'when' takes a condition and an effect", node.line);
    const Node& test = node.items[1];
    const std::string_view head = test.head();
    if (head == "and" || head == "or" || head == "exists" || head == "forall" || head == "imply") {
      return reader_.unsupported("'when' with a compound condition", node.line);
    }
    Result<Literal> condition = signed_literal(test, "condition of 'when'");
    if (!condition) return condition.error();
    std::vector<Effect> inner;
    if (Status status = effect(node.items[2], inner); !status) return status;
    for (Effect& one : inner) {
      if (one.conditional) return reader_.unsupported("'when' inside 'when'", node.line);
      effects.push_back({one.change, true, *condition});
    }
    return {};
  }

  Result<Literal> signed_literal(const Node& node, const std::string& role) {
    if (node.head() != "not") return literal(node, false);
    if (node.items.size() != 2) return reader_.bad("'not' takes one atom", node.line);
    const std::string_view word = node.items[1].head();
    if (word == "and" || word == "or" || word == "not" || word == "=") {
      return reader_.unsupported("'not " + std::string(word) + "' as " + role, node.line);
    }
    Result<Literal> inner = literal(node.items[1], false);
    if (inner) inner->positive = false;
    return inner;
  }

  Result<Literal> literal(const Node& node, bool inside_not) {
    const std::string_view head = node.head();
    if (head.empty()) return reader_.bad("expected an atom", node.line);
    Literal literal;
    if (head == "=") {
      if (!inside_not) return reader_.unsupported("'=' outside 'not'", node.line);
      if (node.items.size() != 3) return reader_.bad("'=' takes two arguments", node.line);
      for (const Node& item : node.items) {
        if (item.list) return reader_.unsupported("a numeric condition", node.line);
      }
    } else {
      literal.predicate = domain_.find_predicate(head);
      if (literal.predicate < 0) {
        static constexpr std::string_view kKnown[] = {
            "forall",     "imply", "preference", "either", "when", "assign",   "decrease", "scale-up",
            "scale-down", ">",     "<",          ">=",     "<=",   "increase", "at",       "over"};
        if (std::find(std::begin(kKnown), std::end(kKnown), head) != std::end(kKnown)) {
          return reader_.unsupported("'" + std::string(head) + "'", node.line);
        }
        return reader_.bad("unknown predicate '" + std::string(head) + "'", node.line);
      }
      const std::size_t arity = domain_.predicates[static_cast<std::size_t>(literal.predicate)].arity;
      if (node.items.size() - 1 != arity) {
        return reader_.bad("'" + std::string(head) + "' takes " + std::to_string(arity) + " arguments",
                           node.line);
      }
    }
    literal.arity = static_cast<std::uint8_t>(node.items.size() - 1);
    for (std::size_t i = 1; i < node.items.size(); ++i) {
      Result<Term> term = this->term(node.items[i]);
      if (!term) return term.error();
      literal.args[i - 1] = *term;
    }
    return literal;
  }

  Result<Term> term(const Node& node) {
    if (node.list) return reader_.unsupported("a function as argument", node.line);
    if (node.word[0] == '?') {
      const std::string_view name = node.word.substr(1);
      const auto found =
          std::find_if(scope_.rbegin(), scope_.rend(), [&](const auto& one) { return one.first == name; });
      if (found == scope_.rend())
        return reader_.bad("unknown variable '" + std::string(node.word) + "'", node.line);
      return Term{true, static_cast<std::uint16_t>(found->second)};
    }
    std::vector<std::string>& constants = formula_.constants;
    auto found = std::find(constants.begin(), constants.end(), node.word);
    if (found == constants.end()) found = constants.insert(constants.end(), std::string(node.word));
    return Term{false, static_cast<std::uint16_t>(found - constants.begin())};
  }

  Reader& reader_;
  const Domain& domain_;
  Domain* growing_;
  Formula formula_;
  std::vector<std::pair<std::string_view, std::size_t>> scope_;
};

class DomainParser {
 public:
  explicit DomainParser(Reader& reader) : reader_(reader) {}

  Result<Domain> parse() {
    Result<Node> root = reader_.node();
    if (!root) return root.error();
    if (root->head() != "define" || root->items.size() < 2 || root->items[1].head() != "domain" ||
        root->items[1].items.size() != 2) {
      return reader_.bad("expected '(define (domain NAME) ...)'", root->line);
    }
    if (!reader_.next().empty()) return reader_.bad("text after the domain");
    domain_.name = std::string(root->items[1].items[1].word);
    // Types and predicates first: actions may be written before them.
    for (const char* wanted : {":types", ":predicates", ":action"}) {
      for (std::size_t i = 2; i < root->items.size(); ++i) {
        const Node& section = root->items[i];
        if (section.head() == wanted) {
          if (Status status = read(section); !status) return status.error();
        }
      }
    }
    for (std::size_t i = 2; i < root->items.size(); ++i) {
      const Node& section = root->items[i];
      const std::string_view head = section.head();
      if (head.empty()) return reader_.bad("expected a section of the domain", section.line);
      if (head != ":types" && head != ":predicates" && head != ":action" && head != ":requirements" &&
          head != ":functions") {
        return reader_.unsupported("section '" + std::string(head) + "'", section.line);
      }
    }
    for (const Action& action : domain_.actions) {
      for (const Effect& effect : action.effects) {
        domain_.predicates[static_cast<std::size_t>(effect.change.predicate)].fluent = true;
      }
    }
    return std::move(domain_);
  }

 private:
  Status read(const Node& section) {
    if (section.head() == ":types") {
      return typed_list(
          reader_, section.items, 1, [this](const Node& name, std::string_view parent) -> Status {
            if (parent != "object") {
              return reader_.unsupported(
                  "type hierarchy ('" + std::string(name.word) + " - " + std::string(parent) + "')",
                  name.line);
            }
            type_index(domain_, name.word);
            return {};
          });
    }
    if (section.head() == ":predicates") {
      for (std::size_t i = 1; i < section.items.size(); ++i) {
        if (Status status = predicate(section.items[i]); !status) return status;
      }
      return {};
    }
    return action(section);
  }

  Status predicate(const Node& node) {
    if (node.head().empty()) return reader_.bad("expected a predicate", node.line);
    Predicate predicate{std::string(node.head()), 0, false};
    if (domain_.find_predicate(predicate.name) >= 0) {
      return reader_.bad("predicate '" + predicate.name + "' is declared twice", node.line);
    }
    if (domain_.predicates.size() == 1000) return reader_.unsupported("more than 1000 predicates", node.line);
    std::size_t arity = 0;
    const Status status = typed_list(reader_, node.items, 1, [&](const Node&, std::string_view) -> Status {
      ++arity;
      return {};
    });
    if (!status) return status;
    if (arity > kMaxArity)
      return reader_.unsupported("predicate '" + predicate.name + "' with more than 3 arguments", node.line);
    predicate.arity = static_cast<std::uint8_t>(arity);
    domain_.predicates.push_back(std::move(predicate));
    return {};
  }

  Status action(const Node& node) {
    if (node.items.size() < 2 || node.items[1].list) return reader_.bad("an action needs a name", node.line);
    if (domain_.actions.size() == 250) return reader_.unsupported("more than 250 actions", node.line);
    Action action;
    action.name = std::string(node.items[1].word);
    for (const Action& other : domain_.actions) {
      if (other.name == action.name)
        return reader_.bad("action '" + action.name + "' is defined twice", node.line);
    }
    FormulaReader formulas(reader_, domain_, &domain_);
    const Node* precondition = nullptr;
    const Node* effect = nullptr;
    for (std::size_t i = 2; i + 1 < node.items.size(); i += 2) {
      const Node& key = node.items[i];
      const Node& value = node.items[i + 1];
      if (key.is(":parameters") && value.list) {
        const Status status =
            typed_list(reader_, value.items, 0,
                       [&](const Node& name, std::string_view type) { return formulas.declare(name, type); });
        if (!status) return status;
        action.parameters = formulas.formula().variables.size();
      } else if (key.is(":precondition")) {
        precondition = &value;
      } else if (key.is(":effect")) {
        effect = &value;
      } else {
        return reader_.unsupported("'" + std::string(key.word) + "' in action " + action.name, key.line);
      }
    }
    if (node.items.size() % 2 != 0)
      return reader_.bad("action " + action.name + " ends after a keyword", node.line);
    Formula& formula = formulas.formula();
    if (precondition == nullptr) {
      formula.cases.resize(1);
    } else {
      Result<std::vector<Conjunction>> cases = formulas.condition(*precondition);
      if (!cases) return cases.error();
      formula.cases = std::move(*cases);
    }
    if (effect != nullptr) {
      if (Status status = formulas.effect(*effect, action.effects); !status) return status;
    }
    action.precondition = std::move(formula);
    domain_.actions.push_back(std::move(action));
    return {};
  }

  Reader& reader_;
  Domain domain_;
};

class ProblemParser {
 public:
  ProblemParser(Reader& reader, const Domain& domain) : reader_(reader), domain_(domain) {}

  Result<Problem> parse() {
    for (const char* word : {"(", "define", "(", "problem"}) {
      if (Status status = reader_.expect(word); !status) return status.error();
    }
    reader_.next();
    if (Status status = reader_.expect(")"); !status) return status.error();
    while (true) {
      const std::string_view open = reader_.next();
      if (open == ")") break;
      if (open != "(") return reader_.bad("expected a section of the problem");
      const std::string_view section = reader_.next();
      const std::size_t line = reader_.line();
      Status status;
      if (section == ":domain") {
        reader_.next();
        status = reader_.expect(")");
      } else if (section == ":requirements") {
        status = skip();
      } else if (section == ":objects") {
        status = objects();
      } else if (section == ":init") {
        status = init();
      } else if (section == ":goal") {
        status = goal();
      } else if (section == ":metric") {
        status = skip();  // which plan counts as cheap does not influence play
      } else {
        return reader_.unsupported("section '" + std::string(section) + "'", line);
      }
      if (!status) return status.error();
    }
    if (!reader_.next().empty()) return reader_.bad("text after the problem");
    if (!seen_init_) return reader_.bad("the problem has no :init");
    if (!seen_goal_) return reader_.bad("the problem has no :goal");
    return std::move(problem_);
  }

 private:
  // To the end of the present list.
  Status skip() {
    for (std::size_t depth = 1; depth > 0;) {
      const std::string_view word = reader_.next();
      if (word.empty()) return reader_.bad("the text ends inside a list");
      if (word == "(") ++depth;
      if (word == ")") --depth;
    }
    return {};
  }

  Status objects() {
    if (!problem_.constants.empty()) return reader_.bad("a second :objects section");
    std::vector<std::pair<std::string_view, std::int16_t>> names;
    std::size_t untyped = 0;  // names from here on wait for their type
    while (true) {
      const std::string_view word = reader_.next();
      if (word.empty()) return reader_.bad("the text ends inside :objects");
      if (word == ")") break;
      if (word == "(") return reader_.unsupported("a list in :objects", reader_.line());
      if (word != "-") {
        if (names.size() == kMaxNames) return reader_.unsupported("too many objects", reader_.line());
        names.emplace_back(word, kAnyType);
        continue;
      }
      const std::string_view type = reader_.next();
      if (type == "(") return reader_.unsupported("either as type", reader_.line());
      if (type.empty() || type == ")") return reader_.bad("'-' without a type after it");
      const std::int16_t index = domain_.find_type(type);
      if (index < kAnyType) return reader_.bad("unknown type '" + std::string(type) + "'");
      for (; untyped < names.size(); ++untyped) names[untyped].second = index;
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    const auto twin = std::adjacent_find(names.begin(), names.end(),
                                         [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twin != names.end())
      return reader_.bad("object '" + std::string(twin->first) + "' is declared with two types");
    std::vector<Constant>& all = problem_.constants;
    all.reserve(names.size());
    for (const auto& [name, type] : names) all.push_back({std::string(name), type});
    number_.reserve(names.size());
    for (std::size_t i = 0; i < names.size(); ++i)
      number_.emplace(names[i].first, static_cast<std::uint16_t>(i));
    return {};
  }

  Status init() {
    if (seen_init_) return reader_.bad("a second :init section");
    seen_init_ = true;
    std::string_view last_name;
    std::int16_t last_predicate = -1;
    while (true) {
      const std::string_view open = reader_.next();
      if (open == ")") return {};
      if (open != "(") return reader_.bad("expected a fact in :init");
      const std::string_view name = reader_.next();
      if (name == "=") {  // a cost value
        if (Status status = skip(); !status) return status;
        continue;
      }
      if (name != last_name) {
        last_predicate = domain_.find_predicate(name);
        last_name = name;
      }
      if (last_predicate < 0) {
        if (name == "not" || name == "forall")
          return reader_.unsupported("'" + std::string(name) + "' in :init", reader_.line());
        return reader_.bad("unknown predicate '" + std::string(name) + "' in :init");
      }
      Fact fact;
      fact.predicate = static_cast<std::uint16_t>(last_predicate);
      const std::size_t arity = domain_.predicates[fact.predicate].arity;
      std::size_t count = 0;
      for (std::string_view word = reader_.next(); word != ")"; word = reader_.next()) {
        if (word.empty()) return reader_.bad("the text ends inside :init");
        if (word == "(") return reader_.unsupported("a list inside a fact", reader_.line());
        const auto found = number_.find(word);
        if (found == number_.end()) return reader_.bad("unknown object '" + std::string(word) + "' in :init");
        if (count == arity) count = kMaxArity;  // too many: reported below
        if (count < kMaxArity) fact.args[count] = found->second;
        ++count;
      }
      if (count != arity)
        return reader_.bad("'" + std::string(name) + "' takes " + std::to_string(arity) + " arguments");
      problem_.init.push_back(fact);
    }
  }

  Status goal() {
    if (seen_goal_) return reader_.bad("a second :goal section");
    seen_goal_ = true;
    Result<Node> node = reader_.node();
    if (!node) return node.error();
    FormulaReader formulas(reader_, domain_, nullptr);
    Result<std::vector<Conjunction>> cases = formulas.condition(*node);
    if (!cases) return cases.error();
    problem_.goal = std::move(formulas.formula());
    problem_.goal.cases = std::move(*cases);
    return reader_.expect(")");
  }

  Reader& reader_;
  const Domain& domain_;
  Problem problem_;
  std::unordered_map<std::string_view, std::uint16_t, ContainerHash> number_;
  bool seen_init_ = false;
  bool seen_goal_ = false;
};

}  // namespace

bool Literal::operator==(const Literal& other) const {
  if (predicate != other.predicate || positive != other.positive || arity != other.arity) return false;
  for (std::size_t i = 0; i < arity; ++i) {
    if (args[i].variable != other.args[i].variable || args[i].index != other.args[i].index) return false;
  }
  return true;
}

std::int16_t Domain::find_type(std::string_view type) const {
  if (type == "object") return kAnyType;
  const auto found = std::find(types.begin(), types.end(), type);
  return found == types.end() ? std::int16_t{-2} : static_cast<std::int16_t>(found - types.begin());
}

std::int16_t Domain::find_predicate(std::string_view predicate) const {
  const auto found = std::find_if(predicates.begin(), predicates.end(),
                                  [&](const Predicate& p) { return p.name == predicate; });
  return found == predicates.end() ? std::int16_t{-1} : static_cast<std::int16_t>(found - predicates.begin());
}

Result<Domain> parse_domain(std::string_view text, const std::string& where) {
  const std::string lower = ascii_lower(text);
  Reader reader(lower, where);
  return DomainParser(reader).parse();
}

Result<Problem> parse_problem(std::string_view text, const Domain& domain, const std::string& where) {
  const std::string lower = ascii_lower(text);
  Reader reader(lower, where);
  return ProblemParser(reader, domain).parse();
}

}  // namespace lodestep::alfworld
