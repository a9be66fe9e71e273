#!/usr/bin/env python3
"""`lodestep match` against plain Python twins on random pages: `lexical` against difflib and a first-fit loop, `rules`
against the re module. Slow and simple on purpose; the budget is fixed."""
import difflib
import json
import random
import re
import subprocess
import sys
import unicodedata

PROGRAM = sys.argv[1]


def keys(rows, matcher, *settings):
    words = [word for setting in settings for word in ("--set", setting)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    done = subprocess.run([PROGRAM, "match", "--in", "-", "--matcher", matcher, *words], input=text, capture_output=True,
                          text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["key"] for line in done.stdout.splitlines()]


def numbered(labels):
    seen = {}
    return [seen.setdefault(label, len(seen)) for label in labels]


def random_pages(dice):
    """Groups of pages, most of them edits of an earlier one, on either side of difflib's 200 characters."""
    words = "the mug desk opens slowly £3 naïve 中文 and AND page 2 of 7 shelf".split()
    rows, texts = [], []
    for t in range(dice.randrange(2, 14)):
        if texts and dice.random() < 0.75:
            text = list(dice.choice(texts))
            for _ in range(dice.randrange(9)):
                at = dice.randrange(len(text) + 1)
                if dice.random() < 0.5 or not text:
                    text.insert(at, dice.choice("abe é中\n"))
                else:
                    del text[min(at, len(text) - 1)]
            text = "".join(text)
        else:
            text = " ".join(dice.choice(words) for _ in range(dice.choice([0, 3, 20, 70])))
        texts.append(text)
        row = {"group": f"g{dice.randrange(2)}", "episode": "e", "t": t, "text": text}
        if dice.random() < 0.7:
            row["actions"] = dice.sample(["go", "look", "take"], dice.randrange(3))
        rows.append(row)
    return rows


def indel(a, b, _):
    row = [0] * (len(b) + 1)
    for x in a:
        diagonal = 0
        for j, y in enumerate(b):
            diagonal, row[j + 1] = row[j + 1], diagonal + 1 if x == y else max(row[j], row[j + 1])
    return 2 * row[-1] / (len(a) + len(b)) if a or b else 1.0


def ratio(a, b, autojunk):
    return difflib.SequenceMatcher(None, a, b, autojunk).ratio()


def plain_lexical(rows, threshold, metric=ratio, autojunk=True, best=False, guard=True, canonical=False):
    clusters, labels = {}, [None] * len(rows)
    order = range(len(rows))
    if canonical:
        order = sorted(order, key=lambda i: (rows[i]["t"], rows[i]["text"].encode()))
    for i in order:
        row = rows[i]
        actions = tuple(sorted(row["actions"])) if guard and "actions" in row else None
        firsts = clusters.setdefault((row["group"], actions), [])
        found, score = None, threshold
        for first, label, seen in firsts:
            now = 1.0 if row["text"] in seen else metric(row["text"], first, autojunk)
            if row["text"] in seen or (now > score if found else now >= score):
                found, score = (label, seen), now
                if not best or row["text"] in seen:
                    break
        # A text seen before stays where it was put, whatever else it is like.
        for first, label, seen in firsts:
            if row["text"] in seen:
                found = (label, seen)
        if found is None:
            found = (len(rows) * len(clusters) + len(firsts), set())
            firsts.append((row["text"], found[0], found[1]))
        found[1].add(row["text"])
        labels[i] = (row["group"], actions, found[0])
    return labels


def test_lexical():
    dice = random.Random(5)
    for _ in range(25):
        rows = random_pages(dice)
        threshold = dice.choice([0.5, 0.8, 0.9, 0.95])
        at = f"threshold={threshold}"
        for settings, more in (((), {}), (("guard=none",), {"guard": False}), (("autojunk=false",), {"autojunk": False}),
                               (("pick=best",), {"best": True}), (("order=canonical",), {"canonical": True}),
                               (("metric=indel",), {"metric": indel})):
            assert numbered(keys(rows, "lexical", at, *settings)) == numbered(plain_lexical(rows, threshold, **more)), (
                settings, threshold, rows)


TIMES = (r"(?i)(?:\b(?:last updated|as of|at|updated)\b:? ?)*\b(?:\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?"
         r"|\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?)(?: ?[ap]m\b)?(?: ?(?:utc|gmt|z)\b)?")
CROWD = "people|visitors|viewers|shoppers|users|customers"


def nfc(text):
    return unicodedata.normalize("NFC", text)


def case(text):
    return nfc(nfc(text).casefold())


def space(text):
    return "\n".join(line for line in (" ".join(line.split()) for line in text.split("\n")) if line)


def times(text):
    return re.sub(TIMES, "", text, flags=re.ASCII)


def counters(text):
    flags = re.ASCII | re.IGNORECASE
    text = re.sub(r"\b(step|turn|move|round|tick)(s?)( no\.?| number| #|:)? *#?\d+(?: ?(?:/|of) ?\d+)?\b", r"\1 #", text, flags=flags)
    text = re.sub(r"\b\d+ (step|turn|move|round)s? (left|remaining|taken|used|so far)\b", r"# \1 \2", text, flags=flags)
    text = re.sub(rf"\b[\d,]+ ({CROWD})\b", r"# \1", text, flags=flags)
    return re.sub(rf"\b({CROWD})( today| online| now)?: ?[\d,]+", lambda m: m[1] + (m[2] or "") + ": #", text, flags=flags)


def ids(text):
    flags = re.ASCII | re.IGNORECASE
    text = re.sub(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "#", text, flags=flags)
    return re.sub(r"\b((?:session|request|trace|transaction)(?:[ _-]?id)?) ?[:=#] ?[\w-]+", r"\1 #", text, flags=flags)


def banners(text):
    for pattern in (r"(?i)[\W_]*(?:advertisement|ad|sponsored|promoted|promotion)\b.*", r"\*{3,}.*\*{3,}", r"(?i)we use cookies.*"):
        text = "\n".join(line for line in text.split("\n") if not re.fullmatch(pattern, line, re.ASCII))
    return text


def lists(text):
    def line_of(line):
        found = re.search(r"(?i)(?:you see|on it,?|in it,?|:) ([^:]*,[^:]*?)\.?$", line, re.ASCII)
        if not found:
            return line
        return line[:found.start(1)] + ", ".join(sorted(re.split(r",? and |, ", found[1]))) + line[found.end(1):]
    return "\n".join(map(line_of, text.split("\n")))


SETS = {"default": (nfc, space, case, times, counters, ids, banners), "alfworld": (nfc, space, case, times, counters, banners, lists),
        "webshop": (nfc, space, case, times, counters, banners),
        "sokoban": (nfc, times, counters, banners, lambda text: re.sub(r"(?m)[ \t]+$", "", text))}


def test_rules():
    pieces = ["Step 3 of 9", "12 steps left", "1,204 people", "visitors today: 88", "Updated 12:30 pm", "as of 2024-01-02",
              "2024-01-02 10:11:12", "Sponsored: rugs", "adder", "*** sale ***", "We use cookies", "session id: a-b_1", "STEP #4",
              "123e4567-e89b-12d3-a456-426614174000", "you see a pen 2, a mug 1, and a book 3.", "On it, a mug 1, a pen 2.",
              "Cafe\u0301", "CAFÉ", "  wide   space ", "#__ P #", "##  ", "page 2 of 7", "turn", "9 lives", "Straße"]
    dice = random.Random(6)
    for _ in range(40):
        rows = []
        for t in range(14):
            text = ""
            for _ in range(dice.randrange(1, 4)):
                text += dice.choice(pieces) + dice.choice(["\n", " ", "\n\n", ""])
            rows.append({"group": "g", "episode": "e", "t": t, "text": text})
        for name, rules in SETS.items():
            labels = []
            for row in rows:
                text = row["text"]
                for rule in rules:
                    text = rule(text)
                labels.append(text)
            assert numbered(keys(rows, "rules", f"rules={name}")) == numbered(labels), (name, rows, labels)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print(name, "ok", flush=True)
