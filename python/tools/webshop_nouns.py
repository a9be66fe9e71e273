"""Writes the table of title nouns that `lodestep webshop import --nouns` takes, with spaCy.

    python webshop_nouns.py shop.db > nouns.jsonl                   # an imported catalogue, of any size
    python webshop_nouns.py items_shuffle.json > nouns.jsonl        # or the product file, read as a whole

Needs spaCy and an English model. One JSON line a product: asin, name, [text, part of speech] of each token. Models differ in a few titles of a
hundred, so rewards belong to the model named on standard error.
"""
import argparse
import json
import sqlite3
import sys


def products(path):
    """(name, asin) of each product; of records with one asin the first counts, as for the import."""
    if path.endswith(".db"):
        yield from sqlite3.connect(f"file:{path}?mode=ro", uri=True).execute(
            "SELECT CAST(title AS TEXT), CAST(asin AS TEXT) FROM product ORDER BY position")
        return
    seen = set()
    with open(path, encoding="utf-8") as file:
        for product in json.load(file):
            if product["asin"] not in seen:
                seen.add(product["asin"])
                yield product["name"], product["asin"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("products", help="a catalogue (.db) or items_shuffle.json")
    parser.add_argument("--model", default="en_core_web_sm")
    options = parser.parse_args()
    import spacy  # here, so that --help works without it

    tagger = spacy.load(options.model, disable=["ner", "parser", "lemmatizer"])
    print(f"spacy {spacy.__version__}, {options.model} {tagger.meta['version']}", file=sys.stderr)
    for document, asin in tagger.pipe(products(options.products), as_tuples=True):
        tokens = [[token.text, token.pos_] for token in document]
        print(json.dumps({"asin": asin, "name": document.text, "tokens": tokens}))


if __name__ == "__main__":
    main()
