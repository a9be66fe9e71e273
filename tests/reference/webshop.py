"""A slow, plain WebShop: loading, random streams, goals, search, reward and text pages, written from the description of
the original and sharing nothing with the program. Python's own `random` and `difflib` are the reference for those.
"""
import difflib
import itertools
import json
import math
import random
import re
import struct

STOP = set("a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with".split())


# --- loading --------------------------------------------------------------------------------------------------------

def number_text(value):
    return repr(float(value))


def load(records, ins, human, num_products=None):
    """Products in file order, as dicts."""
    seen, products = set(), []
    for record in records[:num_products]:
        asin = record["asin"]
        if asin == "nan" or len(asin) > 10 or asin in seen:
            continue
        seen.add(asin)
        product = {"asin": asin, "title": record["name"], "description": record["full_description"]}
        bullets = record["small_description"]
        product["bullets"] = bullets if isinstance(bullets, list) else [bullets]
        pricing = record.get("pricing")
        if not pricing:
            prices, product["price_text"] = [100.0], "$100.0"
        else:
            prices = [float("".join(c for c in piece if c.isdigit() or c == ".")) for piece in pricing.split("$")[1:]][:2]
            product["price_text"] = " to ".join("$" + number_text(price) for price in prices)
        product["prices"] = prices
        options = {}
        for name, contents in (record.get("customization_options") or {}).items():
            if contents is not None:
                options[name.lower()] = [one["value"].strip().replace("/", " | ").lower() for one in contents]
        product["options"] = options
        product["attributes"] = ins.get(asin, {}).get("attributes", ["DUMMY_ATTR"])
        product["instruction"] = ins.get(asin, {}).get("instruction")
        product["instruction_attributes"] = ins.get(asin, {}).get("instruction_attributes")
        product["human"] = human.get(asin, [])
        product["query"] = record["query"].lower().strip()
        product["category"], product["product_category"] = record["category"], record["product_category"]
        products.append(product)
    return products


# --- goals ----------------------------------------------------------------------------------------------------------

def price_text(limit):
    return f", and price lower than {limit:.2f} dollars" if limit < 1000000 else ""


def limits_above(price):
    return [10.0 * i for i in range(1, 100) if 10.0 * i > price][:4]


def make_goals(products, variant, seed, human):
    """Draws every product's price and returns the goals in session order, with the generator as loading leaves it."""
    dice = random.Random(seed)
    for product in products:
        prices = product["prices"]
        product["price"] = prices[0] if len(prices) == 1 else dice.uniform(*prices)
    if variant == "agentgym" and not human:
        dice = random.Random(233)
    goals = []
    for product in products:
        base = {"asin": product["asin"], "query": product["query"], "name": product["title"], "product_category": product["product_category"]}
        limits = limits_above(product["price"])
        if human:
            for one in product["human"]:
                if not one["instruction_attributes"]:
                    continue
                if variant == "agentgym":
                    chosen = limits if len(limits) >= 2 else [1000000] * 4
                else:
                    chosen = [max(dice.sample(limits, 2))] if len(limits) >= 2 else [1000000]
                for limit in chosen:
                    goals.append(base | {"instruction_text": one["instruction"].strip(".") + price_text(limit), "attributes": one["instruction_attributes"],
                                         "price_upper": limit, "goal_options": one["instruction_options"], "weight": 1})
        elif product["instruction"] is not None:
            limit = max(dice.sample(limits, 2)) if len(limits) >= 2 else 1000000
            names = sorted(product["options"])
            for values in itertools.product(*(product["options"][name] for name in names)):
                chosen = dict(zip(names, values))
                with_options = " with " + ", and ".join(f"{name}: {value}" for name, value in chosen.items()) if chosen else ""
                goals.append(base | {"instruction_text": product["instruction"] + with_options + price_text(limit),
                                     "attributes": product["instruction_attributes"], "price_upper": limit, "goal_options": chosen})
    if not human:
        uses = {}
        for goal in goals:
            for attribute in goal["attributes"]:
                uses[attribute] = uses.get(attribute, 0) + 1
        for goal in goals:
            total = 0.0
            for attribute in goal["attributes"]:
                total += 1 / uses[attribute]
            goal["weight"] = total / len(goal["attributes"])
    dice = random.Random(seed if variant == "verl" else 233)
    dice.shuffle(goals)
    return goals, dice


def draw_session(goals, dice):
    """A session without a name: its name and the number of its goal."""
    name = "".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=10))
    bounds = [0]
    for goal in goals:
        bounds.append(bounds[-1] + goal["weight"])
    at = dice.uniform(0, bounds[-1])
    return name, min(sum(1 for bound in bounds if bound <= at), len(goals) - 1)


# --- search ---------------------------------------------------------------------------------------------------------

class Porter:
    """Porter's algorithm with his two later changes, over strings of letters."""

    STEP2 = [("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"), ("alli", "al"),
             ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"),
             ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"), ("logi", "log")]
    STEP3 = [("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")]
    STEP4 = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split()

    def form(self, word):
        """v and c for each letter."""
        out = ""
        for i, letter in enumerate(word):
            vowel = letter in "aeiou" or (letter == "y" and i > 0 and out[-1] == "c")
            out += "v" if vowel else "c"
        return out

    def measure(self, word):
        return len(re.findall("v+c+", self.form(word)))

    def cvc(self, word):
        return len(word) > 2 and self.form(word).endswith("cvc") and word[-1] not in "wxy"

    def stem(self, word):
        if len(word) <= 2:
            return word
        if word.endswith(("sses", "ies")):
            word = word[:-2]
        elif word.endswith("s") and not word.endswith("ss"):
            word = word[:-1]
        if word.endswith("eed"):
            if self.measure(word[:-3]) > 0:
                word = word[:-1]
        else:
            for suffix in ("ed", "ing"):
                if word.endswith(suffix):
                    if "v" in self.form(word[: -len(suffix)]):
                        word = self.after_cut(word[: -len(suffix)])
                    break
        if word.endswith("y") and "v" in self.form(word[:-1]):
            word = word[:-1] + "i"
        for rules in (self.STEP2, self.STEP3):
            for suffix, instead in rules:
                if word.endswith(suffix):
                    if self.measure(word[: -len(suffix)]) > 0:
                        word = word[: -len(suffix)] + instead
                    break
        for suffix in self.STEP4:
            if word.endswith(suffix):
                left = word[: -len(suffix)]
                if suffix == "ion" and not left.endswith(("s", "t")):
                    continue
                if self.measure(left) > 1:
                    word = left
                break
        if word.endswith("e") and (self.measure(word[:-1]) > 1 or (self.measure(word[:-1]) == 1 and not self.cvc(word[:-1]))):
            word = word[:-1]
        if word.endswith("ll") and self.measure(word[:-1]) > 1:
            word = word[:-1]
        return word

    def after_cut(self, word):
        if word.endswith(("at", "bl", "iz")):
            return word + "e"
        if len(word) > 1 and word[-1] == word[-2] and self.form(word)[-1] == "c":
            return word if word[-1] in "lsz" else word[:-1]
        return word + "e" if self.measure(word) == 1 and self.cvc(word) else word


# Letters with or without accents, digits, joining signs, and single signs and ideographs: what the made-up shops use.
LETTER = r"[A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f][\u0300-\u036f]*"
RUN = rf"(?:{LETTER}(?:[.'\u2019:]?{LETTER})*|[0-9](?:[.'\u2019,;]?[0-9])*)"
TOKEN = re.compile(rf"[\u2605\u2122\u00ae]|[\u4e00-\u9fff]|[\u30a0-\u30ff]+|_*{RUN}(?:_*{RUN})*_*")


def analyze(text):
    terms = []
    for token in TOKEN.findall(text):
        if len(token) > 1 and token[-1] in "sS" and token[-2] in "'\u2019":
            token = token[:-2]
        token = "".join(c.lower() if len(c.lower()) == 1 else "i" for c in token)
        if token not in STOP:
            terms.append(Porter().stem(token))
    return terms


def f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def stored_length(tokens):
    if tokens < 40:
        return tokens
    shift = (tokens - 24).bit_length() - 4
    return 24 + ((tokens - 24) >> shift << shift)


def search_text(product):
    options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in product["options"].items())
    return " ".join([product["title"], product["description"], product["bullets"][0], options]).lower()


class Index:
    def __init__(self, products):
        self.documents = [(product["asin"], analyze(search_text(product))) for product in products]

    def search(self, query):
        terms = analyze(query)
        filled = [terms for _, terms in self.documents if terms]
        average = f32(sum(map(len, filled)) / len(filled))
        hits = []
        for asin, document in self.documents:
            total, found = 0.0, False
            for term in dict.fromkeys(terms):
                count = document.count(term)
                if count == 0:
                    continue
                having = sum(term in other for other in filled)
                idf = f32(math.log(1 + (len(filled) - having + 0.5) / (having + 0.5)))
                weight = f32(terms.count(term) * idf)
                length = f32(stored_length(len(document)))
                k1, b = f32(0.9), f32(0.4)
                inverse = f32(1 / f32(k1 * f32(f32(1 - b) + f32(f32(b * length) / average))))
                total += f32(weight - f32(weight / f32(1 + f32(count * inverse))))
                found = True
            if found:
                hits.append((f32(total), asin))
        hits.sort(key=lambda hit: (-hit[0], hit[1].encode()))
        return hits[:50]


# --- reward ---------------------------------------------------------------------------------------------------------

COLORS = """alabaster, apricot, aqua, ash, asphalt, azure, banana, beige, black, blue, blush, bordeaux, bronze, brown, burgundy, camel, camo, caramel,
champagne, charcoal, cheetah, chestnut, chocolate, christmas, coffee, cognac, copper, coral, cranberry, cream, crystal, dark, denim, eggplant, elephant,
espresso, fuchsia, gold, granite, grape, graphite, grass, gray, green, grey, heather, indigo, ivory, ivy, khaki, lavender, lemon, leopard, light, lilac,
lime, magenta, maroon, mauve, merlot, midnight, mint, mocha, multicolor, mushroom, mustard, natural, navy, nude, olive, orange, peach, pewter, pink, plum,
purple, rainbow, red, rose, royal, rust, sand, sapphire, seashell, silver, skull, slate, steel, stone, stonewash, sunflower, tan, taupe, teal, tiger,
turquoise, violet, walnut, wheat, white, wine, yellow""".replace("\n", " ").split(", ")


def normalize_color(value):
    """Of a text by substring, of a (name, value) pair by equality: that is what `in` means for each."""
    return next((color for color in COLORS if color in value), value)


def token_set_ratio(one, two):
    def tokens(value):
        text = "".join(c for c in str(value) if not 128 <= ord(c) <= 255)
        return set("".join(c if c.isalnum() or c == "_" else " " for c in text).lower().split())

    def ratio(a, b):
        if not a or not b:
            return 100 if a == b else 0
        return round(100 * difflib.SequenceMatcher(None, a, b).ratio())

    a, b = tokens(one), tokens(two)
    if not a or not b:
        return 0
    common = " ".join(sorted(a & b))
    first = (common + " " + " ".join(sorted(a - b))).strip()
    second = (common + " " + " ".join(sorted(b - a))).strip()
    return max(ratio(common, first), ratio(common, second), ratio(first, second))


def reward(product, goal, options, nouns, goal_nouns):
    """{"reward":, "info":} of buying `product` at its price with `options` (values)."""
    query_match = product["query"] == goal["query"]
    split = [{name.strip() for name in path.split("\u203a")} for path in (product["product_category"], goal["product_category"])]
    category_match = len(split[0] & split[1]) >= 2
    title_score = len(set(nouns) & set(goal_nouns)) / len(goal_nouns) if goal_nouns else 0.2
    if title_score == 0:
        r_type = 0.0
    elif title_score < 0.1:
        r_type = 0.1
    else:
        r_type = 1.0 if query_match or category_match or title_score > 0.2 else 0.5
    texts = [product["title"].lower(), " ".join(product["bullets"]).lower(), product["description"].lower()]
    attributes = sum(any(token_set_ratio(own, wanted) > 85 for own in product["attributes"]) or any(wanted in text for text in texts)
                     for wanted in goal["attributes"])
    wanted_options = goal["goal_options"]
    pairs = list(wanted_options.items()) if isinstance(wanted_options, dict) else wanted_options
    bought = [normalize_color(value) for value in options]
    matched = sum(any(token_set_ratio(own, normalize_color(wanted)) > 85 for own in bought) for wanted in pairs)
    price_ok = product["price"] <= goal["price_upper"]
    whole = len(goal["attributes"]) + len(pairs) + 1
    info = {"r_type": r_type, "r_att": attributes / len(goal["attributes"]), "w_att": len(goal["attributes"]) / whole, "query_match": query_match,
            "category_match": category_match, "title_score": title_score, "r_price": price_ok, "w_price": 1 / whole}
    if pairs:
        info |= {"r_option": matched / len(pairs), "w_option": len(pairs) / whole}
    return {"reward": (attributes + matched + price_ok) / whole * r_type, "info": info}


# --- pages ----------------------------------------------------------------------------------------------------------

BASE = "http://127.0.0.1:3000"


class Shop:
    """One session on the text pages. `nouns` maps asin to the title's nouns."""

    def __init__(self, products, index, goals, goal, name, nouns, show_attrs=False):
        self.products, self.index, self.goal, self.name, self.nouns, self.show_attrs = products, index, goal, name, nouns, show_attrs
        self.by_asin = {product["asin"]: product for product in products}
        self.goals = goals
        self.index_page()

    def index_page(self):
        self.kind, self.keywords, self.page, self.asin, self.options, self.visited = "index", None, None, None, {}, set()
        self.url = f"{BASE}/{self.name}"

    def results_page(self, keywords, page):
        head = keywords[0]
        if head == "<c>":
            found = [p["asin"] for p in self.products if p["category"] == keywords[1].strip()]
        elif head == "<q>":
            found = [p["asin"] for p in self.products if p["query"] == " ".join(keywords[1:]).strip()]
        else:
            found = [asin for _, asin in self.index.search(" ".join(keywords)) if asin in self.by_asin]
        self.kind, self.keywords, self.page, self.asin, self.options = "results", keywords, page, None, {}
        self.total, self.listed = len(found), found[max(0, (page - 1) * 10): max(0, page * 10)]
        self.url = f"{BASE}/search_results/{self.name}/{'+'.join(keywords)}/{page}"

    def item_url(self, page_name):
        return f"{BASE}/{page_name}/{self.name}/{self.asin}/{'+'.join(self.keywords)}/{self.page}/"

    def item_page(self):
        self.kind, self.url = "item", self.item_url("item_page") + json.dumps(self.options)

    def nodes(self):
        """(kind, text): kind is text, button, label or link."""
        head = [("text", "Instruction:"), ("text", self.goal["instruction_text"]), ("button", "Back to Search")]
        product = self.by_asin.get(self.asin)
        if self.kind == "index":
            return [("text", "WebShop"), ("text", "Instruction: "), ("text", self.goal["instruction_text"]), ("button", "Search")]
        if self.kind == "results":
            out = head + [("text", f"Page {self.page} (Total results: {self.total})")]
            out += [("button", "< Prev")] * (self.page > 1) + [("button", "Next >")]
            for asin in self.listed:
                out += [("link", asin), ("text", self.by_asin[asin]["title"]), ("text", self.by_asin[asin]["price_text"])]
            return out
        if self.kind == "item":
            out = head + [("button", "< Prev")]
            for name, values in product["options"].items():
                out += [("text", name)] + [("label", value) for value in values]
            out += [("text", product["title"]), ("text", f"Price: {product['price_text']}"), ("text", "Rating: N.A.")]
            names = ["Description", "Features", "Reviews"] + ["Attributes"] * self.show_attrs + ["Buy Now"]
            return out + [("button", name) for name in names]
        if self.kind == "done":
            dumped = json.dumps(self.options, sort_keys=True)
            for sign in "'<>&":
                dumped = dumped.replace(sign, f"\\u{ord(sign):04x}")
            texts = ["Thank you for shopping with us!", "Your code: ", "None", " (Paste it in your MTurk interface.)", "Purchased", "asin", self.asin,
                     "options", dumped, "attrs", "None", "category", "None", "query", "None", "product category", "None", "Target", "asin", "options",
                     "attrs", "price upper", "instuction text", "category", "product category", "query", "Goal ", "None", "Reward",
                     "Your score (min 0.0, max 1.0)", repr(self.reward), "Reward Details ", "None"]
            return [("text", text) for text in texts]
        texts = {"description": [product["description"]], "features": [" " + bullet for bullet in product["bullets"]], "reviews": [],
                 "attributes": [" " + a for a in product["attributes"]] + [product["category"], product["query"], product["product_category"]]}
        return head + [("button", "< Prev")] + [("text", text) for text in texts[self.kind]]

    def kept_nodes(self):
        for kind, text in self.nodes():
            if text and not text.strip(" \t\n\f\r"):
                text = "" if "\n" in text else " "
            if text:
                yield kind, text

    def text(self):
        return " [SEP] ".join(text.strip() for _, text in self.kept_nodes())

    def text_rich(self):
        front, out = "", ""
        for kind, text in self.kept_nodes():
            if kind == "text":
                out += text + "\n"
                continue
            clicked = {"button": False, "label": f'"{text}"' in self.url, "link": text in self.visited}[kind]
            if kind == "label" and clicked:
                front = f"You have clicked {text}.\n" + front
            word = "clicked button" if clicked else "button"
            out += {"button": "", "label": "  ", "link": "\n"}[kind] + f"[{word}] {text} [{word}_]\n"
        return front + out

    def clickables(self):
        if self.kind in ("index", "done"):
            return ["search"] * (self.kind == "index")
        buttons, inputs, links = [], [], []
        for kind, text in self.nodes():
            {"button": buttons, "label": inputs, "link": links, "text": []}[kind].append(text.lower() if kind != "label" else text)
        return list(dict.fromkeys(buttons + links + inputs))

    def step(self, action):
        """(reward, done, accepted)"""
        match = re.match(r"(.+)\[(.+)\]", action)
        if match is None:
            return 0, False, False
        name, argument = match.group(1), match.group(2).lower()
        if name == "search":
            self.results_page(argument.split(" "), 1)
            return 0.0, False, True
        if name != "click" or argument == "search" or argument not in self.clickables():
            return 0, False, False
        page_name = next((n for n in ("search_results", "item_page", "item_sub_page", "done") if n in self.url), "")
        if argument == "buy now":
            own = next(p for p in self.products if p["title"] == self.goal["name"])
            self.reward = reward(self.by_asin[self.asin], self.goal, list(self.options.values()), self.nouns[self.asin], self.nouns[own["asin"]])["reward"]
            self.kind, self.url = "done", f"{BASE}/done/{self.name}/{self.asin}/{self.options!r}"
            return self.reward, True, True
        if argument == "back to search":
            self.index_page()
        elif argument == "next >" and page_name == "search_results":
            self.results_page(self.keywords, self.page + 1)
        elif argument == "< prev" and page_name == "search_results":
            self.results_page(self.keywords, self.page - 1)
        elif argument == "< prev" and page_name == "item_sub_page":
            self.item_page()
        elif argument == "< prev" and page_name == "item_page":
            self.results_page(self.keywords, self.page)
        elif argument in ("description", "features", "reviews", "attributes"):
            self.kind, self.url = argument, self.item_url("item_sub_page") + f"{argument.capitalize()}/{self.options!r}"
        else:
            if self.kind == "results":
                self.asin = argument.upper()
                self.visited.add(self.asin)
            else:
                names = [option for option, values in self.by_asin[self.asin]["options"].items() if argument in values]
                if names:
                    self.options[names[-1]] = argument
            self.item_page()
        return 0.0, False, True
