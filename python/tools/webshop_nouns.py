"""Writes the table of title nouns that `lodestep webshop import --nouns` takes, with spaCy.

    python webshop_nouns.py items_shuffle.json > nouns.jsonl        # needs spacy and an English model

One JSON line a product: asin, name, [text, part of speech] of each token. Models differ in a few titles of a hundred, so rewards belong
to the model named on standard error.
"""
import argparse
import json
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("products", help="items_shuffle.json")
    parser.add_argument("--model", default="en_core_web_sm")
    options = parser.parse_args()
    import spacy  # here, so that --help works without it

    tagger = spacy.load(options.model, disable=["ner", "parser", "lemmatizer"])
    print(f"spacy {spacy.__version__}, {options.model} {tagger.meta['version']}", file=sys.stderr)
    with open(options.products, encoding="utf-8") as file:
        products = json.load(file)
    names = ((product["name"], product["asin"]) for product in products)
    for document, asin in tagger.pipe(names, as_tuples=True):
        tokens = [[token.text, token.pos_] for token in document]
        print(json.dumps({"asin": asin, "name": document.text, "tokens": tokens}))


if __name__ == "__main__":
    main()
