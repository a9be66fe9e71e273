#include "envs/webshop/webshop_env.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include "base/text.h"
#include "envs/webshop/analyzer.h"
#include "envs/webshop/bytes.h"
#include "envs/webshop/catalogue_file.h"
#include "envs/webshop/planner.h"
#include "envs/webshop/recent_cache.h"
#include "envs/webshop/sample_shop.h"
#include "envs/webshop/webshop_settings.h"

namespace lodestep::webshop {
namespace {

constexpr std::uint32_t kVersion = 1;  // raise it when any output byte can change
constexpr std::size_t kPageSize = 10, kMostHits = 50;
constexpr std::size_t kLongestKept = 500;  // bytes of a query whose ranking is kept for others
constexpr double kPerfect = 10;            // reward of a perfect purchase in the verl scheme

// What all episodes of one factory share.
struct Shop {
  Rules rules;
  std::shared_ptr<const Catalogue> catalogue;
  std::shared_ptr<const GoalTable> goals;
  Hash128 digest;
  // Some megabytes at most.
  mutable RecentCache<std::string, std::vector<std::uint32_t>> rankings{8192};
  mutable RecentCache<std::uint64_t, ItemFacts> facts{4096};
};
using Ranking = RecentCache<std::string, std::vector<std::uint32_t>>::Answer;

// Facts that can change the future. A generator is its seed and how far it was read.
struct State {
  Session session;                  // the one that actions go to
  std::optional<Session> finished;  // shown until the next action when the fork has reset itself
  bool ended = false;               // the last step bought
  std::int64_t rng_seed = 0;
  std::uint64_t rng_words = 0;
};

enum class Verb { kSearch, kClick, kOther };

struct Action {
  Verb verb;
  std::string argument;  // lower-case
};

// `(.+)\[(.+)\]` from the start of the first line, both groups greedy.
std::optional<Action> parse_action(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  const std::size_t close = line.rfind(']');
  if (close == std::string_view::npos || close < 3) return std::nullopt;
  const std::size_t open = line.rfind('[', close - 2);
  if (open == std::string_view::npos || open == 0 || !is_valid_utf8(line)) return std::nullopt;
  const std::string_view name = line.substr(0, open);
  return Action{name == "search"  ? Verb::kSearch
                : name == "click" ? Verb::kClick
                                  : Verb::kOther,
                python_lower(line.substr(open + 1, close - open - 1))};
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

void pack(ByteWriter& out, const Session& session) {
  out.text(session.name).number(session.goal).number(static_cast<std::uint64_t>(session.kind));
  out.number(static_cast<std::uint64_t>(session.sub_page))
      .text(session.keywords)
      .number(static_cast<std::uint64_t>(session.page));
  out.number(session.product ? std::uint64_t{*session.product} + 1 : 0).number(session.options.size());
  for (const auto& [name, value] : session.options) out.text(name).text(value);
  out.number(session.visited.size());
  for (const std::uint32_t product : session.visited) out.number(product);
  out.number(session.listed.size());
  for (const std::uint32_t product : session.listed) out.number(product);
  out.number(session.hits).real(session.reward);
}

bool unpack(ByteReader& in, const Shop& shop, Session& session) {
  const std::size_t products = shop.goals->products();
  const auto read_products = [&](std::vector<std::uint32_t>& list) {
    list.resize(in.count());
    bool good = true;
    for (std::uint32_t& product : list) {
      const std::uint64_t value = in.number();
      good = good && value < products;
      product = static_cast<std::uint32_t>(value);
    }
    return good;
  };
  session.name = in.text();
  const std::uint64_t goal = in.number();
  const std::uint64_t kind = in.number();
  const std::uint64_t sub_page = in.number();
  session.keywords = in.text();
  session.page = static_cast<std::int64_t>(in.number());
  const std::uint64_t product = in.number();
  if (!in.ok() || goal >= shop.goals->size() || kind > 4 || sub_page > 3 || product > products) return false;
  session.goal = static_cast<std::uint32_t>(goal);
  session.kind = static_cast<PageKind>(kind);
  session.sub_page = static_cast<SubPage>(sub_page);
  if (product > 0) session.product = static_cast<std::uint32_t>(product - 1);
  if (session.kind >= PageKind::kItem && !session.product) return false;
  session.options.resize(in.count());
  for (auto& [name, value] : session.options) {
    name = in.text();
    value = in.text();
  }
  if (!read_products(session.visited) || !read_products(session.listed)) return false;
  session.hits = in.number();
  session.reward = in.real();
  return in.ok();
}

class WebShopEnv final : public Environment {
 public:
  explicit WebShopEnv(std::shared_ptr<const Shop> shop) : shop_(std::move(shop)) {}

  Status reset(const Task& task) override {
    State state;
    state.rng_seed = shop_->rules.rng_seed.value_or(static_cast<std::int64_t>(task.seed));
    state.rng_words = shop_->rules.rng_skip;
    if (Status s = start(task, state); !s) return s;
    task_ = task;
    state_ = std::move(state);
    views_ = 0;
    load_goal();
    return {};
  }

  StepResult step(std::string_view text) override {
    if (state_.ended && shop_->rules.after_done == AfterDone::kStop) return observe();
    if (state_.finished) {
      state_.finished.reset();
      load_goal();
    }
    state_.ended = false;
    const std::optional<Action> action = parse_action(text);
    const bool valid = action && (action->verb == Verb::kSearch  ? search(action->argument)
                                  : action->verb == Verb::kClick ? click(action->argument)
                                                                 : false);
    ++views_;
    StepResult result = observe();
    result.action_valid = valid;
    if (state_.ended) result.reward = shown_reward();
    return result;
  }

  StepResult observe() const override {
    StepResult result;
    const Page page = shown_page();
    const Rules& rules = shop_->rules;
    const bool noisy =
        rules.noise.density > 0 && (rules.mode == Mode::kText || rules.mode == Mode::kTextRich);
    result.observation.text = noisy ? assemble(disturb(render_nodes(page, rules.mode), rules.noise,
                                                       {task_.id, task_.seed, views_}, *shop_->catalogue),
                                               rules.mode)
                                    : render(page, rules.mode);
    if (state_.ended) result.outcome = shown().reward == 1.0 ? Outcome::kSuccess : Outcome::kFailure;
    return result;
  }

  std::vector<std::string> admissible_actions() const override {
    if (state_.ended && shop_->rules.after_done == AfterDone::kStop) return {};
    if (state_.finished) return next_session()->admissible_actions();
    const Page page = live_page();
    std::vector<std::string> actions;
    for (const std::string& text : clickables(page)) {
      if (can_write(text) && text != "search" && leads_somewhere(page, text))
        actions.push_back("click[" + text + "]");
    }
    // The search that anybody would try: the instruction's own words.
    if (page.session.kind == PageKind::kIndex && can_search(goal_.instruction))
      actions.push_back("search[" + goal_.instruction + "]");
    std::sort(actions.begin(), actions.end());
    actions.erase(std::unique(actions.begin(), actions.end()), actions.end());
    return actions;
  }

  std::optional<std::string> gold_action() const override {
    if (state_.ended && shop_->rules.after_done == AfterDone::kStop) return std::nullopt;
    if (state_.finished) return next_session()->gold_action();
    if (!plan_) plan_ = best_purchase(*shop_->goals, goal_, shop_->rules.fuzzy);
    const Session& session = state_.session;
    const bool there = session.product == plan_->product;
    if (there && session.kind == PageKind::kItem) {
      for (const auto& [name, value] : plan_->choice) {
        if (std::find(session.options.begin(), session.options.end(), std::pair(name, value)) ==
            session.options.end()) {
          return "click[" + value + "]";
        }
      }
      return "click[buy now]";
    }
    if (there && session.kind == PageKind::kSubPage && routed_kind(live_page()) == PageKind::kSubPage)
      return "click[< prev]";
    if (session.kind == PageKind::kResults) {
      const std::string asin = python_lower(shop_->catalogue->products()[plan_->product].asin());
      if (std::find(session.listed.begin(), session.listed.end(), plan_->product) != session.listed.end())
        return "click[" + asin + "]";
      const std::optional<std::size_t> rank = rank_of(session.keywords, plan_->product);
      if (rank)
        return static_cast<std::int64_t>(*rank / kPageSize) + 1 > session.page ? "click[next >]"
                                                                               : "click[< prev]";
    }
    return gold_search();
  }

  StateKeys state_keys() const override {
    const Session& session = shown();
    const std::string start = "webshop/1:goal=" + std::to_string(session.goal) + "|";
    const std::string kind = page_kind_name(session.kind);
    switch (session.kind) {
      case PageKind::kIndex: return {start + kind, start + kind, "webshop/1:" + kind};
      case PageKind::kResults: {
        const bool listed =
            std::find(session.listed.begin(), session.listed.end(), goal_.product) != session.listed.end();
        const std::string stage = kind + (listed ? "|listed=yes" : "|listed=no");
        std::string place =
            kind + "|query=" + json_quote(session.keywords) + "|page=" + std::to_string(session.page);
        if (session.keywords == "<r>" || session.keywords.starts_with("<r> "))
          place += "|products=" + listed_asins(session);
        return {start + place, start + place + "|" + stage, "webshop/1:" + stage};
      }
      default: break;
    }
    const ItemFacts& item = facts(*session.product);
    const std::vector<bool> have = item.satisfied(session.options);
    const auto unset = static_cast<std::size_t>(std::count(have.begin(), have.end(), false));
    const double reward = session.kind == PageKind::kDone ? session.reward : item.reward(session.options);
    std::string stage = kind + "|score=" + reward_class(reward);
    if (session.kind != PageKind::kDone)
      stage += "|best=" + reward_class(item.best_reward) + "|unset=" + std::to_string(unset);
    Items options = session.options;
    std::sort(options.begin(), options.end());
    std::string exact = start + kind;
    if (session.kind == PageKind::kSubPage)
      exact += std::string(":") + std::to_string(static_cast<int>(session.sub_page));
    // How one got here decides where < Prev leads.
    if (session.kind != PageKind::kDone)
      exact += "|query=" + json_quote(session.keywords) + "|page=" + std::to_string(session.page);
    exact += "|product=" + asin(*session.product) + "|options=" + json_dumps(options);
    std::string wanted;
    for (const bool bit : have) wanted += bit ? '1' : '0';
    return {exact,
            start + kind + "|product=" + asin(*session.product) + "|wanted=" + wanted +
                "|score=" + python_repr(reward) + "|" + stage,
            "webshop/1:" + stage};
  }

  Hash128 true_state_hash() const override { return Hasher().add("webshop").add(packed_state()).finish(); }

  Details details() const override {
    const Page page = live_page();
    const bool over = state_.ended && shop_->rules.after_done == AfterDone::kStop;
    const Session& session = shown();
    const bool bought = session.kind == PageKind::kDone;
    Details details;
    details["available_actions"] =
        std::string("{\"has_search_bar\":") + (!over && has_search_bar(page) ? "true" : "false") +
        ",\"clickables\":" + json_array(over ? std::vector<std::string>{} : clickables(page)) + "}";
    details["task_score"] = python_repr(bought ? session.reward : 0.0);
    details["won"] = bought && session.reward == 1.0 ? "true" : "false";
    details["goal_index"] = std::to_string(goal_number_);
    details["goal_id"] = json_quote("goal/" + std::to_string(session.goal));
    details["instruction_text"] = json_quote(goal_.instruction);
    details["page"] = json_quote(page_kind_name(session.kind));
    if (state_.rng_words > 0) details["rng_words"] = std::to_string(state_.rng_words);
    if (bought) details["reward_info"] = to_json(reward_info(session));
    if (state_.finished) details["after_reset"] = json_quote(next_session()->observe().observation.text);
    return details;
  }

  std::unique_ptr<Environment> clone() const override {
    auto copy = std::make_unique<WebShopEnv>(shop_);
    copy->task_ = task_;
    copy->state_ = state_;
    copy->views_ = views_;
    copy->load_goal();
    return copy;
  }

  Snapshot snapshot() const override {
    const std::string body = ByteWriter().number(views_).bytes() + packed_state();
    return {task_, kVersion, ByteWriter().text(body).text(seal(body)).bytes()};
  }

  Status restore(const Snapshot& snapshot) override {
    const Error foreign{ErrorCode::kBadData,
                        "not a snapshot of this webshop (version 1, same catalogue and settings)", "", ""};
    if (snapshot.task.env != "webshop" || snapshot.version != kVersion) return foreign;
    ByteReader outer(snapshot.bytes);
    const std::string body(outer.text());
    const std::string_view seal_text = outer.text();
    if (!outer.ok() || !outer.at_end() || seal_text != seal(body)) return foreign;
    ByteReader in(body);
    State state;
    const std::uint64_t views = in.number();
    state.ended = in.number() != 0;
    state.rng_seed = static_cast<std::int64_t>(in.number());
    state.rng_words = in.number();
    if (!unpack(in, *shop_, state.session)) return foreign;
    if (in.number() != 0) {
      Session finished;
      if (!unpack(in, *shop_, finished)) return foreign;
      state.finished = std::move(finished);
    }
    if (!in.ok() || !in.at_end()) return foreign;
    task_ = snapshot.task;
    state_ = std::move(state);
    views_ = views;
    load_goal();
    return {};
  }

 private:
  const Session& shown() const { return state_.finished ? *state_.finished : state_.session; }
  Page shown_page() const {
    return {*shop_->catalogue, shown(), goal_.instruction, shop_->rules.show_attributes,
            shop_->rules.fixed_quirks};
  }
  Page live_page() const {
    return {*shop_->catalogue, state_.session, goal_.instruction, shop_->rules.show_attributes,
            shop_->rules.fixed_quirks};
  }
  std::string asin(std::uint32_t product) const {
    return std::string(shop_->catalogue->products()[product].asin());
  }

  // The fork's fresh session, as the next action will find it.
  std::unique_ptr<WebShopEnv> next_session() const {
    auto next = std::make_unique<WebShopEnv>(shop_);
    next->task_ = task_;
    next->state_ = state_;
    next->state_.finished.reset();
    next->load_goal();
    return next;
  }

  // --- starting a session -------------------------------------------------------------------------

  Status start(const Task& task, State& state) const {
    const GoalTable& goals = *shop_->goals;
    const auto unknown = [&](const std::string& hint) {
      return Error{ErrorCode::kNotFound, "webshop has no task '" + task.id + "'", "", hint};
    };
    const std::string range = "0.." + std::to_string(goals.size() - 1);
    if (task.id.starts_with("goal/")) {
      const std::optional<std::uint64_t> number = parse_uint(std::string_view(task.id).substr(5));
      if (!number || *number >= goals.size()) return unknown("goals are goal/" + range);
      state.session.name = "goal-" + std::to_string(*number);
      state.session.goal = static_cast<std::uint32_t>(*number);
      return {};
    }
    if (!task.id.starts_with("session/")) {
      return unknown("tasks are goal/N and session/N with N in " + range +
                     ", session/random, session/name:NAME");
    }
    const std::string id = task.id.substr(8);
    if (id == "random") {
      start_random(state);
      return {};
    }
    PythonRandom random = generator(state);
    if (id.starts_with("name:")) {
      state.session.name = id.substr(5);
      state.session.goal = goals.in_session(goals.draw(random));
      state.rng_words = random.words_given();
      return {};
    }
    const std::optional<std::int64_t> number = parse_int(id);
    const auto count = static_cast<std::int64_t>(goals.size());
    if (!number || *number >= count || *number < -count) return unknown("sessions are session/" + range);
    state.session.name = id;
    state.session.goal =
        goals.in_session(static_cast<std::uint32_t>(*number < 0 ? *number + count : *number));
    return {};
  }

  static PythonRandom generator(const State& state) {
    PythonRandom random(state.rng_seed);
    random.skip(state.rng_words);
    return random;
  }

  // A session without a name: ten letters, then a goal by weight.
  void start_random(State& state) const {
    PythonRandom random = generator(state);
    state.session = Session();
    for (const std::size_t letter : random.choices(26, 10))
      state.session.name += static_cast<char>('a' + letter);
    state.session.goal = shop_->goals->in_session(shop_->goals->draw(random));
    state.rng_words = random.words_given();
  }

  void load_goal() {
    const std::uint32_t position = shown().goal;
    goal_ = shop_->goals->goal(position);
    bool approximate = false;
    goal_.wanted.nouns = shop_->goals->nouns(goal_.wanted.name, approximate);
    goal_number_ = position;
    if (task_.id.starts_with("session/")) goal_number_ = shop_->goals->session_number(position);
    plan_.reset();
    facts_.reset();
  }

  // --- actions --------------------------------------------------------------------------------------

  // Runs the search again, as every results page of the original does. False where the original raises.
  bool show_results(const std::string& keywords, std::int64_t page) {
    const GoalTable& goals = *shop_->goals;
    const ProductList products = shop_->catalogue->products();
    const std::string_view first = first_word(keywords);
    std::vector<std::uint32_t> special;
    Ranking ranked;
    if (first == "<r>") {
      if (goals.products() < kMostHits) return false;
      PythonRandom random = generator(state_);
      for (const std::size_t i : random.sample(goals.products(), kMostHits))
        special.push_back(static_cast<std::uint32_t>(i));
      state_.rng_words = random.words_given();
    } else if (first == "<a>") {
      return false;
    } else if (first == "<c>") {
      if (first.size() == keywords.size()) return false;
      const std::string_view category =
          python_strip(first_word(std::string_view(keywords).substr(first.size() + 1)));
      for (std::uint32_t i = 0; i < goals.products(); ++i) {
        if (products[i].category() == category) special.push_back(i);
      }
    } else if (first == "<q>") {
      const std::string_view query = python_strip(std::string_view(keywords).substr(3));
      for (std::uint32_t i = 0; i < goals.products(); ++i) {
        if (products[i].query() == query) special.push_back(i);
      }
    } else if (ranked = rank(keywords); !ranked) {
      return false;
    }
    const std::vector<std::uint32_t>& found = ranked ? *ranked : special;
    Session& session = state_.session;
    session.kind = PageKind::kResults;
    session.keywords = keywords;
    session.page = page;
    session.product.reset();
    session.options.clear();
    session.hits = found.size();
    session.listed.clear();
    const std::size_t begin = page < 1 ? found.size() : static_cast<std::size_t>(page - 1) * kPageSize;
    for (std::size_t i = begin; i < std::min(begin + kPageSize, found.size()); ++i)
      session.listed.push_back(found[i]);
    return true;
  }

  // Best products first; nullptr where the original raises.
  Ranking rank(const std::string& keywords) const {
    if (Ranking known = shop_->rankings.find(keywords)) return known;
    const GoalTable& goals = *shop_->goals;
    const Result<std::vector<Hit>> hits = shop_->catalogue->index().search(
        {analyze(keywords), kMostHits, goals.indexed()}, shop_->catalogue->asin_ranks());
    if (!hits) return nullptr;
    std::vector<std::uint32_t> found;
    found.reserve(hits->size());
    for (const Hit& hit : *hits) {
      if (hit.product < goals.products()) found.push_back(hit.product);
    }
    if (keywords.size() > kLongestKept)
      return std::make_shared<const std::vector<std::uint32_t>>(std::move(found));
    return shop_->rankings.keep(keywords, std::move(found));
  }

  bool search(const std::string& argument) { return show_results(argument, 1); }

  bool click(const std::string& text) {
    if (text == "search") return false;
    const Page page = live_page();
    const Target target = find_clickable(page, text);
    if (target.kind == Target::Kind::kNone) return false;
    Session& session = state_.session;
    if (text == "buy now") {
      buy();
      return true;
    }
    if (text == "back to search") {
      to_index(session);
      return true;
    }
    if (text == "next >" && routed_kind(page) == PageKind::kResults)
      return show_results(std::string(session.keywords), session.page + 1);
    if (text == "< prev") {
      const PageKind routed = routed_kind(page);
      if (routed == PageKind::kResults) return show_results(std::string(session.keywords), session.page - 1);
      if (routed == PageKind::kItem) return show_results(std::string(session.keywords), session.page);
      session.kind = PageKind::kItem;
      return true;
    }
    static constexpr std::array<std::string_view, 4> kSubPages{"description", "features", "reviews",
                                                               "attributes"};
    const auto* sub_page = std::find(kSubPages.begin(), kSubPages.end(), text);
    if (sub_page != kSubPages.end()) {
      session.kind = PageKind::kSubPage;
      session.sub_page = static_cast<SubPage>(sub_page - kSubPages.begin());
      return true;
    }
    if (target.kind == Target::Kind::kProduct) return open_product(text);
    if (target.kind == Target::Kind::kOption) {
      const std::string name = python_lower(target.option);
      const auto chosen = std::find_if(session.options.begin(), session.options.end(),
                                       [&](const auto& item) { return item.first == name; });
      if (chosen == session.options.end()) {
        session.options.emplace_back(name, text);
      } else {
        chosen->second = text;
      }
    }
    return true;
  }

  static void to_index(Session& session) {
    Session fresh;
    fresh.name = std::move(session.name);
    fresh.goal = session.goal;
    session = std::move(fresh);
  }

  // The original looks the upper-case text up, so a product whose id has small letters cannot be opened.
  bool open_product(const std::string& text) {
    const std::optional<std::uint32_t> product = product_of_link(text);
    if (!product) return false;
    Session& session = state_.session;
    session.kind = PageKind::kItem;
    session.product = *product;
    session.listed.clear();
    session.hits = 0;
    const auto place = std::lower_bound(session.visited.begin(), session.visited.end(), *product);
    if (place == session.visited.end() || *place != *product) session.visited.insert(place, *product);
    return true;
  }
  std::optional<std::uint32_t> product_of_link(std::string_view text) const {
    const std::optional<std::uint32_t> product = shop_->catalogue->find(python_upper(text));
    return product && *product < shop_->goals->products() ? product : std::nullopt;
  }

  void buy() {
    Session& session = state_.session;
    session.reward = reward_info(session).reward;
    session.kind = PageKind::kDone;
    state_.ended = true;
    if (shop_->rules.after_done == AfterDone::kContinue && shop_->rules.goals.variant == Variant::kVerl) {
      state_.finished = std::move(session);
      start_random(state_);
    }
  }

  RewardInfo reward_info(const Session& session) const {
    const Product product = shop_->catalogue->products()[*session.product];
    bool approximate = false;
    shop_->goals->nouns(goal_.wanted.name, approximate);
    const std::vector<std::string> nouns = shop_->goals->nouns(product.title(), approximate);
    Purchase purchase{as_bought(product, nouns),
                      &goal_.wanted,
                      shop_->goals->price(*session.product),
                      {},
                      shop_->rules.fuzzy};
    for (const auto& [name, value] : session.options) purchase.options.push_back(value);
    RewardInfo info = score_purchase(purchase);
    info.approximate = approximate;
    return info;
  }
  double shown_reward() const {
    const double raw = shown().reward;
    if (!shop_->rules.verl_scheme) return raw;
    return raw == 1.0 ? kPerfect : 0.0;
  }

  // --- lists, plans, keys ---------------------------------------------------------------------------

  // Whether `click[text]` parses back to the text.
  static bool can_write(std::string_view text) {
    return !text.empty() && text.find_first_of("[\n") == std::string_view::npos;
  }
  static bool can_search(const std::string& words) {
    const std::optional<Action> action = parse_action("search[" + words + "]");
    return action && action->verb == Verb::kSearch &&
           first_word(action->argument).find('<') == std::string_view::npos;
  }
  bool leads_somewhere(const Page& page, std::string_view text) const {
    return find_clickable(page, text).kind != Target::Kind::kProduct || product_of_link(text).has_value();
  }

  // Place of a product in the answer to a query, if it is there.
  std::optional<std::size_t> rank_of(const std::string& keywords, std::uint32_t product) const {
    std::vector<std::uint32_t> found;
    const std::string_view first = first_word(keywords);
    if (first == "<q>") {
      const ProductList products = shop_->catalogue->products();
      const std::string_view query = python_strip(std::string_view(keywords).substr(3));
      for (std::uint32_t i = 0; i < shop_->goals->products(); ++i) {
        if (products[i].query() == query) found.push_back(i);
      }
    } else if (first == "<r>" || first == "<c>" || first == "<a>") {
      return std::nullopt;
    } else if (const Ranking ranked = rank(keywords)) {
      found = *ranked;
    }
    const auto at = std::find(found.begin(), found.end(), product);
    return at == found.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - found.begin()));
  }

  // A query that finds the planned product on an early page: its title, else its query class, which lists
  // all.
  std::optional<std::string> gold_search() const {
    const Product product = shop_->catalogue->products()[plan_->product];
    if (!product_of_link(python_lower(product.asin()))) return std::nullopt;
    std::optional<std::string> best;
    std::size_t best_rank = SIZE_MAX;
    const std::string title(product.title());
    for (const std::string& words :
         {title, title + " " + goal_.instruction, "<q> " + std::string(product.query())}) {
      const std::optional<Action> action = parse_action("search[" + words + "]");
      if (!action || action->verb != Verb::kSearch || action->argument != python_lower(words)) continue;
      const std::optional<std::size_t> rank = rank_of(action->argument, plan_->product);
      if (!rank || *rank / kPageSize >= best_rank) continue;
      best = "search[" + words + "]";
      best_rank = *rank / kPageSize;
    }
    return best;
  }

  const ItemFacts& facts(std::uint32_t product) const {
    if (facts_ && facts_->product == product) return *facts_;
    const std::uint64_t key = std::uint64_t{shown().goal} << 32 | product;
    facts_ = shop_->facts.find(key);
    if (!facts_)
      facts_ = shop_->facts.keep(key, study_item(*shop_->goals, goal_, product, shop_->rules.fuzzy));
    return *facts_;
  }
  static std::string reward_class(double reward) {
    return reward == 1.0 ? "1" : reward >= 0.5 ? "high" : reward > 0 ? "low" : "0";
  }
  std::string listed_asins(const Session& session) const {
    std::vector<std::string> asins;
    for (const std::uint32_t product : session.listed) asins.push_back(asin(product));
    return join(asins, ",");
  }

  std::string packed_state() const {
    ByteWriter out;
    out.number(state_.ended ? 1 : 0)
        .number(static_cast<std::uint64_t>(state_.rng_seed))
        .number(state_.rng_words);
    pack(out, state_.session);
    out.number(state_.finished ? 1 : 0);
    if (state_.finished) pack(out, *state_.finished);
    return std::move(out).bytes();
  }
  std::string seal(const std::string& body) const {
    return to_hex(Hasher().add(to_hex(shop_->digest)).add(body).finish());
  }

  std::shared_ptr<const Shop> shop_;
  Task task_;
  State state_;
  std::uint64_t views_ = 0;  // page views so far: decides noise, nothing else
  // Derived from the state.
  Goal goal_;
  std::uint32_t goal_number_ = 0;
  mutable std::optional<BestPurchase> plan_;
  mutable std::shared_ptr<const ItemFacts> facts_;
};

class WebShopFactory final : public EnvFactory {
 public:
  explicit WebShopFactory(std::shared_ptr<const Shop> shop) : shop_(std::move(shop)) {}
  std::string name() const override { return "webshop"; }
  std::uint32_t version() const override { return kVersion; }
  Hash128 data_digest() const override { return shop_->digest; }
  std::vector<std::string> splits() const override {
    std::vector<std::string> names{"train"};
    for (const char* name : {"valid", "test"}) {
      if (shop_->goals->split_size(name) > 0) names.emplace_back(name);
    }
    return names;
  }
  Result<std::size_t> task_count(std::string_view split) const override {
    if (!known(split)) return unknown_split(*this, split);
    return shop_->goals->split_size(split);
  }
  Result<std::string> task_id(std::string_view split, std::size_t index) const override {
    if (!known(split)) return unknown_split(*this, split);
    const std::size_t size = shop_->goals->split_size(split);
    if (index >= size) return index_past_end(*this, split, index, size);
    return "goal/" + std::to_string(shop_->goals->in_split(split, index));
  }
  std::unique_ptr<Environment> make() const override { return std::make_unique<WebShopEnv>(shop_); }

 private:
  bool known(std::string_view split) const {
    const std::vector<std::string> names = splits();
    return std::find(names.begin(), names.end(), split) != names.end();
  }
  std::shared_ptr<const Shop> shop_;
};

Result<std::shared_ptr<const EnvFactory>> open(const EnvConfig& config) {
  const Result<Rules> rules = parse_rules(config.settings);
  if (!rules) return rules.error();
  auto shop = std::make_shared<Shop>();
  shop->rules = *rules;
  if (config.data.empty()) {
    shop->catalogue = sample_shop();
  } else {
    Result<std::shared_ptr<const Catalogue>> catalogue = open_catalogue(config.data);
    if (!catalogue) return catalogue.error();
    shop->catalogue = *catalogue;
  }
  Result<std::shared_ptr<const GoalTable>> goals = GoalTable::make(shop->catalogue, rules->goals);
  if (!goals) return goals.error();
  shop->goals = *goals;
  Hasher digest;
  digest.add(to_hex(shop->catalogue->digest())).add_u64(kVersion);
  for (const OptionSpec& spec : option_specs()) {  // in the order of the list, whatever the order given
    std::string value = spec.default_value;
    for (const auto& [name, given] : config.settings) {
      if (name == spec.name) value = given;
    }
    digest.add(spec.name).add(value);
  }
  shop->digest = digest.finish();
  return std::shared_ptr<const EnvFactory>(std::make_shared<WebShopFactory>(std::move(shop)));
}

}  // namespace

EnvType env_type() {
  return {"webshop",
          "a web shop: search, open, choose options and buy what the instruction asks for",
          "a catalogue made by `lodestep webshop import`; without it our own generated shop",
          15,
          option_specs(),
          &open};
}

}  // namespace lodestep::webshop
