#!/usr/bin/env python3
"""Writes made-up products in WebShop's own three files, to measure an import at any size.

    python3 bench/webshop/made_up_products.py --products 100000 --out FOLDER
    lodestep webshop import --products FOLDER/items_shuffle.json --attributes FOLDER/items_ins.json \\
        --human-instructions FOLDER/items_human_ins.json --out shop.db

Same arguments, same bytes. Sizes follow the real file: about 4.4 kB a record, 2 options, 5 bullets, 40 % with an instruction.
"""
import argparse
import json
import pathlib
import random

BRANDS = [a + b for a in ("Alder", "Bright", "Cor", "Dun", "East", "Fen", "Gal", "Hol") for b in ("brook", "moor", "vane", "wick", "mere")]
QUALITIES = "light sturdy soft compact quiet bold smooth warm elegant reusable foldable breathable simple sharp classic modern".split()
THINGS = "mug shirt lamp table blanket serum charger headphones tea bar stool organizer dress boot drive brush pillow rug towel bag".split()
PLACES = "home office kitchen garden travel camping school winter summer family guests beginners".split()
ATTRIBUTES = ("leak proof,machine wash,easy clean,long lasting,high quality,non slip,heavy duty,gluten free,cruelty free,fast charging,"
              "slim fit,solid wood,water resistant,easy assembly,noise cancelling,dishwasher safe,memory foam,sugar free").split(",")
COLORS = "black white navy olive teal charcoal ivory coral purple standard".split()  # nobody can win "standard": it holds "tan"
SIZES = ["small", "medium", "large", "x-large", "12 ounce", "24 x 36 inch", "9.5", "2 pack"]
FILLER = [w + s for w in ("mar", "ten", "lo", "vi", "sor", "pla", "dre", "kin", "ufa", "gre", "bo", "chi") for s in ("", "na", "ter", "mon", "lis", "do", "vel", "ron")]


def sentence(dice, words):
    return " ".join(dice.choices(FILLER + QUALITIES + THINGS + PLACES, k=words)).capitalize() + "."


def product(dice, number):
    thing, attributes = dice.choice(THINGS), dice.sample(ATTRIBUTES, dice.randint(2, 5))
    low = dice.randint(300, 30000) / 100
    price = dice.choice([f"${low:,.2f}"] * 3 + [f"${low:,.2f} - ${low + dice.randint(100, 5000) / 100:,.2f}", ""])
    options = {}
    if dice.random() < 0.7:
        options["Color"] = [{"value": value, "url": None, "image": f"https://images.example/{number}-{value}.jpg", "is_selected": False}
                            for value in dice.sample(COLORS, dice.randint(2, 5))]
    if dice.random() < 0.5:
        options["Size"] = [{"value": value, "price_string": "", "price": 0} for value in dice.sample(SIZES, dice.randint(2, 3))]
    record = {
        "asin": f"B{number:09d}", "name": f"{dice.choice(BRANDS)} {dice.choice(QUALITIES).title()} {thing.title()} for {dice.choice(PLACES).title()}, {sentence(dice, 6)}",
        "full_description": " ".join(sentence(dice, 14) for _ in range(10)), "small_description": [sentence(dice, 16) for _ in range(5)],
        "pricing": price, "customization_options": options or "", "images": [f"https://images.example/{number}-{i}.jpg" for i in range(8)],
        "category": dice.choice(["fashion", "garden", "beauty", "electronics", "grocery"]), "query": f"{thing}s", "page": 1, "average_rating": 4.2,
        "product_category": f"Made Up › {thing.title()} › {dice.choice(PLACES).title()}",
        "product_information": {f"Field {i}": sentence(dice, 5) for i in range(8)}, "list_price": "", "seller_name": "nobody",
    }
    beside = {"attributes": attributes}
    if dice.random() < 0.4:
        beside |= {"instruction": f"Find me {attributes[0]} {thing}s for {dice.choice(PLACES)}", "instruction_attributes": attributes[:2]}
    human = []
    if dice.random() < 0.1:
        human = [{"asin": record["asin"], "instruction": f"i need a {thing} that is {attributes[-1]}.", "attributes": attributes, "options": [],
                  "instruction_attributes": attributes[-1:], "instruction_options": [], "assignment_id": "x", "worker_id": "y"}]
    return record, beside, human


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--products", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    dice = random.Random(options.seed)
    with (options.out / "items_shuffle.json").open("w") as items, (options.out / "items_ins.json").open("w") as ins, \
            (options.out / "items_human_ins.json").open("w") as people:
        items.write("[")
        ins.write("{")
        people.write("{")
        first_human = True
        for number in range(options.products):
            record, beside, human = product(dice, number)
            comma = "," if number else ""
            items.write(f"{comma}\n{json.dumps(record)}")
            ins.write(f"{comma}\n{json.dumps(record['asin'])}: {json.dumps(beside)}")
            if human:
                people.write(("" if first_human else ",") + f"\n{json.dumps(record['asin'])}: {json.dumps(human)}")
                first_human = False
        items.write("\n]\n")
        ins.write("\n}\n")
        people.write("\n}\n")


if __name__ == "__main__":
    main()
