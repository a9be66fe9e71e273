#!/usr/bin/env python3
"""Made-up shops full of odd records, through the built program and through the slow plain twin: documents, rankings with float bits, goals of every
variant, purchases with every part, and walks over both text modes must be equal. LODESTEP_FUZZ=N plays N times as many shops.
"""
import html.parser
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "reference"))
import webshop as twin  # noqa: E402

PROGRAM = sys.argv[1]
WORDS = ("mug travel leak-proof women's relational shoes bodies caf\u00e9 12\" 3.5mm 1,299.00 at&t u.s. color:red wi_fi \u2605 \u2122 \u6c34\u7269 \u30ab\u30bf "
         "&amp; <b>bold</b> o\u2019clock generalizations yes the with navy blue sky light standard tan x-large small_size 16oz \u201cquoted\u201d \u2013 "
         "red green machine washable easy clean \u00c9TAGE \u0130stanbul stra\u00dfe size color reviews").split()
VALUES = ["Red", "Sky Blue/White", "12\" Tall", "Small ", " Large", "x-large", "standard", "Caf\u00e9 au lait", "navy blue", "a[b]", "color", "8 Wide", "8",
          "reviews", "buy now", "it's", "a\\b", "black\u00a0white", "XX-Large", "100% <Cotton> & more", "\u6c34", "grapefruit", "1/2", "<b>", "\u0130", " "]
NAMES = ["Color", "Size", "SIZE", "Style ", "\u00c9dition", "Material", "color "]
PRICES = ["$12.99", "$1,299.00", "$10 - $20", "$1,000.00 - $2,500.50", "$9 ($1 / Ounce)", "", None, "$5", "$20.00 - $10.00", "$985", "$970.01", "$999",
          "$0.00", "$\uff11\uff12.\uff15", "$1 $2 $3", "US$7.5", "$100000000000000000"]
BULLETS = ["Leak proof lid", "", " ", "BPA free", "\n", " \n ", "machine washable ", "\u00a0", "tab\there", "Line\nbreak", "easy clean"]
ATTRIBUTES = ["leak proof", "machine washable", "easy clean", "bpa free", "caf\u00e9", "high quality", "mses large", "mens large", "16oz", "\u00e9"]


def some(dice, words, most, sep=" "):
    return sep.join(dice.choice(words) for _ in range(dice.randint(1, most)))


def make_record(dice, asin):
    options = dice.choice(["", None, {}, {"Color": None}, "many", "many", "many"])
    if options == "many":
        options = {}
        for name in dice.sample(NAMES, dice.randint(1, 3)):
            contents = [{"value": dice.choice(VALUES), "image": None, "url": "u"} for _ in range(dice.randint(1, 4))]
            options[name] = dice.choice([contents] * 8 + [None, []])
    record = {"asin": asin, "name": some(dice, WORDS, 9) + dice.choice(["", " ", "\n", " - x"]), "full_description": dice.choice(["", some(dice, WORDS, 60), "Keeps.\nWarm. "]),
              "small_description": dice.choice([[dice.choice(BULLETS) for _ in range(dice.randint(1, 5))], "one " + dice.choice(WORDS)]),
              "customization_options": options, "images": ["i"], "category": dice.choice(["garden", "Fashion", "beauty"]),
              "query": dice.choice([" Mugs", "women's shoes", "caf\u00e9 ", "TEA"]), "brand": "x", "average_rating": "", "page": 1,
              "product_category": dice.choice(["Home \u203a Kitchen \u203a Mugs", "Home\u203aKitchen \u203a Tea", "Fashion", "Fashion \u203a Kitchen \u203a Home"])}
    price = dice.choice([*PRICES, "missing"])
    if price != "missing":
        record["pricing"] = price
    return record


def make_shop(seed):
    dice = random.Random(seed)
    records, ins, human, nouns = [], {}, {}, {}
    asins = [f"B{dice.randrange(10 ** 9):09d}" for _ in range(dice.choice([30, 60, 120]))]
    for asin in [*asins, "nan", "B0TOOLONG123", asins[0], "b0lowercas", "SHORT"]:
        records.append(make_record(dice, asin))
    dice.shuffle(records)
    for asin in {record["asin"]: 0 for record in records}:
        ins[asin] = {"attributes": dice.sample(ATTRIBUTES, dice.randint(0, 4))}
        if dice.random() < 0.5:
            ins[asin] |= {"instruction": f"Find me {some(dice, WORDS, 4)}", "instruction_attributes": dice.sample(ATTRIBUTES, dice.randint(1, 3))}
        if dice.random() < 0.3:
            human[asin] = [{"asin": asin, "instruction": dice.choice(["..i need ", "want "]) + some(dice, WORDS, 6) + dice.choice(["", ".", "..."]), "attributes": [],
                            "instruction_attributes": dice.sample(ATTRIBUTES, dice.randint(0, 2)), "instruction_options": dice.sample(VALUES, dice.randint(0, 2)),
                            "options": ["color: blue"], "assignment_id": "a", "worker_id": "w"} for _ in range(dice.randint(0, 3))]
    human["B0NOTTHERE"] = []
    lines = []
    for record in records:
        tokens = [[word, dice.choice(["NOUN", "PROPN", "ADJ", "PUNCT"])] for word in record["name"].split()]
        lines.append({"asin": record["asin"], "tokens": tokens})
        nouns.setdefault(record["asin"], [word.lower() for word, tag in tokens if tag in ("NOUN", "PROPN")])
    # A line a product: of records with one id the first counts, as for the products.
    lines = list({line["asin"]: line for line in reversed(lines)}.values())
    return dice, records, ins, human, nouns, lines


def run(*words, stdin="", status=0):
    done = subprocess.run([PROGRAM, *words], capture_output=True, encoding="utf-8", input=stdin, check=False)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done.stdout


def same(got, expected, *where):
    assert got == expected, "\n".join([" ".join(map(str, where)), f"program: {got!r}", f"twin:    {expected!r}"])


def check_search(shop, index, dice):
    for _ in range(12):
        query = some(dice, WORDS, 6)
        hits = json.loads(run("webshop", "search", shop, query, "--json"))
        same([(hit["asin"], twin.f32(hit["score"])) for hit in hits], [(asin, score) for score, asin in index.search(query)], "search", query)


def variants():
    for human in (False, True):
        for variant in ("native", "upstream", "verl", "agentgym"):
            yield variant, human


def check_goals(shop, load, dice):
    for variant, human in variants():
        seed = dice.choice([0, 7, 233, -5, 2 ** 40])
        goals, _ = twin.make_goals(load(), variant, seed, human)
        got = json.loads(run("webshop", "goals", shop, "--json", "--no-best", "--set", f"variant={variant}", "--set", f"seed={seed}", "--set", f"human_goals={human}".lower()))
        same(len(got), len(goals), "number of goals", variant, seed, human)
        for number, (ours, theirs) in enumerate(zip(got, goals)):
            for field in ("asin", "instruction_text", "attributes", "price_upper", "goal_options", "weight"):
                same(json.dumps(ours[field]), json.dumps(theirs[field]), variant, seed, human, number, field)


def check_scores(shop, products, goals, nouns, dice):
    lines, expected = [], []
    for _ in range(60):
        product, goal = dice.choice(products), dice.choice(goals)
        own = next(p for p in products if p["asin"] == goal["asin"])
        options = [[name, dice.choice(values)] for name, values in product["options"].items() if values and dice.random() < 0.8]
        lines.append({"goal": goal, "asin": product["asin"], "options": options, "price": product["price"],
                      "nouns_goal": nouns[own["asin"]], "nouns_bought": nouns[product["asin"]]})
        expected.append(twin.reward(product, goal, [value for _, value in options], nouns[product["asin"]], nouns[own["asin"]]))
    got = run("webshop", "score", shop, "--in", "-", stdin="".join(json.dumps(line) + "\n" for line in lines)).splitlines()
    for line, ours, theirs in zip(lines, map(json.loads, got), expected, strict=True):
        same(ours, theirs, json.dumps(line))


def html_nodes(page):
    """The texts of an HTML page as the original's parser sees them."""
    nodes = []
    parser = html.parser.HTMLParser()
    parser.handle_data = nodes.append
    parser.feed(page)
    return [node for node in nodes if node != "\n"]


def draw_actions(session, dice):
    """A walk that knows the page, with a few actions that are none."""
    for _ in range(25):
        clickables = [text for text in session.clickables() if "[" not in text and text != "b0lowercas"]
        kind = dice.random()
        if kind < 0.2 or not clickables:
            yield f"search[{dice.choice([some(dice, WORDS, 4), '<q> mugs', '<c> garden', '<c> ', 'mug ' + chr(34) + 'red' + chr(34), 'search_results mug', 'item_page mug', ' '])}]"
        elif kind < 0.28:
            yield dice.choice(["click[nothing]", "search[]", "buy", "Search[mug]", " click[back to search]", "click[search]", "search[a\nb]", "click[x[1]]",
                               "".join(dice.choices(["search", "click", "[", "]", "mug", " ", "< prev", "\n"], k=dice.randint(2, 8)))])
        elif kind < 0.9:
            forward = [text for text in clickables if text not in ("back to search", "buy now", "next >")]
            yield f"click[{dice.choice(forward or clickables)}]"
        else:
            yield f"click[{dice.choice(clickables)}]"


def check_walks(shop, load, nouns, dice):
    for _ in range(6):
        human, show_attrs = dice.random() < 0.5, dice.random() < 0.5
        products = load()
        goals, rng = twin.make_goals(products, "upstream", 3, human)
        index = twin.Index(products)
        seed, number = dice.randrange(1000), dice.randrange(len(goals))
        random_start = dice.random() < 0.3
        name = str(number)
        if random_start:
            name, number = twin.draw_session(goals, random.Random(seed))
        session = twin.Shop(products, index, goals, goals[number], name, nouns, show_attrs)
        asked, expected = [{"op": "reset", "task": "session/random" if random_start else f"session/{number}"}], []
        expected.append((session.text(), session.text_rich(), session.url, [text for _, text in session.kept_nodes()], session.kind == "index", session.clickables(), 0, False, True))
        for action in draw_actions(session, dice):
            asked.append({"op": "step", "action": action})
            result = session.step(action)
            expected.append((session.text(), session.text_rich(), session.url, [text for _, text in session.kept_nodes()], session.kind == "index", session.clickables(), *result))
            if session.kind == "done":
                break
        for mode, column in (("text", 0), ("text_rich", 1), ("url", 2), ("html", 3)):
            words = ["--set", "variant=upstream", "--set", "seed=3", "--set", f"human_goals={human}".lower(), "--set", f"show_attrs={show_attrs}".lower(),
                     "--set", f"rng_seed={seed}", "--set", f"mode={mode}"]
            answers = run("play", "webshop", "--jsonl", "--data", shop, *words, stdin="".join(json.dumps(one) + "\n" for one in asked)).splitlines()
            for one, answer, page in zip(asked, map(json.loads, answers), expected, strict=True):
                info = answer["info"]["available_actions"]
                shown = html_nodes(answer["observation"]) if mode == "html" else answer["observation"]
                got = (shown, info["has_search_bar"], info["clickables"], answer["reward"], answer["done"], answer["valid"])
                same(got, (page[column], *page[4:]), mode, json.dumps(asked), json.dumps(one))


def main():
    rounds = int(os.environ.get("LODESTEP_FUZZ", "1"))
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(3 * rounds):
            dice, records, ins, human, nouns, lines = make_shop(seed)
            paths = {}
            for name, content in (("products", json.dumps(records)), ("attributes", json.dumps(ins, ensure_ascii=False)), ("human-instructions", json.dumps(human)),
                                  ("nouns", "".join(json.dumps(line) + "\n" for line in lines))):
                paths[name] = pathlib.Path(folder, name)
                paths[name].write_text(content, encoding="utf-8")
            shop = str(pathlib.Path(folder, f"shop-{seed}.db"))
            run("webshop", "import", "--out", shop, *(word for name, path in paths.items() for word in (f"--{name}", str(path))))

            def load(records=records, ins=ins, human=human):
                return twin.load(records, ins, human)

            products = load()
            goals, _ = twin.make_goals(products, "upstream", 0, seed % 2 == 1)
            check_search(shop, twin.Index(products), dice)
            check_goals(shop, load, dice)
            check_scores(shop, products, goals, nouns, dice)
            check_walks(shop, load, nouns, dice)
    print(f"webshop: {3 * rounds} made-up shops are equal to the plain twin")
    return 0


if __name__ == "__main__":
    sys.exit(main())
