// What the engine reads and refuses, and how it plays a game small enough to follow by hand.
#include <catch2/catch.hpp>

#include <deque>
#include <set>

#include "envs/alfworld_bridge/planner.h"
#include "envs/alfworld_bridge/world.h"
#include "envs/environment.h"
#include "tests/unit/alfworld/small_game.h"

namespace lodestep::alfworld {
namespace {

using test::SmallGame;

std::shared_ptr<const Game> compiled(const SmallGame& game) {
  const Result<std::shared_ptr<const Game>> loaded = load_game(game.file(), "small");
  if (!loaded) FAIL(to_string(loaded.error()));
  return *loaded;
}

std::vector<std::string> offered(const World& world) {
  std::vector<Id> ids;
  world.commands(ids);
  std::vector<std::string> texts;
  for (const Id id : ids) texts.push_back(world.game().command(id).text());
  return texts;
}

std::string answer(World& world, const std::string& command) {
  std::string text;
  return world.step(command, text) ? text : "Nothing happens.";
}

TEST_CASE("a small game, by hand") {
  World world(compiled({}));
  CHECK(world.game().start_text == "Hello.\n\nYour task is to: put the cup in the box.");
  CHECK(world.game().goal_text == "put the cup in the box.");
  CHECK(offered(world) == std::vector<std::string>{"go to box 1", "go to table 1", "wait"});
  CHECK(answer(world, "take cup 1 from table 1") == "Nothing happens.");
  // Numbers are dealt from high to low, so listings run downwards.
  CHECK(answer(world, "go to table 1") == "You reach table 1. On it: a cup 2, and a cup 1.");
  CHECK(answer(world, "go to table 1") == "Nothing happens.");  // no walking to where one stands
  CHECK(answer(world, "wait") == "Time passes.");
  CHECK(answer(world, "take cup 1 from table 1") == "Taken cup 1.");
  CHECK(answer(world, "take cup 2 from table 1") == "Nothing happens.");  // hands are full
  CHECK(answer(world, "go to box 1") == "You reach box 1. Closed.");
  CHECK(answer(world, "move cup 1 to box 1") == "Nothing happens.");
  CHECK(answer(world, "open box 1") == "Inside: nothing.");
  CHECK_FALSE(world.won());
  CHECK(answer(world, "move cup 1 to box 1") == "Put cup 1.");
  CHECK(world.won());
  CHECK(answer(world, "take cup 1 from box 1") == "Taken cup 1.");
  CHECK_FALSE(world.won());
}

// Places 3 x box open or not x (each cup on the table, in the box or in hand, at most one in hand):
// but the box holds a cup only when it is open, and place 0 is left before anything changes.
TEST_CASE("a small game has exactly the states one counts") {
  World start(compiled({}));
  std::set<std::vector<std::uint64_t>> seen{start.bits()};
  std::deque<World> todo{start};
  std::vector<Id> commands;
  while (!todo.empty()) {
    const World world = todo.front();
    todo.pop_front();
    world.commands(commands);
    for (const Id command : commands) {
      World next = world;
      REQUIRE(next.play(command));
      if (seen.insert(next.bits()).second) todo.push_back(next);
    }
  }
  // Start: 1. Then two places each. Box closed: 3 holdings (none, cup 1, cup 2). Box open: cups on
  // table or box (4 ways) with free hands, or one of 2 cups in hand and the other in 2 places: 4 + 4.
  CHECK(seen.size() == 1 + 2 * 3 + 2 * 8);
}

TEST_CASE("the planner finds a shortest way from every state of a small game") {
  const auto game = compiled({});
  const TaskView view(game);
  CHECK(view.kind() == "pick_and_place_simple");
  World world(game);
  // Backwards: distances by exhaustive search from each state, against the planner's answer.
  std::deque<World> todo{world};
  std::set<std::vector<std::uint64_t>> seen{world.bits()};
  std::vector<Id> commands;
  while (!todo.empty()) {
    const World from = todo.front();
    todo.pop_front();
    std::deque<std::pair<World, std::size_t>> breadth{{from, 0}};
    std::set<std::vector<std::uint64_t>> visited{from.bits()};
    while (!breadth.front().first.won()) {
      const auto [now, steps] = breadth.front();
      breadth.pop_front();
      now.commands(commands);
      for (const Id command : commands) {
        World next = now;
        next.play(command);
        if (visited.insert(next.bits()).second) breadth.emplace_back(next, steps + 1);
      }
    }
    const auto plan = find_plan(view, from, 10000);
    REQUIRE(plan.has_value());
    CHECK(plan->size() == breadth.front().second);
    from.commands(commands);
    for (const Id command : commands) {
      World next = from;
      next.play(command);
      if (seen.insert(next.bits()).second) todo.push_back(next);
    }
  }
}

TEST_CASE("a hand that can never be freed again is known to be lost at once") {
  SmallGame game;
  game.with(&SmallGame::problem, "l0 l1 l2 - location",
            "l0 l1 l2 - location Doll_bar_1 - object dolltype - otype")
      .with(&SmallGame::problem, "(openable Box_bar_1)",
            "(openable Box_bar_1) (objecttype Doll_bar_1 dolltype) (inreceptacle Doll_bar_1 Table_bar_1)")
      .with(&SmallGame::domain, "(and (holds ?a ?o) (atlocation",
            "(and (holds ?a ?o) (objecttype ?o cuptype) (atlocation");
  const auto compiled_game = compiled(game);
  const TaskView view(compiled_game);
  World world(compiled_game);
  answer(world, "go to table 1");
  CHECK(find_plan(view, world, 10000)->size() == 4);
  CHECK(answer(world, "take doll 1 from table 1") == "Taken doll 1.");
  CHECK_FALSE(find_plan(view, world, 10000).has_value());
}

TEST_CASE("texts and rules come from the file, never from an earlier one") {
  World first(compiled({}));
  World second(compiled(SmallGame().with(&SmallGame::grammar, "Taken {o.name}.", "Got it: {o.name}!")));
  World third(compiled(SmallGame().with(&SmallGame::domain, "(not (holdsany ?a))\n", "")));
  for (World* world : {&first, &second, &third}) answer(*world, "go to table 1");
  CHECK(answer(first, "take cup 1 from table 1") == "Taken cup 1.");
  CHECK(answer(second, "take cup 1 from table 1") == "Got it: cup 1!");
  answer(third, "take cup 1 from table 1");
  CHECK(answer(third, "take cup 2 from table 1") == "Taken cup 2.");
  World older(compiled(SmallGame().with(&SmallGame::grammar, "move {o} to {r}", "put {o} in/on {r}")));
  CHECK(TaskView(older.shared_game()).put_form() == "put {o} in/on {r}");
}

TEST_CASE("conditional effects read the old state, and additions win over removals") {
  SmallGame game;
  game.with(&SmallGame::domain, "(checked ?x))\n", "(checked ?x) (lit ?a - agent))\n")
      .with(&SmallGame::domain, ":effect (checked ?a))",
            ":effect (and (when (lit ?a) (not (lit ?a))) (when (not (lit ?a)) (lit ?a))))")
      .with(&SmallGame::grammar, "\"Time passes.\"", "\"#light#\"")
      .with(
          &SmallGame::grammar, " \"see\":",
          " \"light\": [{\"condition\": \"lit(a:agent)\", \"rhs\": \"on\"}, {\"rhs\": \"off\"}],\n \"see\":");
  World world(compiled(game));
  CHECK(answer(world, "wait") == "on");
  CHECK(answer(world, "wait") == "off");
  CHECK(answer(world, "wait") == "on");
}

std::string refusal(const SmallGame& game) {
  const Result<std::shared_ptr<const Game>> loaded = load_game(game.file(), "small");
  return loaded ? "accepted"
                : std::string(error_code_name(loaded.error().code)) + ": " + to_string(loaded.error());
}

TEST_CASE("PDDL outside the subset is refused with construct, file and line") {
  const auto condition = [](const std::string& text) {
    return SmallGame().with(&SmallGame::domain, ":precondition ()", ":precondition " + text);
  };
  CHECK(refusal(condition("(forall (?r - receptacle) (opened ?r))")) ==
        "unsupported: unsupported PDDL construct: 'forall' (small: pddl_domain line 21)");
  CHECK(refusal(condition("(imply (holdsany ?a) (checked ?a))")) ==
        "unsupported: unsupported PDDL construct: 'imply' (small: pddl_domain line 21)");
  CHECK(refusal(condition("(not (and (holdsany ?a)))")) ==
        "unsupported: unsupported PDDL construct: 'not' before a compound condition (small: pddl_domain line "
        "21)");
  CHECK(refusal(condition("(exists (?r - (either receptacle object)) (checked ?r))")) ==
        "unsupported: unsupported PDDL construct: either as type (small: pddl_domain line 21)");
  CHECK(refusal(condition("(> (fuel ?a) 3)")) ==
        "unsupported: unsupported PDDL construct: '>' (small: pddl_domain line 21)");
  CHECK(refusal(condition("(preference p (checked ?a))")) ==
        "unsupported: unsupported PDDL construct: 'preference' (small: pddl_domain line 21)");
  CHECK(refusal(condition("(unheard ?a)")) ==
        "bad_data: unknown predicate 'unheard' (small: pddl_domain line 21)");
  CHECK(refusal(condition("(checked ?b)")) == "bad_data: unknown variable '?b' (small: pddl_domain line 21)");
  CHECK(refusal(SmallGame().with(&SmallGame::domain, "rtype otype)", "rtype otype - rtype)"))
            .find("type hierarchy") != std::string::npos);
  CHECK(refusal(SmallGame().with(&SmallGame::domain, " (:action wait",
                                 " (:derived (checked ?x) ())\n (:action wait"))
            .find("section ':derived'") != std::string::npos);
  CHECK(refusal(SmallGame().with(&SmallGame::problem, "(openable Box_bar_1)", "(openable Bax_bar_1)")) ==
        "bad_data: unknown object 'bax_bar_1' in :init (small: pddl_problem line 6)");
  CHECK(refusal(
            SmallGame().with(&SmallGame::problem, "(inreceptacle ?o ?r))))", "(opened ?r) (holdsany ?r))))"))
            .find("no sequence of commands can reach the goal") != std::string::npos);
}

TEST_CASE("a type without members and a comma in a name are not errors") {
  // The comma belongs to the type's name, as the original reads it: nothing has that type.
  SmallGame game;
  game.with(&SmallGame::domain, ":precondition () :effect (checked ?a)",
            ":precondition (exists (?l - location, ?r - receptacle) (receptacleatlocation ?r ?l)) :effect "
            "(checked ?a)");
  World world(compiled(game));
  CHECK(offered(world) == std::vector<std::string>{"go to box 1", "go to table 1"});
}

TEST_CASE("grammar outside the subset is refused where it could be reached") {
  const auto reply = [](const std::string& text) {
    return SmallGame().with(&SmallGame::grammar, "Time passes.", text);
  };
  CHECK(refusal(reply("a ; b")).find("uses a stray ';'") != std::string::npos);
  CHECK(refusal(reply("{a.name.upper()}")).find("the expression 'a.name.upper()'") != std::string::npos);
  CHECK(refusal(reply("#nowhere#")).find("no rule 'nowhere'") != std::string::npos);
  CHECK(refusal(reply("{z.name}")).find("the unbound name 'z'") != std::string::npos);
  CHECK(refusal(reply("{r.name}")).find("which is not bound there") != std::string::npos);
  CHECK(refusal(
            SmallGame().with(&SmallGame::grammar, "\"list\": [{\"rhs\": \"", "\"list\": [{\"rhs\": \"#see#"))
            .find("leads back to itself") != std::string::npos);
  CHECK(refusal(SmallGame().with(&SmallGame::grammar, "action wait", "action pause"))
            .find("no wording for action 'wait'") != std::string::npos);
  // The same fault in a rule that nothing uses does no harm.
  CHECK(refusal(SmallGame().with(&SmallGame::grammar, " \"see\":",
                                 " \"unused\": [{\"rhs\": \"a } b\"}],\n \"see\":")) == "accepted");
}

TEST_CASE(
    "a grammar that doubles its text again and again is refused, or fails the episode, and never hangs") {
  std::string rules;
  for (int i = 0; i < 40; ++i) {
    const std::string next = "#twice" + std::to_string(i + 1) + "#";
    rules += " \"twice" + std::to_string(i) + "\": [{\"rhs\": \"" + next + next + "\"}],\n";
  }
  rules += " \"twice40\": [{\"rhs\": \"x\"}],\n \"see\":";
  SmallGame doubling;
  doubling.with(&SmallGame::grammar, " \"see\":", rules);
  World world(compiled(SmallGame(doubling).with(&SmallGame::grammar, "Time passes.", "#twice0#")));
  std::string text;
  CHECK_THROWS_AS(world.step("wait", text), EnvironmentFailure);
  CHECK(refusal(SmallGame(doubling).with(&SmallGame::grammar, "Hello.", "#twice0#"))
            .find("makes a text that is too long") != std::string::npos);
  CHECK(refusal(
            SmallGame(doubling).with(&SmallGame::grammar, "template :: \"wait\"", "template :: \"#twice0#\""))
            .find("makes a text that is too long") != std::string::npos);
}

TEST_CASE("damaged game files say what and where") {
  const auto message = [](const std::string& file) { return to_string(load_game(file, "f").error()); };
  CHECK(message("").find("not JSON") != std::string::npos);
  CHECK(message("[]") == "not a game file: expected a JSON object (f)");
  CHECK(message("{\"pddl_domain\": \"x\"}") == "the game file has no text 'grammar' (f)");
  CHECK(message("{\"pddl_domain\": \"(define\", \"grammar\": \"\", \"pddl_problem\": \"\"}") ==
        "the text ends inside a list (f: pddl_domain line 1)");
}

}  // namespace
}  // namespace lodestep::alfworld
