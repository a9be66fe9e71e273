#!/usr/bin/env python3
"""The noun tool with a stand-in for spaCy: its table is complete, the program takes it, and rewards are no longer approximate."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "python" / "tools" / "webshop_nouns.py"
STAND_IN = """
__version__ = "stand-in"
class Token:
    def __init__(self, text):
        self.text, self.pos_ = text, "PROPN" if text[:1].isupper() else "ADP"
class Document(list):
    def __init__(self, text):
        super().__init__(Token(word) for word in text.split())
        self.text = text
class Tagger:
    meta = {"version": "1"}
    def pipe(self, names, as_tuples):
        return ((Document(name), context) for name, context in names)
def load(model, disable):
    return Tagger()
"""


def run(*words, stdin=""):
    return subprocess.run(words, capture_output=True, encoding="utf-8", input=stdin, check=True,
                          env=os.environ | {"PYTHONPATH": str(FOLDER)}).stdout


def main():
    (FOLDER / "spacy.py").write_text(STAND_IN)
    record = {"full_description": "", "small_description": ["x"], "category": "c", "query": "q", "product_category": "a", "pricing": "$5"}
    names = {"B1": "Red Mug for Tea", "B2": "caf\u00e9 Lamp", "B3": "of the"}
    records = [record | {"asin": asin, "name": name} for asin, name in names.items()]
    records.append(record | {"asin": "B1", "name": "Another Name"})  # dropped: the first B1 counts
    (FOLDER / "items.json").write_text(json.dumps(records))
    (FOLDER / "ins.json").write_text(json.dumps({"B1": {"attributes": ["x"], "instruction": "get it", "instruction_attributes": ["x"]}}))
    sources = ("--products", str(FOLDER / "items.json"), "--attributes", str(FOLDER / "ins.json"))
    run(PROGRAM, "webshop", "import", *sources, "--out", str(FOLDER / "plain.db"))
    tables = [run(sys.executable, str(TOOL), str(FOLDER / source)) for source in ("items.json", "plain.db")]
    assert tables[0] == tables[1]
    assert [(line["asin"], line["name"]) for line in map(json.loads, tables[0].splitlines())] == list(names.items())
    (FOLDER / "nouns.jsonl").write_text(tables[0])
    report = json.loads(run(PROGRAM, "webshop", "import", *sources, "--nouns", str(FOLDER / "nouns.jsonl"), "--out", str(FOLDER / "tagged.db"), "--json"))
    assert report["tagged"] == 3, report
    asked = "".join(json.dumps(one) + "\n" for one in (
        {"op": "reset", "task": "session/0"}, {"op": "step", "action": "search[mug]"}, {"op": "step", "action": "click[b1]"}, {"op": "step", "action": "click[buy now]"}))
    for shop, approximate in (("plain.db", True), ("tagged.db", False)):
        last = json.loads(run(PROGRAM, "play", "webshop", "--jsonl", "--data", str(FOLDER / shop), stdin=asked).splitlines()[-1])
        assert last["done"] and last["info"]["reward_info"].get("approximate", False) == approximate, last
    print("webshop nouns: the tool's table is complete and taken")
    return 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        FOLDER = pathlib.Path(folder)
        sys.exit(main())
